"""Every clock of a subject is virtual, and spinning on one ends."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from datetime import UTC, date, datetime
from time import monotonic as aliased_monotonic
from time import perf_counter as aliased_perf_counter
from time import sleep as aliased_sleep
from time import time as aliased_time
from typing import Any

import pytest

from faultclock.sim.patches.clocks import READ_COST_NS, READS_FREE
from tests.sim.running import facts, run, value_of

EPOCH = 1_767_225_600

_MONOTONIC: dict[str, Callable[[], Any]] = {
    "monotonic": lambda: time.monotonic(),
    "alias": lambda: aliased_monotonic(),
    "perf_counter": lambda: time.perf_counter(),
    "perf_counter alias": lambda: aliased_perf_counter(),
    "CLOCK_MONOTONIC": lambda: time.clock_gettime(time.CLOCK_MONOTONIC),
    "CLOCK_MONOTONIC_RAW": lambda: time.clock_gettime(time.CLOCK_MONOTONIC_RAW),
    "CLOCK_BOOTTIME": lambda: time.clock_gettime(time.CLOCK_BOOTTIME),
    "coarse": lambda: time.clock_gettime(6),
    "monotonic_ns": lambda: time.monotonic_ns() / 1e9,
    "perf_counter_ns": lambda: time.perf_counter_ns() / 1e9,
    "clock_gettime_ns": lambda: time.clock_gettime_ns(time.CLOCK_MONOTONIC) / 1e9,
}
_WALL: dict[str, Callable[[], Any]] = {
    "time": lambda: time.time(),
    "alias": lambda: aliased_time(),
    "time_ns": lambda: time.time_ns() / 1e9,
    "CLOCK_REALTIME": lambda: time.clock_gettime(time.CLOCK_REALTIME),
    "CLOCK_TAI": lambda: time.clock_gettime(time.CLOCK_TAI),
    "coarse": lambda: time.clock_gettime(5),
    "clock_gettime_ns": lambda: time.clock_gettime_ns(time.CLOCK_REALTIME) / 1e9,
    "now": lambda: datetime.now(UTC).timestamp(),
    "naive now is UTC": lambda: datetime.now().replace(tzinfo=UTC).timestamp(),
    "gmtime": lambda: datetime(*time.gmtime()[:6], tzinfo=UTC).timestamp(),
    "localtime is UTC": lambda: datetime(*time.localtime()[:6], tzinfo=UTC).timestamp(),
}


@pytest.mark.parametrize("name", _MONOTONIC)
def test_monotonic_clocks_show_virtual_time(name: str) -> None:
    """From one base, whatever the function, also where a module bound it before."""
    read = _MONOTONIC[name]

    def subject() -> tuple[float, float]:
        first = read()
        time.sleep(90)
        return first, read()

    assert value_of(subject) == (1_000, 1_090)


@pytest.mark.parametrize("name", _WALL)
def test_wall_clocks_show_virtual_time_from_a_fixed_epoch(name: str) -> None:
    """C functions and aliases too."""
    read = _WALL[name]

    def subject() -> tuple[float, float]:
        first = read()
        aliased_sleep(90)
        return first, read()

    assert value_of(subject) == (EPOCH, EPOCH + 90)


def test_texts_of_the_time_are_virtual() -> None:
    """`ctime`, `asctime`, `strftime` and today."""

    def subject() -> tuple[str, ...]:
        time.sleep(3_600)
        return (
            time.ctime(),
            time.asctime(),
            time.strftime("%H:%M"),
            date.today().isoformat(),
            time.ctime(0),
            time.asctime(time.gmtime(0)),
        )

    assert value_of(subject) == (
        "Thu Jan  1 01:00:00 2026",
        "Thu Jan  1 01:00:00 2026",
        "01:00",
        "2026-01-01",
        "Thu Jan  1 00:00:00 1970",
        "Thu Jan  1 00:00:00 1970",
    )


_PROCESSOR: dict[str, Callable[[], Any]] = {
    "process_time": lambda: time.process_time(),
    "thread_time": lambda: time.thread_time(),
    "process_time_ns": lambda: time.process_time_ns(),
    "thread_time_ns": lambda: time.thread_time_ns(),
    "CLOCK_PROCESS": lambda: time.clock_gettime(time.CLOCK_PROCESS_CPUTIME_ID),
    "CLOCK_THREAD": lambda: time.clock_gettime(time.CLOCK_THREAD_CPUTIME_ID),
}


@pytest.mark.parametrize("name", _PROCESSOR)
def test_computing_takes_no_processor_time(name: str) -> None:
    """So a trace does not depend on how fast the machine is."""
    read = _PROCESSOR[name]

    def subject() -> list[float]:
        first = read()
        sum(range(100_000))
        time.sleep(5)
        return [first, read()]

    assert value_of(subject) == [0, 0]


@pytest.mark.parametrize("clock", ["monotonic", "time", "perf_counter", "process_time"])
def test_spinning_on_a_clock_ends(clock: str) -> None:
    """After many free reads at one instant each read costs a microsecond."""

    def subject() -> float:
        read = getattr(time, clock)
        start = read()
        while read() < start + 0.005:
            pass
        return time.monotonic() - 1_000

    assert value_of(subject) == pytest.approx(0.005, abs=2e-6)


def test_ordinary_reads_cost_nothing() -> None:
    """However many, as long as the clock moves in between or there are not too many."""

    def subject() -> float:
        for _ in range(3):
            for _ in range(READS_FREE):
                time.monotonic()
            time.sleep(1)
        return time.monotonic()

    assert value_of(subject) == 1_003


def test_one_read_too_many_costs_a_microsecond() -> None:
    """The price is fixed and documented."""

    def subject() -> None:
        for _ in range(READS_FREE + 3):
            time.monotonic()

    world, _ = run(subject)
    assert world.kernel.now_ns == 3 * READ_COST_NS
    assert facts(world, "world.touched")[0][1]["monotonic"] == READS_FREE + 3


def test_a_spinning_thread_lets_the_others_go_on() -> None:
    """What it spins for can happen."""
    import threading

    def subject() -> float:
        done = threading.Event()
        threading.Timer(0.002, done.set).start()
        while not done.is_set():
            time.monotonic()
        return time.monotonic() - 1_000

    assert value_of(subject) == pytest.approx(0.002, abs=2e-6)


def test_a_negative_sleep_is_an_error() -> None:
    """As ever."""
    _, ending = run(lambda: time.sleep(-1))
    assert isinstance(ending.error, ValueError)


def test_clocks_and_sleeps_outside_are_real() -> None:
    """The replacements pass real callers on."""
    assert time.monotonic() <= time.monotonic()
    assert time.clock_gettime_ns(time.CLOCK_MONOTONIC) > 0
    assert time.process_time_ns() > 0
    time.sleep(0)
    assert time.ctime(0)
    assert time.asctime()
    assert time.clock_gettime(time.CLOCK_REALTIME) > EPOCH


def test_the_times_of_the_process_are_virtual() -> None:
    """What has passed follows the clock, and computing took nothing."""

    def subject() -> tuple[float, float]:
        before = os.times()
        time.sleep(5)
        after = os.times()
        return after.elapsed - before.elapsed, after.user

    assert value_of(subject) == (5.0, 0.0)
