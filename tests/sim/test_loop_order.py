"""What a loop promises of its order is kept in every explored order, and the rest is explored."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from faultclock.model.tape import Schedule
from faultclock.sim.kernel.kernel import current
from tests.sim.exploring import explored, note

schedules = st.one_of(
    st.builds(
        Schedule,
        kind=st.just("random"),
        seed=st.integers(0, 2**32),
        per_mille=st.sampled_from((50, 500, 1_000)),
    ),
    st.builds(
        Schedule,
        kind=st.just("pct"),
        seed=st.integers(0, 2**32),
        depth=st.integers(1, 5),
        horizon=st.integers(1, 100),
    ),
)
#: What a callback does in its turn: asks for another, makes a task, sets a timer.
works = st.recursive(
    st.just(()),
    lambda inner: st.lists(
        st.tuples(st.sampled_from(("soon", "task", "threadsafe", "timer")), inner), max_size=4
    ).map(tuple),
    max_leaves=12,
)


def registering(work: tuple[Any, ...], asked: list[int], called: list[int]) -> Callable[[], Any]:
    """Return a subject that does `work`, and notes what it asks its loop for and what is called."""

    async def main() -> None:
        loop = asyncio.get_running_loop()

        def ask() -> int:
            asked.append(len(asked))
            return asked[-1]

        def do(inner: tuple[Any, ...]) -> None:
            for kind, todo in inner:
                if kind == "soon":
                    loop.call_soon(soon, ask(), todo)
                elif kind == "threadsafe":
                    loop.call_soon_threadsafe(soon, ask(), todo)
                elif kind == "task":
                    tasks.append(asyncio.create_task(stepping(ask(), todo)))
                else:
                    loop.call_later(1, do, todo)

        def soon(number: int, todo: tuple[Any, ...]) -> None:
            called.append(number)
            do(todo)

        async def stepping(number: int, todo: tuple[Any, ...]) -> None:
            called.append(number)
            do(todo)
            again = ask()
            await asyncio.sleep(0)
            called.append(again)

        tasks: list[asyncio.Task[None]] = []
        for number in range(3):
            loop.call_later(number // 2, do, work)
        await asyncio.sleep(60)
        await asyncio.gather(*tasks)

    return main


@given(work=works, schedule=schedules)
@settings(max_examples=60, deadline=None)
def test_a_loop_calls_back_in_the_order_of_asking(
    work: tuple[Any, ...], schedule: Schedule
) -> None:
    """Callbacks, first steps of new tasks and their next ones, whatever timers come in between."""
    asked: list[int] = []
    called: list[int] = []
    assert explored(registering(work, asked, called), schedule).ending.error is None
    assert called == asked


@given(schedule=schedules, steps=st.integers(0, 5), delay=st.sampled_from((0, -1)))
@settings(max_examples=30, deadline=None)
def test_a_timer_does_not_overtake_what_its_loop_has_to_do(
    schedule: Schedule, steps: int, delay: int
) -> None:
    """A loop looks at its timers when it has gone through that, also where they are due at once."""

    async def main() -> None:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(1)
        for number in range(steps):
            loop.call_soon(note, number)
        loop.call_later(delay, note, "timer")
        await asyncio.sleep(1)

    notes = explored(main, schedule).notes
    assert notes == [*range(steps), "timer"]


def orders(subject: Callable[[], Any], runs: int = 40) -> set[tuple[Any, ...]]:
    """Return the orders of notes that exploring finds."""
    return {
        tuple(explored(subject, Schedule(kind="random", seed=seed)).notes) for seed in range(runs)
    }


def test_timers_of_two_tasks_that_are_due_at_one_time_change_places() -> None:
    """asyncio does not say which is first; what one task has set stays in its order."""

    async def main() -> None:
        loop = asyncio.get_running_loop()

        async def two(name: str) -> None:
            loop.call_later(1, note, f"{name}1")
            loop.call_later(1, note, f"{name}2")

        await asyncio.gather(two("a"), two("b"))
        await asyncio.sleep(2)

    found = orders(main)
    assert {("a1", "a2", "b1", "b2"), ("b1", "b2", "a1", "a2"), ("a1", "b1", "a2", "b2")} <= found
    for order in found:
        assert order.index("a1") < order.index("a2")
        assert order.index("b1") < order.index("b2")


def test_what_a_timer_asks_for_may_come_before_another_timer_of_that_instant() -> None:
    """In the world the other one may be due a little later."""

    async def main() -> None:
        async def sleeping(name: str) -> None:
            await asyncio.sleep(1)
            note(f"{name} wakes")
            await asyncio.sleep(0)
            note(f"{name} goes on")

        await asyncio.gather(sleeping("a"), sleeping("b"))

    assert orders(main) == {
        ("a wakes", "b wakes", "a goes on", "b goes on"),
        ("b wakes", "a wakes", "b goes on", "a goes on"),
        ("a wakes", "a goes on", "b wakes", "b goes on"),
        ("b wakes", "b goes on", "a wakes", "a goes on"),
    }


class Wire:
    """One direction of a connection."""

    lane = "c1/client"

    def arrive(self, loop: asyncio.AbstractEventLoop) -> None:
        """Do what a network does with a packet."""
        loop.call_soon(note, "packet")


def test_a_packet_comes_before_or_after_a_timer_of_that_instant() -> None:
    """A deadline may cut off an answer that is just there, or not."""

    async def main() -> None:
        loop = asyncio.get_running_loop()
        here = current()
        assert here is not None
        here[0].call_after(1_000_000_000, Wire().arrive, loop)
        loop.call_later(1, note, "timer")
        await asyncio.sleep(2)

    assert orders(main) == {("packet", "timer"), ("timer", "packet")}


def test_a_call_of_another_thread_comes_anywhere_among_what_the_loop_asks_for_itself() -> None:
    """When that thread goes on is open; but nobody is interrupted between two waits."""

    async def main() -> None:
        loop = asyncio.get_running_loop()
        asked = threading.Event()

        def other() -> None:
            asked.wait()
            loop.call_soon_threadsafe(note, "other")

        thread = threading.Thread(target=other)
        thread.start()
        await asyncio.sleep(1)
        asked.set()
        for number in range(3):
            await asyncio.sleep(0)
            note(number)
        await asyncio.to_thread(thread.join)

    # The first step was asked for before the loop's thread let the other one go on.
    assert orders(main) == {
        (0, "other", 1, 2),
        (0, 1, "other", 2),
        (0, 1, 2, "other"),
    }


def test_a_result_of_an_executor_comes_before_or_after_a_timer() -> None:
    """The thread that works is a lane of its own."""

    async def main() -> None:
        loop = asyncio.get_running_loop()
        working = loop.run_in_executor(None, _work)
        working.add_done_callback(lambda _: note("result"))
        loop.call_later(1, note, "timer")
        await asyncio.sleep(2)

    assert orders(main) == {("result", "timer"), ("timer", "result")}


def _work() -> None:
    here = current()
    assert here is not None
    here[0].pause(1_000_000_000)
