"""Many runs, one Report: scenarios times seeds, each isolated, in a stated order.

The order of the results is that of the scenarios and seeds, in any order of their ends, so that
the same request gives the same report.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from itertools import groupby
from pathlib import PurePath
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from faultclock.errors import InputError
from faultclock.load.matrix import Crossing
from faultclock.load.run_log import RunLog
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.coordinates import Coordinates
from faultclock.model.report.finding import (
    CrossingReport,
    Finding,
    PassedOver,
    Report,
    RunReport,
    Shard,
)
from faultclock.model.scenario.scenario import Scenario, scenario_digest
from faultclock.model.tape import PLAIN, Chance
from faultclock.model.trace.trace import Trace
from faultclock.oracle.judge import Judge
from faultclock.run.bind_scenario import bind_scenario, of_role
from faultclock.run.execute import sealed, trace_header
from faultclock.run.expand import cell_of, crash_after, crash_points, without_crashes
from faultclock.run.not_run import not_run_after
from faultclock.run.process.hosting import make_run
from faultclock.run.process.judged_runs import Done, Twice
from faultclock.run.process.workers import Shared, Workers, in_order
from faultclock.run.report import assemble, over_seeds, replay_command, run_report
from faultclock.run.run_request import RunRequest, lost
from faultclock.subjects.binding import Binding

#: Runs that a worker is given at once, at most.
_CHUNK = 4
#: What is known of a run whose worker did not live to tell.
_LOST = "the process that made this run died, and died again when it made nothing else"


class SuiteRequest(Struct, frozen=True, kw_only=True):
    """What to run.

    Attributes:
        scenarios: in the order of the report.
        subject_spec: how the subject was named, for replay commands.
        model_spec: how the error model was named, for replay commands; None: by its id.
        readings: interpretation switches that were chosen, for replay commands.
        seed: first seed; None takes each scenario's own.
        seeds: how many consecutive seeds; None takes each scenario's own.
        isolate: in forked children, but for a subject that is bound with `inline`; False runs all
            in this process.
        jobs: worker processes (1 or more).
        wall_limit_s: real seconds after which a hanging run is ended; None takes the scenario's.
        limits: how a person gave limits, for replay commands.
        sweep: run a scenario that says `crash_everywhere` once more for each of its crash points.
        selectors: scenario id to the word that selects it on the command line, where it is not
            the id itself.
        crossings: what the matrices among the scenarios come to.
        passed_over: what was selected and is not run.
        only_seeds: scenario id and variant to the seeds that are run of it, in place of all.
        shard: which part of a run this is; it may have nothing to do. None: the whole.
        confirm: make every run that fails, and a sample of others, once more, in a process of its
            own (in this one where `isolate` is False): what is not the same twice proves nothing.
        proved: the report names the miniatures that fail each check, for whoever writes it.
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
    limits: tuple[str, ...] = ()
    sweep: bool = True
    selectors: Mapping[str, str] = field(default_factory=dict)
    crossings: tuple[Crossing, ...] = ()
    passed_over: tuple[PassedOver, ...] = ()
    only_seeds: Mapping[tuple[str, str | None], Sequence[int]] = field(default_factory=dict)
    shard: Shard | None = None
    confirm: bool = True
    proved: bool = True


def run_suite(
    request: SuiteRequest,
    *,
    on_run: Callable[[RunReport], None] | None = None,
    on_trace: Callable[[Trace], str | None] | None = None,
    ends_with: Callable[[RunReport], bool] = lambda _: False,
) -> Report:
    """Run and judge everything that is asked for.

    Args:
        on_run: called after each run, in order.
        on_trace: called with each trace; returns the name under which it was stored, or None.
        ends_with: whether a run is the last one. The report names what was not run after it.

    Raises:
        InputError: there is no scenario to run: an empty selection must not look green. Or one
            is for another role than the subject's.
    """
    _check(request)
    log = RunLog()
    seeds_findings: list[Finding] = []
    left: tuple[PassedOver, ...] | None = None
    with closing(_Bench(request)) as bench, closing(_all_done(request, bench)) as all_done:
        for position, of_scenario in groupby(all_done, key=_position):
            # Runs that differ in nothing but the seed; what a sweep makes of them is no such thing.
            group = bench.twice.group()
            seeds = len(_seeds(request, request.scenarios[position]))
            for done in of_scenario:
                run = run_report(
                    done.trace,
                    done.judgement,
                    replay=_replay(request, done.trace),
                    trace_file=on_trace(done.trace) if on_trace is not None else None,
                    coordinates=partial(_coordinates, request, done),
                    confirmed=done.confirmed,
                )
                log.add(run)
                if on_run is not None:
                    on_run(run)
                if done.case.crash is None and seeds > 1:
                    group.add(done)
                    sample = done.trace
                if ends_with(run):
                    planned = [(item, _seeds(request, item)) for item in request.scenarios]
                    left = tuple(not_run_after(planned, position, run, sweep=request.sweep))
                    break
            # A verdict on some of the seeds would not be one on the scenario.
            if group.runs and group.runs == seeds:
                seeds_findings += over_seeds(group.findings(), sample)
            if left is not None:
                break
    runs = log.runs()
    return assemble(
        model=request.model,
        readings=request.readings,
        subject=request.binding.info(),
        runs=runs,
        seeds_findings=tuple(seeds_findings),
        crossings=tuple(crossed(crossing, runs) for crossing in request.crossings),
        passed_over=(*request.passed_over, *(left or ())),
        shard=request.shard,
        source=request.binding.source,
        scenario_files=_files(request),
        inline=not request.isolate,
        remedies=request.binding.remedies,
        proved=request.proved,
    )


def _check(request: SuiteRequest) -> None:
    if not request.scenarios and request.shard is None:
        raise InputError("no scenario to run", hint="name a family, an id, a file or a folder")
    for scenario in request.scenarios:
        if not of_role(scenario, request.binding):
            raise InputError(
                f"{scenario.id} is a scenario for role {scenario.role}, and the subject"
                f" {request.binding.id} is a {request.binding.role}",
                hint="choose scenarios and subject of one role",
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


def crossed(crossing: Crossing, runs: Sequence[RunReport]) -> CrossingReport:
    """Return how much of a matrix was run: counted, not planned."""
    omitted: dict[str, tuple[str, ...]] = {}
    for name, because in crossing.omitted:
        omitted[because] = (*omitted.get(because, ()), name)
    mine = {cell_of(run.variant) for run in runs if run.scenario == crossing.scenario}
    return CrossingReport(
        scenario=crossing.scenario, cells=crossing.cells, run=len(mine - {None}), omitted=omitted
    )


def run_one(
    scenario: Scenario,
    binding: Binding,
    seed: int,
    *,
    isolate: bool = True,
    wall_limit_s: float | None = None,
    chance: Chance = PLAIN,
) -> Trace:
    """Run once, isolated or inline; a child that hangs or dies becomes a trace that says so.

    Each life of an isolated runtime has a process of its own.

    Args:
        chance: choices that are played or explored; the trace's tape says what became of them.
    """
    # Here, since a child opens no file of ours.
    scenario = bind_scenario(scenario, binding)
    asked = RunRequest(
        scenario=scenario,
        seed=seed,
        chance=chance,
        isolate=isolate,
        wall_limit_s=wall_limit_s,
    )
    return sealed(trace_header(scenario, binding, seed), make_run(binding, asked), chance.tape)


def lost_run(scenario: Scenario, binding: Binding, seed: int, chance: Chance = PLAIN) -> Trace:
    """Return the trace of a run that kills the process that makes it: all that there is of it."""
    scenario = bind_scenario(scenario, binding)
    made = lost(RunRequest(scenario=scenario, seed=seed, chance=chance), (_LOST,))
    return sealed(trace_header(scenario, binding, seed), made, chance.tape)


def _seeds(request: SuiteRequest, scenario: Scenario) -> Sequence[int]:
    if (only := request.only_seeds.get((scenario.id, scenario.variant))) is not None:
        return only
    first = scenario.seed if request.seed is None else request.seed
    count = scenario.seeds if request.seeds is None else request.seeds
    return range(first, first + count)


def run_total(request: SuiteRequest) -> int:
    """Return how many runs a request asks for, without those that a sweep adds."""
    return sum(len(_seeds(request, scenario)) for scenario in request.scenarios)


def _replay(request: SuiteRequest, trace: Trace) -> str:
    scenario = trace.header.scenario
    return replay_command(
        request.selectors.get(scenario.id, scenario.id),
        request.subject_spec,
        request.model_spec or request.model.id,
        request.readings,
        trace.header.seed,
        scenario,
        request.limits,
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


class _Case(Struct, frozen=True):
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

    def __reduce__(self) -> tuple[Any, ...]:
        """Be one that has made no run yet, in whichever process this is read."""
        return _Bench, (self.request,)

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
    return [*map(shared.get().twice, cases)]


def _all_done(request: SuiteRequest, bench: _Bench) -> Generator[Done[_Case], None, None]:
    cases = [
        _Case(position, seed)
        for position, scenario in enumerate(request.scenarios)
        for seed in _seeds(request, scenario)
    ]
    sweeps = request.sweep and any(scenario.is_swept for scenario in request.scenarios)
    jobs = 1 if len(cases) == 1 and not sweeps else request.jobs
    with closing(Shared(bench)) as shared, Workers(jobs) as workers:

        def run(cases: list[_Case]) -> Iterator[Done[_Case]]:
            return in_order(
                workers,
                partial(_done_there, shared),
                cases,
                size=workers.chunk(_CHUNK) if workers.ahead > 1 else 1,
                lost=bench.lost,
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
        if not (request.sweep and scenario.is_swept):
            continue
        if scenario.crash_rules:
            (done,) = run([replace(case, crash=0)])
        yield from run([replace(case, crash=seq) for seq in crash_points(done.trace)])


def _twice(request: SuiteRequest) -> Twice[_Case]:
    """Return what makes the runs of one process."""
    inline = request.binding.inline or not request.isolate

    def again(case: _Case, _: Coordinates) -> Trace:
        return _run(request, case, isolate=request.isolate)

    return Twice(
        judge=Judge(request.model),
        run=partial(_run, request, isolate=not inline),
        again=again if request.confirm else None,
        beside=request.isolate,
        inline=inline,
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
