"""Monotonic and processor clocks, and sleeping.

Every replacement decides by the calling thread. A busy-wait (`while monotonic() < t: pass`) would
stop the world: after many reads at one instant, each further read costs a microsecond.
"""

from __future__ import annotations

import _thread
import time
from collections.abc import Callable
from typing import Any

from harness.model.trace import WALL_EPOCH_NS
from harness.sim.context import current_call
from harness.sim.kernel import _BY_IDENT, Kernel
from harness.sim.loop import MONOTONIC_BASE_NS
from harness.sim.patches.registry import Patch

__all__ = ["PATCHES"]

_get_ident = _thread.get_ident
_NS = 1_000_000_000
_WALL_CLOCKS = {
    getattr(time, name)
    for name in ("CLOCK_REALTIME", "CLOCK_TAI", "CLOCK_REALTIME_COARSE")
    if hasattr(time, name)
}


def _monotonic_ns(kernel: Kernel) -> int:
    return kernel.env._now + MONOTONIC_BASE_NS


def _processor_ns(kernel: Kernel) -> int:
    # Work takes no virtual time, so no processor time passes but what the world itself counts.
    return kernel.env._now


def _clock(name: str, read_ns: Callable[[Kernel], int], *, whole: bool) -> Patch:
    def make(original: Callable[[], Any]) -> Callable[[], Any]:
        def clock() -> Any:
            here = _BY_IDENT.get(_get_ident())
            if here is None:
                return original()
            kernel = here[0]
            kernel.clock_read(name)
            value_ns = read_ns(kernel)
            return value_ns if whole else value_ns / _NS

        clock.__name__ = clock.__qualname__ = name
        clock.__doc__ = original.__doc__
        return clock

    return Patch(owner=time, name=name, make=make)


def _clock_gettime(name: str, *, whole: bool) -> Patch:
    def make(original: Callable[[int], Any]) -> Callable[[int], Any]:
        def clock_gettime(clock_id: int, /) -> Any:
            here = _BY_IDENT.get(_get_ident())
            if here is None:
                return original(clock_id)
            kernel = here[0]
            kernel.clock_read("clock_gettime")
            if clock_id in _WALL_CLOCKS:
                value_ns = kernel.env._now + WALL_EPOCH_NS
            elif clock_id in (time.CLOCK_PROCESS_CPUTIME_ID, time.CLOCK_THREAD_CPUTIME_ID):
                value_ns = _processor_ns(kernel)
            else:
                value_ns = _monotonic_ns(kernel)
            return value_ns if whole else value_ns / _NS

        clock_gettime.__name__ = clock_gettime.__qualname__ = name
        return clock_gettime

    return Patch(owner=time, name=name, make=make)


def _make_sleep(original: Callable[[float], None]) -> Callable[[float], None]:
    def sleep(seconds: float, /) -> None:
        here = _BY_IDENT.get(_get_ident())
        if here is None:
            original(seconds)
            return
        if seconds < 0:
            raise ValueError("sleep length must be non-negative")
        kernel = here[0]
        delay_ns = round(seconds * _NS)
        kernel.count("sleep")
        kernel.record("subject", "sleep", delay_ns=delay_ns, call=current_call())
        kernel.pause(delay_ns, "time.sleep")

    sleep.__doc__ = original.__doc__
    return sleep


#: time.time and time.time_ns are left to `wall_clock`.
PATCHES: tuple[Patch, ...] = (
    _clock("monotonic", _monotonic_ns, whole=False),
    _clock("monotonic_ns", _monotonic_ns, whole=True),
    _clock("perf_counter", _monotonic_ns, whole=False),
    _clock("perf_counter_ns", _monotonic_ns, whole=True),
    _clock("process_time", _processor_ns, whole=False),
    _clock("process_time_ns", _processor_ns, whole=True),
    _clock("thread_time", _processor_ns, whole=False),
    _clock("thread_time_ns", _processor_ns, whole=True),
    _clock_gettime("clock_gettime", whole=False),
    _clock_gettime("clock_gettime_ns", whole=True),
    Patch(owner=time, name="sleep", make=_make_sleep),
)
