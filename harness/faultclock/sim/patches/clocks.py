"""A subject's clocks and `time.sleep`, read in virtual time.

Monotonic clocks and the performance counter show virtual time from one common base, which is
the event loop's too. Processor clocks show only what a subject was charged for spinning: in
the world, computing takes no time. `time.time` and everything built on it is in `wall_clock`.

A thread may read clocks as often as it likes for nothing, until it has read READS_FREE times
while the clock stood still. Then each read costs it READ_COST_NS of virtual time, in which the
others run; so `while time.monotonic() < end: pass` ends, and ordinary code never notices.
"""

from __future__ import annotations

import os
import time
from _thread import get_ident
from collections.abc import Callable
from typing import Any

from faultclock.model.trace.trace import WALL_EPOCH_NS
from faultclock.sim.kernel.actors import SIMULATED, Actor, current
from faultclock.sim.kernel.clock import MONOTONIC_BASE_NS, SECOND_NS, seconds_to_ns
from faultclock.sim.kernel.kernel import Kernel
from faultclock.sim.patches import loading
from faultclock.sim.patches.registry import Patch, named_like

#: Reads of any clock by one thread at one instant before they cost anything.
READS_FREE = 10_000
#: What each further read costs: about what it takes on a real machine.
READ_COST_NS = 1_000

Read = Callable[[Kernel, Actor], int]


def note_read(kernel: Kernel, actor: Actor, name: str) -> None:
    """Count one clock read, and charge it if the thread is spinning."""
    kernel.touch(name)
    now_ns = kernel.env._now
    if actor.read_at_ns != now_ns:
        actor.read_at_ns = now_ns
        actor.reads = 0
    actor.reads += 1
    if actor.reads > READS_FREE and not kernel.in_event and kernel.ending is None:
        actor.spun_ns += READ_COST_NS
        kernel.pause(READ_COST_NS, "a clock to move on")
        actor.read_at_ns = kernel.env._now


def _monotonic_ns(kernel: Kernel, _actor: Actor) -> int:
    return MONOTONIC_BASE_NS + kernel.env._now


def _wall_ns(kernel: Kernel, _actor: Actor) -> int:
    return kernel.wall_ns


def _process_ns(kernel: Kernel, _actor: Actor) -> int:
    return sum(actor.spun_ns for actor in kernel.actors)


def _thread_ns(_kernel: Kernel, actor: Actor) -> int:
    return actor.spun_ns


#: What a clock shows while a subject is loaded.
_AT_START: dict[Read, int] = {
    _monotonic_ns: MONOTONIC_BASE_NS,
    _wall_ns: WALL_EPOCH_NS,
    _process_ns: 0,
    _thread_ns: 0,
}


def _integer_clock(name: str, read: Read) -> Callable[[Any], Any]:
    def make(original: Callable[[], int]) -> Callable[[], int]:
        def clock() -> int:
            here = SIMULATED.get(get_ident())
            if here is None:
                return _AT_START[read] if loading.stands() else original()
            note_read(*here, name)
            return read(*here)

        return named_like(clock, original)

    return make


def _float_clock(name: str, read: Read) -> Callable[[Any], Any]:
    def make(original: Callable[[], float]) -> Callable[[], float]:
        def clock() -> float:
            here = SIMULATED.get(get_ident())
            if here is None:
                return _AT_START[read] / SECOND_NS if loading.stands() else original()
            note_read(*here, name)
            return read(*here) / SECOND_NS

        return named_like(clock, original)

    return make


#: What each clock id of `clock_gettime` shows; an id that is not here shows processor time.
_CLOCK_IDS: dict[int, Read] = {
    getattr(time, name): read
    for name, read in (
        ("CLOCK_REALTIME", _wall_ns),
        ("CLOCK_TAI", _wall_ns),
        ("CLOCK_MONOTONIC", _monotonic_ns),
        ("CLOCK_MONOTONIC_RAW", _monotonic_ns),
        ("CLOCK_BOOTTIME", _monotonic_ns),
        ("CLOCK_UPTIME", _monotonic_ns),
        ("CLOCK_UPTIME_RAW", _monotonic_ns),
        ("CLOCK_HIGHRES", _monotonic_ns),
        ("CLOCK_THREAD_CPUTIME_ID", _thread_ns),
    )
    if hasattr(time, name)
}
# The coarse clocks of Linux, which the time module does not name.
_CLOCK_IDS.update({5: _wall_ns, 6: _monotonic_ns})


def _clock_gettime(shown: Callable[[int], float]) -> Callable[[Any], Any]:
    def make(original: Callable[[int], float]) -> Callable[[int], float]:
        def clock_gettime(clk_id: int, /) -> float:
            here = SIMULATED.get(get_ident())
            read = _CLOCK_IDS.get(clk_id, _process_ns)
            if here is None:
                return shown(_AT_START[read]) if loading.stands() else original(clk_id)
            note_read(*here, "clock_gettime")
            return shown(read(*here))

        return named_like(clock_gettime, original)

    return make


def _make_sleep(original: Callable[[float], None]) -> Callable[[float], None]:
    def sleep(seconds: float, /) -> None:
        here = current()
        if here is None:
            loading.waits()
            original(seconds)
            return
        if seconds < 0:
            raise ValueError("sleep length must be non-negative")
        here[0].sleep(seconds_to_ns(seconds))

    return named_like(sleep, original)


def _make_ctime(original: Callable[..., str]) -> Callable[..., str]:
    """`time.ctime()` asks the C library for the time; `time.localtime()` asks our clock."""

    def ctime(seconds: float | None = None, /) -> str:
        if seconds is None and current() is not None:
            return time.asctime(time.localtime())
        return original(seconds)

    return named_like(ctime, original)


def _make_asctime(original: Callable[..., str]) -> Callable[..., str]:
    def asctime(*when: Any) -> str:
        if not when and current() is not None:
            return original(time.localtime())
        return original(*when)

    return named_like(asctime, original)


def _make_times(original: Callable[[], Any]) -> Callable[[], Any]:
    """`os.times()`: what was computed, which is next to nothing here, and what has passed."""

    def times() -> Any:
        here = SIMULATED.get(get_ident())
        if here is None:
            return original()
        note_read(*here, "times")
        spent_s, now_s = _process_ns(*here) / SECOND_NS, _monotonic_ns(*here) / SECOND_NS
        return os.times_result((spent_s, 0.0, 0.0, 0.0, now_s))

    return named_like(times, original)


PATCHES: tuple[Patch, ...] = (
    Patch(os, "times", _make_times),
    Patch(time, "monotonic", _float_clock("monotonic", _monotonic_ns)),
    Patch(time, "monotonic_ns", _integer_clock("monotonic", _monotonic_ns)),
    Patch(time, "perf_counter", _float_clock("perf_counter", _monotonic_ns)),
    Patch(time, "perf_counter_ns", _integer_clock("perf_counter", _monotonic_ns)),
    Patch(time, "process_time", _float_clock("process_time", _process_ns)),
    Patch(time, "process_time_ns", _integer_clock("process_time", _process_ns)),
    Patch(time, "thread_time", _float_clock("thread_time", _thread_ns)),
    Patch(time, "thread_time_ns", _integer_clock("thread_time", _thread_ns)),
    Patch(time, "clock_gettime", _clock_gettime(lambda now_ns: now_ns / SECOND_NS)),
    Patch(time, "clock_gettime_ns", _clock_gettime(int)),
    Patch(time, "sleep", _make_sleep),
    Patch(time, "ctime", _make_ctime),
    Patch(time, "asctime", _make_asctime),
)
