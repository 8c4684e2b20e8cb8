"""Requests of a tool that may have had their effect, and are sent again.

An answer that was lost says nothing of what was done. A request whose method is not idempotent is
then sent again only with a key by which the service knows it, or where the tool's own contract
says that it may be.
"""

from __future__ import annotations

from itertools import pairwise

from faultclock.model.error_model import ErrorModel
from faultclock.oracle.attempts import Attempt
from faultclock.oracle.check import Check, Verdicts, also, held, otherwise
from faultclock.oracle.executions import executions, retry_rule, violation
from faultclock.oracle.history import History

__all__ = ["CHECKS"]

#: Methods of which two are not as good as one: RFC 9110, 9.2.2, and RFC 5789 of PATCH.
_UNSAFE = ("POST", "PATCH")
#: Failures after which the service may have done what it was asked.
_UNKNOWN = (
    "deadline",
    "connection_reset",
    "connection_closed",
    "body_cut",
    "stream_cut",
    "malformed_body",
)
#: Statuses that a gateway gives when the service behind it may have done it all the same.
_UNKNOWN_STATUSES = (500, 502, 504)


def _repeats(history: History, model: ErrorModel) -> Verdicts:
    yield otherwise("no request that may have had its effect went unanswered")
    requirements = also(model, "tool.repeats")
    declared = retry_rule(history) is not None
    for execution in executions(history):
        for ask in execution.asks or ():
            if any(_may_have_acted(attempt) for attempt in ask.attempts):
                yield held(*requirements)
            for attempt, again in pairwise(ask.attempts):
                if declared or not _may_have_acted(attempt):
                    continue
                yield violation(
                    next(iter(requirements), None),
                    execution,
                    f"an error that says that the outcome is unknown, after {attempt.signal}",
                    "the same request was sent again, without an idempotency key",
                    events=(*attempt.events, again.start.seq),
                    hint="A lost answer does not say that nothing was done.",
                )
                break


def _may_have_acted(attempt: Attempt) -> bool:
    """Return whether a failed request may have had an effect that a second one would repeat."""
    signal, asked = attempt.signal, attempt.asked
    if signal is None or asked is None or asked.method not in _UNSAFE:
        return False
    headers = asked.headers or {}
    if any("idempoten" in str(name).lower() for name in headers):
        return False
    return signal.kind in _UNKNOWN or signal.status in _UNKNOWN_STATUSES


CHECKS: tuple[Check, ...] = (
    Check(
        id="tool.repeats",
        title="Nothing is done twice",
        says="A request that may have had its effect is not sent again without an idempotency key.",
        run=_repeats,
    ),
)
