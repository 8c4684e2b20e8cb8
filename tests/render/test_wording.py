"""Words and numbers for people."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultclock.render.wording import clipped, count, exact_time, listed, short_time, visible

MS, S = 1_000_000, 1_000_000_000


@pytest.mark.parametrize(
    ("time_ns", "text"),
    [
        (0, "0 s"),
        (17, "17 ns"),
        (1_500, "1.5 µs"),
        (120 * MS, "120 ms"),
        (463_218_734, "463 ms"),
        (4_832_917_000, "4.83 s"),
        (95_200 * MS, "95.2 s"),
        (160 * S, "2 min 40 s"),
        (3_723 * S, "1 h 2 min 3 s"),
        (7_200 * S, "2 h"),
        (3_599_970 * MS, "1 h"),
        (999_600_000, "1 s"),
        (-250 * MS, "-250 ms"),
    ],
)
def test_a_short_time_is_in_its_natural_unit(time_ns: int, text: str) -> None:
    """Three significant digits are enough beside a drawing."""
    assert short_time(time_ns) == text


def test_an_exact_time_tells_seven_seconds_from_a_little_less() -> None:
    """A wait that misses by a millisecond must not read as kept."""
    assert exact_time(6_999 * MS) == "6.999 s"
    assert exact_time(7 * S) == "7 s"


@given(st.integers(min_value=0, max_value=2**62))
def test_every_time_has_words(time_ns: int) -> None:
    """No instant of virtual time is without a text, and none has an exponent."""
    for words in (short_time(time_ns), exact_time(time_ns)):
        assert words
        assert "e+" not in words


@given(st.text())
def test_visible_text_holds_nothing_that_a_terminal_or_a_page_obeys(text: str) -> None:
    """Controls and overrides become escapes; everything else stays."""
    shown = visible(text)
    assert not any(ord(char) < 32 and char not in "\n\t" for char in shown)
    assert not any(0x7F <= ord(char) <= 0x9F or char in "\u202e\u2066" for char in shown)
    shown.encode("utf-8")


def test_visible_text_names_the_character_that_it_hides() -> None:
    """A reader sees that an escape sequence was there."""
    assert visible("\x1b[31mred\u202e\ud800é") == "\\x1b[31mred\\u202e\\ud800é"


def test_lists_and_counts_read_as_sentences() -> None:
    """One is singular, and a cut list says how much it leaves out."""
    assert count(1, "run") == "1 run"
    assert count(1_200, "run") == "1,200 runs"
    assert count(2, "switch", "switches") == "2 switches"
    assert listed([]) == ""
    assert listed(["a"]) == "a"
    assert listed(["a", "b", "c"], 2) == "a, b and 1 more"
    assert clipped("one\n two three", 8) == "one two…"
