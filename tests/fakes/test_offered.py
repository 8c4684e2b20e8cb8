"""How many tools a request offers, in each API's own way."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultclock.fakes.wire.offered import Demand, demand_of, offered_tools

_NAMES = ["tools", "toolConfig", "functionDeclarations", "name", "type", "schema", "properties"]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_NAMES), inner, max_size=3)
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


@given(
    st.dictionaries(
        st.sampled_from(["tools", "toolConfig", "tool_choice", "response_format", "format"]), VALUES
    )
)
def test_no_body_raises_anything(body: dict[str, Any]) -> None:
    """A body comes from code that may send anything."""
    assert offered_tools(body) >= 0
    assert demand_of(body) is not None


_FORM = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
_CITY = '{"city": "notes.txt"}'
_OPENAI = [
    {"type": "function", "function": {"name": "save", "parameters": {"type": "object"}}},
    {"type": "function", "function": {"name": "final_result", "parameters": _FORM}},
]
_CALLED = Demand(tool=("final_result", _CITY), argument="city")
_IT = Demand(tool=("it", _CITY), argument="city")
_FLAT = [{"type": "function", "name": "final_result", "parameters": _FORM}]


@pytest.mark.parametrize(
    ("body", "demand"),
    [
        ({}, Demand()),
        ({"tools": _OPENAI}, Demand()),
        ({"tools": _OPENAI, "tool_choice": "auto"}, Demand()),
        ({"tools": _OPENAI, "tool_choice": "required"}, _CALLED),
        (
            {"tools": _OPENAI, "tool_choice": {"type": "function", "function": {"name": "save"}}},
            Demand(tool=("save", "{}")),
        ),
        ({"tools": _FLAT, "tool_choice": "required"}, _CALLED),
        (
            {"tools": [{"name": "it", "input_schema": _FORM}], "tool_choice": {"type": "any"}},
            _IT,
        ),
        (
            {
                "tools": [
                    {"functionDeclarations": [{"name": "it", "parametersJsonSchema": _FORM}]}
                ],
                "toolConfig": {"functionCallingConfig": {"mode": "ANY"}},
            },
            _IT,
        ),
        (
            {
                "toolConfig": {
                    "tools": [{"toolSpec": {"name": "it", "inputSchema": {"json": _FORM}}}],
                    "toolChoice": {"tool": {"name": "it"}},
                }
            },
            _IT,
        ),
        ({"response_format": {"type": "text"}}, Demand()),
        (
            {"response_format": {"type": "json_schema", "json_schema": {"schema": _FORM}}},
            Demand(text=_CITY),
        ),
        ({"text": {"format": {"type": "json_schema", "schema": _FORM}}}, Demand(text=_CITY)),
        (
            {"output_config": {"format": {"type": "json_schema", "schema": _FORM}}},
            Demand(text=_CITY),
        ),
        ({"generationConfig": {"responseJsonSchema": _FORM}}, Demand(text=_CITY)),
        ({"generationConfig": {"temperature": 1}}, Demand()),
        ({"format": _FORM}, Demand(text=_CITY)),
    ],
)
def test_what_a_request_demands_of_a_text(body: dict[str, Any], demand: Demand) -> None:
    """A call of the last tool, or of a named one; JSON of a form; in each API's own way."""
    assert demand_of(body) == demand


def test_a_tool_of_the_subjects_own_stands_for_no_answer_while_another_can() -> None:
    """Wherever it stands in the list; where there is no other, its call is one."""
    body = {"tools": [*reversed(_OPENAI)], "tool_choice": "required"}
    assert demand_of(body, {"save"}) == _CALLED
    assert demand_of({**body, "tools": _OPENAI[:1]}, {"save"}).is_own


def test_a_call_fits_a_tool_that_has_all_of_its_arguments_and_needs_no_other() -> None:
    """A tool of the same name may have others; one whose schema says none takes any."""
    demand = demand_of({"tools": _OPENAI})
    assert demand.has("final_result", '{"city": "Bern"}')
    assert not demand.has("final_result", '{"city": "Bern", "days": 2}')
    assert not demand.has("final_result", "{}")
    assert demand.has("save", '{"days": 2}')
    assert not demand.has("other", "{}")
