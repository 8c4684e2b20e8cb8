"""A world may be one life of a process of several: it goes on, and it may be killed."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable

import pytest

from faultclock.sim.kernel.ending import Limits
from faultclock.sim.kernel.kernel import Kernel
from faultclock.sim.kernel.recorder import Recorder, WatchedRecorder
from faultclock.sim.world import World
from tests.sim.running import facts

SECOND = 1_000_000_000


def killed_at(kind: str) -> World:
    """Return a world whose process is killed right after a fact of that kind."""
    recorder = WatchedRecorder(lambda fact: world.kernel.crash() if fact[3] == kind else None)
    world = World(recorder=recorder)
    return world


def test_a_world_goes_on_where_another_one_ended() -> None:
    """Its clocks, its facts and its connections."""
    clocks: list[float] = []

    def read() -> None:
        clocks.append(time.monotonic())
        clocks.append(time.time())
        time.sleep(1)

    first, later = (
        World(),
        World(recorder=Recorder(before=10), life=2, start_ns=5 * SECOND, connections=3),
    )
    for world in (first, later):
        world.run(read)
    assert later.kernel.life == 2
    assert [round(late - early) for early, late in zip(clocks[:2], clocks[2:], strict=True)] == [
        5,
        5,
    ]
    assert [number for number, *_ in later.recorder.events] == [11, 12]
    assert facts(later, "sleep")[0][0] == 5 * SECOND
    assert later.network.connections_made == 3


def test_the_limit_of_virtual_time_is_that_of_the_run() -> None:
    """A later life has only what is left."""
    world = World(start_ns=5 * SECOND, limits=Limits(virtual_ns_max=6 * SECOND))
    assert world.run(lambda: time.sleep(2)).reason == "virtual_time_limit"
    assert world.kernel.now_ns <= 6 * SECOND


def in_a_task(kernel: Kernel, done: list[str]) -> Callable[[], object]:
    """Return a coroutine function that records in a task among others."""

    async def other() -> None:
        try:
            while True:
                await asyncio.sleep(0.1)
                if kernel.ending is not None:
                    done.append("other")
        finally:
            kernel.record("subject", "late")

    async def fatal() -> None:
        await asyncio.sleep(1)
        try:
            kernel.record("subject", "fatal")
        finally:
            kernel.record("subject", "late")

    async def main() -> None:
        tasks = [asyncio.create_task(work()) for work in (other, fatal)]
        await asyncio.sleep(5)
        done.append(f"main of {len(tasks)}")

    return main


def in_a_thread(kernel: Kernel, done: list[str]) -> Callable[[], object]:
    """Return a function that records on a thread while another one waits."""

    def other() -> None:
        time.sleep(5)
        done.append("other")

    def main() -> None:
        threads = [
            threading.Thread(target=other),
            threading.Thread(target=kernel.record, args=("subject", "fatal")),
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        done.append("main")

    return main


def in_a_callback(kernel: Kernel, done: list[str]) -> Callable[[], object]:
    """Return a function during which the world itself records."""

    def main() -> None:
        kernel.call_after(SECOND, kernel.record, "tool", "fatal")
        kernel.call_after(SECOND, done.append, "callback")
        time.sleep(5)
        done.append("main")

    return main


@pytest.mark.parametrize("where", [in_a_task, in_a_thread, in_a_callback])
def test_a_crash_ends_everything_at_once(
    where: Callable[[Kernel, list[str]], Callable[[], object]],
) -> None:
    """No thread, task or callback goes on, and not even the end of the world is recorded."""
    world = killed_at("fatal")
    done: list[str] = []
    ending = world.run(where(world.kernel, done))
    assert ending.reason == "crashed"
    assert done == []
    assert world.recorder.events[-1][3] == "fatal"


def test_a_crash_in_a_finalizer_is_no_noise(capsys: pytest.CaptureFixture[str]) -> None:
    """Python prints what a finalizer raises; the end of a process is nothing to print."""
    world = killed_at("fatal")

    class Closing:
        def __del__(self) -> None:
            world.kernel.record("subject", "fatal")

    def main() -> None:
        Closing()
        time.sleep(1)

    assert world.run(main).reason == "crashed"
    assert capsys.readouterr().err == ""


def test_a_crash_hides_what_was_refused_from_nobody() -> None:
    """The refusals stay on record, whatever becomes of the process."""
    world = killed_at("fatal")

    def main() -> None:
        world.kernel.escaped("something real", "here:1")
        world.kernel.record("subject", "fatal")

    assert world.run(main).reason == "crashed"
    assert world.kernel.escapes == ["something real at here:1"]


def test_what_comes_next_comes_before_all_that_is_due() -> None:
    """For the world and for a loop; it belongs to no call."""
    world = World()
    order: list[str] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.call_soon(order.append, "soon")
        loop.call_next(order.append, "next of the loop")  # type: ignore[attr-defined]
        world.kernel.call_after(0, order.append, "due")
        world.kernel.call_next(order.append, "next of the world")
        await asyncio.sleep(1)

    world.run(main)
    assert order == ["next of the world", "next of the loop", "soon", "due"]
