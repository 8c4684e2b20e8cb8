"""Resume: a start on a stored session succeeds or is refused by name, and forgets nothing.

resume.decision   what was found in the store decides, as the model's table says
resume.history    the first request after it holds what was said before
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from faultclock.model.error_model import ErrorModel
from faultclock.model.trace import Trace
from faultclock.model.turn_rules import ResumeRow, ResumeRules
from faultclock.oracle.attempts import Call
from faultclock.oracle.chain import Link, chain_of, origin, typed
from faultclock.oracle.check import (
    Check,
    Verdicts,
    also,
    broken,
    held,
    otherwise,
)
from faultclock.oracle.conversation import Said, first_missing, said_in, said_in_turn
from faultclock.oracle.history import History
from faultclock.oracle.opening import first_request, keeps_sessions, opening_of
from faultclock.oracle.stored_state import conditions_of, stored_before
from faultclock.oracle.turn_facts import Life

__all__ = ["CHECKS"]

_WORDS = {
    "no_snapshot": "there is no such session",
    "store_mismatch": "another store wrote it",
    "store_blank": "it does not say which store wrote it",
    "unreadable": "its manifest cannot be read",
    "unknown_keys": "its manifest has unknown keys",
    "slot_without_version": "a slot has no version",
    "slot_rejected": "an extension rejects its stored slot",
    "slot_migration_failed": "an extension cannot migrate its slot",
    "slot_drift": "a slot of another version was migrated, or used with a warning",
    "extension_gone": "an extension that kept state is gone",
    "sound": "it is as it was saved",
}


def _decision(history: History, model: ErrorModel) -> Verdicts:
    yield otherwise("no session was resumed")
    rules = model.resume
    if rules is None:
        yield otherwise("the error model says nothing of resumed sessions")
        return
    for life, first in _resumes(history):
        start = opening_of(history, life.number) or first
        if start.end is None or start.stop is not None:
            continue
        found = conditions_of(history, model, life)
        if found is None or _failed_elsewhere(start):
            continue
        rows = [row for row in rules.table if row.condition in found]
        if not rows:
            continue
        row = rows[0]
        if row.outcome == "resumed" and not _refuses(rules, start):
            # A first turn may fail for a reason of its own, in a session that is open.
            start = first
        yield held(row.requirement)
        # Where several things are wrong, any of them is a right reason to refuse.
        errors = tuple(error for item in rows for error in item.errors)
        fault = _fault(row, errors, start)
        if fault is not None:
            yield broken(
                (row.requirement, row.requirement),
                call=start.id,
                expected=f"{fault[0]}: {_WORDS[row.condition]}",
                observed=fault[1],
                events=(life.start.seq, *_reads(history, start), *_end(start)),
                hint="Decide by the stored data, before any extension is initialised.",
            )


def _resumes(history: History) -> Iterator[tuple[Life, Call]]:
    for life in history.lives:
        start = next(
            (call for call in history.calls if call.do == "start" and call.life == life.number),
            None,
        )
        if life.resumes and start is not None:
            yield life, start


def _end(call: Call) -> tuple[int, ...]:
    return () if call.end is None else (call.end.seq,)


def _refuses(rules: ResumeRules, turn: Call) -> bool:
    """Return whether a first turn ended with what refuses a session, and not as a turn may."""
    chain = _chain(turn)
    named = (typed(origin(chain)), typed(next(iter(chain), None)))
    known = {error for row in rules.table for error in row.errors}
    return any(pair is not None and "/".join(pair) in known for pair in named)


def _reads(history: History, start: Call) -> tuple[int, ...]:
    return tuple(
        item.answered.seq
        for item in history.store_operations
        if item.call == start.id and item.name == "read" and item.answered is not None
    )[-1:]


def _chain(call: Call) -> list[Link]:
    return chain_of(call.end)


def _failed_elsewhere(start: Call) -> bool:
    """Return whether it failed for what has nothing to do with what is stored."""
    named = typed(origin(_chain(start)))
    return named is not None and (
        named[0] == "ExtensionHost" or named == ("Session", "StoreUnavailable")
    )


def _fault(row: ResumeRow, errors: tuple[str, ...], start: Call) -> tuple[str, str] | None:
    chain = _chain(start)
    named = {pair for pair in (typed(origin(chain)), typed(next(iter(chain), None))) if pair}
    said = " and ".join("/".join(pair) for pair in sorted(named)) or "an untyped error"
    if row.outcome == "resumed":
        return None if start.returned else ("the session is resumed", f"it was refused: {said}")
    wanted = " or ".join(errors) or "a typed error"
    if start.returned:
        return f"it is refused with {wanted}", "the session was opened"
    if not named or (errors and not any("/".join(pair) in errors for pair in named)):
        return f"it is refused with {wanted}", f"it was refused with {said}"
    return None


# ---------------------------------------------------------------------- history


def _history(history: History, model: ErrorModel) -> Verdicts:
    yield otherwise("no session with messages was resumed")
    for life, start in _resumes(history):
        if not start.returned or _is_stale(history, start):
            continue
        request = first_request(history, life=life.number)
        stored = stored_before(history, model, life)
        # A stage has a conversation of its own, so there the history is not in every request.
        # What an edit leaves out of the history is not known to be the whole of it.
        unknown = stored.edited_messages and stored.edit is None
        if request is None or unknown or history.session.stages:
            continue
        expected = _said_before(history, model, life)
        if not expected:
            continue
        requirements = also(model, "resume.history.messages")
        if model.resume is None and not keeps_sessions(history, life.number):
            continue
        if any(item.crash is not None and item.number < life.number for item in history.lives):
            requirements = (*requirements, *also(model, "resume.history.crash"))
        yield held(*requirements)
        missing = first_missing(expected, said_in(request))
        if missing is not None:
            yield broken(
                requirements,
                call=str(request.call),
                expected=f"the history of {len(expected)} messages goes on in life {life.number}",
                observed=f"message {missing + 1}, of the {expected[missing][0]}, is missing",
                events=(life.start.seq, request.seq),
                hint="Are the messages stored, read again, and sent?",
            )


def _is_stale(history: History, start: Call) -> bool:
    return any(
        item.answered is not None and bool(item.answered.stale)
        for item in history.store_operations
        if item.call == start.id
    )


def _said_before(history: History, model: ErrorModel, life: Life) -> list[Said]:
    """Return role and digest of what has to be in the history: whole turns, in their order."""
    edited = stored_before(history, model, life).edit
    if edited is not None:
        return list(_texts(edited))
    turns = [
        call
        for call in history.calls
        if call.is_turn and call.returned and call.life < life.number and said_in_turn(call)
    ]
    return said_in_turn(turns[-1]) if turns else list(_initial(history.trace))


def _initial(trace: Trace) -> Iterator[Said]:
    store = trace.header.scenario.store
    yield from _texts(None if store is None or store.initial is None else store.initial)


def _texts(manifest: Mapping[str, Any] | None) -> Iterator[Said]:
    stored = None if manifest is None else manifest.get("messages")
    for message in stored if isinstance(stored, list) else ():
        content = message.get("content") if isinstance(message, dict) else None
        if isinstance(content, str) and content and message.get("role") in ("user", "assistant"):
            yield str(message["role"]), hashlib.sha256(content.encode()).hexdigest()


CHECKS = (
    Check(
        id="resume.decision",
        title="A session is resumed or refused",
        says="The stored data decides whether a session is resumed, or with which error it fails.",
        run=_decision,
    ),
    Check(
        id="resume.history",
        title="A resumed session has its history",
        says="The first request of a resumed session holds the earlier messages, in their order.",
        run=_history,
    ),
)
