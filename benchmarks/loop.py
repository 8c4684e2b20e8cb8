"""The simulated loop against stock asyncio, two virtual clocks and raw SimPy.

Every figure is a ratio in one run: the peers take turns, the best of several rounds counts.
Run it with `make bench`.
"""

from __future__ import annotations

import asyncio
import gc
import random
import time
from collections.abc import Callable

import simpy

from harness.sim.kernel import Limits
from harness.sim.world import World

TASKS, STEPS, ROUNDS = 1_000, 100, 5
_RANDOM = random.Random(1)
DELAYS_MS = [[_RANDOM.randint(1, 1_000) for _ in range(STEPS)] for _ in range(TASKS)]
_UNLIMITED = Limits(
    virtual_ns_max=2**62, events_max=2**62, events_per_instant_max=2**62
)
clock = time.perf_counter


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
    """500 pairs of tasks pass a ball to and fro 100 times."""

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

    await asyncio.gather(*(pair() for _ in range(500)))


def ours(workload: Callable) -> None:
    """Faultclock's loop."""
    ending = World(seed=0, limits=_UNLIMITED).run(workload)
    assert ending.reason == "completed", ending


def stock(workload: Callable) -> None:
    """The standard library's loop, in real time."""
    asyncio.run(workload())


def solipsism(workload: Callable) -> None:
    """async-solipsism's loop."""
    import async_solipsism

    loop = async_solipsism.EventLoop()
    try:
        loop.run_until_complete(workload())
    finally:
        loop.close()


def aiotools_clock(workload: Callable) -> None:
    """aiotools' VirtualClock."""
    import aiotools

    async def patched() -> None:
        with aiotools.VirtualClock().patch_loop():
            await workload()

    asyncio.run(patched())


def raw_simpy_timers() -> None:
    """The same sleeps as bare SimPy processes: the floor of the queue itself."""
    env = simpy.Environment()

    def one(delays: list[int]):
        for delay_ms in delays:
            yield env.timeout(delay_ms)

    for delays in DELAYS_MS:
        env.process(one(delays))
    env.run()


def raw_simpy_ready() -> None:
    """The same yields as bare SimPy processes."""
    env = simpy.Environment()

    def one():
        for _ in range(STEPS):
            yield env.timeout(0)

    for _ in range(TASKS):
        env.process(one())
    env.run()


def measure(peers: dict[str, Callable[[], None]]) -> dict[str, float]:
    """Return the best wall time of each peer in seconds; the peers take turns."""
    best = dict.fromkeys(peers, float("inf"))
    for _ in range(ROUNDS):
        for name, run in peers.items():
            gc.collect()
            started = clock()
            run()
            best[name] = min(best[name], clock() - started)
    return best


def table(title: str, best: dict[str, float]) -> None:
    """Print the peers with their ratio: above 1, Faultclock is faster."""
    print(f"\n{title}")
    for name, seconds in best.items():
        print(f"  {name:28s} {seconds * 1e3:8.1f} ms   peer/ours {seconds / best['faultclock']:5.2f}")


def main() -> None:
    """Print the three tables."""
    for title, workload, extra in (
        (f"timers: {TASKS} tasks x {STEPS} sleeps", timers, {"raw SimPy": raw_simpy_timers}),
        (
            f"ready callbacks: {TASKS} tasks x {STEPS} yields",
            ready,
            {"raw SimPy": raw_simpy_ready, "stock asyncio": lambda: stock(ready)},
        ),
        ("queues: 500 pairs x 100", queues, {"stock asyncio": lambda: stock(queues)}),
    ):
        peers = {
            "faultclock": lambda workload=workload: ours(workload),
            "async-solipsism": lambda workload=workload: solipsism(workload),
            "aiotools VirtualClock": lambda workload=workload: aiotools_clock(workload),
            **extra,
        }
        table(title, measure(peers))


if __name__ == "__main__":
    main()
