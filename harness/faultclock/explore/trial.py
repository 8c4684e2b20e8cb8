"""One run of an exploration: played, judged, and played again where it failed or is in the sample.

What is not the same a second time, in another process, proves nothing about the subject.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from faultclock.explore.coverage import reached_by
from faultclock.explore.drawing import Planned
from faultclock.explore.fingerprint import marks_of
from faultclock.explore.goal import verdict_of
from faultclock.model.report.exploration import Coordinates, Reached, Tried
from faultclock.model.report.finding import Verdict
from faultclock.model.scenario.scenario import Scenario, scenario_digest
from faultclock.model.scenario.varied import varied
from faultclock.model.tape import BLANK, Chance
from faultclock.model.trace.trace import Trace
from faultclock.oracle.judge import Judge
from faultclock.run.process.confirm import confirmed, is_made_twice
from faultclock.run.process.cpu_time import measured
from faultclock.run.suite import lost_run, run_one
from faultclock.subjects.binding import Binding


def trial(
    scenario: Scenario,
    binding: Binding,
    judge: Judge,
    planned: Planned,
    *,
    isolate: bool = True,
    wall_limit_s: float | None = None,
    again: Callable[[Coordinates], Trace] | None = None,
) -> tuple[Tried, Reached, Trace]:
    """Make one run and judge it; what failed, and a sample of others, is made once more elsewhere.

    Args:
        scenario: as it is written, with its `vary`.
        isolate: a forked child for each run, but for a subject that is bound with `inline`.
        wall_limit_s: real seconds after which a hanging run is ended; None takes the scenario's.
        again: makes a run once more; None: in a child that is forked from this process.
    """
    trace = run_one(
        planned.scenario,
        binding,
        planned.seed,
        isolate=isolate and not binding.inline,
        wall_limit_s=wall_limit_s,
        chance=planned.chance,
    )
    tried, reached = judged(scenario, judge, planned, trace)
    if not is_made_twice(trace, tried.verdict):
        return tried, reached, trace
    where = coordinates_of_trace(scenario, trace)
    if again is None:
        again = partial(rerun, scenario, binding, wall_limit_s=wall_limit_s)
    unsteady = confirmed(trace, partial(again, where), coordinates=where)
    if unsteady is not None:
        nothing = {"verdict": Verdict.INCONCLUSIVE, "failures": (), "unsteady": unsteady}
        tried = tried.model_copy(update=nothing)
    return tried, reached, trace


def judged(
    scenario: Scenario, judge: Judge, planned: Planned, trace: Trace
) -> tuple[Tried, Reached]:
    """Return what a run came to, without a second one."""
    with measured("judge", "oracle"):
        judgement = judge.judge(trace)
    verdict = verdict_of(judgement.findings)
    failed = verdict is Verdict.FAIL
    tried = Tried(
        number=planned.number,
        scenario=scenario.id,
        variant=scenario.variant,
        seed=planned.seed,
        schedule=planned.schedule.kind,
        verdict=verdict,
        ending=trace.footer.ending,
        events=len(trace.events),
        virtual_ns=trace.footer.ended_at_ns,
        trace_digest=trace.footer.digest,
        tape=trace.header.tape if failed else BLANK,
        failures=marks_of(trace, judgement) if failed else (),
    )
    return tried, reached_by(scenario, trace, judgement)


def died(
    scenario: Scenario, binding: Binding, judge: Judge, planned: Planned
) -> tuple[Tried, Reached]:
    """Return what stands for a run that kills the process that makes it: it proves nothing."""
    trace = lost_run(planned.scenario, binding, planned.seed, planned.chance)
    return judged(scenario, judge, planned, trace)


def coordinates_of_trace(scenario: Scenario, trace: Trace) -> Coordinates:
    """Return what leads to a run again.

    Args:
        scenario: as it is written; the one in the trace is what it was varied to.
    """
    return Coordinates(
        scenario=scenario.id,
        scenario_digest=scenario_digest(scenario),
        variant=scenario.variant,
        subject=trace.header.subject.id,
        seed=trace.header.seed,
        tape=trace.header.tape,
    )


def rerun(
    scenario: Scenario,
    binding: Binding,
    coordinates: Coordinates,
    *,
    isolate: bool = True,
    wall_limit_s: float | None = None,
) -> Trace:
    """Make the run at `coordinates` again.

    Args:
        scenario: as it is written, with its `vary`.
        isolate: in a forked child, even for a subject that is bound with `inline`.

    Raises:
        ValueError: the tape names what the scenario does not declare.
    """
    return run_one(
        varied(scenario, coordinates.tape),
        binding,
        coordinates.seed,
        isolate=isolate,
        wall_limit_s=wall_limit_s,
        chance=Chance(tape=coordinates.tape),
    )
