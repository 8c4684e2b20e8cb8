"""What the model says must become of a failure, and what else may explain what became of it.

Only what was left in the end has consequences: a failure that was redone has come to nothing,
with any result of the retry.
"""

from __future__ import annotations

from collections.abc import Iterator

from faultclock.model.failure_rules import Consequence, KeptRule, TellingRule, covers
from faultclock.model.trace import TraceEvent
from faultclock.oracle.attempts import Call
from faultclock.oracle.check import Case, class_requirement
from faultclock.oracle.failure_where import setting_holds
from faultclock.oracle.failures import Failure

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


def final_failures(case: Case) -> Iterator[Failure]:
    """Yield the failures that have a class and were not redone."""
    return (
        failure
        for failure in case.failures
        if failure.pair is not None and failure.redone_by is None
    )


def is_about(case: Case, rule: Consequence | TellingRule | KeptRule, failure: Failure) -> bool:
    """Return whether a rule covers a failure, and its settings hold."""
    return covers(rule.applies_to, failure.pair) and setting_holds(
        case, failure.node, failure.tool, rule.where
    )


def consequence_of(case: Case, failure: Failure) -> Consequence | None:
    """Return the first consequence that is about a failure; None for none."""
    return next((rule for rule in case.model.consequences if is_about(case, rule, failure)), None)


def requirements_of(case: Case, failure: Failure) -> tuple[str, ...]:
    """Return what says of which class a failure is: the rule that matched, and the class's own."""
    seen = failure.classification
    if seen is None:
        return ()
    own = None if seen.pair is None else class_requirement(case.model, seen.pair[0])
    found = (seen.requirement, own)
    return tuple(dict.fromkeys(item for item in found if item is not None))


def until_of(case: Case, failure: Failure) -> TraceEvent | None:
    """Return the end of the failure's call; None where it has none, or was cut off."""
    call = case.call(failure.call)
    return None if call is None or call.crashed is not None else call.end


def end_call(case: Case, failure: Failure) -> Call | None:
    """Return the failure's call where nothing from outside kept it from its own end."""
    call = case.call(failure.call)
    return None if call is None or was_cut(case, call) else call


def was_cut(case: Case, call: Call) -> bool:
    """Return whether a crash, a cancel or a limit came between, or the run itself was cut off."""
    if call.crashed is not None or call.stop is not None:
        return True
    if call.end is None:
        return case.trace.footer.ending not in _HANGS
    return any(
        failure.kind == "limit_reached" and failure.call == call.id and _is_ruled(case, failure)
        for failure in case.failures
    )


def may_have_ended_it(case: Case, failure: Failure) -> bool:
    """Return whether another failure of the same call may be why it ended as it did."""
    return any(
        other is not failure and other.call == failure.call and not _goes_on(case, other)
        for other in case.failures
    )


def _is_ruled(case: Case, failure: Failure) -> bool:
    """Return whether a limit counts as one here: that of rounds only where the model names it."""
    return failure.cause != "turns" or any(rule.limit == "turns" for rule in case.model.limits)


def _goes_on(case: Case, failure: Failure) -> bool:
    if failure.redone_by is not None:
        return True
    rule = consequence_of(case, failure)
    return rule is not None and rule.run == "goes_on" and rule.then != "iterate_to_coder"
