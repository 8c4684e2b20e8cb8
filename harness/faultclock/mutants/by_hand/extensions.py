"""Wrong extensions that are code."""

from __future__ import annotations

import asyncio
import contextlib

from faultclock.agents.extension import Heartbeat
from faultclock.agents.json_exchange import ServiceError
from faultclock.mutants.by_hand.table import ByHand

wrong = ByHand("extensions")


#: The loop keeps only a weak reference to a task.
_BACKGROUND: set[asyncio.Task[None] | None] = set()


@wrong(
    "leaves-a-waiter",
    "Leaves a task that waits for ever",
    fails="extension.quiet",
    shown_by="extension-contract/activate-fails",
)
class _LeavesAWaiter(Heartbeat):
    async def stop(self) -> None:
        """End the beat, and leave a task behind that never does anything."""
        await super().stop()
        if self.life.state == "inactive":
            _BACKGROUND.add(asyncio.create_task(_wait_for_ever()))


async def _wait_for_ever() -> None:
    await asyncio.get_running_loop().create_future()


@wrong(
    "asks-first",
    "Uses its configuration before it looks at it",
    fails="extension.config",
    shown_by="extension-contract/invalid-config",
)
class _AsksFirst(Heartbeat):
    async def init(self) -> None:
        """Ask the service in the wrong phase."""
        self.life.check_order("init")
        with contextlib.suppress(ServiceError):
            await self.say_hello()
        await super().init()

    async def say_hello(self) -> None:
        """Send the first request."""
        from faultclock.agents.json_exchange import ask

        await ask(f"{self.host.base_url}/hello", None, 5.0)
