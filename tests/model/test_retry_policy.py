"""A policy yields legal intervals, pinned by tables worked by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from faultclock.model.duration import MILLISECOND_NS, SECOND_NS
from faultclock.model.retry_policy import Backoff, Interval, Jitter, RetryPolicy


def policy(**changes: object) -> RetryPolicy:
    """Return an exponential 5 s policy with ±20 %, changed as asked."""
    values: dict[str, object] = {
        "id": "p",
        "applies_to": ("ProviderTransient/RateLimited",),
        "attempts_max": 6,
        "backoff": {"kind": "exponential", "base": "5s"},
        "jitter": {"kind": "proportional", "percent": 20},
    }
    return RetryPolicy.model_validate(values | changes)


@pytest.mark.parametrize(
    ("retry_number", "low_s", "high_s"),
    [(1, 4, 6), (2, 8, 12), (3, 16, 24), (4, 32, 48), (5, 64, 96), (6, 128, 192)],
)
def test_doubling_from_five_seconds_gives_these_intervals(
    retry_number: int, low_s: int, high_s: int
) -> None:
    """5, 10, 20, 40, 80, 160 seconds, each ±20 %."""
    interval = policy().interval(retry_number)
    assert (interval.low_ns, interval.high_ns) == (low_s * SECOND_NS, high_s * SECOND_NS)


def test_waits_of_a_table_stand_before_the_schedule() -> None:
    """One by one, and the schedule goes on after them; where there are none, none is written."""
    tabled = policy(waits=(("1s", "2s"), ("0s", "7s")))
    ends = [(it.low_ns, it.high_ns) for it in map(tabled.interval, (1, 2, 3))]
    second = SECOND_NS
    assert ends == [(second, 2 * second), (0, 7 * second), (16 * second, 24 * second)]
    assert tabled.model_dump()["waits"]
    assert "waits" not in policy().model_dump()
    with pytest.raises(ValidationError, match="the lowest wait 2s is above the highest 1s"):
        policy(waits=(("2s", "1s"),))


def test_a_linear_schedule_grows_by_its_base() -> None:
    """2, 4, 6 seconds."""
    backoff = Backoff.model_validate({"kind": "linear", "base": "2s"})
    assert [backoff.nominal_ns(n) // SECOND_NS for n in (1, 2, 3)] == [2, 4, 6]


def test_a_fixed_schedule_does_not_grow() -> None:
    """The first wait and the hundredth are the same."""
    backoff = Backoff.model_validate({"kind": "fixed", "base": "3s"})
    assert {backoff.nominal_ns(n) for n in (1, 100)} == {3 * SECOND_NS}


def test_a_cap_bounds_the_nominal_wait() -> None:
    """1, 2, 4, then 5 for ever."""
    backoff = Backoff.model_validate({"kind": "exponential", "base": "1s", "cap": "5s"})
    assert [backoff.nominal_ns(n) // SECOND_NS for n in (1, 2, 3, 4, 50)] == [1, 2, 4, 5, 5]


def test_the_zeroth_retry_does_not_exist() -> None:
    """Retry numbers are 1-based."""
    with pytest.raises(ValueError, match="1-based"):
        policy().interval(0)


def test_jitter_says_either_none_or_how_much() -> None:
    """A proportional jitter of zero percent would ask for variation and forbid it."""
    with pytest.raises(ValidationError):
        Jitter(kind="proportional", percent=0)
    with pytest.raises(ValidationError):
        Jitter(kind="none", percent=5)


def test_a_star_covers_every_code_of_a_class() -> None:
    """`Class/*` and `Class/Code` are the two forms."""
    wide = policy(applies_to=("ProviderTransient/*",))
    assert wide.covers("ProviderTransient", "Provider5xx")
    assert not policy().covers("ProviderTransient", "Provider5xx")


@given(
    retry_number=st.integers(min_value=1, max_value=5_000),
    base_ms=st.integers(min_value=1, max_value=100_000),
    percent=st.integers(min_value=1, max_value=100),
)
def test_an_interval_holds_its_nominal_value_and_never_shrinks(
    retry_number: int, base_ms: int, percent: int
) -> None:
    """Also at attempt 5,000, where a float exponent overflows."""
    subject = policy(
        backoff={"kind": "exponential", "base": f"{base_ms}ms"},
        jitter={"kind": "proportional", "percent": percent},
    )
    here, after = subject.interval(retry_number), subject.interval(retry_number + 1)
    assert 0 <= here.low_ns <= subject.backoff.nominal_ns(retry_number) <= here.high_ns
    assert here.low_ns <= after.low_ns
    assert here.high_ns <= after.high_ns


def test_widening_stops_at_zero() -> None:
    """A wait cannot be negative."""
    assert Interval(low_ns=5, high_ns=10).widened(7) == Interval(low_ns=0, high_ns=17)


def test_an_interval_reads_as_a_person_says_it() -> None:
    """A point is one duration, a range two."""
    assert str(Interval(low_ns=7 * SECOND_NS, high_ns=7 * SECOND_NS)) == "7s"
    assert str(Interval(low_ns=800 * MILLISECOND_NS, high_ns=SECOND_NS)) == "800ms to 1s"
