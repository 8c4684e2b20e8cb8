"""The simulated loop against stock asyncio, two virtual clocks and raw SimPy.

    python -m benchmarks.loop

All take turns; the best turn of each counts, in seconds of processor time.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine, Generator, Mapping
from functools import partial
from typing import Any

import aiotools
import async_solipsism
import simpy

from benchmarks._turns import Aside, best_rates, machine
from faultclock.sim.kernel.kernel import Limits
from faultclock.sim.world import World

TASKS, STEPS, ROUNDS = 1_000, 100, 9
_RANDOM = random.Random(1)
DELAYS_MS = [[_RANDOM.randint(1, 1_000) for _ in range(STEPS)] for _ in range(TASKS)]
_UNLIMITED = Limits(virtual_ns_max=2**62, events_max=2**62, events_per_instant_max=2**62)

Workload = Callable[[], Coroutine[Any, Any, None]]


async def timers() -> None:
    """1,000 tasks sleep 100 times each, for different times."""

    async def one(delays: list[int]) -> None:
        for delay_ms in delays:
            await asyncio.sleep(delay_ms / 1_000)

    await asyncio.gather(*(one(delays) for delays in DELAYS_MS))


async def ready() -> None:
    """1,000 tasks yield to each other 100 times each; nothing sleeps."""

    async def one() -> None:
        for _ in range(STEPS):
            await asyncio.sleep(0)

    await asyncio.gather(*(one() for _ in range(TASKS)))


async def queues() -> None:
    """500 pairs of tasks pass a ball to and fro 100 times; nothing sleeps."""

    async def pair() -> None:
        there: asyncio.Queue[int] = asyncio.Queue()
        back: asyncio.Queue[int] = asyncio.Queue()

        async def answer() -> None:
            for _ in range(STEPS):
                await back.put(await there.get())

        task = asyncio.ensure_future(answer())
        for number in range(STEPS):
            await there.put(number)
            await back.get()
        await task

    await asyncio.gather(*(pair() for _ in range(TASKS // 2)))


def ours(workload: Workload) -> None:
    """Faultclock's loop."""
    ending = World(seed=0, limits=_UNLIMITED).run(workload)
    assert ending.reason == "completed", ending


def stock(workload: Workload) -> None:
    """The standard library's loop, in real time."""
    asyncio.run(workload())


def solipsism(workload: Workload) -> None:
    """async-solipsism's loop."""
    loop = async_solipsism.EventLoop()
    try:
        loop.run_until_complete(workload())
    finally:
        loop.close()


def virtual_clock(workload: Workload) -> None:
    """aiotools' VirtualClock."""

    async def patched() -> None:
        with aiotools.VirtualClock().patch_loop():
            await workload()

    asyncio.run(patched())


def simpy_timers() -> None:
    """The same sleeps as bare SimPy processes: the floor of a queue in Python."""
    env = simpy.Environment()

    def one(delays: list[int]) -> Generator[simpy.Event, None, None]:
        for delay_ms in delays:
            yield env.timeout(delay_ms)

    for delays in DELAYS_MS:
        env.process(one(delays))
    env.run()


def simpy_ready() -> None:
    """The same yields as bare SimPy processes."""
    env = simpy.Environment()

    def one() -> Generator[simpy.Event, None, None]:
        for _ in range(STEPS):
            yield env.timeout(0)

    for _ in range(TASKS):
        env.process(one())
    env.run()


#: Title, what is run, and who can run it besides the two virtual clocks.
CASES: tuple[tuple[str, Workload, Mapping[str, Callable[[], None]]], ...] = (
    (f"timers: {TASKS} tasks x {STEPS} sleeps", timers, {"raw SimPy": simpy_timers}),
    (
        f"ready callbacks: {TASKS} tasks x {STEPS} yields",
        ready,
        {"stock asyncio": partial(stock, ready), "raw SimPy": simpy_ready},
    ),
    (
        f"queues: {TASKS // 2} pairs x {STEPS} passes",
        queues,
        {"stock asyncio": partial(stock, queues)},
    ),
)


def main() -> None:
    """Print a table for each case."""
    print(machine())
    asides = [
        Aside(
            {
                "async-solipsism": partial(solipsism, workload),
                "aiotools VirtualClock": partial(virtual_clock, workload),
                **peers,
            }
        )
        for _, workload, peers in CASES
    ]
    for (title, workload, _), aside in zip(CASES, asides, strict=True):
        rates = best_rates({"faultclock": partial(ours, workload)}, aside, turn_s=0, rounds=ROUNDS)
        aside.close()
        print(f"\n{title}")
        for name, rate in rates.items():
            ratio = rates["faultclock"] / rate
            print(f"  {name:24s} {1_000 / rate:8.1f} ms   time against faultclock {ratio:5.2f}")


if __name__ == "__main__":
    main()
