"""Makes the runs of a check: the scenarios that fit, then the inference, all judged by one model.

What is inferred is read from ordinary traces, so a run of the inference counts like any other, but
for those in which the provider itself asks for something that the error model forbids, or answers
with a status that it does not have.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from itertools import groupby

from msgspec import Struct

from faultclock.check.battery import Battery
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.finding import Finding, Report, RunReport, Verdict
from faultclock.model.report.inferred import RetryProfile
from faultclock.model.scenario.scenario import ASKING_ROLES
from faultclock.oracle.judge import judge_seeds
from faultclock.profile.infer.probes import Probe, trace_file_name
from faultclock.profile.infer.profile import infer_profile
from faultclock.profile.infer.running import Bench
from faultclock.run.process.judged_runs import Done
from faultclock.run.report import assemble, over_seeds, run_report
from faultclock.run.suite import SuiteRequest, run_suite
from faultclock.subjects.binding import Binding

#: By this header a provider asks for what no rule knows of, such as a retry after a 400.
_OVERRIDES = "x-should-retry"
#: Runs that hang, before the others are left out.
_HANGS_MAX = 3
#: Where the traces of the inference are kept by the command that shows one of them again.
_FOLDER = "faultclock-traces"


class Runs(Struct, frozen=True, kw_only=True):
    """Everything that was run.

    Attributes:
        profile: what was inferred; None where the target asks no model.
    """

    report: Report
    profile: RetryProfile | None = None


def make_runs(
    binding: Binding,
    battery: Battery,
    model: ErrorModel,
    *,
    spec: str,
    streams: bool,
    infer: bool = True,
    jobs: int,
    seed: int | None = None,
    wall_limit_s: float | None = None,
    python: tuple[str, ...] = (),
    limits: tuple[str, ...] = (),
    proved: bool = True,
    on_run: Callable[[RunReport], None],
) -> Runs:
    """Run and judge everything.

    Args:
        model: the one that commands take which are given none, so none of ours names it.
        spec: how the target was named, for the commands that show a run again.
        streams: whether it asks for streams; else what the inference asks about them is not judged.
        infer: find out what the target does, too, where it asks a model.
        seed: first seed of each scenario; None takes its own.
        wall_limit_s: see `SuiteRequest`.
        python, limits: how they were given, for the commands that show a run again.
        proved: see `SuiteRequest`.
        on_run: called after each run that was judged.
    """
    request = SuiteRequest(
        scenarios=battery.scenarios,
        binding=binding,
        subject_spec=spec,
        model=model,
        seed=seed,
        jobs=jobs,
        wall_limit_s=wall_limit_s,
        limits=(*python, *limits),
        proved=proved,
    )
    report = run_suite(request, on_run=on_run, ends_with=_HangsTooOften())
    if report.not_reached or not infer or binding.role not in ASKING_ROLES:
        return Runs(report=_for_reading(report))
    judged: list[tuple[Done[Probe], RunReport]] = []

    def keep(done: Done[Probe]) -> None:
        in_vain = not streams and any(task.stream for task in done.case.scenario.tasks)
        if not (in_vain or _overrides(done.case) or done.case.has_foreign_status):
            judged.append((done, _reported(done, spec, python)))
            on_run(judged[-1][1])

    with Bench(binding, jobs=jobs, model=model, wall_limit_s=wall_limit_s, on_judged=keep) as bench:
        inferred = infer_profile(binding, bench.run)
    seeds = (*report.seeds_findings, *_over_seeds([done for done, _ in judged], model))
    whole = assemble(
        model=model,
        readings=report.readings,
        subject=report.subject,
        runs=(*report.runs, *(run for _, run in judged)),
        seeds_findings=seeds,
        crossings=report.crossings,
        source=report.source,
        remedies=binding.remedies,
        proved=proved,
    )
    return Runs(report=_for_reading(whole), profile=inferred.profile)


class _HangsTooOften(Struct):
    """Says after which run a check gives up: each hanging one takes its whole limit of real time.

    Attributes:
        runs: how many have hung so far.
    """

    runs: int = 0

    def __call__(self, run: RunReport) -> bool:
        """Look at one run that was judged."""
        self.runs += run.ending == "watchdog"
        return self.runs >= _HANGS_MAX


def _overrides(probe: Probe) -> bool:
    return any(
        name.lower() == _OVERRIDES
        for rule in probe.scenario.provider.faults
        for name in getattr(rule.then, "headers", {})
    )


def _reported(done: Done[Probe], spec: str, python: tuple[str, ...]) -> RunReport:
    file = f"{_FOLDER}/traces/{trace_file_name(done.case.name)}"
    infer = shlex.join(["faultclock", "infer", spec, *python, "--quiet", "--output", _FOLDER])
    judge = shlex.join(["faultclock", "judge", file])
    return run_report(done.trace, done.judgement, replay=f"{infer} && {judge}", trace_file=None)


def _over_seeds(judged: list[Done[Probe]], model: ErrorModel) -> tuple[Finding, ...]:
    """Return the verdicts on the probes that were made under many seeds."""
    found: list[Finding] = []

    def question(done: Done[Probe]) -> str:
        return done.case.name.rpartition("/seed-")[0] or done.case.name

    for _, group in groupby(sorted(judged, key=question), key=question):
        traces = tuple(done.trace for done in group if done.unsteady is None)
        if len(traces) > 1:
            found += over_seeds(judge_seeds(model, traces), traces[0])
    return tuple(found)


def _for_reading(report: Report) -> Report:
    """Return `report` without what nobody reads.

    That is the events of what did not fail, in hundreds of runs, and the model in commands that
    take it anyway.
    """
    return report.model_copy(update={"runs": tuple(_shorter(run, report) for run in report.runs)})


def _shorter(run: RunReport, report: Report) -> RunReport:
    changed: dict[str, object] = {
        "replay": run.replay.replace(f" --model {report.model} ", " ", 1),
    }
    if run.verdict not in (Verdict.FAIL, Verdict.WARN):
        changed |= {"timeline": (), "timeline_cut": run.timeline_cut + len(run.timeline)}
    return run.model_copy(update=changed)
