"""Resuming a session, in this order, and refusing before anything is touched where it must be.

    read the manifest      nothing there: NoSnapshot · of another store: ResumeMismatch
                           not what this program writes: ManifestDrift
    load the extensions    (the caller does)
    decide on each slot    of another version: its owner migrates, warns or rejects; audited
    SessionResumed         then each slot is delivered, exactly once
    SessionActive

What the journal tells of the turn that was cut off becomes history: its calls are sealed, so that
the model knows what happened, and none of them is ever run again by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from faultclock.subjects.ports import Extension, Slot, SlotDecision, TypedError
from faultclock.subjects.reference_runtime.history import Replay, SealedCall, sealed
from faultclock.subjects.reference_runtime.lifecycle import Extensions
from faultclock.subjects.reference_runtime.persistence import Persistence
from faultclock.subjects.reference_runtime.session import Message, Session
from faultclock.subjects.reference_runtime.telling import typed

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
            await self.persistence.snapshot(self.session.messages)

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
        session.messages, orphans = sealed(stored, {}, ())
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
            self.session.messages = [*self.session.messages, *messages]
            self.session.dirty = True

    def note_sealed(self, orphans: list[SealedCall]) -> None:
        """Audit each call that got a synthetic result."""
        for orphan in orphans:
            self.session.dirty = True
            self.session.host.audit_event(
                "ToolCallSealed",
                tool=orphan.tool,
                tool_call=orphan.tool_call,
                started=orphan.started,
            )

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
            raise TypedError(
                "Validation",
                "SlotVersionMissing",
                f"the slot of {extension.id} has no version",
                {"extension": extension.id},
            )
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
        self.session.host.audit_event(
            "StateSlotDrift",
            extension=extension.id,
            stored=stored.version,
            current=current,
            decision=decision,
        )

    def deliver_slot(self, extension: Extension, slot: Slot) -> None:
        """Give an extension its slot; one that cannot take it does not stop the others."""
        try:
            extension.deliver_slot(slot)
        except Exception as error:  # noqa: BLE001 - an extension may raise anything
            self.extensions.audit(extension, "deliver_slot", error)
            self.session.telling.swallowed(f"{extension.id} did not take its slot", error)
