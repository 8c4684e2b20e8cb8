"""Conversions between a client's seconds and the world's nanoseconds."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultclock.sim.kernel.clock import FOREVER_NS, monotonic_seconds, seconds_to_ns


@given(st.integers(min_value=0, max_value=4 * 10**12))
def test_microseconds_survive_the_way_through_a_float(microseconds: int) -> None:
    """Any delay below 46 days is exact on the queue."""
    assert seconds_to_ns(microseconds / 1_000_000) == microseconds * 1_000


@pytest.mark.parametrize("seconds", [math.inf, 1e300, 1e12])
def test_endless_delays_are_for_ever(seconds: float) -> None:
    """What lies beyond 146 years is never."""
    assert seconds_to_ns(seconds) == FOREVER_NS


def test_a_delay_that_is_no_number_is_an_error() -> None:
    """As in asyncio and `time.sleep`."""
    with pytest.raises(ValueError, match="NaN"):
        seconds_to_ns(math.nan)


def test_clocks_do_not_start_at_zero() -> None:
    """Code that takes 0 for "unset" behaves as it does in production."""
    assert monotonic_seconds(0) == 1_000.0
