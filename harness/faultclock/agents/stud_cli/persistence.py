"""Saving a session, and resuming one.

It is saved by a snapshot at each turn boundary, and by a journal of what happens in between. The
store's acknowledgement comes first, the event SessionPersisted after it. An unavailable store is
asked three times, 2 and 4 seconds apart; then the session is in error, and stays as it was last
saved. It is resumed in this order, and refused before anything is touched where it must be:

    read the manifest      nothing there: NoSnapshot · of another store: ResumeMismatch
                           not what this program writes: ManifestDrift
    load the extensions    (the caller does)
    decide on each slot    of another version: its owner migrates, warns or rejects; audited
    SessionResumed         then each slot is delivered, exactly once
    SessionActive

A provider refuses a conversation in which a tool call has no answer. A turn that was cut off (by
a cancel, an error or a crash) is therefore sealed: each of its calls without a result gets a
synthetic one that says so, and none of them is ever run again by itself.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field
from msgspec.structs import asdict

from faultclock.agents import wire
from faultclock.agents.stud_cli.session import Session, typed
from faultclock.agents.turn import Message
from faultclock.agents.waits import wait_s
from faultclock.subjects.ports import Extension, Slot, SlotDecision, TypedError

if TYPE_CHECKING:
    from faultclock.agents.stud_cli.lifecycle import Extensions

_REQUIRED: dict[str, type | tuple[type, ...]] = {
    "sessionId": str,
    "storeId": str,
    "mode": str,
    "messages": list,
    "createdAt": (int, str),
    "updatedAt": (int, str),
}
_OPTIONAL = frozenset({"smState", "projectRoot"})
_MODES = ("ask", "yolo", "allowlist")
_UNKNOWN = (
    "The call was cut off while it ran: its outcome is unknown. It may have had its effect; check"
    " before you call it again."
)
_NOT_RUN = "The turn was cut off before the call was run: nothing happened."
_UNAVAILABLE = ("Session", "StoreUnavailable")


def user(text: str) -> Message:
    """Return the message of the user."""
    return {"role": "user", "content": text}


tool_message = partial(wire.tool_message, sort_keys=True)


class SealedCall(Struct, frozen=True, kw_only=True):
    """A call that got a synthetic result; `started` says whether it may have had its effect."""

    tool: str
    tool_call: str
    started: bool


def sealed(
    messages: Iterable[Message],
    results: Mapping[str, Mapping[str, Any]],
    started: Iterable[str],
) -> tuple[list[Message], list[SealedCall]]:
    """Return `messages` with an answer to every tool call, and the calls that had none.

    Args:
        messages: with or without their tool messages.
        results: id of a tool call to the content of its answer, for those not in `messages`.
        started: ids of the calls that were executed, or begun.
    """
    given = list(messages)
    answers = {item["tool_call_id"]: item for item in given if item.get("role") == "tool"}
    answers |= {id_: tool_message(id_, content) for id_, content in results.items()}
    begun = set(started)
    whole: list[Message] = []
    orphans: list[SealedCall] = []
    for item in given:
        if item.get("role") == "tool":
            continue
        whole.append(item)
        for call in item.get("tool_calls") or ():
            id_, name = call["id"], call["function"]["name"]
            if id_ not in answers:
                orphan = SealedCall(tool=name, tool_call=id_, started=id_ in begun)
                orphans.append(orphan)
                answers[id_] = tool_message(id_, _seal(orphan))
            whole.append(answers[id_])
    return whole, orphans


def _seal(orphan: SealedCall) -> dict[str, Any]:
    message = _UNKNOWN if orphan.started else _NOT_RUN
    return {"error": {"class": "Cancellation", "code": "ToolCancelled", "message": message}}


class Replay(Struct):
    """One turn, put together from the journal's entries.

    Entries of unknown kinds are left alone: another version of the program may have written them.
    """

    id: str | None = None
    first: list[Message] = field(default_factory=list)
    assistants: list[Message] = field(default_factory=list)
    started: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    results: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    @classmethod
    def turns(cls, entries: Sequence[Mapping[str, Any]]) -> list[Replay]:
        """Return the turns of a journal, in their order."""
        turns: list[Replay] = []
        for entry in entries:
            begins = entry.get("kind") == "turn_started"
            # A lost acknowledgement may have made the beginning of a turn stand there twice.
            if not turns or (begins and entry.get("turn") != turns[-1].id):
                turns.append(cls(id=entry.get("turn") if begins else None))
            turns[-1].take(entry)
        return turns

    def take(self, entry: Mapping[str, Any]) -> None:
        """Apply one entry; to apply it twice is to apply it once."""
        call = str(entry.get("tool_call"))
        match entry.get("kind"):
            case "turn_started":
                self.first = [user(str(entry.get("text", "")))]
            case "tools_proposed":
                message = dict(entry.get("message") or {})
                if message and message not in self.assistants:
                    self.assistants.append(message)
            case "tool_started":
                self.started[call] = entry
                self.results.pop(call, None)
            case "tool_ended" if isinstance(entry.get("content"), Mapping):
                self.results[call] = entry["content"]

    def whole(self) -> tuple[list[Message], list[SealedCall]]:
        """Return its messages with every tool call answered; none if it did nothing."""
        self.adopt_strays()
        if not self.assistants:
            return [], []
        return sealed([*self.first, *self.assistants], self.results, self.started)

    def adopt_strays(self) -> None:
        """Make the message that a call without one must have come from."""
        known = {call["id"] for item in self.assistants for call in item.get("tool_calls") or ()}
        calls = [
            wire.called(id_, str(entry.get("tool")), json.dumps(entry.get("arguments") or {}))
            for id_, entry in self.started.items()
            if id_ not in known
        ]
        if calls:
            message = {"role": "assistant", "content": None, "tool_calls": calls}
            self.assistants.append(message)


class Persistence:
    """All that this runtime asks of the session store.

    Attributes:
        attempts_max: how often an operation is tried in all.
    """

    attempts_max = 3

    def __init__(self, session: Session) -> None:
        self.session = session
        self.store = session.world.store

    async def snapshot(self, messages: list[Message]) -> None:
        """Save the session with `messages` as its history, then say so.

        Raises:
            TypedError: Session/StoreUnavailable, after the last attempt.
        """
        session = self.session
        await self.ask("write", self.manifest(messages))
        # Nothing is known to be saved before this line.
        session.history = messages
        for owner, slot in tuple(session.slots.items()):
            await self.ask("write_slot", owner, slot)
            del session.slots[owner]
        session.dirty = False
        self.persisted()

    def persisted(self) -> None:
        """Emit SessionPersisted: the store has acknowledged."""
        self.session.host.event("SessionPersisted", session=self.session.id)

    def manifest(self, messages: list[Message]) -> dict[str, Any]:
        """Return the slim manifest: no extension set, no slots, no secrets."""
        session = self.session
        manifest: dict[str, Any] = {
            "sessionId": session.id,
            "storeId": self.store.id,
            "mode": session.mode,
            "messages": messages,
            "createdAt": session.created_at,
            "updatedAt": session.now(),
        }
        if session.sm_state is not None:
            manifest["smState"] = session.sm_state
        return manifest

    # What is asked of the store.

    async def note(self, kind: str, **fields: Any) -> None:
        """Add an entry to the journal."""
        await self.ask("append", {"kind": kind, **fields})

    async def read(self) -> Any:
        """Return the manifest, None if there is none."""
        return await self.ask("read")

    async def read_journal(self) -> list[Any]:
        """Return the entries since the last snapshot."""
        return list(await self.ask("read_journal") or ())

    async def read_slot(self, owner: str) -> Slot | None:
        """Return the slot of an extension, None if there is none."""
        slot: Slot | None = await self.ask("read_slot", owner)
        return slot

    # Retries.

    async def ask(self, operation: str, *arguments: Any) -> Any:
        """Do one operation, again while the store is unavailable.

        Raises:
            TypedError: of the last attempt, with the class and code of its cause; or what
                else the store says, at once.
        """
        attempt = 0
        while True:
            attempt += 1
            try:
                return await getattr(self.store, operation)(self.session.id, *arguments)
            except TypedError as error:
                self.audit_attempt(operation, error, attempt)
                if (error.error_class, error.code) != _UNAVAILABLE:
                    raise
                if attempt >= self.attempts_max:
                    self.session.failed = self.gave_up(operation, error, attempt)
                    raise self.session.failed from error
            await asyncio.sleep(self.wait_s(attempt))

    def wait_s(self, failures: int) -> float:
        """Return the wait after the `failures`-th failure (1-based), in seconds."""
        return wait_s("linear", 2.0, failures)

    def audit_attempt(self, operation: str, error: TypedError, attempt: int) -> None:
        """Put a failed attempt into the audit trail."""
        context = {"operation": operation, "session": self.session.id}
        self.session.telling.failed_attempt(error, attempt, context)

    def gave_up(self, operation: str, error: TypedError, attempts: int) -> TypedError:
        """Return the error with which the session ends."""
        message = f"the session store did not {operation} in {attempts} attempts: {error}"
        wrapper = TypedError(error.error_class, error.code, message, error.context)
        self.session.telling.is_audited(wrapper)
        return wrapper


class Resume:
    """Opens a stored session."""

    def __init__(self, session: Session, persistence: Persistence, extensions: Extensions) -> None:
        self.session = session
        self.persistence = persistence
        self.extensions = extensions
        self._slots: list[tuple[Extension, Slot]] = []

    async def read(self) -> None:
        """Read the session, and take over what it says.

        Raises:
            TypedError: Session: it cannot be resumed.
        """
        manifest = await self.persistence.read()
        self.check(manifest)
        self.take_over(manifest)
        entries = await self.persistence.read_journal()
        self.replay([entry for entry in entries if isinstance(entry, Mapping)])

    async def deliver(self) -> None:
        """Decide on all slots, then say that the session is resumed, then deliver them.

        Raises:
            TypedError: an owner refused its slot, or could not migrate it.
        """
        for extension in self.extensions.active:
            await self.decide_slot(extension)
        self.session.host.event("SessionResumed", session=self.session.id)
        for extension, slot in self._slots:
            self.deliver_slot(extension, slot)

    async def settle(self) -> None:
        """Save what was sealed, so that no other life seals it again."""
        if self.session.dirty:
            await self.persistence.snapshot(self.session.history)

    # The manifest.

    def check(self, manifest: Any) -> None:
        """Check that a manifest is there, is this store's, and is whole.

        Raises:
            TypedError: Session/NoSnapshot, ResumeMismatch or ManifestDrift.
        """
        if manifest is None:
            raise self.refused("NoSnapshot", "there is no such session")
        if not isinstance(manifest, Mapping):
            raise self.refused("ManifestDrift", "the manifest is no object")
        self.check_store(manifest.get("storeId"))
        self.check_shape(manifest)

    def check_store(self, store_id: object) -> None:
        """Check that the store which holds the session has written it.

        Raises:
            TypedError: Session/ManifestDrift, ResumeMismatch.
        """
        if not isinstance(store_id, str) or not store_id.strip():
            raise self.refused("ManifestDrift", "the manifest does not say whose it is")
        if store_id != self.persistence.store.id:
            raise self.refused("ResumeMismatch", "the session was written by another store")

    def check_shape(self, manifest: Mapping[str, Any]) -> None:
        """Check that the manifest has all its keys, and no others.

        Raises:
            TypedError: Session/ManifestDrift.
        """
        for key, kind in _REQUIRED.items():
            if not isinstance(manifest.get(key), kind):
                raise self.refused("ManifestDrift", f"the manifest has no usable {key}")
        unknown = sorted(set(manifest) - set(_REQUIRED) - _OPTIONAL)
        if unknown:
            raise self.refused("ManifestDrift", f"the manifest has the unknown key {unknown[0]}")
        if manifest["sessionId"] != self.session.id:
            raise self.refused("ManifestDrift", "the manifest is of another session")
        if manifest["mode"] not in _MODES:
            raise self.refused("ManifestDrift", "the manifest has an unknown mode")
        state = manifest.get("smState")
        if state is not None and not isinstance(state, Mapping):
            raise self.refused("ManifestDrift", "the manifest has no usable smState")
        for message in manifest["messages"]:
            if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
                raise self.refused("ManifestDrift", "the manifest has a message without a role")

    def take_over(self, manifest: Mapping[str, Any]) -> None:
        """Make the stored session this one's: its mode is the recorded one."""
        session = self.session
        session.mode = manifest["mode"]
        session.created_at = manifest["createdAt"]
        state = manifest.get("smState")
        session.sm_state = None if state is None else dict(state)
        stored = [dict(message) for message in manifest["messages"]]
        session.history, orphans = sealed(stored, {}, ())
        self.note_sealed(orphans)

    def refused(self, code: str, message: str) -> TypedError:
        """Return the error that keeps the session shut."""
        return TypedError("Session", code, message, {"session": self.session.id})

    # The journal.

    def replay(self, entries: list[Mapping[str, Any]]) -> None:
        """Add the turns that were cut off to the history, each call of theirs with a result."""
        for turn in Replay.turns(entries):
            messages, orphans = turn.whole()
            self.add(messages)
            self.note_sealed(orphans)

    def add(self, messages: list[Message]) -> None:
        """Add messages to the history."""
        if messages:
            self.session.history = [*self.session.history, *messages]
            self.session.dirty = True

    def note_sealed(self, orphans: list[SealedCall]) -> None:
        """Audit each call that got a synthetic result."""
        for orphan in orphans:
            self.session.dirty = True
            self.session.host.audit_event("ToolCallSealed", **asdict(orphan))

    # Slots.

    async def decide_slot(self, extension: Extension) -> None:
        """Find out what an extension is to receive.

        Raises:
            TypedError: Validation/SlotVersionMissing, Session/SlotDriftRejected or
                SlotMigrationFailed.
        """
        current = extension.slot_version
        if current is None:
            return
        stored = await self.persistence.read_slot(extension.id)
        if stored is None:
            return
        if stored.version is None:
            message = f"the slot of {extension.id} has no version"
            context = {"extension": extension.id}
            raise TypedError("Validation", "SlotVersionMissing", message, context)
        if stored.version == current:
            self._slots.append((extension, stored))
            return
        self._slots.append((extension, self.drifted(extension, stored, current)))

    def drifted(self, extension: Extension, stored: Slot, current: int) -> Slot:
        """Let the owner decide on a slot of another version, and audit what it says.

        Raises:
            TypedError: Session/SlotDriftRejected or SlotMigrationFailed.
        """
        try:
            decision: SlotDecision = extension.on_slot_drift(stored)
        except Exception as error:
            self.audit_drift(extension, stored, current, "failed")
            message = f"{extension.id} could not migrate its slot"
            raise typed(error, ("Session", "SlotMigrationFailed"), message) from error
        self.audit_drift(extension, stored, current, decision.decision)
        if decision.decision == "warn":
            return stored
        if decision.decision == "reject":
            raise self.refused("SlotDriftRejected", f"{extension.id} rejects its stored slot")
        if decision.slot is None or decision.slot.version != current:
            raise self.refused("SlotMigrationFailed", f"{extension.id} gave no slot of its version")
        self.session.slots[extension.id] = decision.slot
        self.session.dirty = True
        return decision.slot

    def audit_drift(self, extension: Extension, stored: Slot, current: int, decision: str) -> None:
        """Audit a drift and what its owner decided."""
        versions = {"stored": stored.version, "current": current}
        record = {"extension": extension.id, **versions, "decision": decision}
        self.session.host.audit_event("StateSlotDrift", **record)

    def deliver_slot(self, extension: Extension, slot: Slot) -> None:
        """Give an extension its slot; one that cannot take it does not stop the others."""
        try:
            extension.deliver_slot(slot)
        except Exception as error:  # noqa: BLE001 - an extension may raise anything
            self.extensions.audit(extension, "deliver_slot", error)
            self.session.telling.swallowed(f"{extension.id} did not take its slot", error)
