"""failures.told-operator: the operator sees what failed, and what can be done."""

from __future__ import annotations

from faultclock.oracle.check import Case, Check, Outcome
from faultclock.oracle.failure_told_people import judge_told

__all__ = ["CHECK"]


def _told(case: Case) -> Outcome:
    return judge_told(case, "operator")


CHECK = Check(
    id="failures.told-operator",
    title="What the operator sees of a failure",
    says="The operator sees the message, the actions and the status that belong to a failure.",
    run=_told,
)
