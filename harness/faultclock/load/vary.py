"""What a scenario says of being explored: each mistake with its place in the file.

Whether a path leads anywhere, and whether each value makes a scenario that could be written down,
is found out here, one choice at a time, while the file is still at hand. What two choices come to
together is only known when they are drawn.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from pydantic import ValidationError

from faultclock.errors import Problem
from faultclock.load.known_keys import Location
from faultclock.load.located.tree import problem_at
from faultclock.load.wording import did_you_mean, problems_of, spot_at
from faultclock.load.yaml_file import Document, parse_document
from faultclock.model.duration import format_duration
from faultclock.model.scenario.faults_stop import never_settles
from faultclock.model.scenario.removable import rules_of
from faultclock.model.scenario.scenario import Scenario, written_scenario
from faultclock.model.scenario.varied import (
    ChoiceAt,
    NowhereError,
    choices_at,
    choices_in_words,
    varied_data,
    written_at,
)
from faultclock.model.tape import SCENARIO_STREAMS, Tape

#: What else is asked of a scenario than that it is one, such as that its names lead somewhere.
Further = Callable[[Document, Scenario], Iterable[Problem]]

_STREAM = re.compile(r"schedule/[1-9][0-9]*/.+|(latency|pace|overload)/[^/]+(/.+)?", re.ASCII)
_STREAMS_TOLD = (
    "schedule/<life>/<lane>, latency/<connection>/<side>, pace/<provider>/… and overload/<provider>"
)
#: A draw has so many bits.
_DRAW_MAX = 2**64 - 1


def explored_wrongly(
    document: Document, scenarios: Sequence[Scenario], further: Further
) -> Iterator[Problem]:
    """Yield a problem for each mistake in `vary`, `settle` and `tape`.

    Args:
        document: the file.
        scenarios: what the file is run as: itself, or its variants. What is wrong in several of
            them is reported once.
        further: what is asked of a scenario that a choice comes to.
    """
    told: set[tuple[int, int]] = set()
    for scenario in scenarios:
        for problem in _of_one(document, scenario, further):
            place = (problem.line, problem.column)
            if place not in told:
                told.add(place)
                yield problem


def _of_one(document: Document, scenario: Scenario, further: Further) -> Iterator[Problem]:
    yield from _settle(document, scenario)
    yield from _tape(document, scenario)
    if scenario.vary is None:
        return
    whole = True
    for problem in (*_paths(document, scenario), *_rules(document, scenario)):
        whole = False
        yield problem
    if not whole:
        return
    for choice in choices_at(scenario):
        for value, location in _ends(scenario, choice):
            yield from _comes_to(document, scenario, choice, value, location, further)


def _settle(document: Document, scenario: Scenario) -> Iterator[Problem]:
    settle = scenario.settle
    if settle is None:
        return
    for location, message in never_settles(scenario):
        hint = "let `settle.faults_end` be later, or take `settle` out"
        yield document.problem(location, message, hint)
    over_ns = settle.faults_end + settle.within
    if over_ns > scenario.limits.virtual_time:
        ends = format_duration(scenario.limits.virtual_time)
        message = f"all has to settle by {format_duration(over_ns)}, and the run ends at {ends}"
        hint = "let `settle.within` be shorter, or `limits.virtual_time` longer"
        yield document.problem(("settle", "within"), message, hint)


def _tape(document: Document, scenario: Scenario) -> Iterator[Problem]:
    for stream, chosen in scenario.tape.choices.items():
        location: Location = ("tape", "choices", stream)
        if stream.startswith(SCENARIO_STREAMS):
            message = f"the choice {stream!r} shapes the scenario, and this is one"
            yield _at_key(document, location, message, "write what it comes to in its place")
        elif not _STREAM.fullmatch(stream):
            hint = f"there are {_STREAMS_TOLD}"
            yield _at_key(document, location, f"no stream is called {stream!r}", hint)
        elif max(value for _, value in chosen) > _DRAW_MAX:
            yield document.problem(location, "a draw has 64 bits, and this one is larger")


def _paths(document: Document, scenario: Scenario) -> Iterator[Problem]:
    assert scenario.vary is not None, "the caller has looked"
    for path in scenario.vary.values:
        location: Location = ("vary", "values", path)
        try:
            written_at(scenario, path)
        except NowhereError as error:
            hint = did_you_mean(error.name, error.known) or "it holds nothing that has a name"
            yield _at_key(document, location, str(error), hint)
        except ValueError as error:
            yield _at_key(document, location, str(error), None)


def _rules(document: Document, scenario: Scenario) -> Iterator[Problem]:
    assert scenario.vary is not None, "the caller has looked"
    known = rules_of(scenario)
    names = scenario.vary.may_lack
    for number, name in enumerate(names):
        location: Location = ("vary", "may_lack", number)
        if name not in known:
            hint = did_you_mean(name, known) or "it has none at all"
            yield document.problem(location, f"there is no rule {name!r} to go without", hint)
        elif name in names[:number]:
            yield document.problem(location, f"the rule {name!r} is named twice")


def _ends(scenario: Scenario, choice: ChoiceAt) -> Iterator[tuple[int, Location]]:
    """Yield the values of a choice that are tried, each with its place in the file."""
    assert scenario.vary is not None, "it has choices"
    if choice.kind == "lacks":
        number = scenario.vary.may_lack.index(choice.path)
        yield 1, ("vary", "may_lack", number)
    elif choice.kind == "span":
        yield 1, ("vary", "values", choice.path, "from")
        yield choice.count, ("vary", "values", choice.path, "to")
    else:
        for number in range(choice.count):
            yield 1 + number, ("vary", "values", choice.path, "any_of", number)


def _comes_to(
    document: Document,
    scenario: Scenario,
    choice: ChoiceAt,
    value: int,
    location: Location,
    further: Further,
) -> Iterator[Problem]:
    """Yield what is wrong with the scenario that one choice comes to, at the choice's place."""
    tape = Tape.of({choice.stream: {0: value}})
    data = varied_data(scenario, tape)
    try:
        made = written_scenario(data)
    except ValidationError as error:
        # A problem of what it comes to, which is not what stands in the file.
        tree = parse_document(json.dumps(data).encode(), document.path).tree
        problems = problems_of(error, type(scenario), tree, document.path)
    else:
        problems = (*further(document, made), *_settle(document, made))
    words = " ".join(choices_in_words(scenario, tape))
    if scenario.variant is not None:
        words = f"{scenario.variant}, {words}"
    for problem in problems:
        yield document.problem(location, f"with {words}: {problem.message}", problem.hint)


def _at_key(document: Document, location: Location, message: str, hint: str | None) -> Problem:
    """Return a problem at a key of the file, and not at its value."""
    place = spot_at(document.tree, location).key
    if place is None:
        # A matrix has put it there.
        return document.problem(location, message, hint)
    return problem_at(place, document.path, message, hint)
