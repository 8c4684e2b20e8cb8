"""The opening of a session: the call that shows whether a life opened it or refused to.

That is the start, for a runtime that has one. One without it, or one that opens lazily, may
refuse in its first turn instead, as long as it has asked the model nothing.
"""

from __future__ import annotations

from faultclock.model.trace import TraceEvent
from faultclock.oracle.attempts import Call
from faultclock.oracle.history import History

#: Operations of a session store that change it.
_WRITES = ("write", "append", "write_slot")


def call_of(history: History, do: str, life: int) -> Call | None:
    """Return the first call of a life for something, None for none."""
    return next((call for call in history.calls if call.do == do and call.life == life), None)


def first_turn(history: History, life: int) -> Call | None:
    """Return the first turn of a life, None when there was none."""
    return next((call for call in history.calls if call.is_turn and call.life == life), None)


def first_request(history: History, *, life: int) -> TraceEvent | None:
    """Return the first request that reached the provider in a life, None when none did."""
    found = [
        attempt.asked
        for call in history.calls
        for attempt in call.attempts
        if attempt.asked is not None and call.life == life
    ]
    return min(found, key=lambda event: event.seq, default=None)


def keeps_sessions(history: History, life: int) -> bool:
    """Return whether a life read the store in which an earlier one had saved something."""
    done = [item for item in history.store_operations if item.ok]
    saved = any(item.name in _WRITES and item.life < life for item in done)
    return saved and any(item.name not in _WRITES and item.life == life for item in done)


def opening_of(history: History, life: int) -> Call | None:
    """Return the call whose end says whether the session of a life was opened."""
    start, turn = call_of(history, "start", life), first_turn(history, life)
    if start is None or not start.returned or turn is None:
        return start
    refused = turn.raised and not turn.attempts and turn.stop is None
    return turn if refused else start
