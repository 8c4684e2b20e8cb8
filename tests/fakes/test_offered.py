"""How many tools a request offers, in each API's own way."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultclock.fakes.wire.offered import offered_tools

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["tools", "toolConfig", "functionDeclarations"]), inner, max_size=3
        )
    ),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("body", "tools"),
    [
        ({}, 0),
        ({"tools": []}, 0),
        ({"tools": None}, 0),
        ({"tools": [{"type": "function"}, {"type": "function"}]}, 2),
        ({"tools": [{"functionDeclarations": [{"name": "a"}, {"name": "b"}]}]}, 2),
        ({"toolConfig": {"tools": [{"toolSpec": {}}]}}, 1),
    ],
)
def test_tools_are_counted_wherever_an_api_has_them(body: dict[str, Any], tools: int) -> None:
    """OpenAI's list, Gemini's groups, and what Bedrock calls the configuration."""
    assert offered_tools(body) == tools


@given(st.dictionaries(st.sampled_from(["tools", "toolConfig"]), VALUES))
def test_no_body_raises_anything(body: dict[str, Any]) -> None:
    """A body comes from code that may send anything."""
    assert offered_tools(body) >= 0
