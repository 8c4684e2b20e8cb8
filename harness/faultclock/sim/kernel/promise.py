"""Promise: what the world owes a subject that has begun an operation, settled once.

A part of the world (a tool, a store, an extension) makes one when the operation begins and
settles it later from a callback of the world, which must not block. The subject waits for it: a
coroutine on its event loop, or a simulated thread that blocks. One waits, once.

It records nothing and knows no operation. Nothing is settled after the end of the run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from faultclock.errors import InternalError
from faultclock.sim.kernel.context import current_call
from faultclock.sim.kernel.kernel import Kernel, Wake


class Promise:
    """The outcome of one operation, to come.

    Make it on the subject's own thread or task: a callback of the world belongs to no call, so
    whatever is recorded later takes the call from here.

    Args:
        kernel: of the world that owes it.
        reason: what a report says that the subject waits for, when the run hangs.
        on_abandon: called at once, at most once, when whoever waits is cancelled before the
            promise was settled. It must not block.

    Attributes:
        call: id of the call in which the operation began, None outside one.
        settled: whether it has its outcome.
        abandoned: whether whoever waited went away before that.
    """

    __slots__ = (
        "_error",
        "_kernel",
        "_on_abandon",
        "_reason",
        "_value",
        "_waited",
        "_wake_up",
        "abandoned",
        "call",
        "settled",
    )

    def __init__(
        self, kernel: Kernel, reason: str, on_abandon: Callable[[], None] | None = None
    ) -> None:
        self.call = current_call()
        self.settled = False
        self.abandoned = False
        self._kernel = kernel
        self._reason = reason
        self._on_abandon = on_abandon
        self._value: Any = None
        self._error: BaseException | None = None
        self._wake_up: Callable[[], None] | None = None
        self._waited = False

    def resolve(self, value: object = None) -> bool:
        """Settle it with a value; return whether it was this that settled it."""
        return self._settle(value, None)

    def reject(self, error: BaseException) -> bool:
        """Settle it with an error, raised where it is waited for; return as `resolve` does."""
        return self._settle(None, error)

    def _settle(self, value: object, error: BaseException | None) -> bool:
        if self.settled or self._kernel.ending is not None:
            return False
        self.settled = True
        self._value, self._error = value, error
        if self._wake_up is not None:
            self._wake_up()
        return True

    async def wait_async(self) -> Any:
        """Wait as a coroutine of a simulated event loop; return the value, or raise the error."""
        self._wait_once()
        if not self.settled:
            future = asyncio.get_running_loop().create_future()

            def wake_up() -> None:
                # Whoever waited may be gone, and so may its loop.
                if not future.done() and not future.get_loop().is_closed():
                    future.set_result(None)

            self._wake_up = wake_up
            try:
                await future
            except BaseException:
                # A cancel, or a coroutine that is closed. The second is also how the end of the
                # run tears a waiting coroutine down: then nobody has gone away.
                self._abandon()
                raise
        return self._outcome()

    def wait_sync(self) -> Any:
        """Block the calling simulated thread; return the value, or raise the error.

        Raises:
            SimKilled: the run is over.
        """
        self._wait_once()
        if not self.settled:
            wake: Wake = self._kernel.waiter(self._reason)
            self._wake_up = lambda: self._kernel.fire(wake)
            self._kernel.park(wake)
        return self._outcome()

    def _wait_once(self) -> None:
        if self._waited:
            raise InternalError(f"two wait for the same promise: {self._reason}")
        self._waited = True

    def _abandon(self) -> None:
        if self.settled or self.abandoned or self._kernel.ending is not None:
            return
        self.abandoned = True
        if self._on_abandon is not None:
            self._on_abandon()

    def _outcome(self) -> Any:
        if self._error is not None:
            raise self._error
        return self._value
