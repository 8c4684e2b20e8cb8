"""A checkpointer for a graph that has none: what it holds is kept in the store of the scenario."""

from __future__ import annotations

import asyncio
import threading
from collections import defaultdict
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver

from faultclock.subjects.frameworks.life import Life, ended, kind_of
from faultclock.subjects.frameworks.pickled import pickled, unpickled


def own_session(graph: Any, context: Any) -> str:  # noqa: ARG001 - of the port
    """Return the class of the checkpointer that a graph was compiled with."""
    return kind_of(graph.checkpointer)


class StoreSaver(InMemorySaver):
    """LangGraph's own saver, kept in the store of the scenario after each of its writes."""

    def __init__(self, life: Life) -> None:
        super().__init__()
        self._life = life
        # A whole state is kept each time, so an older one must not land last.
        self._keeping = asyncio.Lock()
        self._blocking = threading.Lock()

    def load(self, saved: str) -> None:
        """Take up what an earlier life has kept."""
        storage, writes, blobs = unpickled(saved)
        for thread, spaces in storage.items():
            self.storage[thread] = defaultdict(dict, spaces)
        self.writes.update(writes)
        self.blobs.update(blobs)

    def put(self, *args: Any, **named: Any) -> Any:
        """Keep a checkpoint; `aput` comes here, too."""
        done = super().put(*args, **named)
        self._keep_blocking()
        return done

    def put_writes(self, *args: Any, **named: Any) -> None:
        """Keep the writes of a task; `aput_writes` comes here, too."""
        super().put_writes(*args, **named)
        self._keep_blocking()

    def _keep_blocking(self) -> None:
        if self._life.blocking:
            with self._blocking:
                ended(self._keep_now())

    async def aput(self, *args: Any, **named: Any) -> Any:
        """Keep a checkpoint."""
        done = await super().aput(*args, **named)
        await self._keep()
        return done

    async def aput_writes(self, *args: Any, **named: Any) -> None:
        """Keep the writes of a task."""
        await super().aput_writes(*args, **named)
        await self._keep()

    async def _keep(self) -> None:
        async with self._keeping:
            await self._keep_now()

    async def _keep_now(self) -> None:
        storage = {thread: dict(spaces) for thread, spaces in self.storage.items()}
        await self._life.keep({"saved": pickled((storage, dict(self.writes), dict(self.blobs)))})
