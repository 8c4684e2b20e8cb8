"""The fake session store: the port on one world, with its faults, its facts and its crash seam.

What is durable is a plain value (`stored_session`) in a StoreState, which goes from life to life.
Everything about an operation is recorded here. It judges nothing, and nothing of what it stores
gets into a fact but its digest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from faultclock.fakes.plain import plain
from faultclock.fakes.port import Port, Style, waiting
from faultclock.fakes.ports.stored_session import (
    EditMissError,
    Share,
    StoredSession,
    StoreState,
    UnreadableError,
    canonical_json,
    edited,
    slot_json,
)
from faultclock.fakes.wire.injector import task_of
from faultclock.model.scenario.port_values import Slot
from faultclock.model.scenario.store_script import (
    LostAck,
    Slow,
    StaleRead,
    StoreFault,
    StoreOperation,
    StoreRule,
    StoreScript,
    StoreTrigger,
    TornWrite,
    Unavailable,
)
from faultclock.model.typed_error import TypedError
from faultclock.sim.kernel.context import current_call
from faultclock.sim.kernel.flood import make_room
from faultclock.sim.kernel.kernel import Kernel
from faultclock.sim.kernel.promise import Promise

_WRITES: tuple[StoreOperation, ...] = ("write", "append", "write_slot")
_OF_SLOTS: tuple[StoreOperation, ...] = ("read_slot", "write_slot")


class WriteMoment(Struct, frozen=True, kw_only=True):
    """A write, append or slot write that is about to become durable.

    Attributes:
        n: its 1-based number in the run, of those that get this far.
        n_in_life: the same, in this life of the subject.
    """

    n: int
    n_in_life: int
    op: str
    operation: StoreOperation
    session: str
    owner: str | None
    call: str | None


class WriteCrash(Struct, frozen=True, kw_only=True):
    """The subject's process is killed in the middle of a write.

    Attributes:
        leaves: how much of the write is durable. A store in memory has whole values: there `part`
            leaves nothing.
        kill: called when that much is durable and recorded. It must end the world of this life;
            the store does nothing more about the write.
    """

    leaves: Share
    kill: Callable[[], None]


class _Asked(Struct, frozen=True, kw_only=True):
    """One operation on its way. `text` is what it writes, None for a read."""

    op: str
    operation: StoreOperation
    session: str
    owner: str | None
    text: str | None
    rule: StoreRule | None
    promise: Promise

    @property
    def fault(self) -> StoreFault | None:
        return None if self.rule is None else self.rule.then


class FakeStore(Port):
    """The session store of one life of the subject; it implements the port `SessionStore`.

    Its operations are coroutine functions for an async subject, and block the simulated thread of a
    blocking one. An operation takes the script's latency, and has its effect at the end of it,
    whether or not anybody still waits; it dies with the process that asked. Values are copied on
    their way in and out. A rule that cannot apply (a torn write of a read, or in memory; a stale
    read where no revision came before) claims nothing. A torn manifest or slot raises
    Session/ManifestDrift when it is read; a torn journal entry is none, and the next one takes its
    place.

    The crash seam: set `on_write`. It is asked at the instant at which a write, append or slot
    write would become durable (one that the store refuses never gets there). With None the write
    goes on; with a WriteCrash, that share becomes durable, under every rule, then `kill` is
    called and nothing more happens.

    Args:
        kernel: of this life's world.
        style: of the subject.
        state: of the run; it is changed in place.
        life: 1-based.
    """

    def __init__(
        self, script: StoreScript, kernel: Kernel, style: Style, state: StoreState, life: int
    ) -> None:
        super().__init__(kernel, life, actor="store", of="store", rules=script.rules, met=state.met)
        self.on_write: Callable[[WriteMoment], WriteCrash | None] | None = None
        self._script = script
        self._state = state
        self._writes = 0
        self.read = waiting(style, self._read)
        self.write = waiting(style, self._write)
        self.append = waiting(style, self._append)
        self.read_journal = waiting(style, self._read_journal)
        self.read_slot = waiting(style, self._read_slot)
        self.write_slot = waiting(style, self._write_slot)

    # ------------------------------------------------------------------ for the run

    def begin_life(self) -> None:
        """Make the edits that come before this life. Call it once, before the process starts."""
        state = self._state
        for edit in self._script.edits:
            if edit.before_life != self._life:
                continue
            try:
                session = edited(state.sessions.get(state.session), edit)
            except EditMissError:
                # What is stored is the subject's doing, so this is no error of the script's.
                self._record("store.edited", None, session=state.session, applied=False)
                continue
            if session is None:
                state.sessions.pop(state.session, None)
            else:
                state.sessions[state.session] = session
            self._record("store.edited", None, session=state.session, applied=True)

    # ------------------------------------------------------------------ the port

    @property
    def id(self) -> str:
        """Which store this is."""
        return self._script.id

    def _read(self, session_id: str) -> Promise:
        """Return the manifest, None if there is no such session."""
        return self._ask("read", session_id)

    def _write(self, session_id: str, manifest: Mapping[str, Any]) -> Promise:
        """Replace the manifest and clear the journal.

        Raises:
            TypeError: the manifest is no JSON object.
        """
        return self._ask("write", session_id, text=canonical_json(manifest, "the manifest"))

    def _append(self, session_id: str, entry: Mapping[str, Any]) -> Promise:
        """Add an entry to the journal.

        Raises:
            TypeError: the entry is no JSON object.
        """
        return self._ask("append", session_id, text=canonical_json(entry, "the journal entry"))

    def _read_journal(self, session_id: str) -> Promise:
        """Return the whole entries since the last write of the manifest."""
        return self._ask("read_journal", session_id)

    def _read_slot(self, session_id: str, owner: str) -> Promise:
        """Return the Slot of an extension, None if it has none."""
        return self._ask("read_slot", session_id, owner)

    def _write_slot(self, session_id: str, owner: str, slot: Slot) -> Promise:
        """Replace the Slot of an extension.

        Raises:
            TypeError: it is no Slot, or its data is no JSON object.
        """
        return self._ask("write_slot", session_id, owner, text=_slot_text(slot))

    # ------------------------------------------------------------------ an operation

    def _ask(
        self,
        operation: StoreOperation,
        session: str,
        owner: str | None = None,
        *,
        text: str | None = None,
    ) -> Promise:
        _must_be_text("session id", session)
        if operation in _OF_SLOTS:
            _must_be_text("owner", owner)
        make_room(self._kernel)
        state = self._state
        state.operations += 1
        state.counts[operation] += 1
        task = task_of(current_call())
        for counted in ((operation, task), (None, task)):
            state.by_task[counted] = state.by_task.get(counted, 0) + 1
        asked = _Asked(
            op=f"s{state.operations}",
            operation=operation,
            session=session,
            owner=owner,
            text=text,
            rule=self._rule_for(operation, session, owner),
            promise=Promise(self._kernel, f"the session store to {operation}"),
        )
        self._record_of(asked, "asked", revision_sha256=_sha256(text))
        delay_ns = self._script.latency
        if isinstance(asked.fault, Slow):
            self._fire_of(asked)
            delay_ns = asked.fault.takes
        self._kernel.call_after(delay_ns, self._finish, asked)
        return asked.promise

    def _rule_for(
        self, operation: StoreOperation, session: str, owner: str | None
    ) -> StoreRule | None:
        state = self._state
        task = task_of(current_call())

        def number(when: StoreTrigger) -> int:
            if when.task is not None:
                return state.by_task.get((when.operation, task), 0)
            return state.operations if when.operation is None else state.counts[operation]

        for rule in self._script.rules:
            if rule.is_for(
                number(rule.when), operation=operation, task=task, life=self._life
            ) and self._can_apply(rule.then, operation, session, owner):
                return rule
        return None

    def _can_apply(
        self, fault: StoreFault, operation: StoreOperation, session: str, owner: str | None
    ) -> bool:
        match fault:
            case LostAck():
                return operation in _WRITES
            case TornWrite():
                return operation in _WRITES and self._script.kind == "files"
            case StaleRead():
                stored = self._state.sessions.get(session, StoredSession())
                return operation not in _WRITES and stored.cell(operation, owner).can_be_stale
            case _:
                return True

    def _finish(self, asked: _Asked) -> None:
        """Do what was asked. A callback of the world."""
        if isinstance(asked.fault, Unavailable):
            self._fire_of(asked)
            self._refuse(asked, "StoreUnavailable", "the session store is unavailable")
        elif asked.text is None:
            self._look(asked)
        else:
            self._change(asked, asked.text)

    def _change(self, asked: _Asked, text: str) -> None:
        state = self._state
        state.writes += 1
        self._writes += 1
        crash = None if self.on_write is None else self.on_write(self._moment(asked))
        share: Share = "part" if isinstance(asked.fault, TornWrite) else "all"
        if crash is not None:
            whole_only = self._script.kind == "memory" and crash.leaves == "part"
            share = "nothing" if whole_only else crash.leaves
        if share != "nothing":
            stored = state.sessions.get(asked.session, StoredSession())
            state.sessions[asked.session] = _changed(stored, asked, text, share)
            self._record_of(
                asked,
                "durable",
                torn=share == "part",
                revision_sha256=None if share == "part" else _sha256(text),
            )
        if crash is not None:
            crash.kill()
        elif isinstance(asked.fault, (TornWrite, LostAck)):
            self._fire_of(asked)
            self._refuse(asked, "StoreUnavailable", "the session store did not acknowledge")
        else:
            self._answer(asked, None, found=True)

    def _look(self, asked: _Asked) -> None:
        stored = self._state.sessions.get(asked.session, StoredSession())
        cell = stored.cell(asked.operation, asked.owner)
        stale = isinstance(asked.fault, StaleRead)
        if stale:
            self._fire_of(asked)
        text = cell.seen(stale)
        facts = {"stale": stale, "found": text is not None, "revision_sha256": _sha256(text)}
        try:
            value: Any
            if asked.operation == "read":
                value = stored.read_manifest(stale=stale)
            elif asked.operation == "read_journal":
                value = stored.read_journal(stale=stale)
            else:
                assert asked.owner is not None, "a slot has an owner"
                value = stored.read_slot(asked.owner, stale=stale)
        except UnreadableError as error:
            self._refuse(asked, "ManifestDrift", str(error), **facts)
        else:
            self._answer(asked, value, **facts)

    def _moment(self, asked: _Asked) -> WriteMoment:
        return WriteMoment(
            n=self._state.writes,
            n_in_life=self._writes,
            op=asked.op,
            operation=asked.operation,
            session=asked.session,
            owner=asked.owner,
            call=asked.promise.call,
        )

    # ------------------------------------------------------------------ answers and facts

    def _answer(self, asked: _Asked, value: object, **facts: Any) -> None:
        self._record_of(
            asked,
            "answered",
            **{"ok": True, "class": None, "code": None, "stale": False, **facts},
        )
        asked.promise.resolve(value)

    def _refuse(self, asked: _Asked, code: str, message: str, **facts: Any) -> None:
        said = {"ok": False, "class": "Session", "code": code, "stale": False, "found": False}
        self._record_of(asked, "answered", **{**said, **facts})
        context = {"store": self.id, "operation": asked.operation}
        asked.promise.reject(TypedError("Session", code, message, context))

    def _fire_of(self, asked: _Asked) -> None:
        rule = asked.rule
        if rule is not None and self._kernel.ending is None:
            call = asked.promise.call
            self._fire(rule, rule.then.kind, call, op=asked.op, operation=asked.operation)

    def _record_of(self, asked: _Asked, what: str, **payload: Any) -> None:
        self._record(
            f"store.{what}",
            asked.promise.call,
            op=asked.op,
            operation=asked.operation,
            session=plain(asked.session),
            owner=plain(asked.owner),
            **payload,
        )

    def _record(self, kind: str, call: str | None, /, **payload: Any) -> None:
        # A fact may have ended this life; then what would come after it does not happen.
        if self._kernel.ending is None:
            super()._record(kind, call, **payload)


def _changed(stored: StoredSession, asked: _Asked, text: str, share: Share) -> StoredSession:
    if asked.operation == "write":
        return stored.written(text, share)
    if asked.operation == "append":
        return stored.appended(text, share)
    assert asked.owner is not None, "a slot has an owner"
    return stored.slot_written(asked.owner, text, share)


def _slot_text(slot: object) -> str:
    try:
        version, data = slot.version, slot.data  # type: ignore[attr-defined]
    except AttributeError:
        raise TypeError(f"a Slot is stored, not a {type(slot).__name__}") from None
    return slot_json(version, data)


def _must_be_text(name: str, value: object) -> None:
    if not isinstance(value, str):
        raise TypeError(f"the {name} must be a text, not a {type(value).__name__}")


def _sha256(text: str | None) -> str | None:
    return (
        None if text is None else hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    )
