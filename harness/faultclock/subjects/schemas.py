"""JSON Schema as contracts use it: is it one, does a value fit it, what would not fit it.

Nothing is ever fetched: a reference to another document is an error like any other.
"""

from __future__ import annotations

import marshal
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from faultclock.errors import SubjectError

if TYPE_CHECKING:
    from jsonschema.exceptions import SchemaError

#: Longest text kept of what a validator says: it quotes the value.
_TEXT_MAX = 300
#: Version of `marshal` in which equal values are equal bytes, whoever else refers to them.
_NO_REFERENCES = 2


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
    plain: Any = schema
    try:
        written = marshal.dumps(plain, _NO_REFERENCES)
    except ValueError:
        # Something in it is no plain data: only the check itself can say what is wrong with it.
        error = _flaw(schema)
    else:
        error = _flaw_of(written)
    if error is not None:
        place = "/".join(str(part) for part in error.absolute_path)
        where = f"{option} at {place}" if place else option
        raise SubjectError(f"{where} is no JSON Schema: {error.message}")


@lru_cache(maxsize=256)
def _flaw_of(written: bytes) -> SchemaError | None:
    """Return what is wrong with a schema, by its content: many subjects share one."""
    return _flaw(marshal.loads(written))  # noqa: S302 - written by this process


def _flaw(schema: Mapping[str, Any]) -> SchemaError | None:
    # Here, since most subjects have no contract: the library takes longer to import than to use.
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        return error
    return None


def checked_fixtures(
    given: object,
    schema: Mapping[str, Any],
    *,
    schema_option: str,
    what: str,
    fitting: tuple[str, ...],
) -> dict[str, Mapping[str, Any]]:
    """Return the fixtures of a contract, checked and completed.

    `valid` is `{}` unless it is given; `invalid` is made from the schema, where that can be done.

    Args:
        schema_option: the name of the schema, for messages.
        what: the values, in one word of the plural.
        fitting: the names of those that must fit the schema.

    Raises:
        SubjectError: a fixture is unknown, or fits where it must not, or the other way round.
    """
    if not isinstance(given, Mapping) or not all(isinstance(v, Mapping) for v in given.values()):
        raise SubjectError(
            f"fixtures is not a mapping of {what}", hint='write: fixtures={"valid": {…}}'
        )
    known = (*fitting, "invalid")
    unknown = [name for name in given if name not in known]
    if unknown:
        raise SubjectError(
            f"fixtures has the unknown {unknown[0]!r}", hint=f"known: {', '.join(known)}"
        )
    fixtures: dict[str, Mapping[str, Any]] = {"valid": {}, **given}
    for name in fitting:
        wrong = misfit(schema, fixtures[name]) if name in fixtures else None
        if wrong is not None:
            raise SubjectError(
                f"the fixture {name!r} does not fit {schema_option}: {wrong}",
                hint=f'give {what} that do: fixtures={{"{name}": {{…}}}}',
            )
    if "invalid" not in fixtures:
        made = misfitting(schema, fixtures["valid"])
        return fixtures if made is None else {**fixtures, "invalid": made}
    if misfit(schema, fixtures["invalid"]) is None:
        raise SubjectError(
            f"the fixture 'invalid' fits {schema_option}",
            hint=f"give {what} that the schema refuses, or none: they are made from the schema",
        )
    return fixtures


def misfit(schema: Mapping[str, Any], value: object) -> str | None:
    """Return why `value` does not fit `schema`, in one line; None: it fits."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match
    from referencing import Registry
    from referencing.exceptions import Unresolvable

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
