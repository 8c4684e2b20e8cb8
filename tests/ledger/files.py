"""The files of a ledger: for each unit its rows, and the traces that they are about.

    FOLDER/wrong/mini-forgets-jitter.rows.gz
    FOLDER/wrong/mini-forgets-jitter.traces.gz

Traces are read back without the checks that a trace of unknown origin gets: they are ours.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from faultclock.model.trace.trace import Trace, TraceEvent, TraceFooter, TraceHeader, trace_lines
from tests.ledger.rows import Row
from tests.ledger.units import SOURCES, Played, Unit

_ROWS, _TRACES = ".rows.gz", ".traces.gz"
#: These files are written once and read often.
_LEVEL = 1
_FOOTER = '{"footer":'


def _path(folder: Path, unit: Unit, suffix: str) -> Path:
    return folder / unit.source / f"{unit.name}{suffix}"


def kept(folder: Path, unit: Unit, all_played: Iterable[Played]) -> Iterator[Played]:
    """Yield what was played again, once its trace is kept."""
    path = _path(folder, unit, _TRACES)
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", encoding="ascii", compresslevel=_LEVEL) as file:
        for item in all_played:
            about = [item.label, item.group, item.models]
            file.write(json.dumps(about) + "\n")
            file.writelines(trace_lines(item.trace))
            yield item


def read_traces(folder: Path, unit: Unit, names: Collection[str] | None = None) -> Iterator[Played]:
    """Yield what was played when the ledger was made.

    Args:
        names: the labels and groups that are wanted; None: all.
    """
    with gzip.open(_path(folder, unit, _TRACES), "rt", encoding="ascii") as file:
        for line in file:
            label, group, models = json.loads(line)
            if names is None or not {label, group}.isdisjoint(names):
                trace = _trace(file)
                yield Played(label=label, group=group, models=tuple(models), trace=trace)
            else:
                _skip(file)


def _skip(lines: Iterator[str]) -> None:
    """Pass over one trace, up to its last line."""
    for line in lines:
        if line.startswith(_FOOTER):
            return


def _trace(lines: Iterator[str]) -> Trace:
    header = TraceHeader.model_validate(json.loads(next(lines))["header"])
    events: list[TraceEvent] = []
    for line in lines:
        facts = json.loads(line)
        if "footer" in facts:
            footer = TraceFooter.model_validate(facts["footer"])
            return Trace(header=header, events=tuple(events), footer=footer)
        events.append(TraceEvent(**facts))
    raise EOFError("the file of traces was cut off: make the ledger again")


def write_rows(folder: Path, unit: Unit, rows: Iterable[Row]) -> None:
    """Write the rows of a unit, sorted."""
    path = _path(folder, unit, _ROWS)
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = sorted(rows, key=lambda row: row.key)
    with gzip.open(path, "wt", encoding="ascii", compresslevel=_LEVEL) as file:
        file.writelines(f"{row.dumped()}\n" for row in lines)


def read_rows(folder: Path, unit: Unit) -> dict[tuple[str, str], Row]:
    """Return the rows of a unit by their keys; none where it has not been written."""
    path = _path(folder, unit, _ROWS)
    if not path.exists():
        return {}
    with gzip.open(path, "rt", encoding="ascii") as file:
        return {row.key: row for row in map(Row.read, file)}


def stored_units(folder: Path) -> tuple[Unit, ...]:
    """Return the units that a ledger holds."""
    return tuple(
        sorted(
            Unit(source, path.name.removesuffix(_ROWS))
            for source in SOURCES
            for path in (folder / source).glob(f"*{_ROWS}")
        )
    )
