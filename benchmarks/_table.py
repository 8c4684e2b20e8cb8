"""What a benchmark gives: rows of figures, which are a table for people and JSON for programs.

A benchmark is a module of this folder whose name does not begin with `_`. It has

    measure(size: Size) -> Iterable[Row]
    PEERS: Mapping[str, bool]    # optional: what it compares with or needs, and whether it is here
    GOALS: Sequence[Goal]        # optional: what its figures should be
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any, TypeVar

T = TypeVar("T")

_FIGURES = re.compile(r"(<!-- figures of (\w+) -->\n).*?(\n<!-- end -->)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much is measured: all of it, or just enough to see that a benchmark works.

    Attributes:
        rounds: turns of each piece, of which the best counts.
        turn_s: seconds of processor time that a turn takes at least; it runs once at least.
    """

    tiny: bool
    rounds: int
    turn_s: float

    def of(self, full: T, tiny: T) -> T:
        """Return the one that fits."""
        return tiny if self.tiny else full


FULL = Size(tiny=False, rounds=5, turn_s=0.25)
TINY = Size(tiny=True, rounds=1, turn_s=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One figure.

    Attributes:
        case: what was done.
        name: who did it, or with how much of it.
        figure: what it cost; above 0.
        unit: of the figure.
        peer: name of the row of this case that the figure is divided by; None: there is none.
        ratio: what comes of that.
    """

    case: str
    name: str
    figure: float
    unit: str
    peer: str | None
    ratio: float | None


def rows_of(
    case: str, unit: str, figures: Mapping[str, float], peer: str | None = None
) -> Iterator[Row]:
    """Yield the rows of one case; a peer that was not measured is no peer."""
    one = figures.get(peer) if peer is not None else None
    for name, figure in figures.items():
        yield Row(
            case=case,
            name=name,
            figure=figure,
            unit=unit,
            peer=None if one is None else peer,
            ratio=None if one is None else figure / one,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What a figure should be.

    Attributes:
        case: how the case begins.
        name: of the row.
        against: name of the row of this case by which its figure is divided; empty: by none.
        most: that this should come to.
    """

    case: str
    name: str
    against: str = ""
    most: float

    def said(self, rows: Iterable[Row]) -> str:
        """Return the goal, and whether it is met; empty where something was not measured."""
        found = {row.name: row for row in rows if row.case.startswith(self.case)}
        if not {self.name, self.against or self.name} <= found.keys():
            return ""
        one = found[self.name]
        figure = one.figure / found[self.against].figure if self.against else one.figure
        unit = f"times {self.against}" if self.against else one.unit
        is_met = "met" if figure <= self.most else "**missed**"
        what = f"{self.case}, {self.name}: at most {_short(self.most)} {unit}"
        return f"- {what}: {is_met}, {_short(figure)}"


def _short(figure: float) -> str:
    return f"{figure:,.0f}" if figure >= 1_000 else f"{figure:.3g}"


def runs_a_find(made: int, finds: int) -> float:
    """Return the runs of a search for each time that it found something; all where it never did."""
    return made / max(finds, 1)


def installed(module: str) -> bool:
    """Return whether a module of a peer can be imported."""
    return importlib.util.find_spec(module) is not None


def as_json(
    rows: Iterable[Row], peers: Mapping[str, bool], goals: Sequence[Goal] = ()
) -> dict[str, Any]:
    """Return what one benchmark came to, which of its peers are missing, and what is a goal."""
    measured = list(rows)
    return {
        "missing": [name for name, is_here in peers.items() if not is_here],
        "rows": [asdict(row) for row in measured],
        "goals": [said for goal in goals if (said := goal.said(measured))],
    }


def as_text(measured: Mapping[str, Any]) -> str:
    """Return the tables of one benchmark: cases across names, or the other way round."""
    blocks = []
    for peer, rows in groupby(measured["rows"], key=lambda row: row["peer"]):
        cells = {(f"{row['case']}, {row['unit']}", row["name"]): _cell(row) for row in rows}
        down, across = (list(dict.fromkeys(keys)) for keys in zip(*cells, strict=True))
        if len(across) > len(down):
            down, across = across, down
            cells = {(name, case): cell for (case, name), cell in cells.items()}
        corner = "" if peer is None else f"in brackets: against {peer}"
        lines = [[corner, *across]]
        lines += [[left, *(cells.get((left, top), "–") for top in across)] for left in down]
        blocks.append(_aligned(lines))
    if measured["goals"]:
        blocks.append("\n".join(("Goals:", "", *measured["goals"])))
    if measured["missing"]:
        blocks.append(f"Not installed, so not measured: {', '.join(measured['missing'])}.")
    return "\n\n".join(blocks)


def _cell(row: Mapping[str, Any]) -> str:
    figure = row["figure"]
    text = f"{figure:,.0f}" if figure >= 100 else f"{figure:.3g}"
    return text if row["ratio"] is None else f"{text} ({row['ratio']:.2f})"


def _aligned(lines: list[list[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    head, *body = (
        " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        for line in lines
    )
    rule = "|".join("-" * (width + 2) for width in widths)
    return "\n".join((f"| {head} |", f"|{rule}|", *(f"| {line} |" for line in body)))


def as_page(page: str, results: Mapping[str, Any]) -> str:
    """Return `page` with the tables of `results` in their places; the others stay as they are."""
    texts = {name: as_text(measured) for name, measured in results["benchmarks"].items()}
    texts["machine"] = f"Measured with {results['machine']}."

    def table(place: re.Match[str]) -> str:
        text = texts.get(place[2])
        return place[0] if text is None else f"{place[1]}{text}{place[3]}"

    return _FIGURES.sub(table, page)
