"""The public schemas of what build servers read, as functions that tell what is wrong with a text.

`tests/schemas/README.md` says where each of them is from.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import xmlschema
from jsonschema.protocols import Validator
from jsonschema.validators import validator_for

from faultclock.load.schema import schema_of

SCHEMAS = Path(__file__).parent.parent / "schemas"


def sarif_errors(text: str) -> list[str]:
    """Return what is wrong with `text` by the schema of SARIF 2.1.0."""
    return _errors(_validator("sarif-schema-2.1.0.json"), json.loads(text))


def code_quality_errors(text: str) -> list[str]:
    """Return what is wrong with `text` by the schema of GitLab's parser, and by its page.

    The page "Code Quality" asks for a path, a line and one of five severities, and shows one entry
    for each fingerprint; the schema leaves that to the parser.
    """
    entries = json.loads(text)
    assert isinstance(entries, list)
    wrong = [error for entry in entries for error in _errors(_validator("codeclimate.json"), entry)]
    wrong += [
        f"{entry['severity']} is no severity"
        for entry in entries
        if entry["severity"] not in ("info", "minor", "major", "critical", "blocker")
    ]
    wrong += [
        f"{entry['location']} is no location"
        for entry in entries
        if not entry["location"]["path"] or entry["location"]["lines"]["begin"] < 1
    ]
    prints = [entry["fingerprint"] for entry in entries]
    wrong += [f"{item} stands for two entries" for item in prints if prints.count(item) > 1]
    return wrong


def junit_errors(text: str) -> list[str]:
    """Return what is wrong with `text` by the schema of Jenkins' xUnit plugin."""
    return [str(error.reason) for error in _xsd().iter_errors(text)]


def report_errors(text: str) -> list[str]:
    """Return what is wrong with `text` by our own schema of reports."""
    return _errors(_own(), json.loads(text))


def _errors(validator: Validator, value: Any) -> list[str]:
    return [f"{error.json_path}: {error.message[:200]}" for error in validator.iter_errors(value)]


@cache
def _validator(name: str) -> Validator:
    return _made(json.loads((SCHEMAS / name).read_text("utf-8")))


@cache
def _own() -> Validator:
    return _made(json.loads(schema_of("report")))


def _made(schema: Any) -> Validator:
    kind = validator_for(schema)
    kind.check_schema(schema)
    return kind(schema)


@cache
def _xsd() -> xmlschema.XMLSchema:
    return xmlschema.XMLSchema(str(SCHEMAS / "junit-10.xsd"))
