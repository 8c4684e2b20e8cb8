"""`threading.Thread` in the world: started, joined and ended on the queue.

A simulated thread is a real OS thread, so that thread-locals, identities and running loops
work, but it runs only when it holds the baton. `start` returns at once, as if the child had
been scheduled; `join` parks. The rest of `threading` follows from the locks.
"""

from __future__ import annotations

import _thread
import sys
import threading
from _thread import get_ident, start_new_thread
from collections.abc import Callable
from contextlib import suppress
from contextvars import Context, copy_context
from typing import Any

from faultclock.sim.kernel.actors import SIMULATED, Actor, current
from faultclock.sim.kernel.clock import seconds_to_ns
from faultclock.sim.kernel.context import Carried, carried, carrying
from faultclock.sim.kernel.escapes import SimEscape, SimKilled, refuse
from faultclock.sim.kernel.kernel import Kernel

Function = Callable[..., Any]

#: Where a Thread keeps its actor once it was started in a world.
_ATTRIBUTE = "_faultclock_actor"
#: Where one that was made in a world, or a future, keeps its number; where the world counts them.
NUMBER = "_faultclock_number"
_NUMBERS = "_faultclock_threads"
#: Where CPython keeps the state of a thread that it started: from 3.14 on, in 3.13, and not before.
#: A simulated thread is started behind its back.
_HANDLE = next(
    (name for name in ("_os_thread_handle", "_handle") if hasattr(threading.main_thread(), name)),
    None,
)

#: Taken before it is refused to subjects; there is none before Python 3.13.
_start_joinable_thread: Any = getattr(_thread, "start_joinable_thread", None)


def _actor_of(thread: threading.Thread) -> Actor | None:
    return thread.__dict__.get(_ATTRIBUTE)


def make_init(original: Function) -> Function:
    """Return a `Thread.__init__` that numbers what is made in a world."""

    def __init__(self: threading.Thread, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        here = current()
        if here is not None:
            counts = here[0].touched
            self.__dict__[NUMBER] = counts[_NUMBERS] = counts.get(_NUMBERS, 0) + 1
        original(self, *args, **kwargs)

    return __init__


def make_hash(original: Function) -> Function:
    """Return a `__hash__` that is the same in every process for threads and futures of the world.

    An executor that is shut down joins its threads in the order of a set. `as_completed` and `wait`
    keep futures in sets, and yield them in the order of the set.
    """

    def __hash__(self: Any) -> int:  # noqa: N807 - it becomes that method
        number = self.__dict__.get(NUMBER)
        return int(original(self)) if number is None else int(number)

    return __hash__


def make_start(original: Function) -> Function:
    """Return a `Thread.start` that starts a simulated thread in the world."""

    def start(self: threading.Thread) -> None:
        here = current()
        if here is None:
            original(self)
            return
        if not getattr(self, "_initialized", False):
            raise RuntimeError("thread.__init__() not called")
        if self._started.is_set():  # type: ignore[attr-defined]
            raise RuntimeError("threads can only be started once")
        _start(here[0], self)

    return start


def _start(kernel: Kernel, thread: threading.Thread) -> None:
    actor = kernel.new_actor(thread.name)
    actor.thread = thread
    thread.__dict__[_ATTRIBUTE] = actor
    ident = actor.ident = _start_real(actor, kernel, thread)
    # The child waits for the baton, so what it would do first can be done for it here. Nobody
    # has to wait for it, and `start` cannot lose the baton while it holds somebody's real lock.
    thread._ident = ident  # type: ignore[attr-defined]
    threading._active[ident] = thread  # type: ignore[attr-defined]
    if _HANDLE is not None:
        setattr(thread, _HANDLE, _thread._make_thread_handle(ident))  # type: ignore[attr-defined]
    if getattr(thread, "_context", thread) is None:
        thread._context = _context_of_a_new_thread()  # type: ignore[attr-defined]
    thread._started.set()  # type: ignore[attr-defined]
    kernel.begin(actor)


def _start_real(actor: Actor, kernel: Kernel, thread: threading.Thread) -> int:
    """Start an OS thread that can be waited for, and return its identifier."""
    arguments = (kernel, actor, thread, carried())
    if _HANDLE is None:
        return start_new_thread(_bootstrap, arguments)
    handle = _start_joinable_thread(lambda: _bootstrap(*arguments))

    def gone(seconds_max: float) -> bool:
        handle.join(seconds_max)
        return bool(handle.is_done())

    actor.gone = gone
    return int(handle.ident)


def _let_itself_be_waited_for(actor: Actor) -> None:
    """Do for the calling thread what its handle does from Python 3.13 on."""
    released_at_its_end = _thread._set_sentinel()  # type: ignore[attr-defined]
    released_at_its_end.acquire()
    actor.gone = lambda seconds_max: released_at_its_end.acquire(timeout=seconds_max)


def _bootstrap(kernel: Kernel, actor: Actor, thread: threading.Thread, given: Carried) -> None:
    kernel.take(actor)
    actor.woken = False
    ident = get_ident()
    SIMULATED[ident] = (kernel, actor)
    if _HANDLE is None:
        _let_itself_be_waited_for(actor)
    try:
        if kernel.ending is None:
            thread._set_native_id()  # type: ignore[attr-defined]
            try:
                _run(thread, given)
            except (SimKilled, SimEscape):
                pass  # The first is how a run ends, the second is on record.
            except BaseException:  # noqa: BLE001 - as threading's own bootstrap does
                _report(thread)
    finally:
        try:
            threading._active.pop(ident, None)  # type: ignore[attr-defined]
            _mark_stopped(thread)
        finally:
            # Whatever happened, the baton must go on, or the whole world stands still.
            try:
                kernel.finish(actor)
            finally:
                SIMULATED.pop(ident, None)


def _context_of_a_new_thread() -> Context:
    """Return the context that CPython 3.14 gives to a thread whose maker names none."""
    return copy_context() if sys.flags.thread_inherit_context else Context()  # type: ignore[attr-defined]


def _run(thread: threading.Thread, given: Carried) -> None:
    def run() -> None:
        if (profile := threading.getprofile()) is not None:
            # As threading's own bootstrap does.
            sys.setprofile(profile)
        with carrying(given):
            thread.run()

    context: Context | None = getattr(thread, "_context", None)
    if context is None:
        run()
    else:
        context.run(run)


def _report(thread: threading.Thread) -> None:
    with suppress(SimKilled, SimEscape):
        thread._invoke_excepthook(thread)  # type: ignore[attr-defined]


def _mark_stopped(thread: threading.Thread) -> None:
    """Let the unpatched `is_alive` tell the truth too."""
    if _HANDLE is not None:
        getattr(thread, _HANDLE)._set_done()
    else:
        thread._is_stopped = True  # type: ignore[attr-defined]


def make_join(original: Function) -> Function:
    """Return a `Thread.join` that waits in virtual time for a simulated thread."""

    def join(self: threading.Thread, timeout: float | None = None) -> None:
        actor = _actor_of(self)
        here = current()
        if actor is None:
            if here is not None and self.is_alive() and self is not threading.current_thread():
                refuse(f"joining the real thread {self.name!r}")
            original(self, timeout)
            return
        if self is threading.current_thread():
            raise RuntimeError("cannot join current thread")
        if actor.dead or here is None:
            return
        kernel = here[0]
        wake = kernel.waiter(f"the end of thread {actor.name!r}")
        actor.joiners.append(wake)
        kernel.park(wake, None if timeout is None else max(0, seconds_to_ns(timeout)))

    return join


def make_is_alive(original: Function) -> Function:
    """Return a `Thread.is_alive` that knows simulated threads."""

    def is_alive(self: threading.Thread) -> bool:
        actor = _actor_of(self)
        return bool(original(self)) if actor is None else not actor.dead

    return is_alive
