"""Reads an exploration that was written before, strictly: what is not one is refused by name."""

from __future__ import annotations

import json
import os

from pydantic import ValidationError

from harness.errors import InputError
from harness.load.yaml_file import read_bytes
from harness.model.exploration import Exploration

__all__ = ["load_exploration"]

#: A thousand failures, each with its smallest scenario and both runs beside each other, are some
#: ten megabytes.
_BYTES_MAX = 200_000_000
_KNOWN: int = Exploration.model_fields["format"].default


def load_exploration(path: str | os.PathLike[str]) -> Exploration:
    """Return the exploration in the JSON file at `path`.

    Raises:
        InputError: the file cannot be read, or is none of a format that this version knows.
    """
    shown = os.fspath(path)
    try:
        value = json.loads(read_bytes(path, bytes_max=_BYTES_MAX))
    except (ValueError, RecursionError):
        raise InputError(f"{shown}: this is no JSON") from None
    written = value.get("format") if isinstance(value, dict) else None
    if isinstance(written, int) and written > _KNOWN:
        raise InputError(
            f"{shown}: exploration format {written} is newer than {_KNOWN}, which is known",
            hint="read it with the version of Faultclock that wrote it",
        )
    try:
        return Exploration.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        said = f"{place}: {first['msg']}" if place else first["msg"]
        raise InputError(f"{shown}: this is no exploration: {said}") from None
