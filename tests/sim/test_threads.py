"""Simulated threads: `threading` works unchanged, in virtual time and in a fixed order."""

from __future__ import annotations

import asyncio
import contextvars
import sys
import threading
import time
from queue import Empty, Queue
from typing import Any

import pytest

from faultclock.sim.kernel import actors
from faultclock.sim.kernel.context import CALL_ID, current_call
from tests.sim.running import facts, run, value_of


def elapsed() -> float:
    """Return virtual seconds since the start."""
    return time.monotonic() - 1_000


def test_threads_sleep_side_by_side() -> None:
    """Three sleeps take as long as the longest."""

    def subject() -> tuple[list[int], float]:
        seen: list[int] = []

        def work(seconds: int) -> None:
            time.sleep(seconds)
            seen.append(seconds)

        threads = [threading.Thread(target=work, args=(n,)) for n in (3, 1, 2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return seen, elapsed()

    assert value_of(subject) == ([1, 2, 3], 3)


def test_starting_a_thread_does_not_run_it_yet() -> None:
    """The starter goes on until it waits; so it cannot be overtaken."""

    def subject() -> list[str]:
        seen: list[str] = []
        thread = threading.Thread(target=seen.append, args=("child",))
        thread.start()
        seen.append("starter")
        thread.join()
        return seen

    assert value_of(subject) == ["starter", "child"]


def test_what_a_thread_leaves_behind_is_gone_before_another_goes_on() -> None:
    """The interpreter destroys a thread's locals after its last line, and nobody overtakes that."""
    local = threading.local()
    destroyed: list[str] = []

    class Left:
        def __del__(self) -> None:
            while self.work:
                self.work -= 1
            destroyed.append("left")

        # So long that the interpreter would let another thread go on meanwhile.
        work = 1_000_000

    def work() -> None:
        local.left = Left()

    def subject() -> list[str]:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        return list(destroyed)

    assert value_of(subject) == ["left"]


def test_a_thread_whose_destructor_never_ends_is_a_leak(monkeypatch: pytest.MonkeyPatch) -> None:
    """The run goes on, and proves nothing."""
    monkeypatch.setattr(actors, "_GONE_S_MAX", 0.01)
    local, released = threading.local(), threading.Lock()
    released.acquire()

    class Stuck:
        def __del__(self) -> None:
            released.acquire()

    def work() -> None:
        local.stuck = Stuck()

    def subject() -> None:
        thread = threading.Thread(target=work, name="stuck")
        thread.start()
        thread.join()

    world, _ = run(subject)
    released.release()
    assert [leak for _, leak in facts(world, "leak")] == [
        {"what": "thread 'stuck', which does not end", "site": "unknown:0"}
    ]


def test_a_thread_knows_itself() -> None:
    """Names count from one in each world, identities and locals are the OS thread's."""

    def subject() -> tuple[list[object], bool]:
        local = threading.local()
        local.value = "main"
        seen: list[object] = []

        def look() -> None:
            me = threading.current_thread()
            seen.append((me.name, me.ident == threading.get_ident(), hasattr(local, "value")))
            seen.append((me.is_alive(), me in threading.enumerate()))

        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        return seen, thread.is_alive()

    for _ in range(2):
        assert value_of(subject) == (
            [("Thread-1 (look)", True, False), (True, True)],
            False,
        )


def test_join_with_a_deadline_gives_up() -> None:
    """And a later one succeeds."""

    def subject() -> tuple[float, bool, float, bool]:
        thread = threading.Thread(target=time.sleep, args=(5,))
        thread.start()
        thread.join(2)
        first = elapsed(), thread.is_alive()
        thread.join(100)
        return (*first, elapsed(), thread.is_alive())

    assert value_of(subject) == (2, True, 5, False)


def test_misuse_of_a_thread_raises_as_ever() -> None:
    """Starting twice, joining oneself, joining the unstarted."""

    def subject() -> list[str]:
        seen: list[str] = []
        thread = threading.Thread(target=time.sleep, args=(1,))
        for act in (thread.join, thread.start, thread.start, threading.current_thread().join):
            try:
                act()
            except RuntimeError as error:
                seen.append(str(error))
        return seen

    assert value_of(subject) == [
        "cannot join thread before it is started",
        "threads can only be started once",
        "cannot join current thread",
    ]


def test_an_event_is_awaited_with_a_deadline() -> None:
    """`Event.wait` says whether it was set."""

    def subject() -> list[tuple[bool, float]]:
        event = threading.Event()
        threading.Timer(5, event.set).start()
        return [(event.wait(2), elapsed()), (event.wait(10), elapsed())]

    assert value_of(subject) == [(False, 2), (True, 5)]


def test_a_timer_can_be_cancelled() -> None:
    """It then never fires."""

    def subject() -> list[str]:
        seen: list[str] = []
        timer = threading.Timer(5, seen.append, args=("fired",))
        timer.start()
        time.sleep(1)
        timer.cancel()
        timer.join()
        time.sleep(10)
        return seen

    assert value_of(subject) == []


def test_a_condition_wakes_its_waiters_in_order() -> None:
    """`wait`, `wait_for`, `notify` and `notify_all`."""

    def subject() -> list[tuple[str, float]]:
        condition = threading.Condition()
        seen: list[tuple[str, float]] = []

        def waits(name: str) -> None:
            with condition:
                condition.wait()
                seen.append((name, elapsed()))

        for name in "abc":
            threading.Thread(target=waits, args=(name,)).start()
        time.sleep(1)
        with condition:
            condition.notify()
        time.sleep(1)
        with condition:
            condition.notify_all()
            woken = condition.wait_for(lambda: len(seen) == 3, timeout=5)
        assert woken
        return seen

    assert value_of(subject) == [("a", 1), ("b", 2), ("c", 2)]


def test_a_queue_is_read_with_a_deadline() -> None:
    """`Queue.get` waits in virtual time, and a full queue makes `put` wait."""

    def subject() -> list[object]:
        queue: Queue[int] = Queue(maxsize=1)
        seen: list[object] = []
        try:
            queue.get(timeout=3)
        except Empty:
            seen.append(("empty", elapsed()))

        def reads() -> None:
            for _ in range(3):
                time.sleep(2)
                seen.append((queue.get(), elapsed()))

        thread = threading.Thread(target=reads)
        thread.start()
        for number in range(3):
            queue.put(number)
        thread.join()
        return seen

    assert value_of(subject) == [("empty", 3), (0, 5), (1, 7), (2, 9)]


def test_semaphore_and_barrier() -> None:
    """They are built on conditions, and follow."""

    def subject() -> tuple[list[float], float]:
        semaphore = threading.Semaphore(2)
        barrier = threading.Barrier(3)
        starts: list[float] = []

        def work() -> None:
            with semaphore:
                starts.append(elapsed())
                time.sleep(4)
            barrier.wait()

        for _ in range(2):
            threading.Thread(target=work).start()
        time.sleep(1)
        work()
        return starts, elapsed()

    assert value_of(subject) == ([0, 0, 4], 8)


def test_two_locks_in_opposite_order_are_reported_with_both_stacks() -> None:
    """The deadlock of the textbook."""

    def subject() -> None:
        one, two = threading.Lock(), threading.Lock()

        def takes(first: threading.Lock, second: threading.Lock) -> None:
            with first:
                time.sleep(1)
                with second:
                    pass

        threads = [
            threading.Thread(target=takes, args=pair, name=name)
            for name, pair in (("left", (one, two)), ("right", (two, one)))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    _, ending = run(subject)
    assert ending.reason == "deadlock"
    stuck = [line for line in ending.detail if "waits for a lock" in line]
    assert [line.split("'")[1] for line in stuck] == ["left", "right"]
    assert all("tests.sim.test_threads:" in line and " takes" in line for line in stuck)
    assert any("'main' waits for the end of thread 'left'" in line for line in ending.detail)


def test_an_exception_in_a_thread_is_reported_and_ends_only_that_thread() -> None:
    """`threading.excepthook` sees it, as it would for real."""
    seen: list[str] = []

    def subject() -> str:
        kept = threading.excepthook
        threading.excepthook = lambda args: seen.append(str(args.exc_value))
        try:

            def fails() -> None:
                raise ValueError("in a thread")

            thread = threading.Thread(target=fails)
            thread.start()
            thread.join()
        finally:
            threading.excepthook = kept
        return "alive"

    assert value_of(subject) == "alive"
    assert seen == ["in a thread"]


def test_the_call_is_carried_into_threads() -> None:
    """A thread belongs to the call that started it; nothing else of a context crosses."""
    other: contextvars.ContextVar[str] = contextvars.ContextVar("other", default="default")

    def subject() -> list[tuple[str | None, str]]:
        seen: list[tuple[str | None, str]] = []

        def look() -> None:
            seen.append((current_call(), other.get()))

        def calls() -> None:
            CALL_ID.set("ask/1")
            other.set("changed")
            thread = threading.Thread(target=look)
            thread.start()
            thread.join()

        contextvars.copy_context().run(calls)
        look()
        return seen

    assert value_of(subject) == [("ask/1", "default"), (None, "default")]


def test_a_sleep_in_a_thread_names_its_call() -> None:
    """Facts of a thread can be attributed."""

    def subject() -> None:
        def calls() -> None:
            CALL_ID.set("ask/2")
            thread = threading.Thread(target=time.sleep, args=(1,))
            thread.start()
            thread.join()

        contextvars.copy_context().run(calls)

    world, _ = run(subject)
    assert facts(world, "sleep") == [(0, {"delay_ns": 1_000_000_000, "call": "ask/2"})]


@pytest.mark.parametrize("style", ["to_thread", "run_in_executor"])
def test_a_coroutine_hands_work_to_a_thread(style: str) -> None:
    """The loop ticks while the worker sleeps."""

    async def subject() -> tuple[float, int]:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(1)
                ticks += 1

        task = asyncio.create_task(tick())
        if style == "to_thread":
            await asyncio.to_thread(time.sleep, 5.5)
        else:
            await asyncio.get_running_loop().run_in_executor(None, time.sleep, 5.5)
        task.cancel()
        return elapsed(), ticks

    assert value_of(subject) == (5.5, 5)


def test_threads_leave_nothing_behind() -> None:
    """Whatever they wait for when the run ends, they end with it."""
    before = threading.enumerate()

    def subject() -> None:
        for target in (threading.Event().wait, lambda: time.sleep(1_000)):
            threading.Thread(target=target).start()
        time.sleep(1)

    _, ending = run(subject)
    assert ending.reason == "completed"
    assert threading.enumerate() == before


def test_a_thread_of_a_run_that_is_over_is_dead() -> None:
    """Joining it outside returns at once."""
    kept: list[threading.Thread] = []

    def subject() -> None:
        kept.append(threading.Thread(target=time.sleep, args=(1_000,)))
        kept[0].start()

    run(subject)
    assert not kept[0].is_alive()
    kept[0].join()


def test_the_order_of_many_threads_is_the_same_in_every_run() -> None:
    """Contention for one lock is settled alike each time."""

    def subject() -> list[tuple[int, float]]:
        lock = threading.Lock()
        seen: list[tuple[int, float]] = []

        def work(number: int) -> None:
            for _ in range(3):
                with lock:
                    time.sleep(0.001 * (number % 3))
                    seen.append((number, elapsed()))

        threads = [threading.Thread(target=work, args=(n,)) for n in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return seen

    first = value_of(subject)
    assert all(value_of(subject) == first for _ in range(4))


def test_a_real_thread_cannot_be_joined_inside() -> None:
    """It lives in another time."""
    release = threading.Event()
    outsider = threading.Thread(target=release.wait, name="outsider")
    outsider.start()
    try:
        world, ending = run(outsider.join)
    finally:
        release.set()
        outsider.join()
    assert ending.reason == "escape"
    assert world.kernel.leaks[0][0] == "joining the real thread 'outsider'"


def test_a_thread_begins_in_the_context_that_this_python_gives_it() -> None:
    """An empty one; from Python 3.14 on also one that its maker names, or, by a flag, a copy."""
    other: contextvars.ContextVar[str] = contextvars.ContextVar("other", default="default")

    def seen_by(**named: Any) -> tuple[str, str | None]:
        seen: list[tuple[str, str | None]] = []
        thread = threading.Thread(
            target=lambda: seen.append((other.get(), current_call())), **named
        )
        thread.start()
        thread.join()
        return seen[0]

    def subject() -> list[tuple[str, str | None]]:
        other.set("changed")
        CALL_ID.set("ask/1")
        seen = [seen_by()]
        if sys.version_info >= (3, 14):
            seen.append(seen_by(context=contextvars.copy_context()))
        return seen

    inherits = bool(getattr(sys.flags, "thread_inherit_context", False))
    expected = [("changed" if inherits else "default", "ask/1"), ("changed", "ask/1")]
    assert value_of(subject) == expected[: 1 + (sys.version_info >= (3, 14))]
