"""What Faultclock wrote as JSON before, read again strictly: what is something else is refused."""

from __future__ import annotations

import json
import os
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from faultclock.errors import InputError
from faultclock.load.yaml_file import read_bytes

_Written = TypeVar("_Written", bound=BaseModel)


def read_json(path: str | os.PathLike[str], *, bytes_max: int, hint: str | None = None) -> Any:
    """Return what the JSON file at `path` holds.

    Args:
        bytes_max: a larger file is refused.
        hint: what to do where it is no JSON.

    Raises:
        InputError: the file cannot be read, or is no JSON.
    """
    return parse_json(read_bytes(path, bytes_max=bytes_max), os.fspath(path), hint=hint)


def parse_json(content: bytes, name: str, *, hint: str | None = None) -> Any:
    """Return what the content of a JSON file holds; `name` and `hint` are for messages.

    Raises:
        InputError: it is no JSON.
    """
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        raise InputError(f"{name}: this is not JSON", hint=hint) from None


def as_written(
    value: Any, kind: type[_Written], what: str, path: str | os.PathLike[str]
) -> _Written:
    """Return `value` as a value of `kind`, whose field `format` says which versions are known.

    Args:
        what: it is called in messages, such as `census`.
        path: of the file that holds it, for messages.

    Raises:
        InputError: it is no such thing, or of a newer format.
    """
    shown = os.fspath(path)
    known: int = kind.model_fields["format"].default
    written = value.get("format") if isinstance(value, dict) else None
    if isinstance(written, int) and written > known:
        raise InputError(
            f"{shown}: {what} format {written} is newer than {known}",
            hint="read it with the version of Faultclock that wrote it",
        )
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        said = f"{place}: {first['msg']}" if place else first["msg"]
        raise InputError(f"{shown}: this is not a {what}: {said}") from None
