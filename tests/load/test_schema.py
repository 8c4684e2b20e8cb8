"""Editors get JSON Schemas that say what the loader says."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from faultclock.load.resources import fixtures_root
from faultclock.load.schema import schema_of
from faultclock.model.report.finding import Report
from faultclock.render.exploration import exploration_json
from tests.architecture.source_tree import PROJECT
from tests.render.sample_exploration import sample_exploration


def properties(schema: dict[str, Any], definition: str) -> dict[str, Any]:
    """Return the properties of one definition."""
    found: dict[str, Any] = schema["$defs"][definition]["properties"]
    return found


def test_durations_show_their_defaults_as_files_spell_them() -> None:
    """`10ms`, never ten million, also inside the default of a whole mapping."""
    schema = json.loads(schema_of("scenario"))
    assert properties(schema, "ProviderScript")["latency"]["default"] == "10ms"
    assert properties(schema, "Trigger")["attempts"]["default"] == "every"
    assert properties(schema, "ToolScenario")["limits"]["default"]["virtual_time"] == "1d"
    assert properties(schema, "ToolScenario")["tasks"]["default"][0]["timeout"] == "30s"


def test_descriptions_come_from_the_docstrings() -> None:
    """What the model says of a key is what the editor shows."""
    schema = json.loads(schema_of("scenario"))
    assert "what goes wrong" in schema["$defs"]["ProviderScript"]["description"]
    seeds = properties(schema, "StoreScenario")["seeds"]
    assert seeds["description"].startswith("How many consecutive seeds")


def test_unknown_keys_are_refused_by_the_schema_too() -> None:
    """A typo is underlined while one writes."""
    schema = json.loads(schema_of("scenario"))
    assert schema["$defs"]["RuntimeScenario"]["additionalProperties"] is False
    assert schema["$defs"]["HttpError"]["additionalProperties"] is False


def test_each_role_has_a_schema_of_its_own() -> None:
    """A file without a role is for a provider adapter; any other one says which."""
    validator = Draft202012Validator(json.loads(schema_of("scenario")))
    head = {"id": "a/b", "title": "t", "why": "w"}
    assert validator.is_valid(head)
    assert validator.is_valid({**head, "role": "runtime", "tools": [{"name": "read"}]})
    assert not validator.is_valid({**head, "tools": [{"name": "read"}]})
    assert not validator.is_valid({**head, "role": "tool", "queue": {}})
    assert validator.is_valid({**head, "role": "tool", "disk": {}})


def test_a_class_is_spelled_class() -> None:
    """Keys are shown by their names in files, not by those in code."""
    rule = properties(json.loads(schema_of("model")), "SignalRule")
    assert "class" in rule
    assert "error_class" not in rule


@pytest.mark.parametrize("what", ["scenario", "model", "baseline", "config"])
def test_the_text_names_no_machine_and_is_the_same_each_time(what: str) -> None:
    """It is checked in and compared."""
    schema = json.loads(schema_of(what))
    assert schema["$id"].startswith("urn:faultclock:")
    assert list(schema)[:3] == ["$schema", "$id", "title"]
    assert schema_of(what) == schema_of(what)
    assert schema_of(what).endswith("}\n")


@pytest.mark.parametrize("name", ["report", "checkup"])
def test_a_published_schema_is_current(name: str) -> None:
    """`faultclock schema NAME > docs/reference/NAME.schema.json` writes it again.

    A member that is new belongs in it; one that means something else asks for a new format.
    """
    stored = PROJECT / "docs" / "reference" / f"{name}.schema.json"
    assert stored.read_text("utf-8") == schema_of(name)


def test_the_schema_of_a_report_says_what_is_always_there() -> None:
    """A reader need not ask for it; what few reports have may be missing."""
    schema = json.loads(schema_of("report"))
    assert {"runs", "verdict", "model", "format"} <= set(schema["required"])
    assert not {"gate", "shard", "source"} & set(schema["required"])
    assert set(schema["properties"]) == set(Report.model_fields)
    assert schema["properties"]["format"]["const"] == Report.model_fields["format"].default


def test_the_schema_of_a_report_allows_members_of_later_versions() -> None:
    """The number of the format stays the same when a member is added."""
    schema = json.loads(schema_of("report"))
    assert "additionalProperties" not in schema
    assert not any(item.get("additionalProperties") is False for item in schema["$defs"].values())


def test_an_exploration_is_valid_by_its_schema() -> None:
    """So is every report, which the tests of the formats for build servers show."""
    schema = json.loads(schema_of("exploration"))
    Draft202012Validator.check_schema(schema)
    value = json.loads(exploration_json(sample_exploration()))
    assert [error.message for error in Draft202012Validator(schema).iter_errors(value)] == []


def test_each_line_of_a_trace_fits_the_schema_of_traces() -> None:
    """A program that reads traces can check them with any validator."""
    validator = Draft202012Validator(json.loads(schema_of("trace")))
    path = fixtures_root() / "golden-traces/rate-limits__retry-after-integer.reference.jsonl"
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert [line for line in lines if not validator.is_valid(line)] == []
    lines[1]["kind"] = "net.connected"
    assert not validator.is_valid(lines[1])
