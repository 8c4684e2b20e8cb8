"""The bucket's arithmetic: exact, never below nothing, never above what it holds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from faultclock.fakes.provider.buckets import UNIT, Bucket
from faultclock.model.duration import SECOND_NS

SIZES = st.integers(1, 5_000)
STEPS = st.lists(st.tuples(st.integers(0, 90 * SECOND_NS), st.integers(1, 6_000)), max_size=40)


def test_a_bucket_of_twenty_a_minute_gets_one_every_three_seconds() -> None:
    """The figures of a scenario, worked by hand."""
    bucket = Bucket.full(20, 3, now_ns=0)
    assert (bucket.units, bucket.until_full_ns, bucket.wait_ns(3)) == (3, 0, 0)
    empty = bucket.less(3)
    assert (empty.units, empty.wait_ns(1), empty.until_full_ns) == (0, 3 * SECOND_NS, 9 * SECOND_NS)
    later = empty.at(4 * SECOND_NS)
    assert (later.units, later.wait_ns(1), later.wait_ns(2)) == (1, 0, 2 * SECOND_NS)
    assert later.at(3600 * SECOND_NS) == Bucket.full(20, 3, now_ns=3600 * SECOND_NS)


def test_what_costs_more_than_a_bucket_holds_takes_all_of_it() -> None:
    """Otherwise it would be refused for ever."""
    bucket = Bucket.full(60, 10, now_ns=0)
    assert bucket.wait_ns(11) == 0
    assert bucket.less(11).units == 0
    assert bucket.less(1).wait_ns(11) == SECOND_NS


def test_a_wait_that_is_no_whole_number_is_rounded_up() -> None:
    """Seven a minute: one comes every 8571428571.43 ns."""
    empty = Bucket.full(7, 7, now_ns=0).less(7)
    assert empty.wait_ns(1) == 8_571_428_572
    assert empty.at(8_571_428_571).units == 0
    assert empty.at(8_571_428_572).units == 1


@given(per_minute=SIZES, data=st.data(), steps=STEPS)
def test_a_bucket_is_never_overdrawn_and_never_overfull(
    per_minute: int, data: st.DataObject, steps: list[tuple[int, int]]
) -> None:
    """Whatever is taken, whether it was there or not."""
    bucket = Bucket.full(per_minute, data.draw(st.integers(1, per_minute)), now_ns=0)
    for after_ns, units in steps:
        bucket = bucket.at(bucket.at_ns + after_ns).less(units)
        assert 0 <= bucket.parts <= bucket.size * UNIT


@given(per_minute=SIZES, data=st.data(), steps=STEPS, units=st.integers(1, 6_000))
def test_the_wait_is_long_enough_and_no_longer(
    per_minute: int, data: st.DataObject, steps: list[tuple[int, int]], units: int
) -> None:
    """After it there is enough; a nanosecond before there was not."""
    bucket = Bucket.full(per_minute, data.draw(st.integers(1, per_minute)), now_ns=0)
    for after_ns, taken in steps:
        bucket = bucket.at(bucket.at_ns + after_ns).less(taken)
    wait_ns = bucket.wait_ns(units)
    assert bucket.at(bucket.at_ns + wait_ns).wait_ns(units) == 0
    if wait_ns:
        assert bucket.at(bucket.at_ns + wait_ns - 1).wait_ns(units) == 1
