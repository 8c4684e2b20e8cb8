"""What all parts of one life share: the session, the turn that runs, and the brackets of events.

A Session holds nothing that the store does not hold too, but for the turn on its way.
"""

from __future__ import annotations

import time
import uuid
from abc import ABC
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from faultclock.subjects.ports import Slot, Stage, Surroundings, TypedError
from faultclock.subjects.reference_agents.core import Turns
from faultclock.subjects.reference_agents.turn import Ended, Turn
from faultclock.subjects.reference_runtime.cancellation import Scope
from faultclock.subjects.reference_runtime.telling import Telling


class Halted(Ended):
    """A headless turn needs a person: it ends here, with nothing done."""

    def __init__(self, kind: str, request: str) -> None:
        super().__init__("interrupted", None, "permission-required", text="permission-required")
        self.kind = kind
        self.request = request


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
