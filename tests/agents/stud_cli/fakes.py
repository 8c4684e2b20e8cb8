"""What surrounds one part of the runtime in a test, without a world: plain objects that note."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, get_args

from faultclock.agents.stud_cli.runtime import ReferenceRuntime
from faultclock.subjects.ports import (
    InteractionAnswer,
    InteractionKind,
    InteractionRequest,
    Surroundings,
    TypedError,
)


class FakeHost:
    """Notes what it is told."""

    def __init__(self) -> None:
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.audited: list[tuple[str | None, str | None, int | None, dict[str, Any]]] = []
        self.user: list[str] = []
        self.model: list[dict[str, Any]] = []

    def audit(
        self,
        *,
        error_class: str | None,
        code: str | None,
        context: Mapping[str, Any],
        attempt: int | None = None,
    ) -> None:
        """Note an error."""
        self.audited.append((error_class, code, attempt, dict(context)))

    def event(self, name: str, **fields: Any) -> None:
        """Note an event."""
        self.events.append((name, fields))

    audit_event = event

    def show_user(self, message: str) -> None:
        """Note what the user sees."""
        self.user.append(message)

    def tell_model(self, shape: Mapping[str, Any]) -> None:
        """Note what the model sees."""
        self.model.append(dict(shape))


class FakeInteractor:
    """Answers at once, or when the test does."""

    kinds = get_args(InteractionKind)

    def __init__(self, id: str, answer: InteractionAnswer | None) -> None:
        self.id = id
        self.answer = answer
        self.shown: list[tuple[InteractionRequest, Callable[[InteractionAnswer], None]]] = []

    def show(
        self, request: InteractionRequest, answer: Callable[[InteractionAnswer], None]
    ) -> None:
        """Show it."""
        self.shown.append((request, answer))
        if self.answer is not None:
            answer(self.answer)

    def dismiss(self, request_id: str) -> None:
        """Take it off."""


class FakeStore:
    """A store in memory that refuses its first operations."""

    id = "local"

    def __init__(self, refusals: int = 0) -> None:
        self.refusals = refusals
        self.manifest: dict[str, Any] | None = None
        self.journal: list[dict[str, Any]] = []

    def _asked(self) -> None:
        if self.refusals:
            self.refusals -= 1
            raise TypedError("Session", "StoreUnavailable", "not now")

    async def read(self, session_id: str) -> Any:
        """Return the manifest."""
        self._asked()
        return self.manifest

    async def write(self, session_id: str, manifest: Mapping[str, Any]) -> None:
        """Replace the manifest."""
        self._asked()
        self.manifest, self.journal = dict(manifest), []

    async def append(self, session_id: str, entry: Mapping[str, Any]) -> None:
        """Add to the journal."""
        self._asked()
        self.journal.append(dict(entry))

    async def read_journal(self, session_id: str) -> Any:
        """Return the journal."""
        return self.journal

    async def read_slot(self, session_id: str, owner: str) -> Any:
        """Return nothing."""
        return None

    async def write_slot(self, session_id: str, owner: str, slot: Any) -> None:
        """Keep nothing."""


def made_session(host: FakeHost, **surroundings: Any) -> ReferenceRuntime:
    """Return a session in plain surroundings."""
    values: dict[str, Any] = {"session_id": "s1", "resume": False, "store": FakeStore()}
    return ReferenceRuntime(Surroundings(host=host, **(values | surroundings)))
