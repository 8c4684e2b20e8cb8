"""Threads and executors: simulated threads in a world, with the caller's call id carried along."""

from __future__ import annotations

import _thread
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from harness.sim.context import CALL_ID
from harness.sim.escapes import SimEscape, SimKilled, refuse
from harness.sim.kernel import Actor, current
from harness.sim.patches.registry import Patch

__all__ = ["PATCHES"]

_NS = 1_000_000_000
#: Where a simulated thread keeps its actor.
_ACTOR = "_faultclock_actor"


def _make_start(original: Callable[[threading.Thread], None]) -> Callable[[threading.Thread], None]:
    def start(self: threading.Thread) -> None:
        here = current()
        if here is None:
            original(self)
            return
        if not getattr(self, "_initialized", False):
            raise RuntimeError("thread.__init__() not called")
        if self._started.is_set():  # type: ignore[attr-defined]
            raise RuntimeError("threads can only be started once")
        call = CALL_ID.get()
        actor = here[0].start_thread(self.name, lambda: _body(self, call))
        setattr(self, _ACTOR, actor)
        self._started.set()  # type: ignore[attr-defined]

    start.__doc__ = original.__doc__
    return start


def _body(thread: Any, call: str | None) -> None:
    """Do what `Thread._bootstrap_inner` does, without the handles of real threads."""
    CALL_ID.set(call)
    thread._set_ident()
    with threading._active_limbo_lock:  # type: ignore[attr-defined]
        threading._active[thread._ident] = thread  # type: ignore[attr-defined]
    try:
        thread.run()
    except (SimEscape, SimKilled):
        raise
    except SystemExit:
        pass
    except BaseException:  # noqa: BLE001 - as the original: the excepthook is told
        thread._invoke_excepthook(thread)
    finally:
        threading._active.pop(thread._ident, None)  # type: ignore[attr-defined]
        _mark_stopped(thread)


def _mark_stopped(thread: Any) -> None:
    """Tell the original methods that it ended: they see it once the patches are undone."""
    if hasattr(thread, "_handle"):
        thread._handle._set_done()
    else:
        thread._is_stopped = True


def _make_join(original: Callable[..., None]) -> Callable[..., None]:
    def join(self: threading.Thread, timeout: float | None = None) -> None:
        actor: Actor | None = getattr(self, _ACTOR, None)
        if actor is None:
            original(self, timeout)
            return
        here = current()
        if actor.dead or here is None:
            return
        kernel, me = here
        if actor is me:
            raise RuntimeError("cannot join current thread")
        wake = kernel.waiter(f"the end of thread {self.name}")
        actor.joiners.append(wake)
        kernel.park(wake, None if timeout is None else max(0, round(timeout * _NS)))

    join.__doc__ = original.__doc__
    return join


def _make_is_alive(original: Callable[..., bool]) -> Callable[..., bool]:
    def is_alive(self: threading.Thread) -> bool:
        actor: Actor | None = getattr(self, _ACTOR, None)
        return original(self) if actor is None else not actor.dead

    is_alive.__doc__ = original.__doc__
    return is_alive


def _make_submit(original: Callable[..., Any]) -> Callable[..., Any]:
    def submit(self: ThreadPoolExecutor, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        call = CALL_ID.get()
        if current() is None or call is None:
            return original(self, fn, *args, **kwargs)

        def carried(*args: Any, **kwargs: Any) -> Any:
            # A worker serves many callers: the id goes with the work, not with the thread.
            token = CALL_ID.set(call)
            try:
                return fn(*args, **kwargs)
            finally:
                CALL_ID.reset(token)

        return original(self, carried, *args, **kwargs)

    submit.__doc__ = original.__doc__
    return submit


def _make_refusal(name: str) -> Callable[[Any], Any]:
    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def start_new_thread(*args: Any, **kwargs: Any) -> Any:
            if current() is not None:
                refuse(name)
            return original(*args, **kwargs)

        return start_new_thread

    return make


PATCHES: tuple[Patch, ...] = (
    Patch(owner=threading.Thread, name="start", make=_make_start),
    Patch(owner=threading.Thread, name="join", make=_make_join),
    Patch(owner=threading.Thread, name="is_alive", make=_make_is_alive),
    Patch(owner=ThreadPoolExecutor, name="submit", make=_make_submit),
    Patch(owner=_thread, name="start_new_thread", make=_make_refusal("_thread.start_new_thread")),
    Patch(owner=_thread, name="start_new", make=_make_refusal("_thread.start_new")),
)
