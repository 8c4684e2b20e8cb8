"""What the repository keeps of the ledger: three digests for each unit, and for all of them.

The file is text, a line for each unit, so that a change of the ledger can be read in a diff.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.ledger.rows import COLUMNS, Row, digest_of
from tests.ledger.units import Unit

FILE = Path(__file__).with_name("digests.txt")
_HEAD = """\
# Digests of the ledger: rows, then one digest for each column. Written by `make ledger`.
# A line that changes is a unit whose runs, findings or words did: `make ledger-diff` names them.
"""
_ALL = "all"

#: How many rows there are, and the digest of each of COLUMNS.
Digests = tuple[int, str, str, str]


def digests_of(rows: Iterable[Row]) -> Digests:
    """Return the digests of the rows of one unit."""
    ordered = sorted(rows, key=lambda row: row.key)
    columns: list[list[str]] = [[] for _ in COLUMNS]
    for row in ordered:
        for column, digest in zip(columns, row.digests(), strict=True):
            column.append(f"{row.label} {row.model} {digest}")
    trace, findings, words = map(digest_of, columns)
    return len(ordered), trace, findings, words


def total_of(units: Mapping[Unit, Digests]) -> Digests:
    """Return the digests of all units together."""
    ordered = sorted(units.items())
    columns = (
        digest_of(f"{unit.source} {unit.name} {digests[place]}" for unit, digests in ordered)
        for place in range(1, 1 + len(COLUMNS))
    )
    trace, findings, words = columns
    return sum(digests[0] for digests in units.values()), trace, findings, words


def write_digests(path: Path, units: Mapping[Unit, Digests]) -> None:
    """Write the file."""
    lines = [_line(_ALL, "units", total_of(units))]
    lines += [_line(unit.source, unit.name, digests) for unit, digests in sorted(units.items())]
    path.write_text(_HEAD + "".join(lines), "utf-8")


def read_digests(path: Path) -> tuple[dict[Unit, Digests], Digests]:
    """Return the digests of each unit, and those of all, as the file has them."""
    units: dict[Unit, Digests] = {}
    total: Digests = (0, "", "", "")
    for line in path.read_text("utf-8").splitlines():
        if line.startswith("#"):
            continue
        source, name, rows, trace, findings, words = line.split()
        digests = (int(rows), trace, findings, words)
        if source == _ALL:
            total = digests
        else:
            units[Unit(source, name)] = digests  # type: ignore[arg-type]
    return units, total


def _line(source: str, name: str, digests: Digests) -> str:
    return " ".join([source, name, *map(str, digests)]) + "\n"
