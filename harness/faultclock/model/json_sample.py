"""Values that fit a JSON Schema: what a model could have written.

Only what has to be there is made. Samples with different numbers differ where the schema leaves
room: a text or a number of its own carries it. Nothing here checks that a sample fits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_DEPTH_MAX = 6
#: More than that of anything is a mistake of the schema.
_ITEMS_MAX, _LENGTH_MAX = 100, 10_000
_TEXTS = ("notes.txt", "report.txt", "list.txt", "plan.txt")
#: A text of each format that readers of schemas check.
_FORMATS = {
    "date": "2026-01-01",
    "date-time": "2026-01-01T00:00:00Z",
    "duration": "PT1H",
    "email": "user@example.com",
    "time": "12:00:00Z",
    "uri": "https://example.com/",
    "uuid": "00000000-0000-4000-8000-000000000000",
}


def json_sample(schema: Mapping[str, Any], number: int = 0) -> Any:
    """Return a value for `schema`.

    Args:
        number: 0-based, of the sample.
    """
    return _value(schema, schema, number, 0)


def object_sample(
    schema: Mapping[str, Any], number: int = 0, *, optional: bool = False
) -> dict[str, Any]:
    """Return an object for `schema`, which is one of an object or says nothing.

    Args:
        optional: also make the properties that may be left out.
    """
    return _object(schema, schema, number, optional=optional, depth=0)


def _object(
    schema: Mapping[str, Any], root: Mapping[str, Any], number: int, *, optional: bool, depth: int
) -> dict[str, Any]:
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return {}
    wanted = properties if optional else _items(schema, "required")
    return {
        name: _value(properties[name], root, number, depth + 1)
        for name in wanted
        if isinstance(name, str) and name in properties
    }


def _items(schema: Mapping[str, Any], name: str) -> list[Any]:
    """Return a list of a schema; empty where it has none."""
    found = schema.get(name)
    return found if isinstance(found, list) else []


def _value(schema: Any, root: Mapping[str, Any], number: int, depth: int) -> Any:
    if not isinstance(schema, Mapping) or depth > _DEPTH_MAX:
        return _text({}, number)
    schema = _resolved(schema, root)
    if "const" in schema:
        return schema["const"]
    if values := _items(schema, "enum"):
        return values[number % len(values)]
    for key in ("anyOf", "oneOf", "allOf"):
        choices = [item for item in _items(schema, key) if item != {"type": "null"}]
        if choices:
            return _value(choices[0], root, number, depth + 1)
    kind = schema.get("type", "object" if "properties" in schema else "string")
    if isinstance(kind, list):
        kind = next((item for item in kind if item != "null"), "null")
    match str(kind).lower():
        case "integer" | "number":
            return _number(schema, number)
        case "boolean":
            return number % 2 == 0
        case "null":
            return None
        case "array":
            least = schema.get("minItems", 1)
            items = _items(schema, "prefixItems") or [schema.get("items")] * (
                min(least, _ITEMS_MAX) if isinstance(least, int) and least > 1 else 1
            )
            return [_value(item, root, number, depth + 1) for item in items]
        case "object":
            return _object(schema, root, number, optional=False, depth=depth)
    return _text(schema, number)


def _number(schema: Mapping[str, Any], number: int) -> int | float:
    low = schema.get("minimum", schema.get("exclusiveMinimum", 0))
    high = schema.get("maximum")
    made = int(low) + 1 + number if isinstance(low, int | float) else 1 + number
    return high if isinstance(high, int | float) and made > high else made


def _text(schema: Mapping[str, Any], number: int) -> str:
    known = _FORMATS.get(str(schema.get("format")))
    if known is not None:
        return known
    name = _TEXTS[number % len(_TEXTS)]
    name = name if number < len(_TEXTS) else f"{number}-{name}"
    length = schema.get("minLength", 0)
    return name.ljust(min(length, _LENGTH_MAX), "x") if isinstance(length, int) else name


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
