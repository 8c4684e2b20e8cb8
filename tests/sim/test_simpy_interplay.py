"""SimPy processes and coroutines on one queue wait for each other."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterator

import simpy

from faultclock.sim.kernel.env import SimEvent
from faultclock.sim.kernel.kernel import current
from faultclock.sim.kernel.loop import SimLoop
from tests.sim.running import value_of


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


def test_coroutines_and_simpy_processes_wait_for_each_other() -> None:
    """A resource is shared, a process waits for a coroutine, and the order is right."""

    async def subject() -> tuple[list[int], object]:
        loop = loop_here()
        resource = simpy.Resource(loop.env, capacity=2)
        starts: list[int] = []

        async def job() -> None:
            await loop.wrap_event(resource.request())
            starts.append(now_ns() // 10**9)
            await asyncio.sleep(10)
            resource.release(resource.users[0])

        async def answer() -> int:
            await asyncio.sleep(3)
            return 42

        def process() -> Iterator[SimEvent]:
            got = yield loop.as_event(answer())
            return got

        waiting = loop.wrap_event(loop.kernel.process(process()))
        await asyncio.gather(*(job() for _ in range(5)))
        return starts, await waiting

    assert value_of(subject) == ([0, 0, 10, 10, 20], 42)


def test_a_failing_process_raises_in_the_coroutine_that_waits() -> None:
    """And a failing coroutine raises in the process."""

    async def subject() -> list[str]:
        loop = loop_here()
        seen: list[str] = []

        def fails() -> Iterator[SimEvent]:
            yield loop.env.timeout(1)
            raise ValueError("process")

        async def fails_too() -> None:
            raise ValueError("coroutine")

        def waits() -> Iterator[SimEvent]:
            try:
                yield loop.as_event(fails_too())
            except ValueError as error:
                seen.append(str(error))

        try:
            await loop.wrap_event(loop.kernel.process(fails()))
        except ValueError as error:
            seen.append(str(error))
        await loop.wrap_event(loop.kernel.process(waits()))
        return seen

    assert value_of(subject) == ["process", "coroutine"]


def test_a_cancelled_wait_lets_go_of_the_event() -> None:
    """A deadline around a SimPy event leaves the event alone."""

    async def subject() -> float:
        event = loop_here().env.timeout(50 * 10**9)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(loop_here().wrap_event(event), 5)
        await asyncio.sleep(100)
        return time.monotonic() - 1_000

    assert value_of(subject) == 105


def test_an_event_that_is_over_gives_a_future_that_is_done() -> None:
    """Waiting for the past takes no time."""

    async def subject() -> tuple[int, object]:
        event = loop_here().env.timeout(5, value="past")
        await asyncio.sleep(1)
        return now_ns(), await loop_here().wrap_event(event)

    assert value_of(subject) == (1_000_000_000, "past")
