"""Reads a report that was written before as JSON: of `run`, or of an exploration."""

from __future__ import annotations

import os
from typing import Any

from harness.load.json_file import as_written, parse_json, read_json
from harness.model.exploration import Exploration
from harness.model.finding import Report

__all__ = ["load_report", "parse_report"]

#: Sweeps have thousands of runs, each with its findings and a timeline.
_BYTES_MAX = 1_000_000_000


def load_report(path: str | os.PathLike[str]) -> Report | Exploration:
    """Return the report in the JSON file at `path`.

    Raises:
        InputError: the file cannot be read, or is no report of a format that this version knows.
    """
    value = read_json(path, bytes_max=_BYTES_MAX, hint="write the report with --json FILE")
    return _of(value, path)


def parse_report(content: bytes, name: str) -> Report | Exploration:
    """Return the report that `content` holds; `name` is for messages.

    Raises:
        InputError: it is no report of a format that this version knows.
    """
    return _of(parse_json(content, name, hint="write the report with --json -"), name)


def _of(value: Any, path: str | os.PathLike[str]) -> Report | Exploration:
    if isinstance(value, dict) and "scenarios" in value and "runs" not in value:
        return as_written(value, Exploration, "exploration", path)
    return as_written(value, Report, "report", path)
