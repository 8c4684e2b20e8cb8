"""An asyncio event loop whose every callback is an entry of the world's one queue.

`BaseEventLoop` gives tasks, `run_until_complete`, asynchronous generators and the exception
handler; network and programs come on top of this, in `sim.loop`. The loop's own time is a float of
seconds, because asyncio's is; on the queue it is an integer of nanoseconds, so delays never drift.
"""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from contextvars import Context, copy_context
from functools import partial
from itertools import count, repeat, starmap
from operator import call
from traceback import StackSummary, extract_stack
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from faultclock.sim.kernel.actors import Actor, current
from faultclock.sim.kernel.clock import FOREVER_NS, MONOTONIC_BASE_NS, SECOND_NS, seconds_to_ns
from faultclock.sim.kernel.escapes import SimEscape, call_site, refuse
from faultclock.sim.kernel.handles import (
    SimFuture,
    SimHandle,
    SimTask,
    SimTimerHandle,
    allocate,
)
from faultclock.sim.kernel.kernel import Kernel
from faultclock.sim.kernel.lanes import Lane
from faultclock.sim.kernel.waits import SHOWN_NS, call_of, pending_tasks, task_stack

Callback = Callable[..., object]

#: A timer this late is never put on the queue: see FOREVER_NS.
_NEVER_NS = FOREVER_NS - MONOTONIC_BASE_NS


class _InOrder(WeakKeyDictionary[Any, None]):
    """A weak set that is walked in the order of its additions: a set has that of addresses."""

    def add(self, item: Any) -> None:
        """Add an item."""
        self[item] = None

    def discard(self, item: Any) -> None:
        """Take an item away, if it is there."""
        self.pop(item, None)


class KernelLoop(asyncio.BaseEventLoop):
    """The event loop of the world that it was made in, without network and programs.

    Attributes:
        kernel: its world.
        env: the queue.
        runner: the simulated thread that steps it right now; None while that one is blocked
            inside a coroutine, and while the loop does not run.
        backlog: callbacks that came due meanwhile.
        hash_numbers: of its tasks and futures.
        number: 1-based, in the order in which loops were made in its world.
        lane: of its callbacks, as soon as there is one; None where the order is not explored.
    """

    # What the base class has, and typeshed leaves out.
    _closed: bool = True
    _debug: bool
    _stopping: bool
    _task_factory: Any
    _default_executor: Any
    _asyncgens: Any
    if TYPE_CHECKING:

        def _check_closed(self) -> None: ...
        def _check_running(self) -> None: ...
        def _check_thread(self) -> None: ...
        def _check_callback(self, callback: Callback, method: str) -> None: ...

    def __init__(self) -> None:
        here = current()
        if here is None:
            raise SimEscape("a simulated event loop was made outside its world")
        super().__init__()
        kernel = here[0]
        self._asyncgens = _InOrder()
        self.kernel: Kernel = kernel
        self.env = kernel.env
        self.runner: Actor | None = None
        self.backlog: deque[SimHandle | SimTimerHandle] = deque()
        self.hash_numbers = count(1)
        self._task_numbers = count(1)
        self._clock_resolution = 1 / SECOND_NS
        self._enqueue = kernel.env.ready.append
        # By the package of the code that wants one; see `handles` for why asyncio's own differ.
        of_others: Callable[[], asyncio.Future[Any]] = partial(SimFuture, loop=self)
        self._new_futures: dict[Any, Callable[[], asyncio.Future[Any]]]
        self._new_futures = {"asyncio": partial(asyncio.Future, loop=self), None: of_others}
        # All of this is C, so `globals` answers for the code that wants a future: to call a
        # function of Python, or to make a frame object, takes as long as the future itself.
        packages: Iterator[Any] = map(dict.get, starmap(globals, repeat(())), repeat("__package__"))
        futures = map(call, map(self._new_futures.get, packages, repeat(of_others)))
        self.create_future = partial(next, futures)  # type: ignore[method-assign]
        kernel.loops_made += 1
        self.number = kernel.loops_made
        self.lane: Lane | None = None
        kernel.loops[self] = None

    # ------------------------------------------------------------------ time and callbacks

    def time(self) -> float:
        """Return what `time.monotonic()` says too, in seconds."""
        return (MONOTONIC_BASE_NS + self.env._now) / SECOND_NS

    def call_soon(  # type: ignore[override]
        self, callback: Callback, *args: Any, context: Context | None = None
    ) -> SimHandle:
        """Call back when the loop comes round, in the order of asking."""
        traced = self._check(callback, "call_soon") if self._closed or self._debug else None
        # What the constructor does: every step of a task comes here, and the calls would be felt.
        handle: Any = allocate(SimHandle)
        handle._context = copy_context() if context is None else context
        handle._loop = self
        handle._callback = callback
        handle._args = args
        handle._cancelled = False
        handle._repr = None
        handle._source_traceback = traced
        self._enqueue(handle)
        return handle  # type: ignore[no-any-return]

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Callback, *args: Any, context: Context | None = None
    ) -> SimHandle:
        """Do what `call_soon` does, from any thread of the world."""
        checked = self._closed or self._debug
        traced = self._check(callback, "call_soon_threadsafe") if checked else None
        here = current()
        if here is None or here[0] is not self.kernel:
            self.kernel.escaped("a simulated loop used by a real thread", call_site())
            raise SimEscape("a simulated loop was used by a thread outside its world")
        handle = SimHandle(callback, args, self, context)
        handle._source_traceback = traced  # type: ignore[attr-defined]
        self._enqueue(handle)
        return handle

    def call_next(self, callback: Callback, *args: Any) -> SimHandle:
        """Call back before anything else that is due, outside of any call of the harness."""
        handle = SimHandle(callback, args, self, Context())
        self.env.put_ahead(handle)
        return handle

    def call_later(  # type: ignore[override]
        self, delay: float, callback: Callback, *args: Any, context: Context | None = None
    ) -> SimTimerHandle:
        """Call back after `delay` seconds; exact to the nanosecond."""
        try:
            at_ns = self.env._now + round(delay * SECOND_NS)
        except (OverflowError, TypeError):
            if delay is None:
                raise TypeError("delay must not be None") from None
            at_ns = self.env._now + seconds_to_ns(delay)
        return self._call_at_ns(at_ns, callback, args, context)

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callback, *args: Any, context: Context | None = None
    ) -> SimTimerHandle:
        """Call back at loop time `when`, in seconds."""
        if when is None:
            raise TypeError("when cannot be None")
        at_ns = seconds_to_ns(when) - MONOTONIC_BASE_NS
        if at_ns <= self.env._now and when > self.time():
            # Less than a nanosecond is left. Who asks again until its time has come (as anyio does
            # for its deadlines) would do so for ever if the clock did not move.
            at_ns = self.env._now + 1
        return self._call_at_ns(at_ns, callback, args, context)

    def _call_at_ns(
        self, at_ns: int, callback: Callback, args: tuple[Any, ...], context: Context | None
    ) -> SimTimerHandle:
        traced = self._check(callback, "call_at") if self._closed or self._debug else None
        timer: Any = allocate(SimTimerHandle)
        timer._context = copy_context() if context is None else context
        timer._loop = self
        timer._callback = callback
        timer._args = args
        timer._cancelled = timer._scheduled = False
        timer._repr = timer._begun = timer._maker = None
        timer._source_traceback = traced
        # Comparing and hashing do with nanoseconds; only `when` must be seconds.
        timer._when = at_ns
        kernel, now_ns = self.kernel, self.env._now
        if kernel.explored or kernel.watcher is not None:
            task = asyncio.current_task(self)
            if kernel.explored:
                timer._maker = task
            if task is not None and kernel.watcher is not None and at_ns - now_ns >= SHOWN_NS:
                timer._begun = now_ns, task
        if at_ns < _NEVER_NS:
            self.env.schedule_at(timer, at_ns)
        return timer  # type: ignore[no-any-return]

    def _check(self, callback: Callback, name: str) -> StackSummary | None:
        """Check what is asked for, and return who asked in a loop that is debugged."""
        self._check_closed()
        if not self._debug:
            return None
        if name != "call_soon_threadsafe":
            self._check_thread()
        self._check_callback(callback, name)
        frame = sys._getframe(2)
        return extract_stack(frame.f_back if frame.f_globals is globals() else frame)

    def show_wait(self, from_ns: int, task: asyncio.Task[Any]) -> None:
        """Show the world's watcher that a task has waited until now."""
        watcher = self.kernel.watcher
        if watcher is not None:
            watcher.waited(from_ns, task_stack(task), call_of(task))

    # ------------------------------------------------------------------ tasks and futures

    def run_in_executor(  # type: ignore[override]
        self, executor: Any, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        """Run `func(*args)` on a simulated thread; its future's hash is reproducible."""
        of_asyncio = self._new_futures["asyncio"]
        self._new_futures["asyncio"] = self._new_futures[None]
        try:
            return super().run_in_executor(executor, func, *args)
        finally:
            self._new_futures["asyncio"] = of_asyncio

    def create_task(  # type: ignore[override]
        self,
        coro: Coroutine[Any, Any, Any],
        *,
        name: object = None,
        context: Context | None = None,
        **options: Any,
    ) -> asyncio.Task[Any]:
        """Return a task whose hash and default name are the same in every process."""
        if name is None:
            name = f"Task-{next(self._task_numbers)}"
        if self._task_factory is not None:
            return super().create_task(coro, name=str(name), context=context, **options)
        self._check_closed()
        return SimTask(coro, loop=self, name=str(name), context=context)

    # ------------------------------------------------------------------ running

    def run_forever(self) -> None:
        """Step the world until `stop` is called."""
        self._check_closed()
        self._check_running()
        actor = self._actor()
        actor.loop = self
        self.runner = actor
        self.flush_backlog()
        try:
            super().run_forever()
        finally:
            actor.loop = self.runner = None

    def _actor(self) -> Actor:
        here = current()
        if here is None or here[0] is not self.kernel:
            refuse("an event loop of another world")
        return here[1]

    def _run_once(self) -> None:
        if not self._stopping:
            self.kernel.step_loop(self)

    def flush_backlog(self) -> None:
        """Put callbacks that came due while nobody ran the loop back, before everything else."""
        if self.backlog:
            self.env.ready.extendleft(reversed(self.backlog))
            self.backlog.clear()

    def _write_to_self(self) -> None:
        """Nobody sleeps in a selector that would have to be woken."""

    def _process_events(self, event_list: Any) -> None:
        """There is no selector."""

    def close(self) -> None:
        """Close it; what is still due is dropped."""
        if not self._closed and self.kernel.ending is None:
            self.kernel.loops.pop(self, None)
        self.backlog.clear()
        super().close()

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Report as asyncio does, but not what the end of the run itself tears apart."""
        if self.kernel.ending is None:
            super().call_exception_handler(context)

    def discard(self) -> None:
        """Drop every task without a word: the run is over. Called once, by the kernel."""
        for task in pending_tasks(self):
            task._log_destroy_pending = False  # type: ignore[attr-defined]
            coroutine: Any = task.get_coro()
            # A subject may answer GeneratorExit with anything; nobody is left to be told.
            with suppress(BaseException):
                coroutine.close()
        if not self._closed:
            with suppress(BaseException):
                self.close()
