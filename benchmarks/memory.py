"""How much memory the commands take that make, join or search many runs.

    python -m benchmarks.memory                     # 1,000 and 10,000 runs
    python -m benchmarks.memory 100000              # as many as a command takes; about an hour

Each command is a process of its own. What is shown is the largest resident size that it or a
process of its own had (`ru_maxrss`), beside that of the same command with a single run: the
difference is what the runs take.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Peak", "commands", "main", "peak_of"]

SIZES = (1_000, 10_000)
SUBJECT = "reference"
#: Two that are cheap, of which the second fails for no subject of ours.
FIRST, SECOND = "provider-transient/bad-key", "rate-limits/retry-after-integer"
_CLI = (sys.executable, "-m", "faultclock.cli")
_REPORTS = ("json", "html", "junit")


@dataclass(frozen=True, slots=True, kw_only=True)
class Peak:
    """What one command took."""

    megabytes: float
    seconds: float


def commands(runs: int, folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the commands by name, each of so many runs; they read what those before have written.

    Args:
        folder: for their reports.
    """
    inline = ("--subject", SUBJECT, "--inline", "-q")
    for name, scenario, number in (("run", FIRST, runs), ("", SECOND, max(runs // 10, 1))):
        seeds = ("--seeds", str(number))
        yield (
            name,
            ["run", scenario, *inline, *seeds, *_reports(folder, scenario.partition("/")[0])],
        )
    parts = (str(folder / f"{scenario.partition('/')[0]}.json") for scenario in (FIRST, SECOND))
    yield "merge", ["merge", *parts, "-q", *_reports(folder, "merged")]
    yield "explore", ["explore", FIRST, *inline, "--runs", str(runs), "--no-shrink"]


def peak_of(words: list[str], folder: Path) -> Peak:
    """Run a command, and return what it took.

    Raises:
        RuntimeError: it did not come to a verdict.
    """
    started_s = time.perf_counter()
    with (folder / "said").open("wb") as said:
        child = subprocess.Popen([*_CLI, *words], stdout=said, stderr=said, cwd=folder)
        _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in (0, 1):
        raise RuntimeError((folder / "said").read_text("utf-8"))
    # Linux counts in KiB.
    return Peak(megabytes=usage.ru_maxrss / 1024, seconds=time.perf_counter() - started_s)


def _reports(folder: Path, name: str) -> tuple[str, ...]:
    return tuple(
        word for kind in _REPORTS for word in (f"--{kind}", str(folder / f"{name}.{kind}"))
    )


def main(words: list[str]) -> None:
    """Print what each command takes, for each number of runs."""
    sizes = tuple(map(int, words)) or SIZES
    print("| command | runs | peak, MB | for the runs, MB | seconds |")
    print("|---|---|---|---|---|")
    alone: dict[str, float] = {}
    for size in (1, *sizes):
        with tempfile.TemporaryDirectory() as folder:
            for name, command in commands(size, Path(folder)):
                peak = peak_of(command, Path(folder))
                least = alone.setdefault(name, peak.megabytes)
                if name:
                    more = peak.megabytes - least
                    print(
                        f"| {name} | {size:,} | {peak.megabytes:.0f} | {more:.0f} |"
                        f" {peak.seconds:.0f} |",
                        flush=True,
                    )


if __name__ == "__main__":
    main(sys.argv[1:])
