"""asyncio's callbacks, tasks and futures as entries of the one queue.

A handle goes onto the queue itself, without a wrapper. Tasks and futures hash to a number in
the order of their first use, so that sets of them iterate alike in every process; by default
they hash to an address.
"""

from __future__ import annotations

import asyncio
from asyncio import events, format_helpers
from collections.abc import Callable, Coroutine
from contextvars import Context, copy_context
from traceback import extract_stack
from typing import TYPE_CHECKING, Any

from harness.sim.escapes import SimEscape, SimKilled

if TYPE_CHECKING:
    from harness.sim.loop import SimLoop

__all__ = ["SimFuture", "SimHandle", "SimTask", "SimTimerHandle"]


class SimHandle(events.Handle):
    """A callback that is due as soon as the loop comes round."""

    __slots__ = ()

    def __init__(
        self,
        callback: Callable[..., object],
        args: tuple[Any, ...],
        loop: SimLoop,
        context: Context | None = None,
    ) -> None:
        # What the base class does, without its two calls: this is the hottest constructor.
        self._context = copy_context() if context is None else context
        self._loop = loop
        self._callback = callback
        self._args = args
        self._cancelled = False
        self._repr = None
        self._source_traceback = extract_stack() if loop._debug else None

    def _run(self) -> None:
        try:
            self._context.run(self._callback, *self._args)
        except (SystemExit, KeyboardInterrupt, SimEscape, SimKilled):
            # The base class would hand the last two to the loop's exception handler.
            raise
        except BaseException as error:  # noqa: BLE001 - asyncio's own rule
            _report(self, error)


class SimTimerHandle(events.TimerHandle):
    """A callback that is due at a time."""

    __slots__ = ()

    def __init__(
        self,
        when: float,
        callback: Callable[..., object],
        args: tuple[Any, ...],
        loop: SimLoop,
        context: Context | None = None,
    ) -> None:
        self._context = copy_context() if context is None else context
        self._loop = loop
        self._callback = callback
        self._args = args
        self._cancelled = False
        self._repr = None
        self._source_traceback = extract_stack() if loop._debug else None
        self._when = when
        self._scheduled = False

    _run = SimHandle._run  # type: ignore[assignment]


def _report(handle: Any, error: BaseException) -> None:
    source = format_helpers._format_callback_source(handle._callback, handle._args)
    context = {"message": f"Exception in callback {source}", "exception": error, "handle": handle}
    if handle._source_traceback:
        context["source_traceback"] = handle._source_traceback
    handle._loop.call_exception_handler(context)


class SimFuture(asyncio.Future[Any]):
    """A future whose hash is the same in every process."""

    __slots__ = ("_number",)

    def __hash__(self) -> int:
        try:
            return self._number  # type: ignore[has-type, no-any-return]
        except AttributeError:
            self._number: int = next(self._loop.hash_numbers)  # type: ignore[attr-defined]
            return self._number


class SimTask(asyncio.Task[Any]):
    """A task whose hash is the same in every process."""

    __slots__ = ("_number",)

    def __init__(
        self,
        coro: Coroutine[Any, Any, Any],
        *,
        loop: SimLoop,
        name: str,
        context: Context | None,
    ) -> None:
        super().__init__(coro, loop=loop, name=name, context=context)

    def __hash__(self) -> int:
        try:
            return self._number  # type: ignore[has-type, no-any-return]
        except AttributeError:
            self._number: int = next(self._loop.hash_numbers)  # type: ignore[attr-defined]
            return self._number
