"""Axes: order is exact, labels never touch, compression is marked."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from faultclock.render.axis import CompressedAxis, DecadeAxis

MS, S = 1_000_000, 1_000_000_000
TIMES = st.lists(st.integers(min_value=0, max_value=24 * 3_600 * S), min_size=1, max_size=40)


@given(TIMES)
def test_a_compressed_axis_keeps_the_order_of_instants(times: list[int]) -> None:
    """Later is never further left, and every stretch has a width."""
    axis = CompressedAxis(times, 100.0, 900.0)
    places = [axis.x(at_ns) for at_ns in axis.instants]
    assert all(left < right for left, right in pairwise(places))
    assert all(99.9 <= place <= 900.1 for place in places)


@given(TIMES)
def test_tick_labels_never_touch(times: list[int]) -> None:
    """Room decides which times are labelled, whatever the times are."""
    ticks = CompressedAxis(times, 100.0, 900.0).ticks(times)
    assert ticks
    assert all(left.clears(right) for left, right in pairwise(ticks))


def test_a_long_wait_beside_short_exchanges_leaves_both_readable() -> None:
    """100 ms keep a visible width beside a wait of 160 s, and the wait is marked."""
    times = [0, 100 * MS, 160 * S + 100 * MS, 160 * S + 200 * MS]
    axis = CompressedAxis(times, 0.0, 900.0)
    assert axis.x(times[1]) - axis.x(times[0]) > 100
    (mark,) = axis.breaks()
    assert axis.x(times[1]) < mark < axis.x(times[2])


def test_even_stretches_are_not_marked_as_compressed() -> None:
    """A break mark on an honest stretch would be a lie."""
    assert CompressedAxis([0, 5 * S, 10 * S, 15 * S], 0.0, 900.0).breaks() == []
    assert CompressedAxis([0], 0.0, 900.0).breaks() == []


def test_a_time_beyond_the_ends_is_drawn_at_the_end() -> None:
    """An event after the last instant that matters stays inside the drawing."""
    axis = CompressedAxis([S, 2 * S], 10.0, 90.0)
    assert axis.x(0) == 10.0
    assert axis.x(99 * S) == 90.0


@given(st.integers(min_value=1, max_value=24 * 3_600 * S), TIMES)
def test_a_decade_axis_is_monotone_and_stays_inside(end_ns: int, times: list[int]) -> None:
    """The smooth axis keeps order too, and its ticks do not touch."""
    axis = DecadeAxis(end_ns, 0.0, 500.0)
    places = [axis.x(at_ns) for at_ns in sorted(times)]
    assert all(left <= right for left, right in pairwise(places))
    assert all(0.0 <= place <= 500.0 for place in places)
    assert all(left.clears(right) for left, right in pairwise(axis.ticks()))
