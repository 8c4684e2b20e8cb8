"""Reads a census that was written before, strictly: what is not one is refused by name."""

from __future__ import annotations

import json
import os

from pydantic import ValidationError

from harness.errors import InputError
from harness.load.yaml_file import read_bytes
from harness.model.census import CENSUS_FORMAT, Census

__all__ = ["load_census"]

#: A census of thirty clients has a few megabytes.
_BYTES_MAX = 200_000_000


def load_census(path: str | os.PathLike[str]) -> Census:
    """Return the census in the JSON file at `path`.

    Raises:
        InputError: the file cannot be read, or is no census of a format that this version knows.
    """
    shown = os.fspath(path)
    try:
        value = json.loads(read_bytes(path, bytes_max=_BYTES_MAX))
    except (ValueError, RecursionError):
        raise InputError(f"{shown}: this is no JSON") from None
    written = value.get("format") if isinstance(value, dict) else None
    if isinstance(written, int) and written > CENSUS_FORMAT:
        raise InputError(
            f"{shown}: census format {written} is newer than {CENSUS_FORMAT}, which is known",
            hint="read it with the version of Faultclock that wrote it",
        )
    try:
        return Census.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        said = f"{place}: {first['msg']}" if place else first["msg"]
        raise InputError(f"{shown}: this is no census: {said}") from None
