"""Sessions of the OpenAI Agents SDK: one in the store of the scenario, or the user's own."""

from __future__ import annotations

from typing import Any

from agents.memory.session import SessionABC

from faultclock.subjects.frameworks.life import Life


class StoreSession(SessionABC):  # type: ignore[misc]  # stands in an environment of its own
    """A Session that keeps its items in the store of the scenario.

    A run that waits for a person is kept there as well, where the items are in a session of the
    user's own.

    Args:
        own: the session of the user; None: there is none.
    """

    def __init__(self, life: Life, own: Any = None) -> None:
        self._life, self._own = life, own
        self.session_id = life.session_id
        self.items: list[Any] = []
        self.waiting: dict[str, Any] | None = None

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
        await self._life.keep({"items": self.items, "waiting": self.waiting})
