"""Many runs, one Report: scenarios times seeds, each isolated, in a stated order.

The order of the results is that of the scenarios and seeds, whatever finishes first, so that
the same request gives the same report.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field

from harness.errors import InputError
from harness.load.payloads import load_payloads
from harness.model.error_model import ErrorModel
from harness.model.finding import Finding, Report, RunReport
from harness.model.payload import ErrorPayload
from harness.model.scenario import Scenario
from harness.model.trace import Trace
from harness.oracle.judge import judge, judge_seeds
from harness.run.execute import execute, seal, sealed, simulate, trace_header
from harness.run.isolate import Died, Hung, run_contained
from harness.run.lifeline import end_with
from harness.run.report import assemble, replay_command, run_report
from harness.subjects.binding import Binding

__all__ = ["SuiteRequest", "run_one", "run_suite"]

_NS = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteRequest:
    """What to run.

    Attributes:
        scenarios: in the order of the report.
        subject_spec: how the subject was named, for replay commands.
        readings: interpretation switches that were chosen, for replay commands.
        seed: first seed; None takes each scenario's own.
        seeds: how many consecutive seeds; None takes each scenario's own.
        isolate: one forked child per run, but for a subject that is bound with `inline`; False
            runs all in this process.
        jobs: worker processes (1 or more).
        wall_limit_s: real seconds after which a hanging run is ended; None takes the scenario's.
        selectors: scenario id to the word that selects it on the command line, where it is not
            the id itself.
    """

    scenarios: tuple[Scenario, ...]
    binding: Binding
    subject_spec: str
    model: ErrorModel
    readings: Mapping[str, str] = field(default_factory=dict)
    seed: int | None = None
    seeds: int | None = None
    isolate: bool = True
    jobs: int = 1
    wall_limit_s: float | None = None
    selectors: Mapping[str, str] = field(default_factory=dict)


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
        InputError: there is no scenario to run: an empty selection must not look green.
    """
    if not request.scenarios:
        raise InputError("no scenario to run", hint="name a family, an id, a file or a folder")
    runs: list[RunReport] = []
    seeds_findings: list[Finding] = []
    traces = _traces(request)
    for scenario in request.scenarios:
        group: list[Trace] = []
        for seed in _seeds(request, scenario):
            trace = next(traces)
            group.append(trace)
            stored = on_trace(trace) if on_trace is not None else None
            report = run_report(
                trace,
                judge(request.model, trace),
                replay=_replay(request, scenario, seed),
                trace_file=stored,
            )
            runs.append(report)
            if on_run is not None:
                on_run(report)
        if len(group) > 1:
            seeds_findings += judge_seeds(request.model, tuple(group))
    return assemble(
        model=request.model,
        readings=request.readings,
        subject=request.binding.info(),
        runs=tuple(runs),
        seeds_findings=tuple(seeds_findings),
    )


def run_one(
    scenario: Scenario,
    binding: Binding,
    seed: int,
    payloads: Mapping[str, ErrorPayload],
    *,
    isolate: bool,
    wall_limit_s: float | None = None,
) -> Trace:
    """Run once, isolated or inline; a child that hangs or dies becomes a trace that says so."""
    if not isolate:
        return execute(scenario, binding, seed, payloads)
    limit_s = wall_limit_s if wall_limit_s is not None else scenario.limits.wall_time / _NS
    outcome = run_contained(
        lambda: simulate(scenario, binding, seed, payloads), wall_limit_s=limit_s
    )
    # The header and the digest are made here: every page that a child touches is copied first.
    header = trace_header(scenario, binding, seed)
    if isinstance(outcome, Hung):
        return seal(header, (), "watchdog", tuple(outcome.detail), 0)
    if isinstance(outcome, Died):
        return seal(header, (), "harness_error", tuple(outcome.detail), 0)
    return sealed(header, outcome)


def _seeds(request: SuiteRequest, scenario: Scenario) -> range:
    first = scenario.seed if request.seed is None else request.seed
    count = scenario.seeds if request.seeds is None else request.seeds
    return range(first, first + count)


def _replay(request: SuiteRequest, scenario: Scenario, seed: int) -> str:
    return replay_command(
        request.selectors.get(scenario.id, scenario.id),
        request.subject_spec,
        request.model.id,
        request.readings,
        seed,
    )


#: Error payloads by name, by dialect.
_Payloads = Mapping[str, Mapping[str, ErrorPayload]]

#: What forked workers inherit while a suite runs.
_SHARED: tuple[SuiteRequest, _Payloads, list[tuple[Scenario, int]]] | None = None


def _traces(request: SuiteRequest) -> Iterator[Trace]:
    payloads: _Payloads = {
        dialect: load_payloads(dialect)
        for dialect in {scenario.provider.dialect for scenario in request.scenarios}
    }
    cases = [
        (scenario, seed) for scenario in request.scenarios for seed in _seeds(request, scenario)
    ]
    if request.jobs <= 1 or len(cases) == 1:
        for scenario, seed in cases:
            yield _run_case(request, payloads, scenario, seed)
        return
    # Workers inherit the warmed subject through fork: nothing is pickled on the way in but an
    # index, and user subjects are often not importable by name.
    global _SHARED
    _SHARED = (request, payloads, cases)
    context = multiprocessing.get_context("fork")
    try:
        with ProcessPoolExecutor(
            request.jobs, mp_context=context, initializer=end_with, initargs=(os.getpid(),)
        ) as pool:
            yield from pool.map(_run_shared, range(len(cases)), chunksize=4)
    finally:
        _SHARED = None


def _run_shared(index: int) -> Trace:
    assert _SHARED is not None
    request, payloads, cases = _SHARED
    return _run_case(request, payloads, *cases[index])


def _run_case(
    request: SuiteRequest,
    payloads: _Payloads,
    scenario: Scenario,
    seed: int,
) -> Trace:
    return run_one(
        scenario,
        request.binding,
        seed,
        payloads[scenario.provider.dialect],
        isolate=request.isolate and not request.binding.inline,
        wall_limit_s=request.wall_limit_s,
    )
