"""Resume: a start on a stored session succeeds or is refused by name, and forgets nothing.

resume.decision   what was found in the store decides, as the model's table says
resume.history    the first request after it holds what was said before
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.error_model.turn_rules import ResumeRow, ResumeRules
from faultclock.model.trace.trace import TraceEvent, seqs
from faultclock.oracle.check import Verdicts, also, broken, check, held, otherwise
from faultclock.oracle.checks.agent.turn_course import Said, judge_held, said_in, said_in_turn
from faultclock.oracle.facts.history import History
from faultclock.oracle.facts.stored_state import (
    call_of,
    conditions_of,
    first_request,
    keeps_sessions,
    opening_of,
    stored_before,
)
from faultclock.oracle.facts.turn_facts import Life
from faultclock.oracle.wire.attempts import Call
from faultclock.oracle.wire.chain import error_of, errors_of

#: Each condition of the model's table, in words.
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


@check(
    "resume.decision",
    title="A session is resumed or refused",
    says="The stored data decides whether a session is resumed, or with which error it fails.",
    unjudged="no session was resumed",
    role="runtime",
)
def decision(history: History, model: ErrorModel) -> Verdicts:
    """Judge the start of each life that resumes."""
    rules = model.resume
    if rules is None:
        yield otherwise("the error model says nothing of resumed sessions")
        return
    for life, first in _resumes(history):
        start = opening_of(history, life.number) or first
        found = conditions_of(history, model, life)
        rows = [row for row in rules.table if row.condition in (found or ())]
        if not rows or start.end is None or start.stop is not None or _failed_elsewhere(start):
            continue
        row = rows[0]
        if row.outcome == "resumed" and not _refuses(rules, start):
            # A first turn may fail for a reason of its own, in a session that is open.
            start = first
        # Where several things are wrong, any of them is a right reason to refuse.
        errors = tuple(error for item in rows for error in item.errors)
        fault = _fault(row, errors, start)
        if fault is None:
            yield held(row.requirement)
            continue
        yield broken(
            (row.requirement,),
            call=start.id,
            expected=f"{fault[0]}: {_WORDS[row.condition]}",
            observed=fault[1],
            events=(life.start.seq, *_last_read(history, start), *seqs(start.end)),
            hint="Decide by the stored data, before any extension is initialised.",
        )


def _resumes(history: History) -> Iterator[tuple[Life, Call]]:
    for life in history.lives:
        start = call_of(history, "start", life.number)
        if life.resumes and start is not None:
            yield life, start


def _refuses(rules: ResumeRules, turn: Call) -> bool:
    """Return whether a first turn ended with what refuses a session, and not as a turn may."""
    known = {error for row in rules.table for error in row.errors}
    return not known.isdisjoint(errors_of(turn.end))


def _last_read(history: History, start: Call) -> tuple[int, ...]:
    return tuple(
        item.answered.seq
        for item in history.store_operations
        if item.call == start.id and item.name == "read" and item.answered is not None
    )[-1:]


def _failed_elsewhere(start: Call) -> bool:
    """Return whether it failed for what has nothing to do with what is stored."""
    said = error_of(start.end) or ""
    return said.startswith("ExtensionHost/") or said == "Session/StoreUnavailable"


def _fault(row: ResumeRow, errors: tuple[str, ...], start: Call) -> tuple[str, str] | None:
    named = errors_of(start.end)
    said = " and ".join(named) or "an untyped error"
    if row.outcome == "resumed":
        return None if start.returned else ("the session is resumed", f"it was refused: {said}")
    wanted = f"it is refused with {' or '.join(errors) or 'a typed error'}"
    if start.returned:
        return wanted, "the session was opened"
    is_right = bool(named) and (not errors or not {*errors}.isdisjoint(named))
    return None if is_right else (wanted, f"it was refused with {said}")


@check(
    "resume.history",
    title="A resumed session has its history",
    says="The first request of a resumed session holds the earlier messages, in their order.",
    unjudged="no session with messages was resumed",
    role="runtime",
)
def history_kept(history: History, model: ErrorModel) -> Verdicts:
    """Judge the first request of each life that resumes."""
    if "no-history" in history.trace.header.subject.lacks:
        yield otherwise("it declares that it sends the model no earlier turn")
        return
    for life, start in _resumes(history):
        request = first_request(history, life=life.number)
        if not start.returned or request is None or _is_stale(history, start):
            continue
        expected = _said_before(history, model, life)
        if not expected:
            continue
        requirements = also(model, "resume.history.messages")
        if model.resume is None and not keeps_sessions(history, life.number):
            continue
        if any(item.crash is not None and item.number < life.number for item in history.lives):
            requirements = (*requirements, *also(model, "resume.history.crash"))
        if _is_condensed(history, request, expected):
            yield held(*requirements)
            continue
        left = _left_by_a_window(request, expected)
        if left:
            yield broken(
                requirements,
                call=request.call,
                expected=f"the history of {len(expected)} messages goes on in life {life.number}",
                observed=f"it goes on with the last {left} of them: an agent that limits its"
                " history sends the same, and so does one that has lost the others",
                events=(life.start.seq, request.seq),
                hint="Is there a limit to the history, in messages or in tokens?",
                inconclusive=True,
            )
            continue
        yield from judge_held(
            requirements,
            expected,
            said_in(request),
            call=request.call,
            expected=f"the history of {len(expected)} messages goes on in life {life.number}",
            events=(life.start.seq, request.seq),
            hint="Are the messages stored, read again, and sent?",
        )


def _is_condensed(history: History, request: TraceEvent, expected: Sequence[Said]) -> bool:
    """Return whether what is not sent as messages any more is quoted in the same turn.

    An agent that condenses a long history asks for a summary of what it leaves out, or words one.
    """
    sent = set(said_in(request))
    missing = [of for role, of in expected if role != "tool" and (role, of) not in sent]
    turn = history.call(request.call)
    tries = [item for item in turn.attempts if item.asked is not None] if turn else []
    heard = [{of for _, of in said_in(it.asked)} | {*it.asked.quotes} for it in tries if it.asked]
    # A summary that no later request holds is lost, with all that it sums up.
    asked = [
        item.asked
        for at, item in enumerate(tries, start=1)
        if item.asked and (at == len(tries) or item.text_sha256 in set().union(*heard[at:]))
    ]
    quoted = {of for item in asked for of in item.quotes}
    known = quoted | {of for item in asked for _, of in said_in(item)}
    return not quoted.isdisjoint(missing) and known.issuperset(missing)


def _left_by_a_window(request: TraceEvent, expected: Sequence[Said]) -> int:
    """Return how many of the messages a request has, where these are the last; 0: all or none."""
    sent = said_in(request)
    found = (
        count
        for count in range(len(expected) - 1, 0, -1)
        if any(sent[at : at + count] == list(expected[-count:]) for at in range(len(sent)))
    )
    return 0 if _holds(sent, expected) else next(found, 0)


def _holds(sent: Sequence[Said], expected: Sequence[Said]) -> bool:
    rest = iter(sent)
    return all(item in rest for item in expected)


def _is_stale(history: History, start: Call) -> bool:
    return any(
        item.answered is not None and item.answered.stale
        for item in history.store_operations
        if item.call == start.id
    )


def _said_before(history: History, model: ErrorModel, life: Life) -> list[Said]:
    """Return role and digest of what has to be in the history: whole turns, in their order.

    Nothing where that is unknown.
    """
    stored = stored_before(history, model, life)
    # A stage has a conversation of its own, so there the history is not in every request.
    if history.session.stages:
        return []
    if stored.edited_messages:
        # What an edit leaves out of the history is not known to be the whole of it.
        return list(_texts(stored.edit))
    turns = (call for call in history.calls if call.is_turn and call.returned)
    said = [said_in_turn(call) for call in turns if call.life < life.number]
    initial = _texts(history.world.stored.initial)
    return next((item for item in reversed(said) if item), None) or list(initial)


def _texts(manifest: Mapping[str, Any] | None) -> Iterator[Said]:
    stored = None if manifest is None else manifest.get("messages")
    for message in stored if isinstance(stored, list) else ():
        content = message.get("content") if isinstance(message, dict) else None
        if isinstance(content, str) and content and message.get("role") in ("user", "assistant"):
            yield str(message["role"]), hashlib.sha256(content.encode()).hexdigest()
