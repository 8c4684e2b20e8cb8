"""A report that was held against a baseline, with all that a build server can be told."""

from __future__ import annotations

from datetime import date
from typing import Any

from faultclock.model.report.finding import (
    CheckEntry,
    Finding,
    OrderStep,
    Report,
    RunReport,
    SourcePlace,
    Verdict,
)
from faultclock.model.report.gate import Deviation, GateReport, KnownDeviation, Regression
from tests.render import sample_report as sample

SOURCE = SourcePlace(file="adapters/my adapter.py", line=12)
CHECKS = (
    CheckEntry(
        id="backoff.wait",
        title="Each wait lies in its legal interval",
        says="A retry starts within the interval that the schedule, its jitter and headers allow.",
        level="MUST",
        requirements=("STUD-RL-02",),
    ),
    CheckEntry(
        id="backoff.attempts",
        title="As many attempts as the policy has",
        says="No attempt too few, none too many.",
        level="MUST",
        requirements=("STUD-RL-03",),
    ),
)


def deviation(scenario: str, check: str, **changes: Any) -> Deviation:
    """Return an entry of a baseline."""
    values: dict[str, Any] = {
        "scenario": scenario,
        "check": check,
        "reason": "the SDK has a schedule of its own",
        "owner": "platform team",
        "expires": date(2027, 3, 31),
    }
    return Deviation(**(values | changes))


def named(run: RunReport) -> RunReport:
    """Return `run` with an id for each finding that is not green, as `run` gives them."""
    told = [
        item.model_copy(update={"id": f"F-{run.scenario}-{run.seed}-{number}"})
        if item.verdict in (Verdict.FAIL, Verdict.WARN, Verdict.INCONCLUSIVE)
        else item
        for number, item in enumerate(run.findings)
    ]
    return run.model_copy(update={"findings": tuple(told)})


def ordered(finding: Finding) -> Finding:
    """Return `finding` with an order that was expected, and what was observed beside it."""
    steps = (
        OrderStep(expected="the retry is audited", observed="audit record", seq=3, at_ns=1_000),
        OrderStep(expected="then it starts", observed="", agrees=False),
        OrderStep(expected="", observed="c1 sends", seq=7, at_ns=583_218_734, agrees=False),
    )
    return finding.model_copy(update={"order": steps})


def gated_report(**changes: Any) -> Report:
    """Return a report with known deviations, regressions, and entries that say what is not so."""
    first, second = named(sample.sdk_schedule()), named(sample.quota_retried())
    runs = (first, second, named(sample.late_date()), named(sample.hung()), sample.retry_after())
    fails = [item for item in first.findings if item.verdict is Verdict.FAIL]
    waits = tuple(item.id for item in fails if item.check == "backoff.wait")
    known = deviation("rate-limits/no-header", "backoff.wait")
    (quota,) = [item for item in second.findings if item.verdict is Verdict.FAIL]
    gate = GateReport(
        baseline="faultclock-baseline.yaml",
        today=date(2026, 11, 22),
        regressions=(
            Regression(scenario=second.scenario, seed=0, check=quota.check, finding=quota.id),
        ),
        known=(
            KnownDeviation(deviation=known, findings=waits),
            KnownDeviation(
                deviation=deviation("rate-limits/no-header", "backoff.attempts"),
                findings=tuple(item.id for item in fails if item.check == "backoff.attempts"),
            ),
        ),
        passing=(deviation("rate-limits/retry-after-integer", "backoff.retry-after"),),
        missing=(deviation("rate-limits/renamed", "backoff.wait"),),
        overdue=(
            deviation(
                "rate-limits/quota-is-not-a-rate-limit",
                "classification.disposition",
                expires=date(2026, 10, 1),
            ),
        ),
    )
    return sample.report(runs, source=SOURCE, gate=gate, checks=CHECKS, **changes)
