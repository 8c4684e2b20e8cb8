"""Retry-After in every form that the wire has, and what each reading makes of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultclock.model.duration import SECOND_NS
from faultclock.model.error_model.error_model import RetryAfterRule
from faultclock.oracle.wire.retry_hints import asked_wait, parse_retry_after

DEFAULT = RetryAfterRule()
START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "form", "delay_ns"),
    [
        ("0", "seconds", 0),
        ("7", "seconds", 7_000_000_000),
        ("007", "seconds", 7_000_000_000),
        (" 7\t", "seconds", 7_000_000_000),
        ("3600", "seconds", 3_600_000_000_000),
        ("1.5", "fraction", 1_500_000_000),
        ("0.000000001", "fraction", 1),
        ("0.0000000009", "fraction", 0),
        ("000000000000000000001.25", "fraction", 1_250_000_000),
    ],
)
def test_numbers_are_exact(text: str, form: str, delay_ns: int) -> None:
    """A number of seconds becomes whole nanoseconds; finer than that is cut off."""
    value = parse_retry_after(text)
    assert (value.form, value.delay_ns) == (form, delay_ns)


@pytest.mark.parametrize(
    "text",
    [
        "Thu, 01 Jan 2026 00:00:30 GMT",
        "Thursday, 01-Jan-26 00:00:30 GMT",
        "Thu Jan  1 00:00:30 2026",
    ],
)
def test_the_three_forms_of_an_http_date_are_one_instant(text: str) -> None:
    """IMF-fixdate, RFC 850 and asctime are all read, as RFC 9110 demands of recipients."""
    value = parse_retry_after(text)
    assert (value.form, value.instant_ns) == ("date", 30 * SECOND_NS)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Wed, 31 Dec 2025 23:59:30 GMT", -30),
        ("Wed, 31 Dec 2025 23:59:60 GMT", 0),
        # 76 is 50 years ahead of 2026 and stays; 77 is over 50 ahead and so lies in the past.
        ("Wednesday, 01-Jan-76 00:00:00 GMT", 1_577_836_800),
        ("Saturday, 01-Jan-77 00:00:00 GMT", -1_546_300_800),
    ],
)
def test_dates_count_from_the_first_instant_of_2026(text: str, seconds: int) -> None:
    """Virtual time 0 is 2026-01-01; leap seconds and two-digit years are as RFC 9110 says."""
    assert parse_retry_after(text).instant_ns == seconds * SECOND_NS


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "-5",
        "+5",
        "soon",
        "5s",
        "1e3",
        "0x10",
        ".5",
        "5.",
        "1,5",
        "5, 7",
        "٣",
        "inf",
        "nan",
        "2026-01-01T00:00:30Z",
        "Thu, 01 Jan 2026 00:00:30 +0000",
        "Thu, 32 Jan 2026 00:00:30 GMT",
        "Thu, 01 Jan 2026 24:00:30 GMT",
        "Xxx, 01 Jan 2026 00:00:30 GMT",
        "Thu Jan  1 00:00:30 0000",
    ],
)
def test_anything_else_is_unusable(text: str) -> None:
    """What is neither a number nor an HTTP-date says nothing."""
    assert parse_retry_after(text).form == "unusable"


@given(st.text(max_size=80))
def test_no_text_raises(text: str) -> None:
    """A header is the other side's text: whatever it is, it is data."""
    value = parse_retry_after(text)
    assert value.delay_ns >= 0


@given(st.integers(min_value=0, max_value=10**5000))
def test_a_number_of_any_length_is_a_wait(seconds: int) -> None:
    """A number too long for a machine is a very long wait, not an error."""
    text = "9" * 5_000 if seconds >= 10**4_000 else str(seconds)
    assert parse_retry_after(text).form == "seconds"


@given(st.integers(min_value=-(10**9), max_value=10**9))
def test_a_date_that_the_standard_library_writes_is_read_back(seconds: int) -> None:
    """Agrees with an independent writer of HTTP-dates, second by second."""
    text = format_datetime(START + timedelta(seconds=seconds), usegmt=True)
    assert parse_retry_after(text).instant_ns == seconds * SECOND_NS


@pytest.mark.parametrize(
    ("rule", "headers", "wait_s"),
    [
        ({}, {}, None),
        ({}, {"retry-after": "7"}, 7),
        ({}, {"retry-after": "soon"}, None),
        ({"unusable": "immediate"}, {"retry-after": "soon"}, 0),
        ({}, {"retry-after": "1.5"}, 1.5),
        ({"fraction": "unusable"}, {"retry-after": "1.5"}, None),
        ({"fraction": "unusable", "unusable": "immediate"}, {"retry-after": "1.5"}, 0),
        ({}, {"retry-after": "Thu, 01 Jan 2026 00:00:30 GMT"}, 20),
        ({}, {"retry-after": "Thu, 01 Jan 2026 00:00:10 GMT"}, 0),
        ({}, {"retry-after": "Thu, 01 Jan 2026 00:00:05 GMT"}, 0),
        ({"past_date": "schedule"}, {"retry-after": "Thu, 01 Jan 2026 00:00:05 GMT"}, None),
        ({}, {"retry-after": "7", "retry-after-ms": "250"}, 7),
        ({"milliseconds_header": "prefer"}, {"retry-after": "7", "retry-after-ms": "250"}, 0.25),
        ({"milliseconds_header": "prefer"}, {"retry-after": "7", "retry-after-ms": "x"}, 7),
        ({}, {"retry-after-ms": "250"}, None),
    ],
)
def test_each_reading_of_a_header_at_ten_seconds(
    rule: dict[str, str], headers: dict[str, str], wait_s: float | None
) -> None:
    """The model's rule decides each form; None leaves the schedule in force."""
    asked = asked_wait(headers, RetryAfterRule.model_validate(rule), now_ns=10 * SECOND_NS)
    assert (None if asked is None else asked.wait_ns) == (
        None if wait_s is None else int(wait_s * SECOND_NS)
    )


def test_the_basis_names_the_header_in_short() -> None:
    """A report shows the header that decided, cut where it is long."""
    asked = asked_wait({"retry-after": "1." + "0" * 60}, DEFAULT, now_ns=0)
    assert asked is not None
    assert asked.basis.startswith("Retry-After: 1.0000")
    assert len(asked.basis) < 60
