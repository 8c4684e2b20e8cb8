"""Shrinking: from one failing run to the smallest that shows the same failure.

`reductions` says what can be made simpler, `search` looks for the smallest, and here a candidate is
run and judged. What it comes to is a scenario of its own: it has its seed and its tape, so whoever
runs it sees the failure, and whoever reads it sees nothing that the failure does not need.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from faultclock.errors import HarnessError, InternalError
from faultclock.explore.fingerprint import marks_of
from faultclock.explore.goal import verdict_of
from faultclock.explore.reductions import Reductions, States, reductions_of
from faultclock.explore.search import least, steps_down
from faultclock.explore.sizes import size_of
from faultclock.load.scenario_names import unknown_names
from faultclock.load.yaml_file import Document, parse_document
from faultclock.model.report.exploration import FailureMark, Shrunk
from faultclock.model.report.finding import Verdict
from faultclock.model.scenario.mishap import CrashRule
from faultclock.model.scenario.scenario import Scenario, scenario_digest
from faultclock.model.scenario.trigger import EventTrigger
from faultclock.model.tape import SCENARIO_STREAMS, Tape
from faultclock.model.trace.trace import Trace
from faultclock.oracle.judge import Judge
from faultclock.run.suite import run_one
from faultclock.subjects.binding import Binding

#: How many runs a search makes by default: seconds, for most subjects.
RUNS_MAX = 1_500
_PASSES = (Verdict.PASS, Verdict.WARN)
#: A shorter scenario is no gain where its run is longer than this many hundredths of the first:
#: without its second answer, a fake model asks for the same tool for ever.
_GROWTH_PERCENT = 125
#: What the first run may itself have come to: then its steps say nothing about what is too long.
_ENDLESS = ("event_limit", "livelock", "virtual_time_limit")
#: How far such a run gets: so many steps of its world for each event of the first one, and some.
#: Most take two or three for an event. Agents send all that was said with each request, so the
#: time that an endless run takes grows with the square of its length.
_STEPS_PER_EVENT = 4
_STEPS_MORE = 200
#: How much further one gets that comes to this end with few events: a subject that polls.
_STEPS_FURTHER = 8


class Smallest(Struct, frozen=True, kw_only=True):
    """The smallest failing run, and what lies beside it.

    Attributes:
        shrunk: the result.
        mark: the failure as it is seen in the smallest run.
        trace: the smallest run.
        near: the runs one step below it that pass, each with what it is, such as `the same without
            the fault limited`.
    """

    shrunk: Shrunk
    mark: FailureMark
    trace: Trace
    near: tuple[tuple[str, Trace], ...]


def shrink(
    scenario: Scenario,
    binding: Binding,
    seed: int,
    tape: Tape,
    fingerprint: str,
    judge: Judge,
    *,
    runs_max: int = RUNS_MAX,
    on_run: Callable[[int], None] | None = None,
    isolate: bool = True,
    wall_limit_s: float | None = None,
) -> Smallest:
    """Return the smallest run that fails as `scenario` with this seed and tape does.

    Args:
        scenario: concrete: what its `vary` came to.
        tape: as the failing run noted it.
        fingerprint: of the failure that is to be kept.
        runs_max: how many runs the search may take; confirming its result takes a few more.
        on_run: called after each run with their number so far.
        isolate: a forked child for each run, but for a subject that is bound with `inline`.
        wall_limit_s: real seconds after which a hanging run is ended; None takes the scenario's.

    Raises:
        InternalError: the run does not fail so: it cannot be made again.
    """
    runs = _Runs(binding, judge, fingerprint, runs_max, on_run, isolate, wall_limit_s)
    own = own_scenario(scenario, seed, tape, fingerprint)
    start = runs.made(own)
    if start is None or start.mark is None:
        raise InternalError(f"{scenario.id} with the seed {seed} does not show {fingerprint} again")
    by_kind = _crashes_by_kind(own, start.trace)
    if by_kind is not None and runs.keeps(by_kind):
        own = by_kind
    reductions = reductions_of(own)
    ladders = list(enumerate(reductions.ladders))
    states = least(
        reductions.top,
        _Keeps(runs, reductions),
        groups=[(ladder.rank, ladder.lane) for _, ladder in ladders],
        loose=[place for place, ladder in ladders if ladder.is_order],
        things=[place for place, ladder in ladders if ladder.is_presence],
        counts=[place for place, ladder in ladders if ladder.is_count],
        names=reductions.names,
    )
    stopped = _open_end(runs, reductions, states)
    near = _near(runs, reductions, states)
    smallest, is_steady = _confirmed(runs, reductions, states)
    if not is_steady:
        stopped = "the smallest run was not the same when it was made again"
    return Smallest(
        shrunk=Shrunk(
            scenario=smallest.scenario,
            before=size_of(own, start.trace),
            after=size_of(smallest.scenario, smallest.trace),
            runs=runs.count,
            is_minimum=not stopped,
            stopped=stopped,
            removed=reductions.told(states),
        ),
        mark=smallest.mark or start.mark,
        trace=smallest.trace,
        near=near,
    )


def own_scenario(scenario: Scenario, seed: int, tape: Tape, fingerprint: str) -> Scenario:
    """Return the scenario that makes one run, and that one alone."""
    played = {
        stream: dict(chosen)
        for stream, chosen in scenario.tape.joined(tape).choices.items()
        if not stream.startswith(SCENARIO_STREAMS)
    }
    crashes = tuple(
        rule.model_copy(update={"id": "crash"}) if rule.id == "crash-everywhere" else rule
        for rule in scenario.crash_rules
    )
    return scenario.with_crashes(*crashes).model_copy(
        update={
            "id": f"{scenario.id}-{fingerprint}",
            "title": f"The smallest failing run that was found of {scenario.id}",
            "why": "It shows one failure. Everything that the failure does not need was removed."
            f" Why {scenario.id} is there: {scenario.why}",
            "pair": None,
            "variant": None,
            "matrix": None,
            "vary": None,
            "tape": Tape.of(played),
            "seed": seed,
            "seeds": 1,
        }
    )


class _Made(Struct, frozen=True, kw_only=True):
    """One run that was made."""

    scenario: Scenario
    trace: Trace
    mark: FailureMark | None
    verdict: Verdict


class _Runs:
    """Makes each run once, judges it, and counts. The first is the one that is made smaller."""

    def __init__(
        self,
        binding: Binding,
        judge: Judge,
        fingerprint: str,
        runs_max: int,
        on_run: Callable[[int], None] | None,
        isolate: bool,
        wall_limit_s: float | None,
    ) -> None:
        self._binding = binding
        self._judge = judge
        self._fingerprint = fingerprint
        self.runs_max = runs_max
        self._on_run = on_run
        self._isolate = isolate and not binding.inline
        self._wall_limit_s = wall_limit_s
        self._known: dict[str, tuple[bool, Verdict]] = {}
        self._events_max: int | None = None
        self._loops = False
        self.count = 0

    def keeps(self, scenario: Scenario | None) -> bool:
        """Return whether a scenario is one, and fails in the same way."""
        if scenario is None:
            return False
        digest = scenario_digest(scenario)
        known = self._known.get(digest)
        if known is not None:
            return known[0]
        if self.count >= self.runs_max:
            return False
        if not _names_exist(scenario):
            self._known[digest] = (False, Verdict.NOT_APPLICABLE)
            return False
        made = self.made(scenario, is_bounded=True)
        return made is not None and made.mark is not None

    def verdict(self, scenario: Scenario) -> Verdict | None:
        """Return the verdict of a run that was made; None where it was not."""
        known = self._known.get(scenario_digest(scenario))
        return None if known is None else known[1]

    def made(self, scenario: Scenario, *, is_bounded: bool = False) -> _Made | None:
        """Make a run; None where no run can be made of the scenario.

        Args:
            is_bounded: end it where it has become far longer than the first.
        """
        self.count += 1
        try:
            trace = self._run(self._bounded(scenario) if is_bounded else scenario)
            if is_bounded and self._is_cut_early(trace):
                trace = self._run(self._bounded(scenario, _STEPS_FURTHER))
            judgement = self._judge.judge(trace)
        except (HarnessError, ValueError):
            self._known[scenario_digest(scenario)] = (False, Verdict.NOT_APPLICABLE)
            return None
        finally:
            if self._on_run is not None:
                self._on_run(self.count)
        mark = next(
            (item for item in marks_of(trace, judgement) if item.fingerprint == self._fingerprint),
            None,
        )
        verdict = verdict_of(judgement.findings)
        if self._events_max is None:
            self._events_max = len(trace.events) * _GROWTH_PERCENT // 100
            self._loops = trace.footer.ending in _ENDLESS
        if is_bounded and trace.footer.ending == "event_limit":
            mark = None
        if len(trace.events) > self._events_max:
            mark = None
        self._known[scenario_digest(scenario)] = (mark is not None, verdict)
        return _Made(scenario=scenario, trace=trace, mark=mark, verdict=verdict)

    def _run(self, scenario: Scenario) -> Trace:
        return run_one(
            scenario,
            self._binding,
            scenario.seed,
            isolate=self._isolate,
            wall_limit_s=self._wall_limit_s,
        )

    def _is_cut_early(self, trace: Trace) -> bool:
        """Return whether a run came to the end of its steps before it had become too long."""
        if trace.footer.ending != "event_limit" or self._events_max is None or self._loops:
            return False
        return len(trace.events) <= self._events_max

    def _bounded(self, scenario: Scenario, further: int = 1) -> Scenario:
        """Return the scenario with an end to its steps; any other limit is that of the scenario."""
        if self._events_max is None or self._loops:
            return scenario
        steps = further * (_STEPS_MORE + _STEPS_PER_EVENT * self._events_max)
        limits = scenario.limits
        if limits.events <= steps:
            return scenario
        return scenario.model_copy(update={"limits": limits.model_copy(update={"events": steps})})


class _Keeps:
    """Whether states of the reductions fail in the same way; asked twice, it says the same."""

    def __init__(self, runs: _Runs, reductions: Reductions) -> None:
        self._runs = runs
        self._reductions = reductions
        self._known: dict[States, bool] = {}

    def __call__(self, states: States) -> bool:
        if states not in self._known:
            if self._runs.count >= self._runs.runs_max:
                return False
            self._known[states] = self._runs.keeps(self._reductions.scenario(states))
        return self._known[states]


def _open_end(runs: _Runs, reductions: Reductions, states: States) -> str:
    """Return why it is not known whether this is a local minimum; empty: it is one."""
    for lower in steps_down(states, reductions.names):
        scenario = reductions.scenario(lower)
        if scenario is not None and runs.verdict(scenario) is None:
            return f"{runs.runs_max} runs were made, and that is the limit"
    return ""


def _confirmed(runs: _Runs, reductions: Reductions, states: States) -> tuple[_Made, bool]:
    """Make the smallest run twice more, with no more on its tape than was played.

    Returns:
        the first of them, and whether the second was the same.
    """
    scenario = reductions.scenario(states)
    assert scenario is not None
    first = runs.made(scenario)
    assert first is not None
    noted = first.trace.header.tape
    if noted != scenario.tape:
        trimmed = runs.made(scenario.model_copy(update={"tape": noted}))
        if trimmed is not None and trimmed.mark is not None:
            first = trimmed
    second = runs.made(first.scenario)
    return first, second is not None and second.trace.footer.digest == first.trace.footer.digest


def _near(runs: _Runs, reductions: Reductions, states: States) -> tuple[tuple[str, Trace], ...]:
    """Return the runs one step below the smallest that pass, one of each reduction."""
    near: dict[int, tuple[str, Trace]] = {}
    # From the simplest on, so the nearest of each place has the last word.
    for lower in steps_down(states, reductions.names):
        scenario = reductions.scenario(lower)
        if scenario is None or runs.verdict(scenario) not in _PASSES:
            continue
        place = next(number for number, state in enumerate(states) if lower[number] != state)
        made = runs.made(scenario)
        if made is not None:
            words = reductions.ladders[place].words[lower[place]]
            near[place] = (f"the same {words}", made.trace)
    return tuple(near[place] for place in sorted(near))


def _crashes_by_kind(scenario: Scenario, trace: Trace) -> Scenario | None:
    """Return the scenario with crashes after the nth event of a kind, not after event number n.

    The number means another event as soon as anything before it is taken away.
    """
    if not any(rule.on is not None and rule.on.seq is not None for rule in scenario.crash_rules):
        return None
    crashes = tuple(_by_kind(rule, trace) for rule in scenario.crash_rules)
    return scenario.model_copy(update={"crashes": crashes})


def _by_kind(rule: CrashRule, trace: Trace) -> CrashRule:
    seq = rule.on.seq if rule.on is not None else None
    if seq is None or seq > len(trace.events):
        return rule
    kind = trace.events[seq - 1].kind
    nth = sum(event.kind == kind for event in trace.events[:seq])
    return rule.model_copy(update={"on": EventTrigger(kind=kind, nth=nth)})


def _names_exist(scenario: Scenario) -> bool:
    """Return whether each name in it is that of something, as a file is asked for."""
    data = scenario.model_dump(mode="json", exclude_defaults=True)
    document = Document(path="", data=data, tree=_NOWHERE.tree)
    return next(unknown_names(document, scenario), None) is None


#: A file in which nothing has a place.
_NOWHERE = parse_document(b"id: none\n", "")
