"""What a subject declares becomes plain data."""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from faultclock.run.host import RecordingHost, plain

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=20,
)


def without_floats(value: object) -> bool:
    """Return whether `value` is JSON data without a float."""
    if isinstance(value, dict):
        return all(isinstance(k, str) and without_floats(v) for k, v in value.items())
    if isinstance(value, list):
        return all(without_floats(item) for item in value)
    return value is None or isinstance(value, (bool, int, str))


@given(VALUES)
def test_anything_becomes_json_without_floats(value: object) -> None:
    """A float's text is no fact to compare bytes by."""
    assert without_floats(plain(value))


def test_a_structure_that_contains_itself_ends() -> None:
    """A subject may declare anything."""
    endless: list[object] = []
    endless.append(endless)
    assert without_floats(plain(endless))


class Level(enum.IntEnum):
    """A number with a name."""

    HIGH = 3


def test_what_is_recorded_needs_nothing_of_the_subject() -> None:
    """Members of an enum become plain values, which any reader has."""
    assert type(plain(Level.HIGH)) is int
    (key,) = plain({Level.HIGH: 1})
    assert type(key) is str


def test_an_integer_that_json_cannot_carry_is_told_by_its_size() -> None:
    """Python refuses to write more than 4,300 digits."""
    assert plain(10**6_000) == "<an integer of 19932 bits>"
    assert plain(-(2**62)) == -(2**62)


class Endless(Sequence[int]):
    """A list that never ends."""

    def __len__(self) -> int:
        return 1

    def __getitem__(self, _index: Any) -> Any:
        return 0


def test_a_list_without_an_end_is_cut() -> None:
    """It would be written down for ever."""
    assert len(plain(Endless())) == 1_000


def test_what_is_declared_is_scrubbed() -> None:
    """Secrets, addresses and absolute paths, in values and in keys."""
    said = plain({"key sk-abcd1234efgh": ["/home/me/app.py", "<C object at 0x7f31c0a1b2d0>"]})
    assert said == {"key <secret>": ["…/app.py", "<C object at 0x…>"]}


class Kept:
    """A ledger that keeps what is recorded."""

    def __init__(self) -> None:
        self.facts: list[tuple[str, dict[str, Any]]] = []

    def record(self, actor: str, kind: str, /, **payload: Any) -> int:
        """Keep kind and payload."""
        assert actor == "subject"
        self.facts.append((kind, payload))
        return len(self.facts)


def test_content_that_is_passed_on_is_told_by_length_and_digest() -> None:
    """However long it is, none of it gets into a trace."""
    ledger = Kept()
    host = RecordingHost(ledger)
    host.delivered("Grüße " * 10_000)
    host.delivered("")
    (kind, payload), (_, empty) = ledger.facts
    digest = hashlib.sha256(("Grüße " * 10_000).encode()).hexdigest()
    assert kind == "declared.content"
    assert payload == {"call": None, "chars": 60_000, "text_sha256": digest}
    assert empty["chars"] == 0


@given(st.one_of(VALUES, st.text()))
def test_a_piece_may_be_anything(value: Any) -> None:
    """A subject that passes on what is no text is not stopped by that."""
    ledger = Kept()
    RecordingHost(ledger).delivered(value)
    assert len(ledger.facts) == 1
