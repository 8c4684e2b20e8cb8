"""The simulated loop against stock asyncio, two virtual clocks and raw SimPy."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine, Generator, Iterator, Sequence
from functools import partial
from typing import Any

import simpy

from benchmarks._table import Goal, Row, Size, installed, rows_of
from benchmarks._turns import Aside, best_ms
from faultclock.sim.kernel.kernel import Limits
from faultclock.sim.world import World

OURS = "Faultclock"
PEERS = {
    "async-solipsism": installed("async_solipsism"),
    "aiotools VirtualClock": installed("aiotools"),
}
#: Who is half as slow again takes two thirds of the other's time.
GOALS = (
    Goal(case="timers", name=OURS, against="async-solipsism", most=0.667),
    Goal(case="timers", name=OURS, against="aiotools VirtualClock", most=0.667),
    Goal(case="ready", name=OURS, against="stock asyncio", most=1),
    Goal(case="queues", name=OURS, against="stock asyncio", most=1),
)
UNLIMITED = Limits(virtual_ns_max=2**62, events_max=2**62, events_per_instant_max=2**62)

Workload = Callable[[], Coroutine[Any, Any, None]]


def delays(tasks: int, steps: int, longest_ms: int) -> list[list[int]]:
    """Return how long each task sleeps each time, in milliseconds; always the same."""
    drawn = random.Random(1)
    return [[drawn.randint(1, longest_ms) for _ in range(steps)] for _ in range(tasks)]


async def timers(delays_ms: Sequence[Sequence[int]]) -> None:
    """Each task sleeps for its times, one after the other."""

    async def one(delays_ms: Sequence[int]) -> None:
        for delay_ms in delays_ms:
            await asyncio.sleep(delay_ms / 1_000)

    await asyncio.gather(*map(one, delays_ms))


async def ready(tasks: int, steps: int) -> None:
    """Tasks yield to each other; nothing sleeps."""

    async def one() -> None:
        for _ in range(steps):
            await asyncio.sleep(0)

    await asyncio.gather(*(one() for _ in range(tasks)))


async def queues(pairs: int, steps: int) -> None:
    """Pairs of tasks pass a ball to and fro; nothing sleeps."""

    async def pair() -> None:
        there: asyncio.Queue[int] = asyncio.Queue()
        back: asyncio.Queue[int] = asyncio.Queue()

        async def answer() -> None:
            for _ in range(steps):
                await back.put(await there.get())

        task = asyncio.ensure_future(answer())
        for number in range(steps):
            await there.put(number)
            await back.get()
        await task

    await asyncio.gather(*(pair() for _ in range(pairs)))


def ours(workload: Workload) -> None:
    """Faultclock's loop."""
    ending = World(seed=0, limits=UNLIMITED).run(workload)
    assert ending.reason == "completed", ending


def stock(workload: Workload) -> None:
    """The standard library's loop, in real time."""
    asyncio.run(workload())


def solipsism(workload: Workload) -> None:
    """async-solipsism's loop."""
    import async_solipsism

    loop = async_solipsism.EventLoop()
    try:
        loop.run_until_complete(workload())
    finally:
        loop.close()


def virtual_clock(workload: Workload) -> None:
    """aiotools' VirtualClock."""
    import aiotools

    async def patched() -> None:
        with aiotools.VirtualClock().patch_loop():
            await workload()

    asyncio.run(patched())


def simpy_timers(delays_ms: Sequence[Sequence[int]]) -> None:
    """The same as bare SimPy processes, without asyncio: the floor of a queue in Python."""
    env = simpy.Environment()

    def one(delays_ms: Sequence[int]) -> Generator[simpy.Event, None, None]:
        for delay_ms in delays_ms:
            yield env.timeout(delay_ms)

    for of_task in delays_ms:
        env.process(one(of_task))
    env.run()


def measure(size: Size) -> Iterator[Row]:
    """Yield a row for each loop that can run a workload."""
    tasks, steps = size.of((1_000, 100), (4, 3))
    delays_ms = delays(tasks, steps, 1_000)
    yields, passes = partial(ready, tasks, steps), partial(queues, tasks // 2, steps)
    raw, asyncios = "raw SimPy", "stock asyncio"
    cases: tuple[tuple[str, Workload, dict[str, Callable[[], None]]], ...] = (
        (
            f"timers: {tasks:,} tasks × {steps} sleeps",
            partial(timers, delays_ms),
            {raw: partial(simpy_timers, delays_ms)},
        ),
        (
            f"ready: {tasks:,} tasks × {steps} yields",
            yields,
            {asyncios: partial(stock, yields), raw: partial(simpy_timers, [[0] * steps] * tasks)},
        ),
        (
            f"queues: {tasks // 2:,} pairs × {steps} passes",
            passes,
            {asyncios: partial(stock, passes)},
        ),
    )
    clocks = zip(PEERS.items(), (solipsism, virtual_clock), strict=True)
    here = {name: run for (name, is_here), run in clocks if is_here}
    asides = [
        Aside(peers | {name: partial(run, workload) for name, run in here.items()})
        for _, workload, peers in cases
    ]
    for (case, workload, _), aside in zip(cases, asides, strict=True):
        yield from rows_of(case, "ms", best_ms({OURS: partial(ours, workload)}, size, aside), OURS)
