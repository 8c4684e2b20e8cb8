"""Editors get JSON Schemas that say what the loader says."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness.load.schema import error_model_schema, scenario_schema


def properties(schema: dict[str, Any], definition: str) -> dict[str, Any]:
    """Return the properties of one definition."""
    found: dict[str, Any] = schema["$defs"][definition]["properties"]
    return found


def test_durations_show_their_defaults_as_files_spell_them() -> None:
    """`10ms`, never ten million, also inside the default of a whole mapping."""
    schema = json.loads(scenario_schema())
    assert properties(schema, "ProviderScript")["latency"]["default"] == "10ms"
    assert properties(schema, "Trigger")["attempts"]["default"] == "every"
    assert schema["properties"]["limits"]["default"]["virtual_time"] == "1d"
    assert schema["properties"]["tasks"]["default"][0]["timeout"] == "30s"


def test_descriptions_come_from_the_docstrings() -> None:
    """What the model says of a key is what the editor shows."""
    schema = json.loads(scenario_schema())
    assert "what goes wrong" in schema["$defs"]["ProviderScript"]["description"]
    assert schema["properties"]["seeds"]["description"].startswith("How many consecutive seeds")


def test_unknown_keys_are_refused_by_the_schema_too() -> None:
    """A typo is underlined while one writes."""
    schema = json.loads(scenario_schema())
    assert schema["additionalProperties"] is False
    assert schema["$defs"]["HttpError"]["additionalProperties"] is False


def test_a_class_is_spelled_class() -> None:
    """Keys are shown by their names in files, not by those in code."""
    rule = properties(json.loads(error_model_schema()), "SignalRule")
    assert "class" in rule
    assert "error_class" not in rule


@pytest.mark.parametrize("make", [scenario_schema, error_model_schema])
def test_the_text_names_no_machine_and_is_the_same_each_time(make: Any) -> None:
    """It is checked in and compared."""
    schema = json.loads(make())
    assert schema["$id"].startswith("urn:faultclock:")
    assert list(schema)[:3] == ["$schema", "$id", "title"]
    assert make() == make()
    assert make().endswith("}\n")
