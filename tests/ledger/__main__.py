"""The ledger: what every run of ours comes to, so that a change shows what it changes.

    python -m tests.ledger make              play everything, keep the traces, write the digests
    python -m tests.ledger diff              judge the kept traces again, name what differs
    python -m tests.ledger diff --share 20   of each twentieth unit: a quick look on the way
    python -m tests.ledger diff --play       play everything again as well
    python -m tests.ledger diff --accept     take what is judged now for what is right
    python -m tests.ledger known             play, and compare findings and words with digests.txt

A wrong subject is played in the scenario that shows it; a reference, a shipped client and an idle
subject in every scenario of its role; each of them also as an exploration would draw it; and every
log of another system that lies in `fixtures`. A line of the ledger is a run and a model that judges
it, with three digests: of the trace, of the findings, and of their words. `known` is for another
Python than that of the ledger: clients send its version, so traces differ, and findings do not.

Exit code 1: a line differs; 2: there is nothing to compare with.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatchcase
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

from faultclock.sim.patches import installed
from tests.ledger.digests import FILE, Digests, digests_of, read_digests, write_digests
from tests.ledger.files import kept, read_rows, read_traces, stored_units, write_rows
from tests.ledger.judging import rows_of
from tests.ledger.plays import played, units
from tests.ledger.rows import COLUMNS, Row
from tests.ledger.units import Unit

T = TypeVar("T")

_FOLDER = Path("reports/ledger")
#: Differences of one line of the ledger that are shown.
_SHOWN = 4
_EVERY_S = 15.0


def make(folder: Path, unit: Unit) -> tuple[Unit, Digests]:
    """Play a unit, and keep its traces and rows."""
    with installed():
        rows = list(rows_of(kept(folder, unit, played(unit))))
    write_rows(folder, unit, rows)
    return unit, digests_of(rows)


def differences(
    folder: Path, unit: Unit, *, play: bool = False, accept: bool = False
) -> tuple[Unit, list[str], Digests]:
    """Return what differs from the ledger in a unit, and the digests of what it is now.

    Args:
        play: make the runs again.
        accept: write the rows as they are now, and the traces where they were made again.
    """
    before = read_rows(folder, unit)
    if play:
        with installed():
            again = played(unit)
            # What is accepted is judged again without being played, so its traces are kept, too.
            again = kept(folder, unit, again) if accept else again
            now = {row.key: row for row in rows_of(again)}
    else:
        now = {row.key: row for row in rows_of(read_traces(folder, unit))}
    lines: list[str] = []
    for key in sorted(before.keys() | now.keys()):
        lines += _of_row(unit, before.get(key), now.get(key))
    if accept:
        write_rows(folder, unit, now.values())
    return unit, lines, digests_of(now.values())


def beside_known(unit: Unit) -> tuple[Unit, list[str]]:
    """Play a unit, and return the columns that are not as `digests.txt` has them."""
    with installed():
        now = digests_of(rows_of(played(unit)))
    known = read_digests(FILE)[0][unit]
    pairs = zip(("lines", *COLUMNS), now, known, strict=True)
    return unit, [column for column, one, other in pairs if one != other]


def _of_row(unit: Unit, before: Row | None, now: Row | None) -> Iterator[str]:
    row = now or before
    assert row is not None
    named = f"{unit.source} {unit.name}: {row.label}, by {row.model}"
    if before is None or now is None:
        yield f"{'new' if before is None else 'gone'}: {named}"
        return
    differ = [
        column
        for column, one, other in zip(COLUMNS, before.digests(), now.digests(), strict=True)
        if one != other
    ]
    if not differ:
        return
    yield f"{', '.join(differ)}: {named}"
    for column in ("findings", "words"):
        if column in differ:
            was, is_ = getattr(before, column), getattr(now, column)
            gone, new = Counter(was) - Counter(is_), Counter(is_) - Counter(was)
            yield from (f"    - {text}" for text in sorted(gone)[:_SHOWN])
            yield from (f"    + {text}" for text in sorted(new)[:_SHOWN])


def _spread(function: Callable[[Unit], T], wanted: Iterable[Unit], jobs: int) -> Iterator[T]:
    """Yield what `function` makes of each unit, several at a time, the largest first."""
    found, told_s, started_s = 0, time.monotonic(), time.monotonic()
    ordered = sorted(wanted, key=lambda unit: (unit.source not in ("client", "reference"), unit))
    # One unit has one process: what a library keeps in its modules does not reach the next.
    with get_context("fork").Pool(jobs, maxtasksperchild=1) as pool:
        for made in pool.imap(function, ordered, chunksize=1):
            found += 1
            yield made
            if time.monotonic() - told_s > _EVERY_S:
                told_s = time.monotonic()
                spent_s = told_s - started_s
                sys.stderr.write(f"{found} of {len(ordered)} units, {spent_s:.0f} s\n")


def main() -> int:
    """Read the arguments, and do what they ask for."""
    parser = argparse.ArgumentParser(prog="python -m tests.ledger", description=__doc__)
    parser.add_argument("what", choices=["make", "diff", "known"])
    parser.add_argument("--folder", type=Path, default=_FOLDER)
    parser.add_argument("--only", default="*", help="pattern over `source/name`")
    parser.add_argument("--play", action="store_true", help="play again, too")
    parser.add_argument("--share", type=int, default=1, metavar="N", help="each Nth unit only")
    parser.add_argument("--accept", action="store_true", help="write the ledger as it is now")
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()

    def is_wanted(unit: Unit) -> bool:
        return fnmatchcase(f"{unit.source}/{unit.name}", asked.only)

    started_s = time.monotonic()
    if asked.what == "make":
        if asked.only == "*":
            shutil.rmtree(asked.folder, ignore_errors=True)
        found = dict(_spread(partial(make, asked.folder), filter(is_wanted, units()), asked.jobs))
        if asked.only == "*":
            write_digests(FILE, found)
        rows = sum(digests[0] for digests in found.values())
        _say(f"{rows} lines of {len(found)} units in {time.monotonic() - started_s:.0f} s")
        return 0
    if asked.what == "known":
        return _compare_with_known(list(filter(is_wanted, units()))[:: asked.share], asked.jobs)
    differing = 0
    found = {}
    known = units() if asked.play else ()
    wanted = sorted({*stored_units(asked.folder), *known})[:: asked.share]
    wanted = list(filter(is_wanted, wanted))
    if not wanted:
        _say(f"no traces are kept in {asked.folder}: make them first (make ledger)")
        return 2
    look = partial(differences, asked.folder, play=asked.play, accept=asked.accept)
    for unit, lines, digests in _spread(look, wanted, asked.jobs):
        found[unit] = digests
        differing += sum(not line.startswith(" ") for line in lines)
        for line in lines:
            _say(line)
    if asked.accept:
        # What was not looked at stays as it was.
        is_whole = asked.only == "*" and asked.share == 1
        write_digests(FILE, found if is_whole else read_digests(FILE)[0] | found)
    compared = sum(digests[0] for digests in found.values())
    _say(f"{compared} lines, {differing} differ; {time.monotonic() - started_s:.0f} s")
    return 1 if differing else 0


def _compare_with_known(wanted: list[Unit], jobs: int) -> int:
    differing = 0
    for unit, columns in _spread(beside_known, wanted, jobs):
        differing += bool(set(columns) - {"trace"})
        _say(f"{unit.source} {unit.name}: {', '.join(columns) or 'nothing'} differs")
    _say(f"{len(wanted)} units, {differing} differ in their findings or words")
    return 1 if differing or not wanted else 0


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main())
