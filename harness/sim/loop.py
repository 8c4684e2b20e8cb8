"""An asyncio event loop whose every handle is an event of the one queue.

Timers, ready callbacks, SimPy processes and threads share one order. The base class of the
standard library brings `run_until_complete`, async generators and the exception handler; what is
real input or output is refused by name.
"""

from __future__ import annotations

import asyncio
import contextlib
from asyncio import events
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, NoReturn

from harness.sim.escapes import refuse
from harness.sim.kernel import Actor, Kernel, LoopHandle, current
from harness.sim.net.transports import NetworkLoopMixin

__all__ = ["MONOTONIC_BASE_NS", "SimLoop"]

#: What the monotonic clocks show at virtual time 0. Not zero: code that takes 0 for "never" would
#: behave as it never does on a real machine.
MONOTONIC_BASE_NS = 1_000 * 1_000_000_000
_BASE_S = MONOTONIC_BASE_NS // 1_000_000_000
_NS = 1_000_000_000


class _Handle(LoopHandle, events.Handle):
    __slots__ = ()


class _TimerHandle(LoopHandle, events.TimerHandle):
    __slots__ = ()


class _Future(asyncio.Future[Any]):
    """A future whose place in a set depends on when it was made, not on its address."""

    def __hash__(self) -> int:
        return self.number  # type: ignore[attr-defined,no-any-return]


class _Task(asyncio.Task[Any]):
    """A task whose place in a set depends on when it was made, not on its address."""

    def __hash__(self) -> int:
        return self.number  # type: ignore[attr-defined,no-any-return]


class SimLoop(NetworkLoopMixin, asyncio.BaseEventLoop):
    """The loop of a simulated thread.

    `time()` is in seconds and equals `time.monotonic()`; everything below it is integer
    nanoseconds.
    """

    def __init__(self, kernel: Kernel | None = None) -> None:
        if kernel is None:
            here = current()
            if here is None:
                raise RuntimeError("a simulated loop is made inside a simulated world")
            kernel = here[0]
        super().__init__()
        self.kernel = kernel
        self.actor: Actor | None = None
        self.backlog: deque[Any] = deque()
        self._env = kernel.env
        self._clock_resolution = 1e-9
        self._numbers = 0
        self._task_numbers = 0
        kernel.adopt(self)

    # ------------------------------------------------------------------ time and callbacks

    def time(self) -> float:
        """Return the virtual monotonic time in seconds."""
        return (self._env._now + MONOTONIC_BASE_NS) / _NS

    def call_soon(
        self, callback: Callable[..., Any], *args: Any, context: Any = None
    ) -> asyncio.Handle:
        """Run `callback` at this instant, after all that is due now."""
        if self._closed:
            self._check_closed()
        handle = _Handle(callback, args, self, context)
        env = self._env
        env.lane.append((next(env._eid), handle))
        return handle

    def call_soon_threadsafe(
        self, callback: Callable[..., Any], *args: Any, context: Any = None
    ) -> asyncio.Handle:
        """Run `callback` soon; any simulated thread of the same world may call it."""
        here = current()
        if here is None or here[0] is not self.kernel:
            refuse("call_soon_threadsafe from a thread outside of the world")
        return self.call_soon(callback, *args, context=context)

    def call_later(
        self, delay: float, callback: Callable[..., Any], *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        """Run `callback` after `delay` seconds, rounded to a nanosecond."""
        return self._call_at_ns(
            self._env._now + round(delay * _NS), callback, args, context
        )

    def call_at(
        self, when: float, callback: Callable[..., Any], *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        """Run `callback` when `time()` shows `when`."""
        return self._call_at_ns(round(when * _NS) - MONOTONIC_BASE_NS, callback, args, context)

    def _call_at_ns(
        self, at_ns: int, callback: Callable[..., Any], args: tuple[Any, ...], context: Any
    ) -> asyncio.TimerHandle:
        if self._closed:
            self._check_closed()
        handle = _TimerHandle((at_ns + MONOTONIC_BASE_NS) / _NS, callback, args, self, context)
        self._env.schedule_at(handle, at_ns)
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Do nothing: the queue skips a cancelled timer without moving the time."""

    def _write_to_self(self) -> None:
        """Do nothing: there is no selector to wake."""

    def _process_events(self, event_list: Any) -> None:
        """Do nothing: there is no selector."""

    # ------------------------------------------------------------------ running

    def run_forever(self) -> None:
        """Run until stopped, on the simulated thread that calls it."""
        here = current()
        if here is None or here[0] is not self.kernel:
            refuse("running a simulated loop outside of its world")
        actor = here[1]
        before, self.actor, actor.in_loop = actor.in_loop, actor, self
        try:
            super().run_forever()
        finally:
            actor.in_loop, self.actor = before, None

    def _run_once(self) -> None:
        self.kernel.run_loop(self)

    # ------------------------------------------------------------------ tasks and futures

    def create_future(self) -> asyncio.Future[Any]:
        """Return a future whose hash is a number of this loop."""
        future = _Future.__new__(_Future)
        future.number = self._next_number()  # type: ignore[attr-defined]
        future.__init__(loop=self)  # type: ignore[misc]
        return future

    def create_task(
        self, coro: Coroutine[Any, Any, Any], *, name: Any = None, context: Any = None, **more: Any
    ) -> asyncio.Task[Any]:
        """Return a task with a name and a hash that are numbers of this loop."""
        self._check_closed()
        self._task_numbers += 1
        if name is None:
            name = f"Task-{self._task_numbers}"
        if self._task_factory is not None:
            return super().create_task(coro, name=name, context=context, **more)
        task = _Task.__new__(_Task)
        task.number = self._next_number()  # type: ignore[attr-defined]
        # The number first: making a task puts it into a set.
        task.__init__(coro, loop=self, name=name, context=context, **more)  # type: ignore[misc]
        return task

    def _next_number(self) -> int:
        self._numbers += 1
        return self._numbers

    def pending_tasks(self) -> list[asyncio.Task[Any]]:
        """Return the tasks that have not ended, in the order they were made."""
        return sorted(asyncio.all_tasks(self), key=hash)

    def dispose(self) -> None:
        """End what is left of the loop when its world ends: nothing may run any more."""
        for task in self.pending_tasks():
            task._log_destroy_pending = False  # type: ignore[attr-defined]
            # A coroutine may resist its end in a `finally`; the world is over all the same.
            with contextlib.suppress(BaseException):
                task.get_coro().close()  # type: ignore[union-attr]
        if not self.is_running():
            with contextlib.suppress(BaseException):
                self.close()

    # ------------------------------------------------------------------ SimPy

    def wrap_event(self, event: Any) -> asyncio.Future[Any]:
        """Return a future for a SimPy event; cancelling it lets the event go."""
        future = self.create_future()

        def settle(ok: bool, value: Any) -> None:
            if future.done():
                return
            if ok:
                future.set_result(value)
            else:
                future.set_exception(value)

        def happened(done: Any) -> None:
            if not done._ok:
                done.defused = True
            self.call_soon(settle, done._ok, done._value)

        if event.callbacks is None:
            settle(event._ok, event._value)
        else:
            event.callbacks.append(happened)
        return future

    def as_event(self, awaitable: Any) -> Any:
        """Return a SimPy event that happens when the coroutine or future is done."""
        event = self._env.event()
        future = asyncio.ensure_future(awaitable, loop=self)

        def done(finished: asyncio.Future[Any]) -> None:
            if finished.cancelled():
                event.fail(asyncio.CancelledError())
            elif (error := finished.exception()) is not None:
                event.fail(error)
            else:
                event.succeed(finished.result())

        future.add_done_callback(done)
        return event


def _refused(name: str) -> Callable[..., NoReturn]:
    def method(self: SimLoop, *_args: Any, **_kwargs: Any) -> NoReturn:
        refuse(f"loop.{name}()")

    method.__name__ = name
    method.__doc__ = "Refuse: it is real input or output."
    return method


#: Methods of a loop that reach the real world.
_REAL = (
    "add_signal_handler",
    "remove_signal_handler",
    "connect_read_pipe",
    "connect_write_pipe",
    "create_datagram_endpoint",
    "create_unix_connection",
    "create_unix_server",
    "subprocess_exec",
    "subprocess_shell",
)
for _name in _REAL:
    setattr(SimLoop, _name, _refused(_name))
