"""Makes many runs twice, in two interpreters, and compares every byte.

    python -m tests.soak [RUNS] [--first N] [--seed N] [--subject ID]... [-o FOLDER]

The runs are a fixed mix: references of all roles, miniatures and the real clients that are
installed, in scenarios of all families, as they are written and as an exploration would draw them,
with crashes. The exit code is 1 when any run differs: then its coordinates and the first event that
differs are told, and both traces stored. Ctrl-C ends it, and it says how far it came.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from faultclock.load.trace_file import read_trace
from faultclock.model.report.coordinates import Coordinates
from faultclock.model.report.token import token_of
from faultclock.run.process.confirm import unsteadiness
from tests.soak.pair import Both, LostError, Pair
from tests.soak.plan import ROUND, subjects_of

_RUNS = 10_000
#: Real seconds between two lines of progress.
_EVERY_S = 15.0
#: Runs that differ, told in full at most.
_TOLD_MAX = 20
_INTERRUPTED = 130


@dataclass(slots=True)
class Tally:
    """What a soak came to so far."""

    wanted: int
    done: int = 0
    differing: list[int] = field(default_factory=list)
    counts: dict[str, Counter[str]] = field(default_factory=dict)
    events: int = 0
    choices: int = 0

    def add(self, both: Both) -> None:
        """Count one double run."""
        said = both.first
        self.done += 1
        if not both.is_same:
            self.differing.append(both.number)
        if both.raised is not None:
            return
        self.events += said["ended"][0]
        self.choices += said["choices"]
        subject, scenario = said["text"].split()[:2]
        for name, value in (
            ("subjects", f"{said['kind']}s, {said['role'].replace('_', ' ')}"),
            ("order", {"tape": "first in, first out"}.get(said["order"], said["order"])),
            ("ending", said["ended"][2].replace("_", " ")),
            ("killed and resumed", "yes" if said["lives"] > 1 else "no"),
            ("different subjects", subject),
            ("different scenarios", scenario),
        ):
            self.counts.setdefault(name, Counter())[value] += 1

    def lines(self) -> list[str]:
        """Return the table."""
        told = []
        for name, counted in self.counts.items():
            if name.startswith("different "):
                told.append(f"  {name:<50}{len(counted):>8,}")
                continue
            for value, count in counted.most_common():
                told.append(f"  {name + ': ' + value:<50}{count:>8,}")
        told.append(f"  {'events compared':<50}{self.events:>8,}")
        return [*told, f"  {'choices on the tapes':<50}{self.choices:>8,}"]

    def summary(self, wall_s: float) -> str:
        """Return what it came to in one line."""
        differ = f"{len(self.differing):,} differ" if self.differing else "none differs"
        return (
            f"{self.done:,} of {self.wanted:,} double runs in {wall_s:.0f} s"
            f" ({self.done / max(wall_s, 1e-9):.1f} a second): {differ}"
        )


def soak(runs: int, seed: int, subjects: tuple[str, ...], folder: Path, *, first: int = 0) -> Tally:
    """Make `runs` double runs, telling of the progress, and return what they came to.

    Args:
        first: number of the first one.
        subjects: ids of those to run; empty takes all.
        folder: where traces that differ are stored.

    Raises:
        SystemExit: a person ended it, or an interpreter is gone.
    """
    folder.mkdir(parents=True, exist_ok=True)
    tally = Tally(runs)
    started_s = told_s = time.monotonic()
    try:
        _say(f"{runs:,} double runs, seed {seed}: two new interpreters for each {ROUND:,}")
        for number in range(first // ROUND, (first + runs - 1) // ROUND + 1):
            numbers = range(max(first, number * ROUND), min(first + runs, (number + 1) * ROUND))
            with Pair(number, folder) as pair:
                for both in pair.make(subjects or subjects_of(number), seed, numbers):
                    tally.add(both)
                    if not both.is_same and len(tally.differing) <= _TOLD_MAX:
                        _tell_difference(pair, both)
                    if time.monotonic() - told_s >= _EVERY_S:
                        told_s = time.monotonic()
                        _say(f"  {tally.summary(told_s - started_s)}")
    except KeyboardInterrupt:
        _say(f"stopped: {tally.summary(time.monotonic() - started_s)}")
        raise SystemExit(1 if tally.differing else _INTERRUPTED) from None
    except LostError:
        _say(f"lost an interpreter: {tally.summary(time.monotonic() - started_s)}")
        raise SystemExit(f"an interpreter has ended; what it said is in {folder}") from None
    _say("\n".join(tally.lines()))
    _say(tally.summary(time.monotonic() - started_s))
    return tally


def _tell_difference(pair: Pair, both: Both) -> None:
    _say(f"run {both.number} differs: {both.first['text']}")
    if both.first["text"] != both.second["text"]:
        _say(f"  the second interpreter drew another: {both.second['text']}")
    if both.raised is not None:
        _say(f"  Faultclock raised: {both.raised}")
        return
    paths, where = pair.store(both.number)
    coordinates = Coordinates.model_validate(where)
    unsteady = unsteadiness(*map(read_trace, paths), coordinates=coordinates)
    if unsteady is not None:
        _say(f"  line {unsteady.differs_at} is the first that differs")
        for line in (*unsteady.difference, *unsteady.leaks):
            _say(f"    {line}")
    _say(f"  token: {token_of(coordinates)}")
    _say(f"  stored: {paths[0]} and {paths[1]}")


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _stop(*_: Any) -> NoReturn:
    raise KeyboardInterrupt


def main(words: list[str]) -> int:
    """Return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak")
    parser.add_argument("runs", nargs="?", type=int, default=_RUNS, help="double runs to make")
    parser.add_argument("--seed", type=int, default=0, help="of the mix")
    parser.add_argument("--first", type=int, default=0, help="number of the first one")
    parser.add_argument("--subject", action="append", default=[], metavar="ID|FILE.py:NAME")
    parser.add_argument("-o", "--output", default="reports/soak", help="folder for what differs")
    options = parser.parse_args(words)
    signal.signal(signal.SIGTERM, _stop)
    subjects, folder = tuple(options.subject), Path(options.output)
    tally = soak(options.runs, options.seed, subjects, folder, first=options.first)
    return 1 if tally.differing else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
