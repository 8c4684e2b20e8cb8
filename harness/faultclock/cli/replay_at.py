"""`faultclock replay` of a token or a finding: run twice, compared and judged."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import TYPE_CHECKING

from msgspec import Struct, field

from faultclock.cli.exits import INCONCLUSIVE, NONCONFORMING, OK
from faultclock.cli.options import DEFAULT_MODEL, parse_readings
from faultclock.cli.say import say
from faultclock.errors import InputError
from faultclock.model.report.coordinates import Coordinates
from faultclock.model.report.exploration import Exploration

if TYPE_CHECKING:
    from faultclock.cli.outputs import Outputs
    from faultclock.model.report.finding import Report, RunReport
    from faultclock.model.scenario.scenario import Scenario
    from faultclock.run.replay import Replayed

#: A digest is shown by its first digits.
_DIGITS = 12
_NAMED = re.compile(r"F-[0-9a-f]+", re.IGNORECASE)


class Wanted(Struct, frozen=True, kw_only=True):
    """What is to be run again, and by what it is judged.

    Attributes:
        coordinates: of the run.
        subject: how it is named on the command line; None: by its id.
        scenario: the file of the scenario; None: the shipped one.
        model: that the run is judged by; None: the default.
        readings: of that model's switches.
        raises: the exception that decides in place of the model; empty: none does.
    """

    coordinates: Coordinates
    subject: str | None = None
    scenario: str | None = None
    model: str | None = None
    readings: Mapping[str, str] = field(default_factory=dict)
    raises: str = ""


def of_token(token: str) -> Wanted:
    """Return what a token leads to.

    Raises:
        InputError: it is none, or was mistyped.
    """
    from faultclock.model.report.token import coordinates_of

    try:
        return Wanted(coordinates=coordinates_of(token))
    except ValueError as error:
        raise InputError(str(error)) from None


def of_finding(name: str, path: str) -> Wanted:
    """Return what a finding leads to; a token is one, too.

    Args:
        name: id of a finding in the report.
        path: of the report.

    Raises:
        InputError: the report cannot be read, or has no such finding.
    """
    from faultclock.load.report import load_report

    report = load_report(path)
    token = name.startswith("fc")
    if not token and not _NAMED.fullmatch(name):
        raise InputError(f"{name!r} is no id of a finding: one looks like F-3fa9c02e41")
    if isinstance(report, Exploration):
        return _of_group(report, name, path)
    run = _run_of(report, name)
    over = next((item for item in report.seeds_findings if item.id == name), None)
    if run is None and over is not None and over.scenario is not None:
        raise InputError(
            f"{name} is a verdict over all seeds of {over.scenario}: no single run shows it",
            hint=f"run them all again: faultclock run {over.scenario}",
        )
    if run is None:
        raise InputError(
            f"{path} has no finding {name}",
            hint="its findings that are not green have ids: " + _some(_ids(report)),
        )
    if not run.token:
        raise InputError(
            f"{path} was made from stored traces, which do not say how to run them again",
            hint=f"run the trace of {name} itself again: faultclock replay TRACE",
        )
    return _of_run(report, run, path)


def _of_group(report: Exploration, name: str, path: str) -> Wanted:
    found = [item for item in report.groups if name.lower() in (item.fingerprint, item.token)]
    found = found or [item for item in report.groups if name == item.token]
    if not found:
        known = _some([item.fingerprint for item in report.groups])
        raise InputError(f"{path} has no failure {name}", hint=f"it has {known}")
    if len({item.token for item in found}) > 1:
        where = "; ".join(f"{item.scenario}: {item.token}" for item in found)
        raise InputError(
            f"{path} has the failure {name} in {len(found)} scenarios",
            hint=f"replay it by its token: {where}",
        )
    # Its own command names what has no id.
    options = dict(pairwise(_words(found[0].again, path)))
    return Wanted(
        coordinates=found[0].coordinates,
        subject=options.get("--subject"),
        scenario=options.get("--scenario"),
        model=options.get("--model", report.model),
        readings=report.readings,
        raises=report.sought,
    )


def _run_of(report: Report, name: str) -> RunReport | None:
    for run in report.runs:
        if run.token == name or any(
            finding.id.lower() == name.lower() for finding in run.findings if finding.id
        ):
            return run
    return None


def _of_run(report: Report, run: RunReport, path: str) -> Wanted:
    """Return what a run was, as its report has it: its own command names what has no id."""
    words = _words(run.replay, path)
    pairs = tuple(pairwise(words))
    options = dict(pairs)
    selector = words[2] if words[1:2] == ["run"] and len(words) > 2 else run.scenario
    readings = tuple(after for word, after in pairs if word == "--reading")
    return Wanted(
        coordinates=of_token(run.token).coordinates,
        subject=options.get("--subject"),
        scenario=None if selector == run.scenario else selector,
        model=options.get("--model", report.model),
        readings=parse_readings(readings) or report.readings,
    )


def _words(command: str, path: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        raise InputError(f"{path}: {command!r} is no command line") from None


def _ids(report: Report) -> list[str]:
    return [finding.id for run in report.runs for finding in run.findings if finding.id]


def _some(names: list[str], most: int = 5) -> str:
    if not names:
        return "none"
    more = f", and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def replay_at(wanted: Wanted, outputs: Outputs, *, wall_limit_s: float | None) -> int:
    """Run it twice, show what came of it, and return the exit code.

    Raises:
        InputError: its scenario or its subject is not there, or was changed since.
    """
    from faultclock.load.error_model import load_error_model
    from faultclock.load.scenario import find_scenarios, shipped_scenarios
    from faultclock.run.replay import replay_at

    coordinates = wanted.coordinates
    model = load_error_model(wanted.model or DEFAULT_MODEL, dict(wanted.readings))
    name = coordinates.scenario
    if wanted.scenario is None and name not in shipped_scenarios():
        raise InputError(
            f"no scenario that is shipped is called {name!r}",
            hint="say which file has it: --scenario path/to/file.yaml",
        )
    found = find_scenarios((wanted.scenario or name,))
    loaded = next((item for item in found if item.scenario.id == name), found[0])
    scenario = _scenario_at(loaded.runnable, coordinates)
    spec = wanted.subject or _shipped_subject(coordinates.subject)

    from faultclock.cli.preparing import prepared
    from faultclock.explore.goal import judge_for
    from faultclock.load.sought import read_sought
    from faultclock.run.report import run_report

    sought = read_sought(wanted.raises) if wanted.raises else None

    binding = prepared(spec, wall_limit_s=wall_limit_s).binding
    replayed = replay_at(scenario, binding, coordinates, wall_limit_s=wall_limit_s)
    trace = replayed.trace
    store = outputs.trace_writer()
    stored = None if store is None else store(trace)
    report = run_report(
        trace,
        judge_for(model, sought).judge(trace),
        replay="",
        trace_file=stored,
        coordinates=lambda: coordinates,
    )
    by = f"against {model.id}" if sought is None else f"in the search for {sought.text}"
    for line in _told(report, replayed, coordinates, by):
        say(line)
    return _exit_code(report, replayed)


def _scenario_at(runnable: Sequence[Scenario], coordinates: Coordinates) -> Scenario:
    """Return the scenario of a run, also of one with `explore --vary-everything`.

    Raises:
        InputError: as `scenario_at` does.
    """
    from faultclock.run.replay import scenario_at

    try:
        return scenario_at(runnable, coordinates)
    except InputError:
        from faultclock.explore.everything import vary_everything

        with suppress(InputError):
            return scenario_at(tuple(map(vary_everything, runnable)), coordinates)
        raise


def _shipped_subject(name: str) -> str:
    from faultclock.subjects.registry import shipped_ids

    if name not in shipped_ids():
        raise InputError(
            f"it is of the subject {name!r}, which is none that is shipped",
            hint="say where it is: --subject path/to/file.py:name",
        )
    return name


def _told(
    report: RunReport, replayed: Replayed, coordinates: Coordinates, by: str
) -> Iterator[str]:
    from faultclock.cli.finding_text import told_in_full
    from faultclock.cli.tables import SYMBOLS
    from faultclock.render.verdict_words import LOOKS
    from faultclock.render.wording import count
    from faultclock.run.compare import differences

    first, second = replayed.trace, replayed.result.trace
    variant = f", {coordinates.variant}" if coordinates.variant else ""
    choices = count(coordinates.tape.length, "choice")
    yield (
        f"{coordinates.scenario}{variant}, seed {coordinates.seed}, {first.header.subject.id}:"
        f" {choices} on the tape"
    )
    for word, trace in (("first", first), ("second", second)):
        events = count(len(trace.events), "event")
        yield f"  {word:6s} run: digest {trace.footer.digest[:_DIGITS]}, {events}"
    if replayed.result.identical:
        yield "identical: both runs are the same, byte for byte"
    else:
        yield f"different: line {replayed.result.line_number} is the first that differs"
        called = ("first", "second")
        for line in differences(replayed.result.recorded, replayed.result.observed, called=called):
            yield f"  {line}"
    if replayed.unplayed:
        yield (
            f"another course: {count(replayed.unplayed, 'choice')} on the tape did not come up, so"
            " what it led to may not have happened"
        )
    yield ""
    yield from told_in_full(report)
    yield f"{SYMBOLS[report.verdict]} {LOOKS[report.verdict].word} {by}"
    if report.trace_file is not None:
        yield f"  written: {report.trace_file}"


def _exit_code(report: RunReport, replayed: Replayed) -> int:
    from faultclock.model.report.finding import Verdict

    if not replayed.result.identical or report.verdict is Verdict.FAIL:
        return NONCONFORMING
    green = report.verdict in (Verdict.PASS, Verdict.WARN) and not replayed.unplayed
    return OK if green else INCONCLUSIVE
