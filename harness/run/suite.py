"""Many runs, one Report: scenarios times seeds, each isolated, in a stated order.

The order of the results is that of the scenarios and seeds, whatever finishes first, so that
the same request gives the same report.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import closing
from dataclasses import dataclass, field, fields, replace
from functools import partial
from itertools import groupby
from pathlib import PurePath
from typing import Any

from harness.errors import InputError
from harness.load.matrix import Crossing
from harness.model.error_model import ErrorModel
from harness.model.exploration import Coordinates
from harness.model.finding import (
    CrossingReport,
    Finding,
    PassedOver,
    Report,
    RunReport,
    Shard,
)
from harness.model.scenario import Scenario, scenario_digest
from harness.model.tape import PLAIN, Chance
from harness.model.trace import Trace
from harness.oracle.judge import Judge
from harness.run.execute import execute, seal, sealed, simulate, trace_header
from harness.run.expand import cell_of, crash_after, crash_points, without_crashes
from harness.run.happened import Happened
from harness.run.isolate import Died, Hung, leave, run_contained
from harness.run.lives import Life, LifeOver, live
from harness.run.prepare import prepare
from harness.run.report import assemble, over_seeds, replay_command, run_report
from harness.run.spoken import spoken
from harness.run.staying import staying
from harness.run.twice import Done, Twice
from harness.run.workers import Shared, Workers, in_order
from harness.run.worlds import has_lives
from harness.subjects.binding import Binding

__all__ = ["SuiteRequest", "crossed", "lost_run", "of_role", "run_one", "run_suite"]

_NS = 1_000_000_000
#: Runs that a worker is given at once.
_CHUNK = 4
#: What is known of a run whose worker did not live to tell.
_LOST = "the process that made this run died, and died again when it made nothing else"


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
        shard: which part of a run this is; it may have nothing to do. None: the whole.
        confirm: make every run that fails once more, in a process of its own (in this one where
            `isolate` is False): what is not the same twice is nobody's failure.
        executor: makes an executor of somebody else's, whose workers load the subject themselves;
            None: processes that are forked from this one.
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
    shard: Shard | None = None
    confirm: bool = True
    executor: Callable[[], Executor] | None = None


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
    if not request.scenarios and request.shard is None:
        raise InputError("no scenario to run", hint="name a family, an id, a file or a folder")
    for scenario in request.scenarios:
        if not of_role(scenario, request.binding):
            raise InputError(
                f"{scenario.id} is a scenario for role {scenario.role}, and the subject"
                f" {request.binding.id} is a {request.binding.role}",
                hint="choose scenarios and subject of one role",
            )
    runs: list[RunReport] = []
    seeds_findings: list[Finding] = []
    with closing(_Bench(request)) as bench:
        for _, of_scenario in groupby(_all_done(request, bench), key=_position):
            # Runs that differ in nothing but the seed; what a sweep makes of them is no such thing.
            group: list[Done[_Case]] = []
            for done in of_scenario:
                stored = on_trace(done.trace) if on_trace is not None else None
                replay = _replay(request, done.trace)
                runs.append(
                    run_report(
                        done.trace,
                        done.judgement,
                        replay=replay,
                        trace_file=stored,
                        coordinates=partial(_coordinates, request, done),
                    )
                )
                if on_run is not None:
                    on_run(runs[-1])
                if done.case.crash is None:
                    group.append(done)
            if group:
                seeds_findings += over_seeds(bench.twice.over_seeds(group), group[0].trace)
    return assemble(
        model=request.model,
        readings=request.readings,
        subject=request.binding.info(),
        runs=tuple(runs),
        seeds_findings=tuple(seeds_findings),
        crossings=tuple(crossed(crossing, runs) for crossing in request.crossings),
        passed_over=request.passed_over,
        shard=request.shard,
        source=request.binding.source,
        scenario_files=_files(request),
    )


def _files(request: SuiteRequest) -> dict[str, str]:
    """Return which file each scenario of a person's own is in, of those below this folder."""
    played = {scenario.id for scenario in request.scenarios}
    named = {id_: PurePath(word) for id_, word in request.selectors.items() if id_ in played}
    return {
        id_: path.as_posix()
        for id_, path in named.items()
        if not path.is_absolute() and ".." not in path.parts
    }


def crossed(crossing: Crossing, runs: list[RunReport]) -> CrossingReport:
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
        with staying():
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


def lost_run(scenario: Scenario, binding: Binding, seed: int, chance: Chance = PLAIN) -> Trace:
    """Return the trace of a run that kills the process that makes it: all that there is of it."""
    header = trace_header(spoken(scenario, binding), binding, seed)
    if not chance.tape.is_blank:
        header = header.model_copy(update={"tape": chance.tape})
    return seal(header, (), "harness_error", (_LOST,), 0)


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


def _coordinates(request: SuiteRequest, done: Done[_Case]) -> Coordinates:
    header = done.trace.header
    written = request.scenarios[done.case.position]
    return Coordinates(
        scenario=written.id,
        scenario_digest=scenario_digest(written),
        variant=header.scenario.variant,
        subject=header.subject.id,
        seed=header.seed,
        tape=header.tape,
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


def _position(done: Done[_Case]) -> int:
    return done.case.position


class _Bench:
    """Where the runs of a request are made: in each process by something of its own."""

    def __init__(self, request: SuiteRequest) -> None:
        self.request = request
        self._of: tuple[int, Twice[_Case]] | None = None

    @property
    def twice(self) -> Twice[_Case]:
        """What makes the runs of this process."""
        if self._of is None or self._of[0] != os.getpid():
            self._of = (os.getpid(), _twice(self.request))
        return self._of[1]

    def lost(self, case: _Case) -> Done[_Case]:
        """Return what stands for a run that kills the process that makes it."""
        scenario = _scenario(self.request, case)
        trace = lost_run(scenario, self.request.binding, case.seed)
        return Done(case, trace, Judge(self.request.model).judge(trace))

    def close(self) -> None:
        """End what this process has for second runs."""
        if self._of is not None:
            self._of[1].close()


def _done_there(shared: Shared[_Bench], cases: tuple[_Case, ...]) -> list[Done[_Case]]:
    """Do one chunk; in a worker."""
    return [shared.get().twice(case) for case in cases]


def _made_anew(sent: Mapping[str, Any], subject_spec: str) -> _Bench:
    """Return what a worker needs that was not forked from us; in that worker."""
    return _Bench(SuiteRequest(**sent, binding=prepare(subject_spec)))


def _recipe(request: SuiteRequest) -> Callable[[], _Bench]:
    own = ("binding", "executor", "jobs")
    names = (item.name for item in fields(SuiteRequest) if item.name not in own)
    sent = {name: getattr(request, name) for name in names}
    return partial(_made_anew, sent, request.subject_spec)


def _all_done(request: SuiteRequest, bench: _Bench) -> Iterator[Done[_Case]]:
    cases = [
        _Case(position, seed)
        for position, scenario in enumerate(request.scenarios)
        for seed in _seeds(request, scenario)
    ]
    sweeps = request.sweep and any(scenario.crash_everywhere for scenario in request.scenarios)
    jobs = 1 if len(cases) == 1 and not sweeps else request.jobs
    shared = Shared(bench, _recipe(request) if request.executor is not None else None)
    with closing(shared), Workers(jobs, request.executor) as workers:

        def run(cases: list[_Case]) -> Iterator[Done[_Case]]:
            size = _CHUNK if workers.ahead > 1 else 1
            return in_order(
                workers, partial(_done_there, shared), cases, size=size, lost=bench.lost
            )

        yield from _with_sweeps(request, cases, run)


def _with_sweeps(
    request: SuiteRequest,
    cases: list[_Case],
    run: Callable[[list[_Case]], Iterator[Done[_Case]]],
) -> Iterator[Done[_Case]]:
    """Yield each run, and what a sweep makes of it right behind it."""
    for case, done in zip(cases, run(cases), strict=True):
        yield done
        scenario = request.scenarios[case.position]
        if not (request.sweep and scenario.crash_everywhere):
            continue
        if scenario.crashes:
            (done,) = run([replace(case, crash=0)])
        yield from run([replace(case, crash=seq) for seq in crash_points(done.trace)])


def _twice(request: SuiteRequest) -> Twice[_Case]:
    """Return what makes the runs of one process."""
    inline = request.binding.inline or not request.isolate
    again = partial(_run, request, isolate=request.isolate)
    return Twice(
        model=request.model,
        run=partial(_run, request, isolate=not inline),
        again=again if request.confirm else None,
        beside=request.isolate,
        from_now=inline,
    )


def _run(request: SuiteRequest, case: _Case, *, isolate: bool) -> Trace:
    return run_one(
        _scenario(request, case),
        request.binding,
        case.seed,
        isolate=isolate,
        wall_limit_s=request.wall_limit_s,
    )


def _scenario(request: SuiteRequest, case: _Case) -> Scenario:
    scenario = request.scenarios[case.position]
    if case.crash is None:
        return scenario
    return crash_after(scenario, case.crash) if case.crash else without_crashes(scenario)
