"""Locks that decide at use whether they are simulated.

A lock made at import time, before any world exists, must not hang inside one, and a lock made in
a world must still work after it. So the state is a real lock, which is never blocked on inside a
world: a simulated thread that finds it taken parks, and tries again when it is woken.
Condition, Event, Semaphore, Barrier and Queue follow, because they look these names up.
"""

from __future__ import annotations

import _thread
import queue
import threading
from collections import deque
from typing import Any

from harness.sim.kernel import TIMED_OUT, Kernel, Wake, current
from harness.sim.patches.registry import Patch

__all__ = ["PATCHES", "HybridLock"]

_real_lock = _thread.allocate_lock
_NS = 1_000_000_000


class HybridLock:
    """A non-reentrant lock for simulated and real threads. First come, first served."""

    __slots__ = ("__weakref__", "_lock", "_waiters")

    def __init__(self) -> None:
        self._lock = _real_lock()
        self._waiters: deque[tuple[Kernel, Wake]] = deque()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Take the lock, as `threading.Lock.acquire` does."""
        if self._lock.acquire(False):
            return True
        here = current()
        if here is None:
            return self._lock.acquire(blocking, timeout)
        if not blocking:
            if timeout != -1:
                raise ValueError("can't specify a timeout for a non-blocking call")
            return False
        if timeout < 0 and timeout != -1:
            raise ValueError("timeout value must be a non-negative number")
        return self._acquire_simulated(here[0], None if timeout == -1 else round(timeout * _NS))

    def _acquire_simulated(self, kernel: Kernel, timeout_ns: int | None) -> bool:
        deadline_ns = None if timeout_ns is None else kernel.now_ns + timeout_ns
        while True:
            wake = kernel.waiter("a lock")
            entry = (kernel, wake)
            self._waiters.append(entry)
            left_ns = None if deadline_ns is None else deadline_ns - kernel.now_ns
            try:
                timed_out = kernel.park(wake, left_ns) is TIMED_OUT
            finally:
                if entry in self._waiters:
                    self._waiters.remove(entry)
            if self._lock.acquire(False):
                return True
            if timed_out:
                return False

    def release(self) -> None:
        """Release the lock, and wake the thread that has waited longest."""
        self._lock.release()
        while self._waiters:
            kernel, wake = self._waiters.popleft()
            if not wake.done and not kernel.closing:
                kernel.fire(wake)
                return

    def locked(self) -> bool:
        """Return whether somebody holds the lock."""
        return self._lock.locked()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()

    def __repr__(self) -> str:
        return f"<{'locked' if self.locked() else 'unlocked'} lock>"

    def _at_fork_reinit(self) -> None:
        self._lock = _real_lock()
        self._waiters.clear()


def _use(replacement: Any) -> Any:
    return lambda _original: replacement


PATCHES: tuple[Patch, ...] = (
    Patch(owner=threading, name="Lock", make=_use(HybridLock)),
    Patch(owner=threading, name="_allocate_lock", make=_use(HybridLock)),
    # The pure Python versions, which stand on the name above.
    Patch(owner=threading, name="RLock", make=_use(threading._PyRLock)),  # type: ignore[attr-defined]
    Patch(owner=queue, name="SimpleQueue", make=_use(queue._PySimpleQueue)),  # type: ignore[attr-defined]
)
