"""Arguments that fit a JSON Schema: what a model could have written for a tool.

Only what has to be there is made. Samples with different numbers differ where the schema leaves
room: a text or a number of its own carries it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from faultclock.subjects.schemas import misfit

_DEPTH_MAX = 6
_TEXTS = ("notes.txt", "report.txt", "list.txt", "plan.txt")


def sample_of(schema: Mapping[str, Any], number: int = 0) -> dict[str, Any] | None:
    """Return an object that fits `schema`; None where none was found.

    Optional properties are left out, unless nothing else could make samples differ.

    Args:
        number: 0-based, of the sample.
    """
    made, *before = (
        _object(schema, schema, earlier, optional=False, depth=0)
        for earlier in range(number, -1, -1)
    )
    if made in before:
        whole = _object(schema, schema, number, optional=True, depth=0)
        if misfit(schema, whole) is None:
            return whole
    return made if misfit(schema, made) is None else None


def takes_text(schema: Mapping[str, Any]) -> bool:
    """Return whether samples of `schema` can differ."""
    return sample_of(schema, 0) != sample_of(schema, 1)


def _object(
    schema: Mapping[str, Any], root: Mapping[str, Any], number: int, *, optional: bool, depth: int
) -> dict[str, Any]:
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return {}
    wanted = properties if optional else schema.get("required", ())
    return {
        name: _value(properties[name], root, number, depth + 1)
        for name in wanted
        if name in properties
    }


def _value(schema: Any, root: Mapping[str, Any], number: int, depth: int) -> Any:
    if not isinstance(schema, Mapping) or depth > _DEPTH_MAX:
        return _text(number)
    schema = _resolved(schema, root)
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        values = schema["enum"]
        return values[number % len(values)]
    for key in ("anyOf", "oneOf", "allOf"):
        choices = [item for item in schema.get(key, ()) if item != {"type": "null"}]
        if choices:
            return _value(choices[0], root, number, depth + 1)
    kind = schema.get("type", "string")
    if isinstance(kind, list):
        kind = next((item for item in kind if item != "null"), "null")
    match kind:
        case "integer" | "number":
            low = schema.get("minimum", schema.get("exclusiveMinimum", 0))
            return int(low) + 1 + number if isinstance(low, int | float) else 1 + number
        case "boolean":
            return number % 2 == 0
        case "null":
            return None
        case "array":
            return [_value(schema.get("items"), root, number, depth + 1)]
        case "object":
            return _object(schema, root, number, optional=False, depth=depth)
    return _text(number)


def _text(number: int) -> str:
    name = _TEXTS[number % len(_TEXTS)]
    return name if number < len(_TEXTS) else f"{number}-{name}"


def _resolved(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Follow a reference within the document."""
    for _ in range(_DEPTH_MAX):
        reference = schema.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#/"):
            return schema
        found: Any = root
        for part in reference[2:].split("/"):
            found = found.get(part) if isinstance(found, Mapping) else None
        if not isinstance(found, Mapping):
            return schema
        schema = found
    return schema
