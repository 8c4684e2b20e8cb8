"""Units of virtual time, and where a subject's clocks start.

Virtual time is an integer of nanoseconds from 0. A float of seconds exists only where Python's
own interfaces want one: the event loop, `time.sleep`, locks. This module makes no policy.
"""

from __future__ import annotations

SECOND_NS = 1_000_000_000

#: What `time.monotonic()`, `time.perf_counter()` and `loop.time()` say at virtual time 0. Not 0,
#: because code that treats a zero clock as "unset" behaves differently there. Small, because a
#: float of seconds is exact to the nanosecond only below 2**52 ns (52 days).
MONOTONIC_BASE_NS = 1_000 * SECOND_NS

#: A delay this long (about 146 years) means "never": it is not put on the queue, so that a task
#: that only waits for it counts as deadlocked.
FOREVER_NS = 1 << 62


def seconds_to_ns(seconds: float) -> int:
    """Return a delay in seconds as nanoseconds, rounded to the nearest; never above FOREVER_NS.

    Raises:
        ValueError: it is not a number.
    """
    try:
        return min(round(seconds * SECOND_NS), FOREVER_NS)
    except OverflowError:
        return FOREVER_NS if seconds > 0 else -FOREVER_NS


def monotonic_seconds(now_ns: int) -> float:
    """Return what a monotonic clock says at virtual time `now_ns`."""
    return (MONOTONIC_BASE_NS + now_ns) / SECOND_NS
