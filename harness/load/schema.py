"""JSON Schemas of the file formats, for editors: completion and hints while one writes.

The text is the same on every machine. The schema is a help, not the judge: some rules (unique
ids, exactly one of two keys) are only in the loader.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, get_args

from pydantic import BaseModel

from harness.load.attribute_docs import attribute_docs
from harness.load.known_keys import file_key
from harness.model.census import Census
from harness.model.error_model import ErrorModel
from harness.model.foreign_map import ForeignMap
from harness.model.gate import Baseline
from harness.model.scenario import Scenario

__all__ = [
    "baseline_schema",
    "census_schema",
    "error_model_schema",
    "foreign_map_schema",
    "scenario_schema",
]

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def scenario_schema() -> str:
    """Return the JSON Schema of a scenario file, newline at the end."""
    return _schema_text(Scenario, "scenario", "Faultclock scenario")


def error_model_schema() -> str:
    """Return the JSON Schema of an error model file, newline at the end."""
    return _schema_text(ErrorModel, "error-model", "Faultclock error model")


def foreign_map_schema() -> str:
    """Return the JSON Schema of a file that maps a foreign log, newline at the end."""
    return _schema_text(ForeignMap, "foreign-map", "Faultclock map of a foreign log")


def baseline_schema() -> str:
    """Return the JSON Schema of a baseline file, newline at the end."""
    return _schema_text(Baseline, "baseline", "Faultclock baseline")


def census_schema() -> str:
    """Return the JSON Schema of what `faultclock census --json` writes, newline at the end."""
    return _schema_text(Census, "census", "Faultclock census")


def _schema_text(model: type[BaseModel], name: str, title: str) -> str:
    schema = model.model_json_schema()
    definitions = schema.get("$defs", {})
    for found in dict.fromkeys(_models_below(model)):
        target = schema if found is model else definitions.get(found.__name__)
        if target is not None:
            _say_what_fields_are(found, target)
            _show_defaults_as_text(found, target)
    head = {"$schema": _DIALECT, "$id": f"urn:faultclock:{name}", "title": title}
    body = {key: value for key, value in schema.items() if key not in head}
    return json.dumps({**head, **body}, indent=2, ensure_ascii=False) + "\n"


def _say_what_fields_are(model: type[BaseModel], schema: dict[str, Any]) -> None:
    docs = attribute_docs(model)
    for name in model.model_fields.keys() & docs.keys():
        key = file_key(model, name)
        described = {"description": docs[name], **schema["properties"][key]}
        schema["properties"][key] = dict(sorted(described.items()))


def _show_defaults_as_text(model: type[BaseModel], schema: dict[str, Any]) -> None:
    """Write defaults as a file spells them: `10ms`, not ten million."""
    # A null default only says that the key may be left out, as `required` does.
    written = model.model_construct().model_dump(mode="json", by_alias=True, exclude_none=True)
    for name in model.model_fields:
        key = file_key(model, name)
        prop = schema["properties"][key]
        # The generated title repeats the key.
        prop.pop("title", None)
        prop.pop("default", None)
        if key in written:
            prop["default"] = written[key]


def _models_below(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
        for field in annotation.model_fields.values():
            yield from _models_below(field.annotation)
    else:
        for argument in get_args(annotation):
            yield from _models_below(argument)
