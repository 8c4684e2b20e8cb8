"""How much memory the commands take that make, join or search many runs.

Each command is a process of its own. What is shown is the largest resident size that it or a
process of its own had (`ru_maxrss`), beside that of the same command with a single run: the
difference is what the runs take.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks._table import Row, Size, rows_of

SUBJECT = "reference"
#: A cheap one.
SCENARIO = "provider-transient/bad-key"
_CLI = (sys.executable, "-m", "faultclock.cli")
_REPORTS = ("json", "html", "junit")


def commands(runs: int, folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the commands by name, each of so many runs; they read what those before have written.

    Args:
        folder: for their reports.
    """
    inline = (SCENARIO, "--subject", SUBJECT, "--inline", "-q")
    yield "run", ["run", *inline, "--seeds", str(runs), *_reports(folder, "run")]
    yield "merge", ["merge", str(folder / "run.json"), "-q", *_reports(folder, "merged")]
    yield "explore", ["explore", *inline, "--runs", str(runs), "--no-shrink"]


def peak_of(words: list[str], folder: Path) -> float:
    """Run a command, and return the most memory that it had, in MiB.

    Raises:
        RuntimeError: it did not come to a verdict.
    """
    with (folder / "said").open("wb") as said:
        child = subprocess.Popen([*_CLI, *words], stdout=said, stderr=said, cwd=folder)
        _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in (0, 1):
        raise RuntimeError((folder / "said").read_text("utf-8"))
    # Linux counts in KiB.
    return usage.ru_maxrss / 1024


def _reports(folder: Path, name: str) -> tuple[str, ...]:
    return tuple(
        word for kind in _REPORTS for word in (f"--{kind}", str(folder / f"{name}.{kind}"))
    )


def measure(size: Size) -> Iterator[Row]:
    """Yield what each command takes, for each number of runs."""
    peaks: dict[str, dict[str, float]] = {}
    for runs in size.of((1, 1_000, 10_000), (1,)):
        with tempfile.TemporaryDirectory() as folder:
            for name, command in commands(runs, Path(folder)):
                peaks.setdefault(name, {})[f"runs: {runs:,}"] = peak_of(command, Path(folder))
    for name, of_sizes in peaks.items():
        yield from rows_of(name, "MiB", of_sizes, "runs: 1")
