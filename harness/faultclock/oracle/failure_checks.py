"""The checks of what must follow from a failure, for models that speak of more than requests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from faultclock.model.error_model import ErrorModel
from faultclock.oracle import (
    failure_classified,
    failure_kept,
    failure_outcome,
    failure_redone,
    failure_told_model,
    failure_told_operator,
    failure_told_user,
)
from faultclock.oracle.check import Check, Verdicts, checks_in, otherwise
from faultclock.oracle.failure import speaks_of_failures
from faultclock.oracle.history import History

__all__ = ["CHECKS"]


def _where_it_speaks(check: Check) -> Check:
    return replace(check, run=_gated(check.run))


def _gated(
    run: Callable[[History, ErrorModel], Verdicts],
) -> Callable[[History, ErrorModel], Verdicts]:
    def gated(history: History, model: ErrorModel) -> Verdicts:
        if speaks_of_failures(model):
            yield from run(history, model)
        else:
            yield otherwise("the error model says nothing of failures beside those of requests")

    return gated


#: What a subject does comes before what it says of itself.
CHECKS: tuple[Check, ...] = tuple(
    _where_it_speaks(check)
    for check in (
        *checks_in(failure_redone),
        failure_outcome.CHECK,
        failure_classified.CHECK,
        failure_told_model.CHECK,
        failure_told_operator.CHECK,
        failure_told_user.CHECK,
        failure_kept.CHECK,
    )
)
