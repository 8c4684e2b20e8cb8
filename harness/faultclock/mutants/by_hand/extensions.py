"""Wrong extensions that are code."""

from __future__ import annotations

import asyncio
import contextlib

from faultclock.mutants.by_hand.table import ByHand
from faultclock.subjects.json_exchange import ServiceError
from faultclock.subjects.ports import TypedError
from faultclock.subjects.reference_extension import Heartbeat, Life

wrong = ByHand("extensions")


# The order of its phases.


@wrong("any-order", "Passes over a phase that comes too early", fails="extension.order-refused")
class _AnyOrder(Heartbeat):
    async def init(self) -> None:
        """Do nothing, and call it done, where it should be refused."""
        if self.life.state == "loaded":
            await super().init()

    async def activate(self) -> None:
        """The same."""
        if self.life.state in ("ready", "inactive"):
            await super().activate()

    async def deactivate(self) -> None:
        """The same."""
        if self.life.state == "active":
            await super().deactivate()


@wrong("stuck", "Believes that it is active after it failed", fails="extension.failed-phase")
class _Stuck(Heartbeat):
    async def activate(self) -> None:
        """Take note of the end before it has come."""
        self.life.check_order("activate")
        before = self.life.state
        try:
            await super().activate()
        except TypedError as error:
            if error.error_class == "ExtensionHost":
                self.life.state = "active"
            else:
                self.life.state = before
            raise


# The end of it.


@wrong("keeps-beating", "Goes on beating after dispose", fails="extension.quiet")
class _KeepsBeating(Heartbeat):
    async def stop(self) -> None:
        """Forget the beat instead of ending it."""
        _BACKGROUND.add(self.beating)
        self.beating = None


#: The loop keeps only a weak reference to a task.
_BACKGROUND: set[asyncio.Task[None] | None] = set()


@wrong("leaves-a-waiter", "Leaves a task that waits for ever", fails="extension.quiet")
class _LeavesAWaiter(Heartbeat):
    async def stop(self) -> None:
        """End the beat, and leave a task behind that never does anything."""
        await super().stop()
        if self.life.state == "inactive":
            _BACKGROUND.add(asyncio.create_task(_wait_for_ever()))


async def _wait_for_ever() -> None:
    await asyncio.get_running_loop().create_future()


# What it is given, and what it says.


@wrong("asks-first", "Uses its configuration before it looks at it", fails="extension.config")
class _AsksFirst(Heartbeat):
    async def init(self) -> None:
        """Ask the service in the wrong phase."""
        self.life.check_order("init")
        with contextlib.suppress(ServiceError):
            await self.say_hello()
        await super().init()

    async def say_hello(self) -> None:
        """Send the first request."""
        from faultclock.subjects.json_exchange import ask

        await ask(f"{self.host.base_url}/hello", None, 5.0)


@wrong("untyped", "Refuses with a plain exception", fails="extension.typed-errors")
class _Untyped(Life):
    def check_order(self, phase: str) -> None:
        try:
            super().check_order(phase)
        except TypedError as error:
            raise RuntimeError(str(error)) from None


@wrong("deaf-to-cancel", "Finishes its phase after a cancel", fails="extension.cancel")
class _Deaf(Heartbeat):
    async def activate(self) -> None:
        """Shield the work from whoever cancels it."""
        work = asyncio.ensure_future(super().activate())
        while not work.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.shield(work)
        work.result()
