"""Times of one battery: when two are the same, and how they are written.

Clients wait by float seconds, so a wait of 1 s may be 1.000000001 s; what lies below that noise is
neither compared nor shown.
"""

from __future__ import annotations

from faultclock.model.duration import MICROSECOND_NS, format_duration

#: Waits are sums of float seconds: up to so much two of them are the same.
EXACT_NS = 3 * MICROSECOND_NS


def close(one: float, other: float, tolerance_ns: float = EXACT_NS) -> bool:
    """Return whether two times are the same, but for the noise of float seconds."""
    return abs(one - other) <= max(tolerance_ns, 1e-6 * max(abs(one), abs(other)))


def rounded(time_ns: float) -> int:
    """Return a time without what is below its noise: float seconds are not whole nanoseconds."""
    unit = MICROSECOND_NS * (1 if time_ns < 1e12 else 1000)
    return round(time_ns / unit) * unit


def said(time_ns: float | None) -> str:
    """Return a time as a profile writes it."""
    return "an unknown time" if time_ns is None else format_duration(rounded(time_ns))
