"""What the model says must become of a failure, and what else may explain what became of it.

Only what was left in the end has consequences: a failure that was redone has come to nothing,
with any result of the retry.
"""

from __future__ import annotations

from collections.abc import Iterator

from faultclock.model.error_model import ErrorModel
from faultclock.model.failure_rules import Consequence, KeptRule, TellingRule, covers
from faultclock.model.trace import TraceEvent
from faultclock.oracle.attempts import Call
from faultclock.oracle.check import class_requirement
from faultclock.oracle.failure import Failure
from faultclock.oracle.failure_where import setting_holds
from faultclock.oracle.failures import failures_of
from faultclock.oracle.history import History

__all__ = [
    "consequence_of",
    "end_call",
    "final_failures",
    "is_about",
    "may_have_ended_it",
    "requirements_of",
    "until_of",
    "was_cut",
]

#: Endings that are the subject's own doing, when a call is what did not end.
_HANGS = ("deadlock", "livelock", "virtual_time_limit")


def final_failures(history: History, model: ErrorModel) -> Iterator[Failure]:
    """Yield the failures that have a class and were not redone."""
    return (
        failure
        for failure in failures_of(history, model)
        if failure.pair is not None and failure.redone_by is None
    )


def is_about(
    history: History, rule: Consequence | TellingRule | KeptRule, failure: Failure
) -> bool:
    """Return whether a rule covers a failure, and its settings hold."""
    return covers(rule.applies_to, failure.pair) and setting_holds(
        history, failure.node, failure.tool, rule.where
    )


def consequence_of(history: History, model: ErrorModel, failure: Failure) -> Consequence | None:
    """Return the first consequence that is about a failure; None for none."""
    return next((rule for rule in model.consequences if is_about(history, rule, failure)), None)


def requirements_of(model: ErrorModel, failure: Failure) -> tuple[str, ...]:
    """Return what says of which class a failure is: the rule that matched, and the class's own."""
    seen = failure.classification
    if seen is None:
        return ()
    own = None if seen.pair is None else class_requirement(model, seen.pair[0])
    found = (seen.requirement, own)
    return tuple(dict.fromkeys(item for item in found if item is not None))


def until_of(history: History, failure: Failure) -> TraceEvent | None:
    """Return the end of the failure's call; None where it has none, or was cut off."""
    call = history.call(failure.call)
    return None if call is None or call.crashed is not None else call.end


def end_call(history: History, model: ErrorModel, failure: Failure) -> Call | None:
    """Return the failure's call where nothing from outside kept it from its own end."""
    call = history.call(failure.call)
    return None if call is None or was_cut(history, model, call) else call


def was_cut(history: History, model: ErrorModel, call: Call) -> bool:
    """Return whether a crash, a cancel or a limit came between, or the run itself was cut off."""
    if call.crashed is not None or call.stop is not None:
        return True
    if call.end is None:
        return history.trace.footer.ending not in _HANGS
    return any(
        failure.kind == "limit_reached" and failure.call == call.id and _is_ruled(model, failure)
        for failure in failures_of(history, model)
    )


def may_have_ended_it(history: History, model: ErrorModel, failure: Failure) -> bool:
    """Return whether another failure of the same call may be why it ended as it did."""
    return any(
        other is not failure and other.call == failure.call and not _goes_on(history, model, other)
        for other in failures_of(history, model)
    )


def _is_ruled(model: ErrorModel, failure: Failure) -> bool:
    """Return whether a limit counts as one here: that of rounds only where the model names it."""
    return failure.cause != "turns" or any(rule.limit == "turns" for rule in model.limits)


def _goes_on(history: History, model: ErrorModel, failure: Failure) -> bool:
    if failure.redone_by is not None:
        return True
    rule = consequence_of(history, model, failure)
    return rule is not None and rule.run == "goes_on" and rule.then != "iterate_to_coder"
