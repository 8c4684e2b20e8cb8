"""How a session begins and ends: without an error, where nothing is in the way of it.

It is judged as a part of `turns.go-on`; why a session may have to be refused is the business of
`resume.decision` and `extensions.resolved`.
"""

from __future__ import annotations

from faultclock.model.trace import TraceEvent
from faultclock.oracle.attempts import Call
from faultclock.oracle.chain import chain_of, origin, typed
from faultclock.oracle.check import Case, Outcome, Violation, also
from faultclock.oracle.extension_set import set_faults
from faultclock.oracle.opening import opening_of

__all__ = ["judge_bounds", "said_of"]


def judge_bounds(case: Case, outcome: Outcome) -> None:
    """Judge that new sessions open, and that sessions close."""
    for life in case.lives:
        start = opening_of(case, life.number)
        if start is not None and not life.resumes and not _keeps_from_opening(case, start):
            _judge(case, start, "start", "a new session opens", outcome)
    for call in case.calls:
        if call.do == "close" and not _keeps_from_closing(case, call):
            _judge(case, call, "close", "the session is closed", outcome)


def said_of(end: TraceEvent | None) -> str:
    """Return the error that a call ended with, in words."""
    chain = chain_of(end)
    named = typed(origin(chain))
    if named is not None:
        return "/".join(named)
    return str(chain[0].get("type")) if chain else "an error"


def _keeps_from_opening(case: Case, start: Call) -> bool:
    store = any(not item.ok for item in case.store_operations if item.call == start.id)
    return store or start.is_turn or _failed_phase(case, start) or bool(set_faults(case, start))


def _keeps_from_closing(case: Case, call: Call) -> bool:
    store = any(not item.ok and item.life == call.life for item in case.store_operations)
    opened = any(
        item.do == "start" and item.life == call.life and item.returned for item in case.calls
    )
    cancelled = any(case.trace.of_kind("cancel.requested"))
    return store or cancelled or not opened or _failed_phase(case, call)


def _failed_phase(case: Case, call: Call) -> bool:
    return any(
        int(event.payload.get("life", 1)) == call.life and not event.payload.get("ok")
        for event in case.trace.of_kind("extension.phase")
    )


def _judge(case: Case, call: Call, name: str, expected: str, outcome: Outcome) -> None:
    if call.end is None or call.stop is not None:
        return
    requirements = also(case.model, f"turns.go-on.{name}")
    if not requirements:
        return
    outcome.looked_at(*requirements)
    if call.raised:
        outcome.violate(
            Violation(
                requirement=next(iter(requirements), None),
                call=call.id,
                expected=f"{expected}: nothing had failed",
                observed=f"it ended with {said_of(call.end)}",
                events=(call.start.seq, call.end.seq),
            )
        )
