"""failures.told-operator: who runs the workflow is told what failed, and what can be done."""

from __future__ import annotations

from harness.oracle.check import Case, Check, Outcome
from harness.oracle.failure_told_people import judge_told

__all__ = ["CHECK"]


def _told(case: Case) -> Outcome:
    return judge_told(case, "operator")


CHECK = Check(
    id="failures.told-operator",
    title="What the operator is told of a failure",
    says="The operator is shown the message, the actions and the status that a failure asks for.",
    run=_told,
)
