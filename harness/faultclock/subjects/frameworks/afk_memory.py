"""The memory of an agent of AFK: AFK's own store in memory, kept in the store of the scenario."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from typing import Any

from afk.memory import MemoryEvent
from afk.memory.adapters.in_memory import InMemoryMemoryStore

#: The methods of a MemoryStore after which it is another one.
_WRITES = ("append_event", "put_state", "delete_state", "replace_thread_events")
Keep = Callable[[Mapping[str, Any]], Awaitable[None]]


class Memory(InMemoryMemoryStore):  # type: ignore[misc]  # stands in an environment of its own
    """It is kept after each of its writes.

    Attributes:
        run_id: of the run that has begun and not ended.
    """

    def __init__(self, keep: Keep) -> None:
        super().__init__()
        self._keep = keep
        self.run_id: str | None = None
        for name in _WRITES:
            setattr(self, name, self._kept(getattr(self, name)))

    def _kept(self, write: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
        async def written(*args: Any, **named: Any) -> None:
            await write(*args, **named)
            await self.save()

        return written

    def load(self, kept: Mapping[str, Any]) -> None:
        """Take up what an earlier life has kept."""
        self.run_id = kept["run_id"]
        for thread, key, value in kept["state"]:
            self._state_by_thread_key[thread, key] = value
        for event in kept["events"]:
            self._events_by_thread.setdefault(event["thread_id"], []).append(MemoryEvent(**event))

    async def note(self, run_id: str | None) -> None:
        """Note which run goes on, as an application does: where it cannot, that ends no run."""
        self.run_id = run_id
        with contextlib.suppress(Exception):
            await self.save()

    async def save(self) -> None:
        """Keep all of it."""
        state = [[*key, value] for key, value in self._state_by_thread_key.items()]
        events = [asdict(event) for of in self._events_by_thread.values() for event in of]
        await self._keep({"run_id": self.run_id, "state": state, "events": events})
