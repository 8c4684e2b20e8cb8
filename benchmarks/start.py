"""What a command costs that does next to nothing: its start, its imports, its end."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from functools import partial

from benchmarks._table import Goal, Row, Size, rows_of
from benchmarks._turns import best_ms
from benchmarks.plugin import run_command

SCENARIO = "rate-limits/retry-after-integer"
COMMANDS = {
    "--version": ("--version",),
    "run": ("run", SCENARIO, "--subject", "reference", "--jobs", "1", "-q"),
    "check": ("check", "reference", "--only", SCENARIO, "--jobs", "1", "-q"),
}

GOALS = (Goal(case="one scenario", name="run", most=600),)


def measure(size: Size) -> Iterator[Row]:
    """Yield what each command takes."""
    with tempfile.TemporaryDirectory() as folder:
        pieces = {
            name: partial(run_command, (sys.executable, "-m", "faultclock.cli", *words), folder)
            for name, words in COMMANDS.items()
        }
        yield from rows_of("one scenario at most", "ms", best_ms(pieces, size))
