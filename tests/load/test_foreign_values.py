"""Values of a foreign log: exact times, paths, and texts that may stand in a trace."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultclock.load.foreign.values import (
    ABSENT,
    at,
    cleaned,
    duration_ns,
    instant_ns,
    label,
    value,
)

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.decimals(-(10**30), 10**30, allow_nan=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("stamp", "unit", "expected_ns"),
    [
        (1763717400, "s", 1_763_717_400_000_000_000),
        (Decimal("1763717400.123456789"), "s", 1_763_717_400_123_456_789),
        (Decimal("0.0000000019"), "s", 1),
        (Decimal("812.25"), "ms", 812_250_000),
        ("812.25", "ms", 812_250_000),
        (1763717400123456, "us", 1_763_717_400_123_456_000),
        ("1763717400123456789", "ns", 1_763_717_400_123_456_789),
        ("1970-01-01T00:00:00Z", "iso8601", 0),
        ("2026-11-21T09:30:00Z", "iso8601", 1_795_253_400_000_000_000),
        ("2026-11-21T09:30:00.123456789Z", "iso8601", 1_795_253_400_123_456_789),
        ("2026-11-21 10:30:00,5+01:00", "iso8601", 1_795_253_400_500_000_000),
        ("2026-11-21T04:00:00-0530", "iso8601", 1_795_253_400_000_000_000),
        ("1969-12-31T23:59:59.75Z", "iso8601", -250_000_000),
        ("2016-12-31T23:59:60Z", "iso8601", 1_483_228_800_000_000_000),
    ],
)
def test_an_instant_is_exact_in_nanoseconds(stamp: Any, unit: str, expected_ns: int) -> None:
    """Whatever the unit, and however many digits."""
    assert instant_ns(stamp, unit) == expected_ns


@pytest.mark.parametrize(
    ("stamp", "unit"),
    [
        ("2026-11-21T09:30:00", "iso8601"),
        ("2026-11-21", "iso8601"),
        ("2026-13-21T09:30:00Z", "iso8601"),
        ("2026-11-21T09:30:61Z", "iso8601"),
        ("2026-11-21T09:30:00+99:00", "iso8601"),
        (1763717400, "iso8601"),
        ("soon", "s"),
        (True, "s"),
        (None, "ms"),
        (ABSENT, "ms"),
        ([1], "ms"),
        (10**18, "s"),
    ],
)
def test_what_is_no_instant_is_none(stamp: Any, unit: str) -> None:
    """One without a zone is none either: nobody knows when it was."""
    assert instant_ns(stamp, unit) is None


@given(ns=st.integers(0, 2 * 10**18))
def test_one_instant_is_the_same_in_every_unit(ns: int) -> None:
    """Written as a decimal fraction of a second or of a millisecond, or in nanoseconds."""
    assert instant_ns(ns, "ns") == ns
    assert instant_ns(Decimal(ns) / 1000, "us") == ns
    assert instant_ns(str(Decimal(ns).scaleb(-9)), "s") == ns or "E" in str(Decimal(ns).scaleb(-9))
    assert duration_ns(Decimal(ns).scaleb(-6), "ms") == ns


def test_a_path_leads_through_objects_and_lists() -> None:
    """What it does not lead to is absent; null is there."""
    line = {"a": {"b": [{"c": 1}, None]}, "x.y": 2}
    assert at(line, "a.b.0.c") == 1
    assert at(line, "a.b.1") is None
    for path in ("a.b.2", "a.b.c", "a.c", "x.y", "a.b.-1", f"a.b.{'9' * 5000}"):
        assert at(line, path) is ABSENT, path
    assert value(line, "a.c") is None
    assert value(line, "=a.c") == "a.c"
    assert value(line, None) is None


@given(said=JSON)
def test_cleaning_never_fails_and_is_done_once(said: Any) -> None:
    """What is clean stays as it is, and can be written as UTF-8."""
    once = cleaned(said)
    assert cleaned(once) == once
    str(once).encode()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("401 for sk-live-77Qk20aaZZ", "401 for <secret>"),
        ("see /srv/agent/run.py: line 3", "see …/run.py: line 3"),
        (r"in C:\agent\app.py", "in …/app.py"),
        ("file:///srv/agent/notes.md", "…/notes.md"),
        ("https://example.org/srv/page", "https://example.org/srv/page"),
        ("half \ud83d a character", "half � a character"),
        ("x" * 5000, "x" * 4000 + "…"),
    ],
)
def test_secrets_and_paths_leave_their_mark(text: str, expected: str) -> None:
    """The mark is what the audience checks look for; the rest is nobody's business."""
    assert cleaned(text) == expected
    assert cleaned({text[:9]: [text]}) == {cleaned(text[:9]): [expected]}


def test_a_label_obeys_no_terminal() -> None:
    """An id with an escape sequence is shown, and does nothing."""
    assert label("run\x1b[31m\n") == "run�[31m�"
    assert len(label("r" * 500)) < 130
