"""What the answers of a session store show: each call, beside what is known of the store.

What cannot be known is not judged: after a disk lied, or after files were changed from outside.
Which check a wrong answer is charged to, and in which words, stands in `store_role`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct, field

from faultclock.model.error_model.error_model import AudienceRule
from faultclock.model.trace.trace import seqs
from faultclock.oracle.checks.roles.store_registers import (
    READS,
    WRITES,
    Journal,
    Kept,
    Register,
    StoreState,
    found_by,
    in_words,
    matches,
    refusal_of,
    said_by,
    written_by,
)
from faultclock.oracle.leaks import leaks
from faultclock.oracle.wire.attempts import Call
from faultclock.oracle.wire.chain import outermost

_UNAVAILABLE = "Session/StoreUnavailable"
_DRIFT = "Session/ManifestDrift"
_MISMATCH = "Session/ResumeMismatch"


class Wrong(Struct, frozen=True):
    """A wrong answer: what is wrong, the call that shows it, more events, what the words name."""

    what: str
    call: Call
    events: tuple[int, ...] = ()
    words: Mapping[str, object] = field(default_factory=dict)


#: The check for which one thing is as it should be, or a wrong answer.
Found = Iterator[str | Wrong]


def judged(state: StoreState) -> Found:
    """Yield what the calls of a store show, in order."""
    for call in state.calls:
        session = call.start.session
        if call.raised:
            yield from _message(state, call)
        if state.lied_to(call) and session is not None:
            state.lied[session] = call.life
        if call.do == "list_sessions" and call.returned:
            yield from _listing(state, call)
        if session is None or session in state.spoilt or call.do not in (*READS, *WRITES):
            yield from _other(state, call)
        elif state.writers.get(session, call.start.store) != call.start.store:
            yield from _foreign(state, call, session)
        elif call.do in WRITES:
            state.writers.setdefault(session, call.start.store)
            state.journals.setdefault(session, Journal(call.life))
            yield from _write(state, call, session)
            state.wrote(call, session)
        elif call.do == "read_journal":
            yield from _journal(state, call, session)
        else:
            yield from _register(state, call, session)


# ---------------------------------------------------------------------- what was refused


def _write(state: StoreState, call: Call, session: str) -> Found:
    kept = state.journals[session] if call.do == "append" else state.register(call, session)
    if call.returned and not state.failing(call):
        yield "usable"
    elif call.raised and state.failing(call):
        yield from _failed(state, call)
    elif call.raised and not (state.was_edited(kept, call) or state.may_lack(kept, session)):
        yield from _torn(state, call) if refusal_of(call) == _DRIFT else _refused(state, call)


def _failed_read(state: StoreState, call: Call, session: str, kept: Kept) -> Found:
    if isinstance(kept, Register):
        may_be_absent, was_tried = kept.may_be_absent, bool(kept.ever)
    else:
        was_tried = session in state.writers
        may_be_absent = not was_tried
    is_drift = refusal_of(call) == _DRIFT
    if state.failing(call):
        yield from _failed(state, call)
    elif state.was_edited(kept, call):
        if call.do == "read":
            right = is_drift or "drift" in state.lenient
            yield "drift" if right else Wrong("drift mistyped", call)
    elif is_drift and state.may_lack(kept, session):
        return
    elif may_be_absent and not (was_tried and (is_drift or refusal_of(call) is None)):
        yield Wrong("not absent", call, words={"what": f"raised {said_by(call)}"})
    elif is_drift or state.is_after_damage(call):
        yield from _torn(state, call)
    else:
        yield from _refused(state, call)


def _failed(state: StoreState, call: Call) -> Found:
    """Judge an operation that raised while the disk failed."""
    right = refusal_of(call) == _UNAVAILABLE or "unavailable" in state.lenient
    yield "unavailable" if right else Wrong("untyped failure", call)


def _refused(state: StoreState, call: Call) -> Found:
    crash = next((event.seq for life, event in state.crashes.items() if life < call.life), None)
    if crash is None:
        yield Wrong("refused", call)
    else:
        yield Wrong("refused after a crash", call, (crash,))


def _torn(state: StoreState, call: Call) -> Found:
    # One damage is one finding, however often the process then meets it.
    damage = (call.start.session or "", call.life)
    if damage not in state.torn:
        state.torn.add(damage)
        crash = state.crashes.get(call.life - 1)
        yield Wrong("torn", call, seqs(crash))


def _other(state: StoreState, call: Call) -> Found:
    """Judge `start`, `close` and lists that failed."""
    if call.raised and call.do in ("start", "close", "restart", "list_sessions"):
        if state.failing(call):
            yield from _failed(state, call)
        elif not state.edits:
            yield from _refused(state, call)


def _foreign(state: StoreState, call: Call, session: str) -> Found:
    if call.do not in ("read", "write"):
        return
    if refusal_of(call) == _MISMATCH:
        yield "foreign"
    elif call.end is not None and not state.failing(call):
        if call.do == "write" and call.returned:
            state.spoilt.add(session)
        what = f"raised {said_by(call)}" if call.raised else "was served"
        words = {"store": call.start.store, "writer": state.writers[session], "what": what}
        yield Wrong("served", call, words=words)


def _message(state: StoreState, call: Call) -> Found:
    never = AudienceRule(
        id="operator",
        never=("secret",) if "errors" in state.lenient else ("stack", "secret", "path"),
        requirement="",
    )
    found = leaks(never, str(outermost(call.end).get("message", "")))
    yield Wrong("leak", call, words={"what": " and ".join(found)}) if found else "errors"


# ---------------------------------------------------------------------- what was returned


def _register(state: StoreState, call: Call, session: str) -> Found:
    register = state.register(call, session)
    if call.raised:
        yield from _failed_read(state, call, session, register)
    elif call.returned:
        if register.ever or state.elsewhere(call) is not None:
            yield from _value(state, call, session, register)
        elif found_by(call) is None:
            yield "unknown"
        else:
            yield Wrong("not absent", call, words={"what": "returned something"})
        is_known = session in state.journals and not state.was_edited(register, call)
        if call.do == "read" and is_known:
            state.journals[session].manifest_read(found_by(call))
        register.was_read(call)


def _value(state: StoreState, call: Call, session: str, register: Register) -> Found:
    acked, what = register.acked, "nothing" if found_by(call) is None else "an older revision"
    was_tried = found_by(call) in register.ever
    other = None if was_tried else state.elsewhere(call)
    if state.was_edited(register, call):
        yield from _edited(state, call, register)
    elif found_by(call) in register.legal:
        yield from _legal(state, call, register)
    elif other is not None:
        own = in_words(session, call.start.owner)
        yield Wrong("another's", call, words={"own": own, "other": other})
    elif state.may_lack(register, session) and (found_by(call) is None or was_tried):
        return
    elif found_by(call) is not None and not was_tried:
        yield Wrong("never written", call, tuple(write.start.seq for write in register.maybe))
    elif acked is not None and acked.life == call.life and register.maybe:
        failed = tuple(seq for write in register.maybe for seq in state.events_of(write))
        yield Wrong("given up", call, failed, {"what": what})
    elif acked is not None:
        yield from _lost(state, call, acked, what)
        if acked.life != call.life:
            # It has been reported; what a later process reads is compared with this.
            register.came_back(call)


def _legal(state: StoreState, call: Call, register: Register) -> Found:
    """Yield what a read shows that found what it may find."""
    acked = register.acked
    is_later = acked is not None and acked.life != call.life
    if acked is not None:
        if state.failing(acked) and register.digest == found_by(call):
            yield "unavailable"
        yield "durability" if is_later else "read-your-writes"
    if register.maybe or is_later:
        yield "atomicity"
    if len(state.registers) > 1:
        yield "isolation"


def _edited(state: StoreState, call: Call, register: Register) -> Found:
    if call.do != "read":
        return
    # A store that keeps a second copy may have the right answer all the same.
    if found_by(call) in register.legal and found_by(call) is not None:
        yield "drift"
        return
    what = "no session" if found_by(call) is None else "a session that was never written"
    error = "an error" if "drift" in state.lenient else _DRIFT
    yield Wrong("drift unseen", call, words={"what": what, "error": error})


def _lost(state: StoreState, call: Call, acked: Call, what: str) -> Found:
    """Charge an answer that lacks what was acknowledged."""
    end = seqs(acked.end)
    if state.failing(acked):
        error = "an error" if "unavailable" in state.lenient else _UNAVAILABLE
        words = {"error": error, "reader": call.id, "what": what}
        yield Wrong("acknowledged and lost", acked, state.events_of(call), words)
    elif acked.life == call.life and acked.do in WRITES:
        yield Wrong("stale", call, end, {"kept": _kept(acked), "what": what})
    else:
        if call.do == "read" and call.start.session is not None:
            state.rolled_back.add(call.start.session)
        crash = state.crash_between(acked, call)
        how = "a restart" if crash is None else "a crash"
        events = (*end, *seqs(crash))
        yield Wrong("gone", call, events, {"kept": _kept(acked), "how": how, "what": what})


def _kept(acked: Call) -> str:
    """Return in words what was there for certain."""
    if acked.do in READS:
        return f"what {acked.id} read after a crash"
    return f"what {acked.id} wrote and the store acknowledged"


def _journal(state: StoreState, call: Call, session: str) -> Found:
    journal = state.journals.get(session) or Journal(call.life)
    if call.raised:
        yield from _failed_read(state, call, session, journal)
    elif call.returned and call.end is not None:
        if session not in state.journals:
            is_absent = not call.end.entries
            what = {"what": "returned something"}
            yield "unknown" if is_absent else Wrong("not absent", call, words=what)
        elif not (
            session in state.rolled_back
            or state.was_edited(journal, call)
            or state.may_lack(journal, session)
        ):
            yield from _entries(state, call, journal, list(call.end.entries))


def _entries(state: StoreState, call: Call, journal: Journal, found: list[str]) -> Found:
    if any(matches(found, appends) for _, appends in journal.after):
        yield "journal"
        return
    for _, appends in journal.after:
        if not matches(found, appends, all_may_miss=True):
            continue
        lost = (item for item in appends if written_by(item) not in found)
        acked = next((item for item in lost if item.returned), None)
        if acked is not None and (state.failing(acked) or acked.life != call.life):
            yield from _lost(state, call, acked, "a journal without it")
            return
    _, appends = journal.after[-1]
    what = _disorder(found, [written_by(item) for item in appends])
    begun = tuple(item.start.seq for item in appends)
    yield Wrong("disordered", call, begun, {"count": len(appends), "what": what})


def _disorder(found: list[str], wanted: list[str]) -> str:
    """Return in words how a journal differs from what was appended."""
    if any(item not in wanted for item in found):
        return "it has an entry that was not appended since then"
    if len(set(found)) < len(found):
        return "an entry is there twice"
    if [item for item in wanted if item in found] != found:
        return "its entries are in another order"
    return f"it has {len(found)} of them, and acknowledged ones are missing"


def _listing(state: StoreState, call: Call) -> Found:
    listed = set(() if call.end is None else call.end.sessions)
    strange = sorted(listed - set(state.writers))
    if strange:
        yield Wrong("strange session", call, words={"name": strange[0]})
        return
    yield "usable"
    for (session, owner), register in state.registers.items():
        is_there = owner is None and register.digest is not None and session not in listed
        known = not (state.was_edited(register, call) or state.may_lack(register, session))
        if is_there and known and register.acked and state.writers[session] == call.start.store:
            yield from _lost(state, call, register.acked, "a list without it")
