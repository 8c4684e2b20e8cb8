"""Puts a table of vectors to a subject: each row is a scenario, and an error model of its own.

The scenario has the answers of the row, and the error model says what must follow: a policy with
as many attempts as the row has, and a table of waits. Runs and verdicts are those of any suite, so
the checks of disposition, attempts and waits judge a table as they judge a document.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import faultclock
from faultclock.model.duration import format_duration
from faultclock.model.error_model.error_model import ErrorModel, SignalKind
from faultclock.model.report.finding import Finding, RunReport, Verdict
from faultclock.model.report.vector_report import RowResult, RowVerdict, VectorReport
from faultclock.model.scenario.scenario import ProviderAdapterScenario
from faultclock.model.scenario.vectors import VectorRow, Vectors
from faultclock.model.trace.trace import Trace
from faultclock.profile.census import behaviour
from faultclock.run.bind_scenario import cannot_be_said
from faultclock.run.suite import SuiteRequest, run_suite
from faultclock.subjects.binding import Binding

#: What is not said of a wait.
_ANY_WAIT = ("0s", "100000d")
#: The checks of an outcome and of a wait.
_OUTCOME_CHECKS = ("classification.disposition", "backoff.attempts")
_WAIT_CHECK = "backoff.wait"
_OUTCOME, _WAIT = "VECTOR-OUTCOME", "VECTOR-WAIT"


def conform(
    table: str,
    vectors: Vectors,
    binding: Binding,
    subject_spec: str,
    *,
    on_row: Callable[[str], None] | None = None,
) -> VectorReport:
    """Return what the subject does about each row of a table.

    Args:
        table: as it was named.
        on_row: called with the id of each row when it is done.
    """
    results = []
    for row in vectors.rows:
        results.append(_result(vectors, row, binding, subject_spec))
        if on_row is not None:
            on_row(row.id)
    return VectorReport(
        faultclock=faultclock.__version__,
        table=table,
        title=vectors.title,
        source=vectors.source,
        subject=binding.id,
        distributions=binding.info().distributions,
        rows=tuple(results),
    )


def scenario_of(vectors: Vectors, row: VectorRow) -> ProviderAdapterScenario:
    """Return the scenario in which the first attempts meet the answers of a row."""
    faults: list[dict[str, Any]] = []
    payloads: dict[str, Any] = {}
    attempt = 1
    for number, answer in enumerate(row.answers, 1):
        name, last = f"answer-{number}", attempt + answer.times - 1
        then: Any = answer.fault
        if answer.status is not None:
            payloads[name] = {
                "status": answer.status,
                "body": answer.body,
                "source": f"{vectors.source.repository}: {row.cites}",
            }
            headers = dict(answer.headers)
            then = {
                "kind": "http_error",
                "status": answer.status,
                "error": name,
                "headers": headers,
            }
        faults.append({"id": name, "when": {"attempts": f"{attempt}-{last}"}, "then": then})
        attempt = last + 1
    return ProviderAdapterScenario.model_validate(
        {
            "id": f"vectors/{row.id}",
            "title": row.cites,
            "why": vectors.title,
            "provider": {"dialect": vectors.dialect, "payloads": payloads, "faults": faults},
        }
    )


def model_of(vectors: Vectors, row: VectorRow) -> ErrorModel:
    """Return the error model that a row is: one policy for every failure, with its waits."""
    disposition = "terminal" if _is_terminal(row) else "retry"
    waits: list[Any] = [_ANY_WAIT] * row.failures
    if row.wait is not None:
        waits[-1] = [format_duration(end) for end in row.wait]
    source = vectors.source
    return ErrorModel.model_validate(
        {
            "id": "vectors",
            "title": vectors.title,
            "revision": source.commit[:12],
            "source": {
                "title": vectors.title,
                "system": source.repository,
                "document": source.path,
                "read_on": source.read_on,
            },
            "classes": [
                {
                    "id": "row",
                    "recoverable": "as the row says",
                    "handler": "the client",
                    "disposition": disposition,
                    "codes": [row.id],
                    "requirement": _OUTCOME,
                }
            ],
            "signals": [
                {
                    "id": "any",
                    "when": {"kinds": get_args(SignalKind)},
                    "class": "row",
                    "code": row.id,
                    "disposition": disposition,
                    "requirement": _OUTCOME,
                }
            ],
            "policies": [
                {
                    "id": "row",
                    "applies_to": ["row/*"],
                    "attempts_max": row.failures + (row.outcome != "raised"),
                    "backoff": {"kind": "fixed", "base": "0s"},
                    "waits": waits,
                    "requirements": {"attempts": _OUTCOME, "wait": _WAIT},
                }
            ],
            "requirements": [
                {
                    "id": id_,
                    "level": "MUST",
                    "place": source.path,
                    "sentence": row.cites,
                    "checks": list(checks),
                }
                for id_, checks in ((_OUTCOME, _OUTCOME_CHECKS), (_WAIT, (_WAIT_CHECK,)))
            ],
        }
    )


def _result(vectors: Vectors, row: VectorRow, binding: Binding, subject_spec: str) -> RowResult:
    result = RowResult(
        id=row.id,
        cites=row.cites,
        answers=tuple(map(str, row.answers)),
        verdict="inexpressible",
        reason=row.inexpressible or "",
    )
    if row.inexpressible is not None:
        return result
    scenario = scenario_of(vectors, row)
    reason = cannot_be_said(scenario, binding)
    if reason is not None:
        return result.model_copy(update={"reason": reason})
    traces: list[Trace] = []

    def keep(trace: Trace) -> None:
        traces.append(trace)

    request = SuiteRequest(
        scenarios=(scenario,),
        binding=binding,
        subject_spec=subject_spec,
        model=model_of(vectors, row),
        proved=False,
    )
    run = run_suite(request, on_trace=keep).runs[0]
    calls = behaviour(traces[0]).calls
    attempts = len(calls[0].attempts) if calls else 0
    return result.model_copy(
        update={
            **_judged(row, run, attempts),
            "attempts": attempts,
            "waits_ns": tuple(wait.ns for wait in calls[0].waits) if calls else (),
        }
    )


def _judged(row: VectorRow, run: RunReport, attempts: int) -> dict[str, str]:
    """Return the verdict of a row, and what shows it."""
    by_wait = row.outcome is None
    if attempts <= row.failures and (by_wait or (row.given and row.outcome == "answered")):
        given = f"; the row is of a client with {row.given}" if row.given else ""
        return {
            "verdict": "not reached",
            "reason": f"the call ended after attempt {attempts}{given}",
        }
    counted = [item for item in run.findings if not by_wait or item.check not in _OUTCOME_CHECKS]
    wrong = next((item for item in counted if item.verdict is Verdict.FAIL), None)
    if wrong is not None:
        return _said("not reproduced", wrong)
    unproved = next((item for item in counted if item.verdict is Verdict.INCONCLUSIVE), None)
    if unproved is not None:
        return _said("no result", unproved)
    needed = {_WAIT_CHECK} if row.wait is not None else set()
    if row.outcome is not None:
        counts = row.outcome == "raised" and not _is_terminal(row)
        needed.add("backoff.attempts" if counts else "classification.disposition")
    passed = {item.check for item in counted if item.verdict is Verdict.PASS}
    if needed <= passed:
        return {"verdict": "reproduced"}
    return {"verdict": "no result", "reason": f"nothing was judged by {', '.join(needed - passed)}"}


def _is_terminal(row: VectorRow) -> bool:
    """Return whether nothing is tried again: then no policy counts attempts."""
    return row.outcome == "raised" and row.failures == 1


def _said(verdict: RowVerdict, finding: Finding) -> dict[str, str]:
    return {
        "verdict": verdict,
        "expected": finding.expected,
        "observed": finding.observed,
        "reason": finding.reason,
    }
