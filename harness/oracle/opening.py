"""The opening of a session: the call that shows whether a life opened it or refused to.

That is the start, for a runtime that has one. One without it, or one that opens lazily, may
refuse in its first turn instead, as long as it has asked the model nothing.
"""

from __future__ import annotations

from harness.model.trace import TraceEvent
from harness.oracle.attempts import Call
from harness.oracle.check import Case

__all__ = ["first_request", "first_turn", "opening_of", "start_of"]


def start_of(case: Case, life: int) -> Call | None:
    """Return the start of a life, None when it has none."""
    return next((call for call in case.calls if call.do == "start" and call.life == life), None)


def first_turn(case: Case, life: int) -> Call | None:
    """Return the first turn of a life, None when there was none."""
    return next((call for call in case.calls if call.is_turn and call.life == life), None)


def first_request(case: Case, *, life: int) -> TraceEvent | None:
    """Return the first request that reached the provider in a life, None when none did."""
    found = [
        attempt.asked
        for call in case.calls
        for attempt in call.attempts
        if attempt.asked is not None and call.life == life
    ]
    return min(found, key=lambda event: event.seq, default=None)


def opening_of(case: Case, life: int) -> Call | None:
    """Return the call whose end says whether the session of a life was opened."""
    start, turn = start_of(case, life), first_turn(case, life)
    if start is None or not start.returned or turn is None:
        return start
    refused = turn.raised and not turn.attempts and turn.stop is None
    return turn if refused else start
