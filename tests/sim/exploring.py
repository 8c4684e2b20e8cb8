"""What the tests of explored orders share: subjects whose order shows, and worlds that explore."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

from faultclock.model.tape import BLANK, FIFO, Schedule, Tape
from faultclock.sim.kernel.choices import Choices
from faultclock.sim.kernel.kernel import Ending, current
from faultclock.sim.world import World
from tests.sim.running import ROOMY


class Explored:
    """One world that was run: its facts, its tape and its end."""

    def __init__(self, world: World, ending: Ending) -> None:
        self.facts = repr(world.recorder.events)
        self.notes = [
            payload["what"] for *_, kind, payload in world.recorder.events if kind == "noted"
        ]
        self.tape = world.choices.noted()
        self.ending = ending


def explored(
    subject: Callable[[], Any], schedule: Schedule = FIFO, tape: Tape = BLANK, *, seed: int = 0
) -> Explored:
    """Run `subject` in a world that explores, or plays."""
    world = World(seed=seed, limits=ROOMY, choices=Choices(seed, tape, schedule))
    return Explored(world, world.run(subject))


def note(what: object) -> None:
    """Record that the subject was here."""
    here = current()
    assert here is not None
    here[0].record("subject", "noted", what=what)


async def many_tasks() -> None:
    """Five tasks that sleep and yield at the same instants, a queue, and callbacks of the loop."""
    queue: asyncio.Queue[int] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    async def one(number: int) -> None:
        for step in range(3):
            await asyncio.sleep(1)
            note((number, step))
            await queue.put(number)
            await asyncio.sleep(0)
            note(("got", await queue.get()))

    for number in range(3):
        loop.call_later(2, note, f"callback {number}")
    results = await asyncio.gather(*(one(number) for number in range(5)))
    note(len(results))
    try:
        async with asyncio.timeout(1):
            await asyncio.sleep(1)
        note("in time")
    except TimeoutError:
        note("too late")


def many_threads() -> None:
    """Threads that sleep until the same instants, a lock, and waits with a deadline."""
    lock = threading.Lock()
    event = threading.Event()

    def one(number: int) -> None:
        for step in range(3):
            time.sleep(1)
            with lock:
                note((number, step))
        note(("waited", number, event.wait(1)))

    threads = [threading.Thread(target=one, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    time.sleep(4)
    event.set()
    for thread in threads:
        thread.join()


def many_loops() -> None:
    """A loop in each of three threads, calls from one into another, and one that blocks inside."""
    loops: list[asyncio.AbstractEventLoop] = []

    async def one(number: int) -> None:
        loop = asyncio.get_running_loop()
        loops.append(loop)
        await asyncio.sleep(1)
        for other in loops:
            other.call_soon_threadsafe(note, (number, "calls"))

        async def ticking() -> None:
            for tick in range(3):
                await asyncio.sleep(1)
                note((number, tick))

        ticks = asyncio.create_task(ticking())
        if number == 0:
            await asyncio.sleep(1)
            # The loop stands still, and what comes due piles up.
            time.sleep(1)
        await asyncio.to_thread(time.sleep, 1)
        note((number, "slept"))
        await ticks
        await asyncio.sleep(2)

    threads = [threading.Thread(target=asyncio.run, args=(one(number),)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def racing(noise: int = 5) -> Callable[[], Any]:
    """Return a subject in which a revoked token may be used, but never first in first out.

    The worker looks at the token and uses it in its next step; the refresher, which comes after
    it, revokes it in its own next step. Only the order of the two decides.
    """

    async def main() -> None:
        tokens = {"now": 0}
        valid = {0}

        async def worker() -> None:
            await asyncio.sleep(5)
            token = tokens["now"]
            await asyncio.sleep(0)
            assert token in valid, "a revoked token was used"

        async def refresher() -> None:
            await asyncio.sleep(5)
            new = tokens["now"] + 1
            valid.add(new)
            await asyncio.sleep(0)
            old, tokens["now"] = tokens["now"], new
            valid.discard(old)

        async def other() -> None:
            for _ in range(5):
                await asyncio.sleep(1)
                await asyncio.sleep(0)

        await asyncio.gather(worker(), *(other() for _ in range(noise)), refresher())

    return main
