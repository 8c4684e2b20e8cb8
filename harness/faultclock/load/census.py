"""Reads a census that was written before, strictly: what is not one is refused by name."""

from __future__ import annotations

import os

from faultclock.load.json_file import as_written, read_json
from faultclock.model.report.census import Census

#: A census of thirty clients has a few megabytes.
_BYTES_MAX = 200_000_000


def load_census(path: str | os.PathLike[str]) -> Census:
    """Return the census in the JSON file at `path`.

    Raises:
        InputError: the file cannot be read, or is no census of a format that this version knows.
    """
    return as_written(read_json(path, bytes_max=_BYTES_MAX), Census, "census", path)
