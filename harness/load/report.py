"""Reads a report that was written before as JSON: of `run`, or of an exploration."""

from __future__ import annotations

import json
import os

from pydantic import ValidationError

from harness.errors import InputError
from harness.load.exploration import load_exploration
from harness.load.yaml_file import read_bytes
from harness.model.exploration import Exploration
from harness.model.finding import Report

__all__ = ["load_report"]

#: Sweeps have thousands of runs, each with its findings and a timeline.
_BYTES_MAX = 1_000_000_000
_KNOWN: int = Report.model_fields["format"].default


def load_report(path: str | os.PathLike[str]) -> Report | Exploration:
    """Return the report in the JSON file at `path`.

    Raises:
        InputError: the file cannot be read, or is no report of a format that this version knows.
    """
    shown = os.fspath(path)
    try:
        value = json.loads(read_bytes(path, bytes_max=_BYTES_MAX))
    except (ValueError, RecursionError):
        raise InputError(
            f"{shown}: this is no JSON", hint="write the report with --json FILE"
        ) from None
    if isinstance(value, dict) and "scenarios" in value and "runs" not in value:
        return load_exploration(path)
    written = value.get("format") if isinstance(value, dict) else None
    if isinstance(written, int) and written > _KNOWN:
        raise InputError(
            f"{shown}: report format {written} is newer than {_KNOWN}, which is known",
            hint="read it with the version of Faultclock that wrote it",
        )
    try:
        return Report.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        said = f"{place}: {first['msg']}" if place else first["msg"]
        raise InputError(f"{shown}: this is no report: {said}") from None
