"""What is written is read back as it was, whatever the texts look like."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultclock.load.scenario_file import scenario_text
from faultclock.load.yaml_file import parse_document

_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXTS, inner, max_size=4),
    max_leaves=15,
)


@given(st.dictionaries(_TEXTS, _VALUES, min_size=1))
def test_any_value_survives(data: dict[str, Any]) -> None:
    """Also control characters, and keys that need quotes."""
    text = scenario_text(data, ["a comment"])
    assert parse_document(text.encode(), "x").data == data


@pytest.mark.parametrize(
    "text",
    ["1e3", "0o17", "010", "no", "~", "null", "12:30", "- a", "a: b", "&a", "*a", "!x", "#", ".5"],
)
def test_a_text_that_looks_like_something_else_is_quoted(text: str) -> None:
    """The writer thinks in YAML 1.1, the reader in 1.2."""
    assert parse_document(scenario_text({"a": text}, []).encode(), "x").data == {"a": text}


def test_a_comment_stays_on_its_line() -> None:
    """The name of a file may hold anything."""
    text = scenario_text({"a": 1}, ["from x\nb: 2\u2028c: 3", ""])
    assert parse_document(text.encode(), "x").data == {"a": 1}


def test_equal_values_are_written_out() -> None:
    """Our reader refuses aliases."""
    shared = ["x"]
    assert "&" not in scenario_text({"a": shared, "b": shared}, [])
