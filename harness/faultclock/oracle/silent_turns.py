"""Turns in which no provider was asked: whether something else can have kept them from it."""

from __future__ import annotations

from faultclock.oracle.attempts import Call
from faultclock.oracle.history import History

_REPLIES = ("store.answered", "hook.replied", "telemetry.answered", "queue.answered")


def failed_before_asking(history: History, call: Call) -> bool:
    """Return whether something beside the providers failed in `call`."""
    return any(event.call == call.id and not event.ok for event in history.of(*_REPLIES))
