"""failures.told-operator: the operator sees what failed, and what can be done."""

from __future__ import annotations

from faultclock.model.error_model import ErrorModel
from faultclock.oracle.check import Check, Verdicts
from faultclock.oracle.failure_told_people import judge_told
from faultclock.oracle.history import History

__all__ = ["CHECK"]


def _told(history: History, model: ErrorModel) -> Verdicts:
    return judge_told(history, model, "operator")


CHECK = Check(
    id="failures.told-operator",
    title="What the operator sees of a failure",
    says="The operator sees the message, the actions and the status that belong to a failure.",
    run=_told,
)
