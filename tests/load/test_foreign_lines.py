"""Lines of somebody else: each becomes plain data, or is told at its place."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultclock.errors import SourceError
from faultclock.load.foreign.lines import lines_of

NUMBERS = st.integers(-(10**39), 10**39) | st.booleans() | st.none()
DATA = st.recursive(
    NUMBERS | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text("abc.é\n"), inner),
    max_leaves=12,
)


def refusal(content: bytes) -> str:
    """Return what is said of content that cannot be read."""
    with pytest.raises(SourceError) as caught:
        list(lines_of(content, "app.jsonl"))
    return str(caught.value)


@given(content=st.binary(max_size=300) | st.text('{}[]",:\\u0dé 1eE+-.\n').map(str.encode))
def test_no_bytes_crash_it(content: bytes) -> None:
    """They are lines, or one refusal with a place."""
    try:
        lines = list(lines_of(content, "app.jsonl"))
    except SourceError as error:
        (problem,) = error.problems
        assert problem.line >= 1
        assert problem.column >= 1
    else:
        assert all(isinstance(line.data, dict) for line in lines)


@given(events=st.lists(st.dictionaries(st.text("abc", min_size=1), DATA), max_size=4))
def test_what_was_written_is_what_is_read(events: list[dict[str, object]]) -> None:
    """Whatever JSON objects they are, blank lines and either line end between them."""
    text = "\r\n\n".join(json.dumps(event) for event in events)
    read = [line.data for line in lines_of(text.encode(), "app.jsonl")]
    assert read == events


def test_a_byte_order_mark_is_passed_over() -> None:
    """Some editors of Windows write one."""
    (line,) = lines_of(b'\xef\xbb\xbf{"a": 1}\n', "app.jsonl")
    assert line.data == {"a": 1}


def test_a_fraction_keeps_every_digit() -> None:
    """A float would have lost the nanoseconds."""
    (line,) = lines_of(b'{"t": 1763717400.123456789}\n', "app.jsonl")
    assert line.data["t"] == Decimal("1763717400.123456789")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"a": 1}\n{"a": \n{"a": 2}\n', "app.jsonl:2:7: this line is not JSON: expecting value"),
        (b'{"a": 1}\n{"a": "in the mid', "app.jsonl:2:7: the last line ends in the middle of an"),
        (b'{"a": 1}\n[1]\n', "app.jsonl:2:1: this line is not a JSON object"),
        (b'{"a": 1}\n"\xff"\n', "app.jsonl:2:2: this byte is not UTF-8"),
        (b'{"a": {"b": 1, "b": 2}}\n', "app.jsonl:1:16: the key 'b' is there twice in one object"),
        (b'{"a": NaN}\n', "app.jsonl:1:7: NaN is not a JSON number"),
        (b'{"a": 1e999999999}\n', "app.jsonl:1:7: the number 1e999999999 has too many digits"),
        (b'{"a": 1e9999999999999999999}\n', "app.jsonl:1:7: the number 1e999999999999999999… has"),
        (b'{"a": ' + b"9" * 5000 + b"}\n", "app.jsonl:1:7: the number 99999999999999999999… has"),
        (b'{"a": 0.' + b"1" * 200 + b"}\n", "has too many digits"),
        (b"[" * 100_000 + b"\n", "app.jsonl:1:1: this line nests too deep"),
        (b'{"a":' * 300 + b"1" + b"}" * 300 + b"\n", "app.jsonl:1:1: this line nests too deep"),
    ],
)
def test_what_cannot_be_read_is_told_at_its_place(content: bytes, said: str) -> None:
    """With the line and the column, and in words."""
    assert said in refusal(content)


def test_a_huge_exponent_costs_nothing() -> None:
    """It is refused by its digits, and never written out; a zero is a zero."""
    assert "too many digits" in refusal(b'{"a": 1e-999999999}\n')
    (line,) = lines_of(b'{"a": 0e999999999}\n', "app.jsonl")
    assert line.data == {"a": 0}
