"""Retry-After: every form that the wire has, and garbage."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultclock.subjects.retry_after import http_date_ns, retry_after_s

#: Sun, 06 Nov 1994 08:49:37 GMT, the example of RFC 9110.
_RFC_DATE_NS = 784_111_777 * 10**9


@pytest.mark.parametrize(
    ("text", "wait_s"),
    [
        ("0", 0.0),
        ("30", 30.0),
        (" 30\t", 30.0),
        ("1.5", 1.5),
        ("0.25", 0.25),
        ("-5", None),
        ("+5", None),
        ("1e3", None),
        ("5s", None),
        ("soon", None),
        ("", None),
        ("NaN", None),
        ("inf", None),
        ("٣", None),
        ("30, 60", None),
        (None, None),
    ],
)
def test_delay_seconds_are_read_exactly(text: str | None, wait_s: float | None) -> None:
    """Whole and fractional seconds are exact; everything else is no Retry-After."""
    assert retry_after_s(text, now_ns=0) == wait_s


@pytest.mark.parametrize(
    "text",
    [
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
    ],
)
def test_all_three_date_forms_of_the_rfc_are_read(text: str) -> None:
    """The three spellings in RFC 9110 name the same instant."""
    assert http_date_ns(text, now_ns=_RFC_DATE_NS) == _RFC_DATE_NS


def test_a_date_is_waited_for_to_the_nanosecond() -> None:
    """The wait ends at the date, wherever between two seconds it begins."""
    now_ns = _RFC_DATE_NS - 7_250_000_001
    assert retry_after_s("Sun, 06 Nov 1994 08:49:37 GMT", now_ns) == 7.250000001


def test_a_past_date_asks_for_no_wait() -> None:
    """A date that has passed means: now."""
    assert retry_after_s("Sun, 06 Nov 1994 08:49:37 GMT", _RFC_DATE_NS + 1) == 0.0


@pytest.mark.parametrize(
    "text",
    [
        "Sun, 06 Nov 1994 08:49:37",
        "Sun, 31 Feb 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 25:49:37 GMT",
        "06 Nov 1994 08:49:37 GMT",
        "2026-01-01T00:00:00Z",
    ],
)
def test_what_only_looks_like_a_date_is_none(text: str) -> None:
    """Other date formats and impossible dates fall back to the schedule."""
    assert retry_after_s(text, now_ns=0) is None


@given(st.datetimes(min_value=datetime(1971, 1, 1), max_value=datetime(9000, 1, 1)))
def test_every_imf_date_is_read_as_the_standard_library_writes_it(moment: datetime) -> None:
    """What `email.utils` formats comes back as the same second."""
    moment = moment.replace(microsecond=0, tzinfo=UTC)
    since_1970 = moment - datetime(1970, 1, 1, tzinfo=UTC)
    expected_ns = since_1970 // timedelta(seconds=1) * 10**9
    assert http_date_ns(format_datetime(moment, usegmt=True), now_ns=0) == expected_ns


@given(st.text(max_size=40))
def test_no_text_raises(text: str) -> None:
    """A header is the provider's to choose: any text gives a wait or none."""
    wait_s = retry_after_s(text, now_ns=0)
    assert wait_s is None or wait_s >= 0
