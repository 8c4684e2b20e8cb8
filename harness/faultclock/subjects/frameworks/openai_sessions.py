"""Sessions of the OpenAI Agents SDK: one in the store of the scenario, or the user's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from agents.memory.session import Session, SessionABC

from faultclock.subjects.frameworks.life import Life, kind_of

#: A file beside the user's database, as an application would have it.
_WAITING = "waiting_run.json"


def own_session(agent: Any, given: Any) -> str:  # noqa: ARG001 - of the port
    """Return the class of the session that the user hands over beside the agent."""
    return kind_of(given) if isinstance(given, Session) else ""


class StoreSession(SessionABC):  # type: ignore[misc]  # stands in an environment of its own
    """A Session that keeps its items in the store of the scenario.

    Args:
        own: the session of the user, which keeps them instead; None: there is none.
        folder: of the run: a run that waits for a person is kept there, beside a session of the
            user's own.
    """

    def __init__(self, life: Life, own: Any, folder: Path) -> None:
        self._life, self._own, self._file = life, own, folder / _WAITING
        self.session_id = life.session_id
        self.items: list[Any] = []
        self.waiting: dict[str, Any] | None = None

    async def start(self) -> None:
        """Open the session of the user: what was kept beside it is read."""
        if self._file.exists():
            self.waiting = json.loads(self._file.read_text())

    async def wait_for_person(self, state: dict[str, Any] | None) -> None:
        """Keep the run that waits for a person; None: none does."""
        self.waiting = state
        await self._keep()

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """Return the last `limit` items, all of them without a limit."""
        if self._own is not None:
            return list(await self._own.get_items(limit))
        return self.items[-limit:] if limit else list(self.items)

    async def add_items(self, items: list[Any]) -> None:
        """Append items; the run that waited for a person has gone on."""
        if self._own is not None:
            await self._own.add_items(items)
        else:
            self.items += items
        if self._own is None or self.waiting is not None:
            self.waiting = None
            await self._keep()

    async def pop_item(self) -> Any:
        """Take the last item away."""
        if self._own is not None:
            return await self._own.pop_item()
        last = self.items.pop() if self.items else None
        await self._keep()
        return last

    async def clear_session(self) -> None:
        """Forget all items."""
        if self._own is not None:
            await self._own.clear_session()
            return
        self.items.clear()
        await self._keep()

    async def _keep(self) -> None:
        if self._own is not None:
            self._file.write_text(json.dumps(self.waiting))
            return
        await self._life.keep({"items": self.items, "waiting": self.waiting})
