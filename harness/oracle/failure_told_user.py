"""failures.told-user: the person is told what failed, as the document says."""

from __future__ import annotations

from harness.oracle.check import Case, Check, Outcome
from harness.oracle.failure_told_people import judge_told

__all__ = ["CHECK"]


def _told(case: Case) -> Outcome:
    return judge_told(case, "user")


CHECK = Check(
    id="failures.told-user",
    title="What the user is told of a failure",
    says="The user is shown the message that a failure asks for, before the call ends.",
    run=_told,
)
