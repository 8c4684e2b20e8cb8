"""The dispatcher: waits, deadlines, limits, and how a run ends."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import simpy

from faultclock.errors import InternalError
from faultclock.sim.kernel.clock import SECOND_NS
from faultclock.sim.kernel.kernel import TIMED_OUT, Kernel, Limits, current
from faultclock.sim.world import World
from tests.sim.running import facts, run, value_of


def kernel_here() -> Kernel:
    """Return the kernel of the calling simulated thread."""
    here = current()
    assert here is not None
    return here[0]


def test_blocking_code_on_one_thread_never_switches() -> None:
    """The thread that sleeps steps the world itself."""

    def subject() -> None:
        for _ in range(100):
            time.sleep(1)

    world, ending = run(subject)
    assert ending.reason == "completed"
    assert world.kernel.now_ns == 100 * SECOND_NS
    assert world.kernel.switches == 0


def test_a_blocking_sleep_is_a_fact() -> None:
    """It carries the delay; the call is none outside a call."""
    world, _ = run(lambda: time.sleep(1.5))
    assert facts(world, "sleep") == [(0, {"delay_ns": 1_500_000_000, "call": None})]


def test_a_callback_runs_at_its_time_unless_cancelled() -> None:
    """`call_after` and `call_at` are the world's own timers."""

    def subject() -> list[tuple[str, int]]:
        kernel = kernel_here()
        seen: list[tuple[str, int]] = []
        kernel.call_after(30, lambda: seen.append(("after", kernel.now_ns)))
        kernel.call_at(20, lambda: seen.append(("at", kernel.now_ns)))
        kernel.call_at(25, lambda: seen.append(("never", 0))).cancel()
        kernel.pause(100)
        return seen

    assert value_of(subject) == [("at", 20), ("after", 30)]


@pytest.mark.parametrize(
    ("fire_at_ns", "timeout_ns", "expected"),
    [
        (5, 10, ("fired", 5)),
        (15, 10, (TIMED_OUT, 10)),
        (5, None, ("fired", 5)),
        (5, 0, (TIMED_OUT, 0)),
        (10, 10, ("fired", 10)),
    ],
)
def test_a_wait_ends_by_its_wake_or_its_deadline(
    fire_at_ns: int, timeout_ns: int | None, expected: tuple[object, int]
) -> None:
    """Whichever is earlier; at one instant, whichever was scheduled first."""

    def subject() -> tuple[object, int]:
        kernel = kernel_here()
        wake = kernel.waiter("a test")
        kernel.call_at(fire_at_ns, kernel.fire, wake, "fired")
        return kernel.park(wake, timeout_ns), kernel.now_ns

    assert value_of(subject) == expected


def test_a_wake_that_was_fired_before_the_wait_ends_it_at_once() -> None:
    """Nothing is lost between asking for a wake and parking on it."""

    def subject() -> tuple[object, int]:
        kernel = kernel_here()
        wake = kernel.waiter("a test")
        kernel.fire(wake, "early")
        kernel.pause(10)
        return kernel.park(wake), kernel.now_ns

    assert value_of(subject) == ("early", 10)


def test_firing_twice_counts_once() -> None:
    """The first value stands, and no later wait is disturbed."""

    def subject() -> tuple[object, int]:
        kernel = kernel_here()
        wake = kernel.waiter("a test")
        kernel.fire(wake, 1)
        kernel.fire(wake, 2)
        first = kernel.park(wake)
        kernel.pause(7)
        return first, kernel.now_ns

    assert value_of(subject) == (1, 7)


def test_a_cancelled_deadline_does_not_let_time_pass() -> None:
    """A met wait takes its patience along: the end of the run is not delayed by it."""

    def subject() -> None:
        kernel = kernel_here()
        wake = kernel.waiter("a test")
        kernel.call_at(5, kernel.fire, wake)
        kernel.park(wake, 1_000 * SECOND_NS)
        threading.Event().wait()

    world, ending = run(subject)
    assert ending.reason == "deadlock"
    assert world.kernel.now_ns == 5


def test_a_deadlock_ends_the_run_and_says_who_waits_for_what() -> None:
    """Nothing is scheduled, so nobody can ever wake the only thread."""

    def waits_for_ever() -> None:
        threading.Event().wait()

    _, ending = run(waits_for_ever)
    assert ending.reason == "deadlock"
    assert any(
        "thread 'main' waits for a lock in threading.Event.wait" in line
        and "tests.sim.test_kernel:" in line
        and line.endswith("waits_for_ever")
        for line in ending.detail
    ), ending.detail


def test_a_hang_names_no_path_of_this_machine() -> None:
    """Details go into traces, which must be equal everywhere."""
    _, ending = run(lambda: threading.Event().wait())
    assert not any("/" in line for line in ending.detail)


async def yields_for_ever() -> None:
    """Never let the clock move, in a coroutine."""
    while True:
        await asyncio.sleep(0)


def sleeps_for_ever() -> None:
    """Never let the clock move, in blocking code."""
    while True:
        time.sleep(0)


@pytest.mark.parametrize("subject", [yields_for_ever, sleeps_for_ever])
def test_events_without_time_are_a_livelock(subject: Callable[[], Any]) -> None:
    """Code that yields for ever at one instant is ended."""
    limits = Limits(events_max=10_000_000, events_per_instant_max=1_000)
    world, ending = run(subject, limits=limits)
    assert ending.reason == "livelock"
    assert world.kernel.now_ns == 0
    assert "1000 events" in ending.detail[0]


def test_many_events_are_no_livelock_while_the_clock_moves() -> None:
    """Only a standing clock counts."""

    async def ticks() -> str:
        for _ in range(5_000):
            await asyncio.sleep(0.001)
            time.sleep(0.001)
        return "done"

    limits = Limits(events_per_instant_max=100)
    _, ending = run(ticks, limits=limits)
    assert (ending.reason, ending.value) == ("completed", "done")


def test_the_virtual_time_limit_ends_the_run() -> None:
    """Nothing happens after it, and the clock does not pass it."""

    async def ticks() -> None:
        while True:
            await asyncio.sleep(1)

    world, ending = run(ticks, limits=Limits(virtual_ns_max=10 * SECOND_NS))
    assert ending.reason == "virtual_time_limit"
    assert world.kernel.now_ns == 10 * SECOND_NS


def test_the_event_limit_ends_the_run() -> None:
    """Whatever the clock does."""

    def sleeps() -> None:
        while True:
            time.sleep(0.001)

    _, ending = run(sleeps, limits=Limits(events_max=500))
    assert ending.reason == "event_limit"


def test_what_the_subject_raises_is_in_the_ending() -> None:
    """It is data, not an error of the harness."""

    def subject() -> None:
        raise ValueError("theirs")

    _, ending = run(subject)
    assert ending.reason == "raised"
    assert isinstance(ending.error, ValueError)


def test_an_error_in_the_worlds_own_callback_cannot_be_caught_by_the_subject() -> None:
    """It ends the run, instead of surfacing in whichever thread happens to step the queue."""

    def fails() -> None:
        raise RuntimeError("ours")

    def subject() -> str:
        kernel_here().call_after(5, fails)
        try:
            time.sleep(1)
        except Exception:
            return "hidden"
        return "unnoticed"

    _, ending = run(subject)
    assert ending.reason == "raised"
    assert str(ending.error) == "ours"


def test_the_worlds_callbacks_must_not_block() -> None:
    """A callback runs on a borrowed stack, so it has no thread of its own to stop."""

    def subject() -> None:
        kernel_here().call_after(5, time.sleep, 1)
        time.sleep(10)

    _, ending = run(subject)
    assert ending.reason == "raised"
    assert isinstance(ending.error, InternalError)


def test_simpy_processes_share_the_queue() -> None:
    """A process and a sleeping thread live in one time."""

    def subject() -> list[tuple[str, int]]:
        kernel = kernel_here()
        seen: list[tuple[str, int]] = []

        def process() -> Iterator[simpy.Event]:
            yield kernel.env.timeout(2 * SECOND_NS)
            seen.append(("process", kernel.now_ns // SECOND_NS))

        kernel.env.process(process())
        time.sleep(1)
        seen.append(("thread", kernel.now_ns // SECOND_NS))
        time.sleep(2)
        return seen

    assert value_of(subject) == [("thread", 1), ("process", 2)]


def test_a_simpy_process_that_fails_alone_ends_the_run() -> None:
    """Nobody waits for it, so nobody else could tell."""

    def subject() -> None:
        kernel = kernel_here()

        def process() -> Iterator[simpy.Event]:
            yield kernel.env.timeout(1)
            raise ValueError("in a process")

        kernel.env.process(process())
        time.sleep(1)

    _, ending = run(subject)
    assert (ending.reason, str(ending.error)) == ("raised", "in a process")


def test_nothing_is_recorded_once_the_run_is_over() -> None:
    """What threads do while they are torn down is no behaviour of the subject."""

    def stubborn() -> None:
        try:
            time.sleep(100)
        finally:
            kernel_here().record("subject", "cleanup")

    def subject() -> None:
        threading.Thread(target=stubborn).start()
        time.sleep(1)

    world, ending = run(subject)
    assert ending.reason == "completed"
    assert facts(world, "cleanup") == []


def test_a_thread_that_refuses_to_end_is_left_behind() -> None:
    """Catching the end of the run again and again does not hang the harness."""

    def stubborn() -> None:
        while True:
            try:
                time.sleep(1)
            except BaseException:
                continue

    def subject() -> str:
        threading.Thread(target=stubborn).start()
        time.sleep(3)
        return "done"

    before = threading.enumerate()
    world, ending = run(subject)
    assert threading.enumerate() == before
    assert (ending.reason, ending.value) == ("completed", "done")
    assert [actor.kills > 100 for actor in world.kernel.actors] == [False, True]


def test_a_world_runs_once() -> None:
    """Its clock and its facts belong to one run."""
    world = World()
    world.run(lambda: None)
    with pytest.raises(InternalError):
        world.run(lambda: None)


def test_a_world_does_not_run_inside_another() -> None:
    """There is one clock for a thread at a time."""
    _, ending = run(lambda: World().run(lambda: None))
    assert isinstance(ending.error, InternalError)


def test_a_killed_main_thread_that_hides_it_still_ends_as_a_hang() -> None:
    """Catching the end of the run does not turn a deadlock into a success."""

    def subject() -> str:
        try:
            threading.Event().wait()
        except BaseException:
            return "fine"
        return "woken"

    _, ending = run(subject)
    assert (ending.reason, ending.value) == ("deadlock", None)
