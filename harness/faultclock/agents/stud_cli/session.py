"""What all parts of one life share: the session, the turn that runs, and the brackets of events.

A Session holds nothing that the store does not hold too, but for the turn on its way. It is saved
by a snapshot at each turn boundary, and by a journal of what happens in between. The store's
acknowledgement comes first, the event SessionPersisted after it. An unavailable store is asked
three times, 2 and 4 seconds apart; then the session is in error, and stays as it was last saved.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from abc import ABC
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from faultclock.agents.stud_cli.cancellation import Scope
from faultclock.agents.stud_cli.telling import Telling
from faultclock.agents.turn import Ended, Message, Turn, Turns
from faultclock.agents.waits import wait_s
from faultclock.subjects.ports import Slot, Stage, Surroundings, TypedError

_UNAVAILABLE = ("Session", "StoreUnavailable")


class Halted(Ended):
    """A headless turn needs a person: it ends here, with nothing done."""

    def __init__(self) -> None:
        super().__init__("interrupted", None, "permission-required", text="permission-required")


@dataclass(slots=True, kw_only=True)
class StudTurn(Turn):
    """One turn on its way.

    Attributes:
        stage: of a state machine; None where there is none.
        stage_scope: of that stage.
        requests: to the model in this stage, or in this turn.
        executed: ids of the tool calls that were executed, or begun.
        results: id of a tool call to the content of its tool message.
        saved: whether the store has acknowledged it.
    """

    id: str
    scope: Scope
    stage: Stage | None = None
    stage_scope: Scope | None = None
    requests: int = 0
    executed: set[str] = field(default_factory=set)
    results: dict[str, dict[str, Any]] = field(default_factory=dict)
    saved: bool = False


class Session(Turns[StudTurn, str], ABC):
    """The session as this process knows it.

    Attributes:
        id: of the session.
        mode: how a gated call is decided; of a resumed session, the recorded one.
        history: the messages up to the last turn boundary.
        slots: migrated slots that the store does not have yet, by extension.
        sm_state: where the state machine is to go on; None for its entry.
        dirty: whether the store lacks something of it.
        failed: why nothing more can be done with it.
    """

    telling_type: type[Telling] = Telling
    scope_type: type[Scope] = Scope

    def __init__(self, surroundings: Surroundings) -> None:
        super().__init__(surroundings)
        self.id = surroundings.session_id
        self.telling = self.telling_type(self.host)
        self.scope = self.scope_type("session", self.id, told=self.telling.cancelled)
        self.mode: Literal["ask", "yolo", "allowlist"] = surroundings.mode
        self.slots: dict[str, Slot] = {}
        self.sm_state: dict[str, Any] | None = None
        self.created_at = self.now()
        self.dirty = False
        self.state: Literal["idle", "active", "closed"] = "idle"
        self.failed: TypedError | None = None
        # Another life counts from 1 too, and ids are unique over all of them.
        self._tag = uuid.uuid4().hex[:8]
        self._counts: dict[str, int] = {}

    def new_id(self, prefix: str) -> str:
        """Return an id such as `turn-5f0c2a91-1`."""
        count = self._counts[prefix] = self._counts.get(prefix, 0) + 1
        return f"{prefix}-{self._tag}-{count}"

    def now(self) -> int:
        """Return the time as it is written into a manifest: milliseconds since 1970."""
        return time.time_ns() // 1_000_000

    @contextmanager
    def stage(self, turn: StudTurn, name: str) -> Iterator[None]:
        """Bracket a stage: what was fired before it is always matched by what is fired after."""
        id_ = self.new_id("stage")
        self.host.event("StagePreFired", turn=turn.id, stage=name, id=id_)
        try:
            yield
        except BaseException:
            self.host.event("StagePostFired", turn=turn.id, stage=name, id=id_, error=True)
            raise
        self.host.event("StagePostFired", turn=turn.id, stage=name, id=id_, error=False)


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
