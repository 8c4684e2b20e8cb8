"""asyncio on the one queue: order, exact time, hangs, and SimPy beside it."""

from __future__ import annotations

import asyncio
import contextlib
import math
import threading
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

from faultclock.errors import InternalError
from faultclock.sim.kernel.escapes import SimEscape
from faultclock.sim.kernel.kernel import current
from faultclock.sim.loop import SimLoop
from tests.sim.running import run, value_of


def loop_here() -> SimLoop:
    """Return the running loop, which is simulated."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, SimLoop)
    return loop


def now_ns() -> int:
    """Return the virtual time."""
    here = current()
    assert here is not None
    return here[0].now_ns


def test_a_day_passes_in_one_step() -> None:
    """A sleep of 24 hours is no deadlock, and exact."""

    async def subject() -> int:
        await asyncio.sleep(86_400)
        return now_ns()

    assert value_of(subject) == 86_400_000_000_000


def test_timers_of_equal_time_fire_in_the_order_of_setting() -> None:
    """First in, first out, however many there are."""

    async def subject() -> list[int]:
        seen: list[int] = []
        for number in range(100):
            loop_here().call_later(1, seen.append, number)
        await asyncio.sleep(2)
        return seen

    assert value_of(subject) == list(range(100))


def test_ready_callbacks_run_in_the_order_of_asking() -> None:
    """`call_soon` is a queue; what a callback asks for comes after what was asked before."""

    async def subject() -> list[str]:
        seen: list[str] = []
        loop = loop_here()
        loop.call_soon(lambda: (seen.append("a"), loop.call_soon(seen.append, "c")))
        loop.call_soon(seen.append, "b")
        await asyncio.sleep(1)
        return seen

    assert value_of(subject) == ["a", "b", "c"]


def test_delays_do_not_drift() -> None:
    """Ten times a tenth of a second is a second to the nanosecond."""

    async def subject() -> int:
        for _ in range(10):
            await asyncio.sleep(0.1)
        return now_ns()

    assert value_of(subject) == 1_000_000_000


def test_loop_time_is_the_monotonic_clock() -> None:
    """Code that mixes both, as aiohttp does, sees one time."""

    async def subject() -> tuple[float, float]:
        await asyncio.sleep(1.25)
        return loop_here().time(), time.monotonic()

    loop_time, monotonic = value_of(subject)
    assert loop_time == monotonic == 1_001.25


def test_a_timer_at_an_absolute_time_is_exact() -> None:
    """`call_at` and `timeout_at` take loop time, and `when` gives it back."""

    async def subject() -> tuple[int, float]:
        handle = loop_here().call_at(loop_here().time() + 0.3, lambda: None)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(loop_here().time() + 0.3):
                await asyncio.sleep(5)
        return now_ns(), handle.when()

    assert value_of(subject) == (300_000_000, 1_000.3)


def test_who_asks_again_until_its_time_has_come_is_let_through() -> None:
    """A deadline that is less than a nanosecond ahead moves the clock, and is no livelock."""

    async def subject() -> int:
        loop, done = loop_here(), asyncio.Event()
        # As anyio keeps its deadlines: floats of which no whole nanosecond comes up to the sum.
        deadlines = [loop.time() + step / 1_000 for step in range(100, 1_000)]

        def look(deadline: float) -> None:
            if loop.time() < deadline:
                loop.call_at(deadline, look, deadline)
            elif deadline == max(deadlines):
                done.set()

        for deadline in deadlines:
            look(deadline)
        await done.wait()
        return now_ns()

    assert value_of(subject) in (999_000_000, 999_000_001)


def test_an_endless_timer_is_never_due() -> None:
    """A task that only waits for infinity is deadlocked."""

    async def subject() -> None:
        await asyncio.sleep(math.inf)

    _, ending = run(subject)
    assert ending.reason == "deadlock"


@pytest.mark.parametrize("method", ["call_later", "call_at"])
def test_a_timer_without_a_time_is_a_type_error(method: str) -> None:
    """As in the standard library."""

    async def subject() -> None:
        getattr(loop_here(), method)(None, print)

    _, ending = run(subject)
    assert isinstance(ending.error, TypeError)


def test_a_cancelled_timeout_does_not_delay_the_end() -> None:
    """A long deadline that was not needed leaves no trace in the time."""

    async def subject() -> None:
        async with asyncio.timeout(600):
            await asyncio.sleep(1)
        await loop_here().create_future()

    world, ending = run(subject)
    assert ending.reason == "deadlock"
    assert world.kernel.now_ns == 1_000_000_000


def test_a_hang_names_each_task_and_where_it_waits() -> None:
    """The report shows the subject's own frames, innermost first."""

    async def inner() -> None:
        await asyncio.Queue[int]().get()

    async def worker() -> None:
        await inner()

    async def subject() -> None:
        await asyncio.gather(asyncio.create_task(worker(), name="the worker"))

    _, ending = run(subject)
    (line,) = [line for line in ending.detail if "'the worker'" in line]
    assert line.startswith("task 'the worker' waits in asyncio.queues.Queue.get at ")
    assert [place.split()[-1] for place in line.split(" at ")[1].split(" <- ")] == [
        "inner",
        "worker",
    ]


def test_a_blocking_sleep_in_a_coroutine_stalls_its_loop_only() -> None:
    """The classic mistake is visible: ticks come late, another thread goes on."""

    async def subject() -> tuple[list[float], list[float]]:
        start = time.monotonic()
        ticks: list[float] = []
        thread_ticks: list[float] = []

        def beside() -> None:
            for _ in range(4):
                time.sleep(1)
                thread_ticks.append(time.monotonic() - start)

        async def tick() -> None:
            for _ in range(3):
                await asyncio.sleep(1)
                ticks.append(time.monotonic() - start)

        threading.Thread(target=beside).start()
        task = asyncio.create_task(tick())
        await asyncio.sleep(1.5)
        time.sleep(10)
        await task
        return ticks, thread_ticks

    assert value_of(subject) == ([1, 11.5, 12.5], [1, 2, 3, 4])


def test_two_runs_of_asyncio_in_one_thread() -> None:
    """`asyncio.run` works in blocking code, in any thread, more than once."""

    def subject() -> list[float]:
        seen: list[float] = []

        async def step() -> None:
            await asyncio.sleep(1)
            seen.append(time.monotonic() - 1_000)

        def twice() -> None:
            asyncio.run(step())
            asyncio.run(step())

        threads = [threading.Thread(target=twice) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return seen

    assert value_of(subject) == [1, 1, 2, 2]


def test_get_event_loop_in_blocking_code_gives_a_simulated_loop() -> None:
    """The policy makes simulated loops in the world."""

    def subject() -> bool:
        loop = asyncio.new_event_loop()
        loop.run_until_complete(asyncio.sleep(5))
        loop.close()
        return isinstance(loop, SimLoop)

    assert value_of(subject) is True


def test_another_thread_wakes_a_loop() -> None:
    """`call_soon_threadsafe` crosses simulated threads."""

    async def subject() -> float:
        future = loop_here().create_future()

        def later() -> None:
            time.sleep(3)
            future.get_loop().call_soon_threadsafe(future.set_result, None)

        threading.Thread(target=later).start()
        await future
        return time.monotonic() - 1_000

    assert value_of(subject) == 3


def test_what_is_left_is_cancelled_at_the_end_as_asyncio_run_does() -> None:
    """Background tasks see a cancellation and may clean up in virtual time."""
    seen: list[str] = []

    async def background() -> None:
        try:
            await asyncio.sleep(1_000)
        except asyncio.CancelledError:
            await asyncio.sleep(1)
            seen.append("cleaned")
            raise

    async def subject() -> None:
        task = asyncio.create_task(background())
        await asyncio.sleep(1)
        assert not task.done()

    world, ending = run(subject)
    assert ending.reason == "completed"
    assert seen == ["cleaned"]
    assert world.kernel.now_ns == 2_000_000_000


def test_asynchronous_generators_are_closed_at_the_end() -> None:
    """Their `finally` runs inside the world."""
    seen: list[str] = []

    async def numbers() -> AsyncIterator[int]:
        try:
            yield 1
            yield 2
        finally:
            await asyncio.sleep(1)
            seen.append("closed")

    generators: list[Any] = []

    async def subject() -> int:
        generators.append(numbers())
        return int(await anext(generators[0]))

    assert value_of(subject) == 1
    assert seen == ["closed"]


def test_an_exception_in_a_callback_goes_to_the_handler() -> None:
    """As in asyncio; the loop goes on."""

    async def subject() -> list[str]:
        seen: list[str] = []
        loop_here().set_exception_handler(
            lambda _loop, context: seen.append(str(context["exception"]))
        )

        def fails() -> None:
            raise ValueError("in a callback")

        loop_here().call_soon(fails)
        await asyncio.sleep(1)
        return seen

    assert value_of(subject) == ["in a callback"]


@pytest.mark.parametrize(
    "method",
    ["create_datagram_endpoint", "create_unix_connection", "subprocess_exec", "connect_read_pipe"],
)
def test_what_a_loop_cannot_do_is_refused_by_name(method: str) -> None:
    """The refusal stays even if the subject hides it."""

    async def subject() -> None:
        with contextlib.suppress(BaseException):
            await getattr(loop_here(), method)(None, None)

    world, ending = run(subject)
    assert ending.reason == "escape"
    assert world.kernel.leaks[0][0] == f"loop.{method}"
    assert world.kernel.leaks[0][1].startswith("tests.sim.test_loop:")


def test_a_loop_of_a_world_that_is_over_is_closed() -> None:
    """A later run cannot use it by mistake."""
    kept: list[SimLoop] = []

    async def keeps() -> None:
        kept.append(loop_here())

    run(keeps)

    def uses() -> None:
        kept[0].call_soon(print)

    _, ending = run(uses)
    assert isinstance(ending.error, RuntimeError)


def test_a_real_thread_cannot_reach_into_a_world() -> None:
    """A simulated loop is used by its world's threads alone."""

    async def subject() -> None:
        loop = loop_here()
        from faultclock.sim.kernel.threads import start_new_thread

        # The one way a test has to make a thread that the world does not know.
        done: list[BaseException] = []

        def foreign() -> None:
            try:
                loop.call_soon_threadsafe(print)
            except BaseException as error:
                done.append(error)

        start_new_thread(foreign, ())
        while not done:
            await asyncio.sleep(0.001)
        raise done[0]

    world, ending = run(subject)
    assert isinstance(ending.error, SimEscape)
    assert world.kernel.leaks[0][0] == "a simulated loop used by a real thread"


def test_a_loop_is_made_in_a_world_only() -> None:
    """Outside there is no queue for it."""
    with pytest.raises(SimEscape):
        SimLoop()


def test_a_callback_of_the_world_cannot_run_a_loop() -> None:
    """It has no thread of its own."""

    def subject() -> None:
        loop = asyncio.new_event_loop()
        here = current()
        assert here is not None
        here[0].call_after(1, loop.run_forever)
        time.sleep(5)

    _, ending = run(subject)
    assert isinstance(ending.error, InternalError)


def test_as_completed_starts_its_coroutines_in_order() -> None:
    """The standard library puts them into a set first, which is ordered by address."""

    async def subject() -> list[int]:
        started: list[int] = []

        async def job(number: int) -> int:
            started.append(number)
            await asyncio.sleep(0.1 * (100 - number))
            return number

        completed = [await task for task in asyncio.as_completed([job(n) for n in range(100)])]
        assert completed == list(range(99, -1, -1))
        return started

    assert value_of(subject) == list(range(100))


def test_a_set_of_tasks_iterates_in_the_order_of_creation() -> None:
    """By default it is the order of addresses."""

    async def subject() -> list[str]:
        tasks = {asyncio.create_task(asyncio.sleep(1)) for _ in range(50)}
        return [task.get_name() for task in tasks]

    # The main coroutine is Task-1.
    assert value_of(subject) == [f"Task-{number}" for number in range(2, 52)]


def test_generators_that_are_left_open_are_closed_in_the_order_of_their_beginnings() -> None:
    """A set has the order of addresses, which two runs need not share."""
    closed: list[int] = []

    async def pieces(number: int) -> AsyncIterator[int]:
        try:
            yield number
        finally:
            closed.append(number)

    async def subject() -> list[AsyncIterator[int]]:
        opened = [pieces(number) for number in range(50)]
        for one in (*opened[1::2], *opened[::2]):
            await anext(one)
        return opened

    run(subject)
    assert closed == [*range(1, 50, 2), *range(0, 50, 2)]
