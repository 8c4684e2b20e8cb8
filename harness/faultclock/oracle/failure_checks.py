"""The checks of what must follow from a failure, for models that speak of more than requests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from faultclock.oracle import (
    failure_classified,
    failure_kept,
    failure_outcome,
    failure_redone,
    failure_told_model,
    failure_told_operator,
    failure_told_user,
    failure_wait,
)
from faultclock.oracle.check import Case, Check, Outcome
from faultclock.oracle.failures import speaks_of_failures

__all__ = ["CHECKS"]


def _where_it_speaks(check: Check) -> Check:
    return replace(check, run=_gated(check.run))


def _gated(run: Callable[[Case], Outcome]) -> Callable[[Case], Outcome]:
    def gated(case: Case) -> Outcome:
        if speaks_of_failures(case.model):
            return run(case)
        return Outcome(reason="the error model says nothing of failures beside those of requests")

    return gated


#: What a subject does comes before what it says of itself.
CHECKS: tuple[Check, ...] = tuple(
    _where_it_speaks(check)
    for check in (
        failure_redone.CHECK,
        failure_wait.CHECK,
        failure_outcome.CHECK,
        failure_classified.CHECK,
        failure_told_model.CHECK,
        failure_told_operator.CHECK,
        failure_told_user.CHECK,
        failure_kept.CHECK,
    )
)
