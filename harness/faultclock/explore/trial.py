"""What one run of an exploration comes to, and how it is made again."""

from __future__ import annotations

from typing import Any

from faultclock.explore.coverage import reached_by
from faultclock.explore.drawing import Planned
from faultclock.explore.fingerprint import marks_of
from faultclock.explore.goal import verdict_of, why_inconclusive
from faultclock.model.report.coordinates import Coordinates
from faultclock.model.report.exploration import Reached, Tried
from faultclock.model.report.finding import Verdict
from faultclock.model.scenario.scenario import Scenario, scenario_digest
from faultclock.model.scenario.varied import varied
from faultclock.model.tape import BLANK, Chance
from faultclock.model.trace.trace import Trace
from faultclock.run.process.judged_runs import Done
from faultclock.run.suite import run_one
from faultclock.subjects.binding import Binding


def outcome_of(scenario: Scenario, planned: Planned, done: Done[Any]) -> tuple[Tried, Reached]:
    """Return what a run came to.

    Args:
        scenario: as it is written, with its `vary`.
    """
    trace, judgement = done.trace, done.judgement
    unsteady = done.unsteady is not None
    verdict = Verdict.INCONCLUSIVE if unsteady else verdict_of(judgement.findings)
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
        tape=trace.header.tape if failed or verdict is Verdict.INCONCLUSIVE else BLANK,
        failures=marks_of(trace, judgement) if failed else (),
        unsteady=done.unsteady,
        no_result=None if unsteady else why_inconclusive(judgement.findings, trace.footer.ending),
    )
    return tried, reached_by(scenario, trace, judgement)


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
