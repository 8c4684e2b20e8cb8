"""failures.told-user: the person sees what failed, as the document says."""

from __future__ import annotations

from faultclock.model.error_model import ErrorModel
from faultclock.oracle.check import Check, Verdicts
from faultclock.oracle.failure_told_people import judge_told
from faultclock.oracle.history import History

__all__ = ["CHECK"]


def _told(history: History, model: ErrorModel) -> Verdicts:
    return judge_told(history, model, "user")


CHECK = Check(
    id="failures.told-user",
    title="What the user sees of a failure",
    says="The user sees the message that belongs to a failure, before the call ends.",
    run=_told,
)
