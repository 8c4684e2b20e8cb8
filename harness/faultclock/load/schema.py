"""JSON Schemas of the file formats: of those that people write, and of those that we write.

Those that people write are for editors: completion and hints while one writes. Such a schema is
a help, not the judge: some rules (unique ids, exactly one of two keys) are only in the loader.

Those that we write are for programs that read them. Each says which `format` it describes, which
members are always there, and allows members that it does not know: a later version may add some
without changing the number. The text of a schema is the same on every machine.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, Literal, get_args

from pydantic import BaseModel, TypeAdapter

from faultclock.load.attribute_docs import attribute_docs
from faultclock.load.known_keys import file_key
from faultclock.model._base import SparseValue
from faultclock.model.config import Config
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.foreign_map import ForeignMap
from faultclock.model.report.census import Census
from faultclock.model.report.checkup import CheckUp
from faultclock.model.report.exploration import Exploration
from faultclock.model.report.finding import Report
from faultclock.model.report.gate import Baseline
from faultclock.model.report.inferred import RetryProfile
from faultclock.model.report.kill_matrix import KillMatrix
from faultclock.model.scenario.scenario import Scenario
from faultclock.model.scenario.service_host import ServicesFile
from faultclock.model.scenario.vectors import Vectors
from faultclock.model.trace.events import event_types
from faultclock.model.trace.trace import TraceFooter, TraceHeader

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


#: What people write: what its schema describes, the end of the schema's id, and its title.
_BY_PEOPLE: dict[str, tuple[Any, str, str]] = {
    "scenario": (Scenario, "scenario", "Faultclock scenario"),
    "model": (ErrorModel, "error-model", "Faultclock error model"),
    "map": (ForeignMap, "foreign-map", "Faultclock map of a foreign log"),
    "services": (ServicesFile, "services", "Faultclock services"),
    "vectors": (Vectors, "vectors", "Faultclock vectors"),
    "baseline": (Baseline, "baseline", "Faultclock baseline"),
    "config": (Config, "config", "Faultclock configuration"),
    "census": (Census, "census", "Faultclock census"),
}
#: The same of what `--json` writes.
_BY_US: dict[str, tuple[type[BaseModel], str]] = {
    "checkup": (CheckUp, "Faultclock checkup"),
    "report": (Report, "Faultclock report"),
    "exploration": (Exploration, "Faultclock exploration"),
    "kills": (KillMatrix, "Faultclock kill matrix"),
    "profile": (RetryProfile, "Faultclock retry profile"),
}


def schema_of(what: str) -> str:
    """Return the JSON Schema of a format as `faultclock schema` names it, newline at the end."""
    if what == "trace":
        return _trace_text()
    if what in _BY_US:
        model, title = _BY_US[what]
        return _written_text(model, what, title)
    return _schema_text(*_BY_PEOPLE[what])


def _trace_text() -> str:
    """Return the schema of each line of a trace file."""
    lines: list[tuple[str, Literal["validation"], TypeAdapter[Any]]] = [
        (name, "validation", TypeAdapter(type_))
        for name, type_ in (*event_types(), ("header", TraceHeader), ("footer", TraceFooter))
    ]
    made, schema = TypeAdapter.json_schemas(lines)
    refs = {name: made[name, "validation"] for name, _, _ in lines}
    ends: list[dict[str, Any]] = [
        {"type": "object", "additionalProperties": False, "required": [name]}
        | {"properties": {name: refs.pop(name)}}
        for name in ("header", "footer")
    ]
    for definition in schema["$defs"].values():
        for prop in definition.get("properties", {}).values():
            # The generated title repeats the key.
            prop.pop("title", None)
    described = "One line of a trace: the header, then the events, then the footer."
    whole = {"description": described, "anyOf": [*ends, *refs.values()], **schema}
    return _headed(whole, "trace:1", "Faultclock trace")


def _written_text(model: type[BaseModel], name: str, title: str) -> str:
    schema = _described(model, _show_as_written)
    number = model.model_fields["format"].default
    schema["properties"]["format"] = {
        "const": number,
        "description": "Version of this shape. It grows when a reader of the old one would misread"
        " the new one, never for a new member that may be ignored.",
    }
    return _headed(schema, f"{name}:{number}", title)


def _show_as_written(model: type[BaseModel], schema: dict[str, Any]) -> None:
    """Say which members are always there, and forbid none that is new."""
    schema.pop("additionalProperties", None)
    sparse = model.SPARSE if issubclass(model, SparseValue) else frozenset()
    always = [file_key(model, name) for name in model.model_fields if name not in sparse]
    if always:
        schema["required"] = always
    for prop in schema.get("properties", {}).values():
        # The generated title repeats the key, and what is always there needs no default.
        prop.pop("title", None)
        prop.pop("default", None)


def _schema_text(model: Any, name: str, title: str) -> str:
    return _headed(_described(model, _show_defaults_as_text), name, title)


def _described(
    model: Any, show: Callable[[type[BaseModel], dict[str, Any]], None]
) -> dict[str, Any]:
    """Return the schema of `model` in which `show` has changed that of each model below it."""
    schema = TypeAdapter(model).json_schema()
    definitions = schema.get("$defs", {})
    for found in dict.fromkeys(_models_below(model)):
        target = schema if found is model else definitions.get(found.__name__)
        if target is not None:
            _say_what_fields_are(found, target)
            show(found, target)
    return schema


def _headed(schema: dict[str, Any], name: str, title: str) -> str:
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
