"""Saving: a snapshot at each turn boundary, and a journal of what happens in between.

The store's acknowledgement comes first, the event SessionPersisted after it. An unavailable store
is asked three times, 2 and 4 seconds apart; then the session is in error, and stays as it was
last saved.
"""

from __future__ import annotations

import asyncio
from typing import Any

from faultclock.subjects.ports import Slot, TypedError
from faultclock.subjects.reference_agents.turn import Message
from faultclock.subjects.reference_agents.waits import wait_s
from faultclock.subjects.reference_runtime.session import Session

_UNAVAILABLE = ("Session", "StoreUnavailable")


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
        await self.write(self.manifest(messages))
        # Nothing is known to be saved before this line.
        session.history = messages
        for owner, slot in tuple(session.slots.items()):
            await self.write_slot(owner, slot)
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

    # The six operations.

    async def write(self, manifest: dict[str, Any]) -> None:
        """Replace the manifest; the store clears the journal with it."""
        await self.ask("write", manifest)

    async def write_slot(self, owner: str, slot: Slot) -> None:
        """Replace the slot of an extension."""
        await self.ask("write_slot", owner, slot)

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
            TypedError: of the last attempt, with the class and code of its cause; or whatever
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
