"""Hybrid locks behave as real ones outside the world and park inside it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from queue import Empty
from typing import Any

import pytest

from faultclock.sim.kernel.locks import HybridLock, HybridRLock, HybridSimpleQueue
from tests.sim.running import run, value_of

MAKERS: list[Callable[[], Any]] = [HybridLock, HybridRLock]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("inside", [True, False])
def test_a_free_lock_is_taken_and_given_back(make: Callable[[], Any], inside: bool) -> None:
    """The same in both worlds."""

    def use() -> list[bool]:
        lock = make()
        seen = [lock.acquire(), lock.acquire(False) is (make is HybridRLock)]
        lock.release()
        if make is HybridRLock:
            lock.release()
        with lock:
            seen.append(True)
        return seen

    assert (value_of(use) if inside else use()) == [True, True, True]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("inside", [True, False])
def test_releasing_what_is_not_held_is_an_error(make: Callable[[], Any], inside: bool) -> None:
    """As with real locks."""

    def use() -> str:
        try:
            make().release()
        except RuntimeError:
            return "refused"
        return "accepted"

    assert (value_of(use) if inside else use()) == "refused"


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(
    ("arguments", "error"),
    [((False, 1), ValueError), ((True, -2), ValueError), ((True, 1e30), OverflowError)],
)
def test_impossible_arguments_are_refused(
    make: Callable[[], Any], arguments: tuple[bool, float], error: type[Exception]
) -> None:
    """As with real locks."""
    with pytest.raises(error):
        make().acquire(*arguments)


@pytest.mark.parametrize("make", MAKERS)
def test_waiters_get_a_lock_in_the_order_of_asking(make: Callable[[], Any]) -> None:
    """First come, first served; a deadline gives up in virtual time."""

    def subject() -> list[tuple[str, bool, float]]:
        lock = make()
        seen: list[tuple[str, bool, float]] = []

        def takes(name: str, timeout: float) -> None:
            got = lock.acquire(timeout=timeout)
            seen.append((name, got, time.monotonic() - 1_000))
            if got:
                time.sleep(1)
                lock.release()

        lock.acquire()
        for name, timeout in (("a", 100.0), ("b", 2.0), ("c", 100.0)):
            threading.Thread(target=takes, args=(name, timeout)).start()
        time.sleep(5)
        lock.release()
        time.sleep(10)
        return seen

    assert value_of(subject) == [("b", False, 2), ("a", True, 5), ("c", True, 6)]


def test_a_lock_made_outside_is_contended_inside() -> None:
    """A module-level lock is the usual case."""
    lock = HybridLock()

    def subject() -> float:
        def holds() -> None:
            with lock:
                time.sleep(7)

        threading.Thread(target=holds).start()
        time.sleep(1)
        with lock:
            return time.monotonic() - 1_000

    assert value_of(subject) == 7
    assert not lock.locked()


def test_a_lock_held_by_a_hung_thread_is_free_after_the_run() -> None:
    """Unwinding the threads gives their locks back."""
    lock = HybridLock()

    def subject() -> None:
        with lock:
            threading.Event().wait()

    _, ending = run(subject)
    assert ending.reason == "deadlock"
    assert lock.acquire(False)


def test_a_contended_lock_blocks_for_real_outside() -> None:
    """Two real threads exclude each other."""
    lock = HybridLock()
    order: list[str] = []
    lock.acquire()

    def takes() -> None:
        with lock:
            order.append("thread")

    thread = threading.Thread(target=takes)
    thread.start()
    order.append("main")
    lock.release()
    thread.join()
    assert order == ["main", "thread"]


def test_a_reentrant_lock_counts_and_gives_everything_up_in_a_wait() -> None:
    """A condition on a lock that is held twice lets the other in."""

    def subject() -> list[str]:
        condition = threading.Condition(threading.RLock())
        seen: list[str] = []

        def notifies() -> None:
            with condition:
                seen.append("inside")
                condition.notify()

        with condition, condition:
            threading.Thread(target=notifies).start()
            condition.wait()
            seen.append("back")
        return seen

    assert value_of(subject) == ["inside", "back"]


def test_a_reentrant_lock_is_freed_by_its_last_release() -> None:
    """Until then the waiter waits."""

    def subject() -> float:
        lock = threading.RLock()
        taken: list[float] = []

        def takes() -> None:
            with lock:
                taken.append(time.monotonic() - 1_000)

        lock.acquire()
        lock.acquire()
        thread = threading.Thread(target=takes)
        thread.start()
        time.sleep(1)
        lock.release()
        time.sleep(1)
        lock.release()
        thread.join()
        return taken[0]

    assert value_of(subject) == 2


def test_the_patched_names_are_the_hybrids() -> None:
    """`threading` builds everything else on them."""
    assert isinstance(threading.Lock(), HybridLock)
    assert isinstance(threading.RLock(), HybridRLock)


def test_locks_look_like_locks() -> None:
    """Representation and state."""
    lock = HybridLock()
    assert repr(lock).startswith("<unlocked _thread.lock object at 0x")
    lock.acquire()
    assert "locked" in repr(lock)
    lock._at_fork_reinit()
    assert not lock.locked()
    assert "RLock" in repr(HybridRLock())


@pytest.mark.parametrize("inside", [True, False])
def test_a_simple_queue_is_first_in_first_out(inside: bool) -> None:
    """In both worlds, with `Empty` when nothing comes."""

    def use() -> list[object]:
        queue = HybridSimpleQueue()
        for item in "ab":
            queue.put(item)
        queue.put_nowait("c")
        seen: list[object] = [queue.qsize(), queue.get(), queue.get_nowait(), queue.get(timeout=0)]
        try:
            queue.get_nowait()
        except Empty:
            seen.append(queue.empty())
        return seen

    assert (value_of(use) if inside else use()) == [3, "a", "b", "c", True]


def test_a_simple_queue_waits_in_virtual_time() -> None:
    """With and without a deadline."""

    def subject() -> list[object]:
        queue = HybridSimpleQueue()
        threading.Timer(5, queue.put, args=("late",)).start()
        seen: list[object] = []
        try:
            queue.get(timeout=2)
        except Empty:
            seen.append(time.monotonic() - 1_000)
        seen += [queue.get(), time.monotonic() - 1_000]
        return seen

    assert value_of(subject) == [2, "late", 5]


def test_a_simple_queue_refuses_a_negative_deadline() -> None:
    """As the real one does."""
    with pytest.raises(ValueError, match="non-negative"):
        HybridSimpleQueue().get(timeout=-1)


@pytest.mark.parametrize("inside", [True, False])
def test_a_reentrant_lock_says_whether_it_is_held_as_that_of_this_python_does(
    inside: bool,
) -> None:
    """`threading.Condition` asks it from Python 3.14 on; earlier ones cannot say it."""

    def use() -> list[bool]:
        lock: Any = HybridRLock()
        if not hasattr(threading._CRLock, "locked"):  # type: ignore[attr-defined]
            return [hasattr(lock, "locked"), True, False]
        seen = [lock.locked()]
        with lock:
            seen.append(lock.locked())
        return [*seen, lock.locked()]

    assert (value_of(use) if inside else use()) == [False, True, False]
