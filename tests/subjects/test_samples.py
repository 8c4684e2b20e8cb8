"""Arguments that fit a schema: what a model could have written for a tool."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultclock.subjects.samples import sample_of, takes_text
from faultclock.subjects.schemas import misfit

_LEAVES: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [
        {"type": "string"},
        {"type": "integer"},
        {"type": "integer", "minimum": 7},
        {"type": "number", "exclusiveMinimum": 0},
        {"type": "boolean"},
        {"type": ["string", "null"]},
        {"enum": ["a", "b"]},
        {"const": 3},
        {"anyOf": [{"type": "null"}, {"type": "integer"}]},
        {"$ref": "#/$defs/Place"},
        {"type": "array", "items": {"$ref": "#/$defs/Place"}},
        {},
    ]
)
_PLACE = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


@st.composite
def _schemas(draw: st.DrawFn) -> dict[str, Any]:
    properties = draw(st.dictionaries(st.sampled_from("abcde"), _LEAVES, max_size=4))
    required = [name for name in properties if draw(st.booleans())]
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "$defs": {"Place": _PLACE},
        "additionalProperties": False,
    }


@given(_schemas(), st.integers(0, 9))
def test_a_sample_fits_its_schema(schema: dict[str, Any], number: int) -> None:
    """Whatever frameworks write for the parameters of a function."""
    made = sample_of(schema, number)
    assert made is not None
    assert misfit(schema, made) is None
    assert sample_of(schema, number) == made
    assert json.loads(json.dumps(made)) == made


@given(_schemas())
def test_samples_differ_where_a_text_is_taken(schema: dict[str, Any]) -> None:
    """Different calls of a scenario are different effects."""
    schema["properties"]["text"] = {"type": "string"}
    made = [json.dumps(sample_of(schema, number)) for number in range(8)]
    assert len(set(made)) == 8
    assert takes_text(schema)


def test_a_tool_without_parameters_is_always_called_alike() -> None:
    """Its calls cannot differ."""
    assert sample_of({"type": "object", "properties": {}}, 5) == {}
    assert not takes_text({"type": "object", "properties": {}})


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "required": ["a"], "properties": {"a": {"pattern": "^x{40}$"}}},
        {"type": "object", "minProperties": 9},
    ],
)
def test_what_cannot_be_made_is_not_made_up(schema: dict[str, Any]) -> None:
    """A tool whose arguments cannot be made is left out, and never called wrongly."""
    assert sample_of(schema) is None
