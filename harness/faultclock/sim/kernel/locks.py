"""Locks and queues that decide at each use whether the caller is simulated.

A hybrid lock keeps its state in a real one, which nobody in the world ever blocks on: a
simulated thread that does not get it parks and tries again. So one made at import time, before
any run or outside it, works in both worlds. Only its waiting is simulated.
"""

from __future__ import annotations

import sys
import threading
from _thread import RLock as RealRLock
from _thread import allocate_lock, get_ident
from collections import deque
from queue import Empty
from types import GenericAlias
from typing import Any

from faultclock.sim.kernel.actors import SIMULATED, TIMED_OUT, Wake, current
from faultclock.sim.kernel.clock import seconds_to_ns


def _deadline_ns(blocking: bool, timeout: float, now_ns: int) -> int | None:
    """Return when to give up, None for never, with the arguments checked as a real lock does."""
    if not blocking and timeout != -1:
        raise ValueError("can't specify a timeout for a non-blocking call")
    if timeout < 0 and timeout != -1:
        raise ValueError("timeout value must be a non-negative number")
    if timeout > threading.TIMEOUT_MAX:
        raise OverflowError("timeout value is too large")
    return None if timeout == -1 else now_ns + seconds_to_ns(timeout)


class _Hybrid:
    """What both kinds of lock have in common: the real one inside, and who waits in the world."""

    __slots__ = ("__weakref__", "_real", "_waiters")

    _real: Any
    _waiters: deque[Wake]
    _reason = "a lock"

    def _wait(self, blocking: bool, timeout: float) -> bool:
        """Wait in the world for a lock that was just found taken; return whether we have it."""
        here = current()
        if here is None:
            return bool(self._real.acquire(blocking, timeout))
        kernel = here[0]
        deadline_ns = _deadline_ns(blocking, timeout, kernel.now_ns)
        if not blocking:
            return False
        waiters = self._waiters
        wake = kernel.waiter(self._reason)
        waiters.append(wake)
        while True:
            left_ns = None if deadline_ns is None else deadline_ns - kernel.now_ns
            try:
                timed_out = kernel.park(wake, left_ns) is TIMED_OUT
            except BaseException:
                wake.done = True
                raise
            if self._real.acquire(False):
                return True
            if timed_out:
                return False
            # Somebody was quicker: keep the place at the head of the queue.
            wake = kernel.waiter(self._reason)
            waiters.appendleft(wake)

    def _wake_one(self) -> None:
        waiters = self._waiters
        here = SIMULATED.get(get_ident())
        while waiters:
            wake: Wake = waiters.popleft()
            if wake.done:
                continue
            if here is not None:
                here[0].fire(wake)
            else:
                _fire_from_outside(wake)
            return

    def _at_fork_reinit(self) -> None:
        self._real._at_fork_reinit()
        self._waiters.clear()


def _fire_from_outside(wake: Wake) -> None:
    """A real thread released what a simulated one waits for: that is not reproducible."""
    for kernel, _ in tuple(SIMULATED.values()):
        if wake.actor in kernel.actors:
            kernel.leak("a lock released by a real thread", "unknown:0")
            kernel.fire(wake)
            return


class HybridLock(_Hybrid):
    """Stands in for `threading.Lock`."""

    __slots__ = ()

    def __init__(self) -> None:
        self._real = allocate_lock()
        self._waiters = deque()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Acquire it as `threading.Lock.acquire` does; `timeout` is in seconds."""
        if timeout == -1 and self._real.acquire(False):
            return True
        if timeout != -1:
            _deadline_ns(blocking, timeout, 0)
            if self._real.acquire(False):
                return True
        return self._wait(blocking, timeout)

    def release(self) -> None:
        """Release it; any thread may."""
        self._real.release()
        if self._waiters:
            self._wake_one()

    def locked(self) -> bool:
        """Return whether it is held."""
        return bool(self._real.locked())

    acquire_lock = acquire
    release_lock = release
    locked_lock = locked

    def __enter__(self) -> bool:
        return self._real.acquire(False) or self._wait(True, -1)

    def __exit__(self, *_: object) -> None:
        self._real.release()
        if self._waiters:
            self._wake_one()

    def __repr__(self) -> str:
        state = "locked" if self._real.locked() else "unlocked"
        return f"<{state} _thread.lock object at {hex(id(self))}>"


class HybridRLock(_Hybrid):
    """Stands in for `threading.RLock`; its owner is the OS thread, as with the real one."""

    __slots__ = ()
    _reason = "a reentrant lock"

    def __init__(self) -> None:
        self._real = RealRLock()
        self._waiters = deque()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Acquire it as `threading.RLock.acquire` does; `timeout` is in seconds."""
        if timeout != -1:
            _deadline_ns(blocking, timeout, 0)
        return self._real.acquire(False) or self._wait(blocking, timeout)

    def release(self) -> None:
        """Release it once.

        Raises:
            RuntimeError: the calling thread does not hold it.
        """
        self._real.release()
        if self._waiters and not self._real._is_owned():
            self._wake_one()

    def __enter__(self) -> bool:
        return self._real.acquire(False) or self._wait(True, -1)

    def __exit__(self, *_: object) -> None:
        self.release()

    def __repr__(self) -> str:
        return f"<hybrid {self._real!r}>"

    if sys.version_info >= (3, 14):

        def locked(self) -> bool:
            """Return whether any thread holds it."""
            return bool(self._real.locked())

    # What threading.Condition asks of a reentrant lock.

    def _is_owned(self) -> bool:
        return bool(self._real._is_owned())

    def _release_save(self) -> Any:
        state = self._real._release_save()
        if self._waiters:
            self._wake_one()
        return state

    def _acquire_restore(self, state: tuple[int, int]) -> None:
        self.acquire()
        for _ in range(state[0] - 1):
            self._real.acquire()

    def _recursion_count(self) -> int:
        return int(self._real._recursion_count())


class HybridSimpleQueue:
    """Stands in for `queue.SimpleQueue`, whose C code would block for real."""

    __slots__ = ("__weakref__", "_count", "_items")

    def __init__(self) -> None:
        self._items: deque[Any] = deque()
        self._count = threading.Semaphore(0)

    def put(
        self,
        item: Any,
        block: bool = True,  # noqa: ARG002 - the real one's signature
        timeout: float | None = None,  # noqa: ARG002 - the real one's signature
    ) -> None:
        """Append an item; it never blocks, whatever the arguments say."""
        self._items.append(item)
        self._count.release()

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        """Take the first item, waiting up to `timeout` seconds for one.

        Raises:
            Empty: none came.
        """
        if timeout is not None and timeout < 0:
            raise ValueError("'timeout' must be a non-negative number")
        if not self._count.acquire(block, timeout if block else None):
            raise Empty
        return self._items.popleft()

    def put_nowait(self, item: Any) -> None:
        """Append an item."""
        self.put(item)

    def get_nowait(self) -> Any:
        """Take the first item.

        Raises:
            Empty: there is none.
        """
        return self.get(block=False)

    def empty(self) -> bool:
        """Return whether it is empty."""
        return not self._items

    def qsize(self) -> int:
        """Return how many items it has."""
        return len(self._items)

    __class_getitem__: Any = classmethod(GenericAlias)
