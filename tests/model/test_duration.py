"""Durations are exact integers in memory and short texts in files."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultclock.model.duration import (
    SECOND_NS,
    format_duration,
    format_roughly,
    parse_duration,
)


@pytest.mark.parametrize(
    ("text", "expected_ns"),
    [
        ("0s", 0),
        ("1ns", 1),
        ("1.5us", 1_500),
        ("250ms", 250_000_000),
        ("1.5s", 1_500_000_000),
        ("0.1s", 100_000_000),
        ("1m30s", 90 * SECOND_NS),
        ("1h", 3_600 * SECOND_NS),
        ("2d", 172_800 * SECOND_NS),
    ],
)
def test_a_duration_text_names_exactly_these_nanoseconds(text: str, expected_ns: int) -> None:
    """A table worked by hand, one row per unit."""
    assert parse_duration(text) == expected_ns


@pytest.mark.parametrize("value", ["", "5", 1.5, "5 s", "-5s", "1e3s", "s", "5S", None, "٥s"])
def test_anything_else_is_refused_with_the_right_form(value: object) -> None:
    """A bare number has no unit, and a unit without a number no amount."""
    with pytest.raises(ValueError, match="write a number and a unit"):
        parse_duration(value)


def test_a_part_of_a_nanosecond_is_refused() -> None:
    """Rounding would make two files with different meanings equal."""
    with pytest.raises(ValueError, match="finer than one nanosecond"):
        parse_duration("0.0000000001s")


def test_a_sign_is_read_only_where_it_is_allowed() -> None:
    """An offset may be in the past; a wait may not."""
    assert parse_duration("-30s", signed=True) == -30 * SECOND_NS
    assert parse_duration("+30s", signed=True) == 30 * SECOND_NS


@given(st.integers(min_value=-(2**62), max_value=2**62))
def test_what_is_written_is_read_back_the_same(duration_ns: int) -> None:
    """format and parse are inverse for every count of nanoseconds."""
    assert parse_duration(format_duration(duration_ns), signed=True) == duration_ns


@given(st.text(max_size=20))
def test_arbitrary_text_gives_a_number_or_a_value_error(text: str) -> None:
    """No other exception leaves the parser."""
    with contextlib.suppress(ValueError):
        assert parse_duration(text) >= 0


@pytest.mark.parametrize(
    ("duration", "shown"),
    [
        ("3m36.500622183s", "3m36.5s"),
        ("1.029999s", "1.02s"),
        ("496.374ms", "496ms"),
        ("10m0.02s", "10m"),
        ("250us", "250us"),
        ("0s", "0s"),
    ],
)
def test_people_are_shown_no_more_digits_than_they_want(duration: str, shown: str) -> None:
    """And never a longer time than it was: a wait that is too short stays so."""
    assert format_roughly(parse_duration(duration)) == shown
