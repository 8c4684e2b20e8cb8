"""The reader of the files of rows: YAML to rows, or each mistake in it with line and column."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from faultclock.load.yaml_file import Document
from faultclock.mutants.row import Row, Rows

FOLDER = Path(__file__).parent

#: The kinds of operators.
_KINDS = {field.alias or name for name, field in Row.model_fields.items()} - {
    *("id", "does", "fails", "shown_by", "origin", "model", "order")
}
#: What an operator is on that is written as a text alone.
_ON = dict.fromkeys(("drop", "double", "move", "set", "emit"), "event")


def rows_of(document: Document) -> Rows:
    """Return the rows that a document holds.

    Raises:
        SourceError: with every mistake in them.
    """
    data = dict(document.data)
    rows = data.get("rows")
    if isinstance(rows, list):
        data["rows"] = [_in_full(row) if isinstance(row, dict) else row for row in rows]
    return document.validate(Rows, data)


def _in_full(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with a list of mappings for each operator, however short it was written."""
    order = [name for name in row if name in _KINDS]
    full = {**row, "order": order}
    for name in order:
        given = row[name]
        if name == "tune" and isinstance(given, dict):
            full[name] = [{"constant": key, "value": value} for key, value in given.items()]
            continue
        items = given if isinstance(given, list) else [given]
        full[name] = [
            {_ON.get(name, "step"): item} if isinstance(item, str) else item for item in items
        ]
    return full
