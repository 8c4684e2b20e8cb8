"""How a session begins and ends: without an error, where nothing is in the way of it.

It is judged as a part of `turns.go-on`; why a session may have to be refused is the business of
`resume.decision` and `extensions.resolved`.
"""

from __future__ import annotations

from faultclock.model.error_model import ErrorModel
from faultclock.model.trace import TraceEvent
from faultclock.oracle.attempts import Call
from faultclock.oracle.chain import chain_of, origin, typed
from faultclock.oracle.check import Verdicts, also, broken, held
from faultclock.oracle.extension_set import set_faults
from faultclock.oracle.history import History
from faultclock.oracle.opening import opening_of


def judge_bounds(history: History, model: ErrorModel) -> Verdicts:
    """Judge that new sessions open, and that sessions close."""
    for life in history.lives:
        start = opening_of(history, life.number)
        if start is not None and not life.resumes and not _is_kept_shut(history, model, start):
            yield from _judge(model, start, "start", "a new session opens")
    for call in history.calls:
        if call.do == "close" and not _is_kept_open(history, call):
            yield from _judge(model, call, "close", "the session is closed")


def said_of(end: TraceEvent | None) -> str:
    """Return the error that a call ended with, in words."""
    chain = chain_of(end)
    named = typed(origin(chain))
    if named is not None:
        return "/".join(named)
    return str(chain[0].get("type")) if chain else "an error"


def _is_kept_shut(history: History, model: ErrorModel, start: Call) -> bool:
    store = any(not item.ok for item in history.store_operations if item.call == start.id)
    failed = start.is_turn or _failed_phase(history, start)
    return store or failed or bool(set_faults(history, model, start))


def _is_kept_open(history: History, call: Call) -> bool:
    store = any(not item.ok and item.life == call.life for item in history.store_operations)
    opened = any(
        item.do == "start" and item.life == call.life and item.returned for item in history.calls
    )
    cancelled = bool(history.of("cancel.requested"))
    return store or cancelled or not opened or _failed_phase(history, call)


def _failed_phase(history: History, call: Call) -> bool:
    return any(event.life == call.life and not event.ok for event in history.of("extension.phase"))


def _judge(model: ErrorModel, call: Call, name: str, expected: str) -> Verdicts:
    if call.end is None or call.stop is not None:
        return
    requirements = also(model, f"turns.go-on.{name}")
    if not requirements:
        return
    yield held(*requirements)
    if call.raised:
        yield broken(
            requirements,
            call=call.id,
            expected=f"{expected}: nothing had failed",
            observed=f"it ended with {said_of(call.end)}",
            events=(call.start.seq, call.end.seq),
        )
