"""Hints: each form in which a provider says when to come back is read, and nothing else is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from faultclock.model.duration import SECOND_NS
from faultclock.model.error_model.error_model import RetryAfterRule
from faultclock.model.trace.trace import TraceEvent
from faultclock.oracle.wire.requests import Attempt
from faultclock.oracle.wire.retry_hints import asked_wait, floor_of
from faultclock.oracle.wire.signals import Signal

_MS = 1_000_000
USED_UP = {"x-ratelimit-remaining-requests": "0"}


def attempt(headers: dict[str, str], retry_delay: str | None = None) -> Attempt:
    """Return an attempt that failed at 10 s with a 429 and these headers."""
    return Attempt(
        call="ask/1",
        number=1,
        start=TraceEvent(1, 0, "network", "net.connect", {}),
        outcome="failed",
        signal=Signal(kind="http_error", status=429, headers=headers, retry_delay=retry_delay),
        knowable_ns=10 * SECOND_NS,
        knowable_seq=1,
        known_ns=10 * SECOND_NS,
    )


@pytest.mark.parametrize(
    ("headers", "delay", "wait_ns"),
    [
        ({"retry-after": "7"}, None, 7 * SECOND_NS),
        # A date has whole seconds, so it may be a second less.
        ({"retry-after": "Thu, 01 Jan 2026 00:00:30 GMT"}, None, 19 * SECOND_NS),
        ({"retry-after-ms": "1500"}, None, 1500 * _MS),
        # Who keeps to either of two statements does as it was asked.
        ({"retry-after": "2", "retry-after-ms": "1500"}, None, 1500 * _MS),
        ({}, "15.002899939s", 15_002_899_939),
        ({}, "48s", 48 * SECOND_NS),
        ({"retry-after": "-1"}, None, None),
        ({"retry-after": "soon"}, None, None),
        ({"retry-after": "1.5"}, None, None),
        ({"retry-after": "0"}, None, None),
        ({"retry-after": "Thu, 01 Jan 2026 00:00:05 GMT"}, None, None),
        ({"retry-after-ms": ""}, None, None),
        ({**USED_UP, "x-ratelimit-reset-requests": "20s"}, None, None),
        ({}, None, None),
    ],
)
def test_what_asks_for_a_wait_is_a_floor(
    headers: dict[str, str], delay: str | None, wait_ns: int | None
) -> None:
    """Valid forms count from the instant of the answer; a reset alone asks for nothing."""
    floor = floor_of(attempt(headers, delay).hints)
    assert (None if floor is None else floor.wait_ns) == wait_ns


@pytest.mark.parametrize(
    ("name", "text", "wait_ns"),
    [
        ("x-ratelimit-reset-requests", "6ms", 6 * _MS),
        ("x-ratelimit-reset-requests", "1m30s", 90 * SECOND_NS),
        ("x-ratelimit-reset-requests", "8.64s", 8_640 * _MS),
        ("x-ratelimit-reset-requests", "1h2m3s4ms", 3_723_004 * _MS),
        ("x-ratelimit-reset-requests", "20", 20 * SECOND_NS),
        ("x-ratelimit-reset-requests", "999999999", 999_999_999 * SECOND_NS),
        ("x-ratelimit-reset-requests", "1000000000", None),
        ("x-ratelimit-reset-requests", "0", None),
        ("x-ratelimit-reset-requests", "1ns", None),
        ("x-ratelimit-reset-requests", "1767225640", 30 * SECOND_NS),
        ("x-ratelimit-reset-requests", "2026-01-01T00:00:40Z", 30 * SECOND_NS),
        ("x-ratelimit-reset-requests", "2026-01-01T00:00:40", None),
        ("x-ratelimit-reset-requests", "never", None),
    ],
)
def test_a_reset_is_read_in_all_its_forms(name: str, text: str, wait_ns: int | None) -> None:
    """Durations, seconds since 1970 and RFC 3339 name one instant."""
    resets = [hint for hint in attempt({**USED_UP, name: text}).hints if hint.kind == "reset"]
    assert [hint.wait_ns for hint in resets] == ([] if wait_ns is None else [wait_ns])


def test_a_limit_that_is_not_used_up_has_no_reset_to_wait_for() -> None:
    """Providers send resets with every answer."""
    headers = {"x-ratelimit-remaining-requests": "5", "x-ratelimit-reset-requests": "20s"}
    assert attempt(headers).hints == ()


def test_an_attempt_that_did_not_fail_or_whose_end_was_never_known_hints_at_nothing() -> None:
    """There is no answer, or no instant to count from."""
    hinted = attempt({"retry-after": "7"})
    assert replace(hinted, outcome="ok", signal=None).hints == ()
    assert replace(hinted, knowable_ns=None, known_ns=None).hints == ()


def test_a_hint_counts_from_the_instant_at_which_the_failure_could_be_known() -> None:
    """The head of an answer comes before its body; without such an instant its end counts."""
    date = {"retry-after": "Thu, 01 Jan 2026 00:00:30 GMT"}
    early = replace(attempt(date), known_ns=12 * SECOND_NS)
    assert [hint.wait_ns for hint in early.hints] == [19 * SECOND_NS]
    late = replace(early, knowable_ns=None)
    assert [hint.wait_ns for hint in late.hints] == [17 * SECOND_NS]


def test_the_date_of_this_very_instant_is_past() -> None:
    """A nanosecond before it, it asks for a nanosecond."""
    headers = {"retry-after": "Thu, 01 Jan 2026 00:00:30 GMT"}
    rule = RetryAfterRule(past_date="schedule")
    assert asked_wait(headers, rule, 30 * SECOND_NS) is None
    asked = asked_wait(headers, rule, 30 * SECOND_NS - 1)
    assert asked is not None
    assert asked.wait_ns == 1


@given(
    st.dictionaries(
        st.sampled_from(
            ["retry-after", "retry-after-ms", "x-ratelimit-reset", "x-ratelimit-reset-tokens"]
        ),
        st.text(max_size=30),
    ),
    st.none() | st.text(max_size=30),
)
def test_no_header_breaks_the_reading(headers: dict[str, str], delay: str | None) -> None:
    """Whatever a provider sends, hints are positive waits."""
    remaining = {"x-ratelimit-remaining": "0", "x-ratelimit-remaining-tokens": "0"}
    hints = attempt({**headers, **remaining}, delay).hints
    assert all(hint.wait_ns > 0 and hint.basis for hint in hints)
