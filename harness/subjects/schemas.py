"""JSON Schema as contracts use it: is it one, does a value fit it, what would not fit it.

Nothing is ever fetched: a reference to another document is an error like any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, best_match
from referencing import Registry
from referencing.exceptions import Unresolvable

from harness.errors import SubjectError

__all__ = ["check_schema", "misfit", "misfitting"]

#: Longest text kept of what a validator says: it quotes the value.
_TEXT_MAX = 300


def check_schema(option: str, schema: object) -> None:
    """Check that `schema` is a JSON Schema.

    Args:
        option: the name of the decorator's option, for the message.

    Raises:
        SubjectError: it is none.
    """
    if not isinstance(schema, Mapping):
        raise SubjectError(
            f"{option} is a {type(schema).__name__}, not a JSON Schema",
            hint=f'write: {option}={{"type": "object", "properties": {{…}}}}',
        )
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        place = "/".join(str(part) for part in error.absolute_path)
        where = f"{option} at {place}" if place else option
        raise SubjectError(f"{where} is no JSON Schema: {error.message}") from None


def misfit(schema: Mapping[str, Any], value: object) -> str | None:
    """Return why `value` does not fit `schema`, in one line; None: it fits."""
    validator = Draft202012Validator(schema, registry=Registry())
    try:
        error = best_match(validator.iter_errors(value))
    except Unresolvable as failure:
        return f"the schema cannot be resolved: {failure}"[:_TEXT_MAX]
    if error is None:
        return None
    place = "/".join(str(part) for part in error.absolute_path)
    return f"{place}: {error.message}"[:_TEXT_MAX] if place else error.message[:_TEXT_MAX]


def misfitting(schema: Mapping[str, Any], valid: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return an object near `valid` that `schema` refuses; None where none was found."""
    return next((found for found in _near(schema, valid) if misfit(schema, found)), None)


def _near(schema: Mapping[str, Any], valid: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    properties = schema.get("properties")
    for name in properties if isinstance(properties, Mapping) else ():
        for wrong in ({"no": "such thing"}, "no such thing", -1, None):
            yield {**valid, name: wrong}
    for name in valid:
        yield {key: value for key, value in valid.items() if key != name}
    yield {**valid, "unexpected": True}
    yield {}
