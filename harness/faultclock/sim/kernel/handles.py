"""asyncio's callbacks as entries of the one queue, and tasks whose sets iterate alike everywhere.

A handle goes onto the queue itself, without a wrapper. By default a task hashes to its address,
so a set of tasks iterates in another order in every process; ours hash to a number in the order
of their creation. Futures that a library makes do too, since it may keep them in a set (aiohttp
wakes whoever waits for a name in the order of one). The ones that asyncio makes for itself do not:
they are awaited once and forgotten, and its C code has a fast path for exactly its own class, which
is worth a third of the time of every await.
"""

from __future__ import annotations

import asyncio
from asyncio import events, format_helpers
from collections.abc import Coroutine
from contextvars import Context, copy_context
from typing import TYPE_CHECKING, Any

from faultclock.sim.kernel.clock import monotonic_seconds
from faultclock.sim.kernel.escapes import SimEscape, SimKilled

if TYPE_CHECKING:
    from faultclock.sim.kernel.lanes import Lane
    from faultclock.sim.kernel.loop import KernelLoop

#: What a callback raises through the loop. asyncio would hand the last two to its handler.
_PASSED_ON = (SystemExit, KeyboardInterrupt, SimEscape, SimKilled)

#: Makes a handle past its constructor, which passes through C and back.
allocate = object.__new__


class SimHandle(events.Handle):
    """A callback that is due as soon as the loop comes round. The constructor is asyncio's own."""

    __slots__ = ()


class SimTimerHandle(events.TimerHandle):
    """A callback that is due at a time. Made by the loop."""

    __slots__ = ("_begun", "_maker")

    _loop: KernelLoop
    _when: int
    #: The task that set it; None where none did, or where the order is not explored.
    _maker: asyncio.Task[Any] | None
    #: When the task that waits for it began to, and the task; None where nothing looks at waits.
    _begun: tuple[int, asyncio.Task[Any]] | None

    def show_wait(self) -> None:
        """Show who looks at waits that the one for this is over."""
        begun, self._begun = self._begun, None
        if begun is not None:
            self._loop.show_wait(*begun)

    def cancel(self) -> None:
        """Never call it, and let go of the task that waits; its entry is dropped when it is due."""
        if not self._cancelled:
            # As the base class does it, but for two calls: every sleep that is over comes here.
            timer: Any = self
            timer._cancelled = True
            if self._loop._debug:
                timer._repr = repr(self)
            timer._callback = timer._args = self._begun = None

    def when(self) -> float:
        """Return the loop time at which it is due, in seconds."""
        return monotonic_seconds(self._when)


def report(handle: Any, error: BaseException) -> None:
    """Hand what a callback has raised to its loop's exception handler, as asyncio does.

    Called where the error is handled, so that it can be passed on as if nothing had been.
    """
    if isinstance(error, _PASSED_ON):
        raise
    source = format_helpers._format_callback_source(handle._callback, handle._args)
    context = {"message": f"Exception in callback {source}", "exception": error, "handle": handle}
    if handle._source_traceback:
        context["source_traceback"] = handle._source_traceback
    handle._loop.call_exception_handler(context)


class SimFuture(asyncio.Future[Any]):
    """A future whose hash is the same in every process."""

    __slots__ = ("_number",)
    _number: int

    def __hash__(self) -> int:
        try:
            return self._number
        except AttributeError:
            self._number = next(self._loop.hash_numbers)  # type: ignore[attr-defined]
            return self._number


class SimTask(asyncio.Task[Any]):
    """A task whose hash is the same in every process."""

    __slots__ = ("_lane", "_number", "_runs_in")
    _number: int
    #: Its context: asyncio gives it away only since Python 3.12.
    _runs_in: Context
    #: What keeps the order of its timers; see `lanes`.
    _lane: Lane

    def __init__(
        self,
        coro: Coroutine[Any, Any, Any],
        *,
        loop: KernelLoop,
        name: str,
        context: Context | None,
    ) -> None:
        self._runs_in = copy_context() if context is None else context
        super().__init__(coro, loop=loop, name=name, context=self._runs_in)

    def __hash__(self) -> int:
        try:
            return self._number
        except AttributeError:
            self._number = next(self._loop.hash_numbers)  # type: ignore[attr-defined]
            return self._number
