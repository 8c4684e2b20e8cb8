"""Many runs, one Report: scenarios times seeds, each isolated, in a stated order.

The order of the results is that of the scenarios and seeds, whatever finishes first, so that
the same request gives the same report.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby

from harness.errors import InputError
from harness.load.matrix import Crossing
from harness.model.error_model import ErrorModel
from harness.model.finding import CrossingReport, Finding, PassedOver, Report, RunReport
from harness.model.scenario import Scenario
from harness.model.tape import PLAIN, Chance
from harness.model.trace import Trace
from harness.oracle.judge import Judge, judge_seeds
from harness.run.execute import execute, seal, sealed, simulate, trace_header
from harness.run.expand import cell_of, crash_after, crash_points, without_crashes
from harness.run.happened import Happened
from harness.run.isolate import Died, Hung, leave, run_contained
from harness.run.lifeline import end_with
from harness.run.lives import Life, LifeOver, live
from harness.run.report import assemble, replay_command, run_report
from harness.run.spoken import spoken
from harness.run.worlds import has_lives
from harness.subjects.binding import Binding

__all__ = ["SuiteRequest", "of_role", "run_one", "run_suite"]

_NS = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteRequest:
    """What to run.

    Attributes:
        scenarios: in the order of the report.
        subject_spec: how the subject was named, for replay commands.
        model_spec: how the error model was named, for replay commands; None: by its id.
        readings: interpretation switches that were chosen, for replay commands.
        seed: first seed; None takes each scenario's own.
        seeds: how many consecutive seeds; None takes each scenario's own.
        isolate: one forked child per run, but for a subject that is bound with `inline`; False
            runs all in this process.
        jobs: worker processes (1 or more).
        wall_limit_s: real seconds after which a hanging run is ended; None takes the scenario's.
        sweep: run a scenario that says `crash_everywhere` once more for each of its crash points.
        selectors: scenario id to the word that selects it on the command line, where it is not
            the id itself.
        crossings: what the matrices among the scenarios come to.
        passed_over: what was selected and cannot be played for this subject.
    """

    scenarios: tuple[Scenario, ...]
    binding: Binding
    subject_spec: str
    model: ErrorModel
    model_spec: str | None = None
    readings: Mapping[str, str] = field(default_factory=dict)
    seed: int | None = None
    seeds: int | None = None
    isolate: bool = True
    jobs: int = 1
    wall_limit_s: float | None = None
    sweep: bool = True
    selectors: Mapping[str, str] = field(default_factory=dict)
    crossings: tuple[Crossing, ...] = ()
    passed_over: tuple[PassedOver, ...] = ()


def run_suite(
    request: SuiteRequest,
    *,
    on_run: Callable[[RunReport], None] | None = None,
    on_trace: Callable[[Trace], str | None] | None = None,
) -> Report:
    """Run and judge everything that is asked for.

    Args:
        on_run: called after each run, in order.
        on_trace: called with each trace; returns the name under which it was stored, or None.

    Raises:
        InputError: there is no scenario to run: an empty selection must not look green. Or one
            is for another role than the subject's.
    """
    if not request.scenarios:
        raise InputError("no scenario to run", hint="name a family, an id, a file or a folder")
    for scenario in request.scenarios:
        if not of_role(scenario, request.binding):
            raise InputError(
                f"{scenario.id} is a scenario for role {scenario.role}, and the subject"
                f" {request.binding.id} is a {request.binding.role}",
                hint="choose scenarios and subject of one role",
            )
    judge = Judge(request.model)
    runs: list[RunReport] = []
    seeds_findings: list[Finding] = []
    for _, of_scenario in groupby(_traces(request), key=lambda pair: pair[0].position):
        # Runs that differ in nothing but the seed; what a sweep makes of them is no such thing.
        group: list[Trace] = []
        for case, trace in of_scenario:
            stored = on_trace(trace) if on_trace is not None else None
            judgement = judge.judge(trace)
            replay = _replay(request, trace)
            runs.append(run_report(trace, judgement, replay=replay, trace_file=stored))
            if on_run is not None:
                on_run(runs[-1])
            if case.crash is None:
                group.append(trace)
        if len(group) > 1:
            seeds_findings += judge_seeds(request.model, tuple(group))
    return assemble(
        model=request.model,
        readings=request.readings,
        subject=request.binding.info(),
        runs=tuple(runs),
        seeds_findings=tuple(seeds_findings),
        crossings=tuple(_crossed(crossing, runs) for crossing in request.crossings),
        passed_over=request.passed_over,
    )


def _crossed(crossing: Crossing, runs: list[RunReport]) -> CrossingReport:
    """Return how much of a matrix was run: counted, not planned."""
    omitted: dict[str, tuple[str, ...]] = {}
    for name, because in crossing.omitted:
        omitted[because] = (*omitted.get(because, ()), name)
    mine = {cell_of(run.variant) for run in runs if run.scenario == crossing.scenario}
    return CrossingReport(
        scenario=crossing.scenario, cells=crossing.cells, run=len(mine - {None}), omitted=omitted
    )


def of_role(scenario: Scenario, binding: Binding) -> bool:
    """Return whether `scenario` is for subjects like this one."""
    return scenario.role == binding.role


def run_one(
    scenario: Scenario,
    binding: Binding,
    seed: int,
    *,
    isolate: bool,
    wall_limit_s: float | None = None,
    chance: Chance = PLAIN,
) -> Trace:
    """Run once, isolated or inline; a child that hangs or dies becomes a trace that says so.

    Each life of an isolated runtime has a process of its own.

    Args:
        chance: choices that are played or explored; the trace's tape says what became of them.
    """
    # Here, since a child opens no file of ours.
    scenario = spoken(scenario, binding)
    if not isolate:
        return execute(scenario, binding, seed, chance)
    limit_s = wall_limit_s if wall_limit_s is not None else scenario.limits.wall_time / _NS
    outcome: Happened | Hung | Died
    if binding.role == "runtime" and has_lives(scenario):
        outcome = _live_isolated(scenario, binding, seed, chance, limit_s)
    else:
        outcome = run_contained(
            lambda: simulate(scenario, binding, seed, chance), wall_limit_s=limit_s
        )
    # The header and the digest are made here: every page that a child touches is copied first.
    header = trace_header(scenario, binding, seed)
    if isinstance(outcome, Hung | Died) and not chance.tape.is_blank:
        header = header.model_copy(update={"tape": chance.tape})
    if isinstance(outcome, Hung):
        return seal(header, (), "watchdog", tuple(outcome.detail), 0)
    if isinstance(outcome, Died):
        return seal(header, (), "harness_error", tuple(outcome.detail), 0)
    return sealed(header, outcome, chance.tape)


class _LifeLostError(Exception):
    """The process of a life hung or died, and not because of a crash that was planned."""

    def __init__(self, outcome: Hung | Died) -> None:
        super().__init__()
        self.outcome = outcome


def _live_isolated(
    scenario: Scenario,
    binding: Binding,
    seed: int,
    chance: Chance,
    limit_s: float,
) -> Happened | Hung | Died:
    """Do what `live` does, with a forked child for each life, all within one time limit."""
    deadline_s = time.monotonic() + limit_s

    def run_life(life: Life) -> LifeOver:
        # A child that gets no time at all is killed like one that took too much.
        left_s = max(0.0, deadline_s - time.monotonic())
        outcome = run_contained(lambda: life(leave), wall_limit_s=left_s)
        if isinstance(outcome, Hung):
            said = f"no end after {limit_s:g} s of real time"
            raise _LifeLostError(Hung(detail=(said, *outcome.detail[1:])))
        if isinstance(outcome, Died):
            raise _LifeLostError(outcome)
        return outcome

    try:
        return live(scenario, binding, seed, chance, run_life=run_life)
    except _LifeLostError as lost:
        return lost.outcome


def _seeds(request: SuiteRequest, scenario: Scenario) -> range:
    first = scenario.seed if request.seed is None else request.seed
    count = scenario.seeds if request.seeds is None else request.seeds
    return range(first, first + count)


def _replay(request: SuiteRequest, trace: Trace) -> str:
    scenario = trace.header.scenario
    return replay_command(
        request.selectors.get(scenario.id, scenario.id),
        request.subject_spec,
        request.model_spec or request.model.id,
        request.readings,
        trace.header.seed,
        scenario,
    )


@dataclass(frozen=True, slots=True)
class _Case:
    """One run that is to be made.

    Attributes:
        position: 0-based, of the scenario in the request.
        crash: None runs the scenario as it is, 0 without its crashes, any other number with
            nothing but a crash after that event.
    """

    position: int
    seed: int
    crash: int | None = None


#: What forked workers inherit while a suite runs.
_SHARED: SuiteRequest | None = None


def _traces(request: SuiteRequest) -> Iterator[tuple[_Case, Trace]]:
    cases = [
        _Case(position, seed)
        for position, scenario in enumerate(request.scenarios)
        for seed in _seeds(request, scenario)
    ]
    sweeps = request.sweep and any(scenario.crash_everywhere for scenario in request.scenarios)
    if request.jobs <= 1 or (len(cases) == 1 and not sweeps):
        yield from _with_sweeps(request, cases, partial(map, partial(_run, request)))
        return
    # Workers inherit the warmed subject through fork: nothing is pickled on the way in but the
    # case, and user subjects are often not importable by name.
    global _SHARED
    _SHARED = request
    context = multiprocessing.get_context("fork")
    try:
        with ProcessPoolExecutor(
            request.jobs, mp_context=context, initializer=end_with, initargs=(os.getpid(),)
        ) as pool:
            run = partial(pool.map, _run_shared, chunksize=4)
            yield from _with_sweeps(request, cases, run)
    finally:
        _SHARED = None


def _with_sweeps(
    request: SuiteRequest,
    cases: list[_Case],
    run: Callable[[list[_Case]], Iterator[Trace]],
) -> Iterator[tuple[_Case, Trace]]:
    """Yield each case with its trace, and what a sweep makes of it right behind it."""
    for case, trace in zip(cases, run(cases), strict=True):
        yield case, trace
        scenario = request.scenarios[case.position]
        if not (request.sweep and scenario.crash_everywhere):
            continue
        if scenario.crashes:
            (trace,) = run([replace(case, crash=0)])
        swept = [replace(case, crash=seq) for seq in crash_points(trace)]
        yield from zip(swept, run(swept), strict=True)


def _run_shared(case: _Case) -> Trace:
    assert _SHARED is not None
    return _run(_SHARED, case)


def _run(request: SuiteRequest, case: _Case) -> Trace:
    scenario = request.scenarios[case.position]
    if case.crash == 0:
        scenario = without_crashes(scenario)
    elif case.crash is not None:
        scenario = crash_after(scenario, case.crash)
    return run_one(
        scenario,
        request.binding,
        case.seed,
        isolate=request.isolate and not request.binding.inline,
        wall_limit_s=request.wall_limit_s,
    )
