"""Reports made by hand, for tests of what the command line says about them."""

from __future__ import annotations

from typing import Any

from faultclock.model.report.finding import (
    AttemptMark,
    CallReport,
    Finding,
    Report,
    RunReport,
    Verdict,
)
from faultclock.model.trace.trace import SubjectInfo


def finding(verdict: Verdict, **changes: Any) -> Finding:
    """Return a finding of the check `backoff.wait`."""
    values: dict[str, Any] = {"check": "backoff.wait", "verdict": verdict}
    return Finding(**(values | changes))


def run(verdict: Verdict, *findings: Finding, **changes: Any) -> RunReport:
    """Return a run with one call of two attempts."""
    attempts = tuple(
        AttemptMark(call="ask/1", number=number, started_ns=0, known_ns=0, ended="ok")
        for number in (1, 2)
    )
    values: dict[str, Any] = {
        "scenario": "mine/one",
        "title": "A title",
        "why": "A reason",
        "seed": 0,
        "verdict": verdict,
        "ending": "completed",
        "virtual_ns": 5_000_000_000,
        "trace_digest": "0" * 64,
        "replay": "faultclock run mine/one --subject s --seed 0",
        "findings": findings,
        "calls": (
            CallReport(
                call="ask/1",
                task="ask",
                started_ns=0,
                ended_ns=1,
                outcome="returned",
                attempts=attempts,
            ),
        ),
    }
    return RunReport(**(values | changes))


def small_report(*runs: RunReport, **changes: Any) -> Report:
    """Return a report of these runs, or of one that passes."""
    values: dict[str, Any] = {
        "faultclock": "0",
        "model": "stud-cli",
        "model_title": "T",
        "model_revision": "1",
        "subject": SubjectInfo(id="s", role="provider_adapter", style="async"),
        "verdict": min((item.verdict for item in runs), default=Verdict.PASS, key=_ORDER.index),
        "runs": runs or (run(Verdict.PASS),),
    }
    verdicts = [item.verdict for item in values["runs"]]
    values["totals"] = {verdict.value: verdicts.count(verdict) for verdict in set(verdicts)}
    return Report(**(values | changes))


_ORDER = [Verdict.FAIL, Verdict.INCONCLUSIVE, Verdict.WARN, Verdict.PASS]
