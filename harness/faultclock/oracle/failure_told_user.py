"""failures.told-user: the person sees what failed, as the document says."""

from __future__ import annotations

from faultclock.oracle.check import Case, Check, Outcome
from faultclock.oracle.failure_told_people import judge_told

__all__ = ["CHECK"]


def _told(case: Case) -> Outcome:
    return judge_told(case, "user")


CHECK = Check(
    id="failures.told-user",
    title="What the user sees of a failure",
    says="The user sees the message that belongs to a failure, before the call ends.",
    run=_told,
)
