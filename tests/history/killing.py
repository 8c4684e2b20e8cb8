"""Real explorations that are killed with kill -9 at random moments, and resumed until they end.

    python -m tests.history.killing [TIMES] [RUNS] [WORKERS]

After each death the file is checked; at the end the report is compared with that of an exploration
that nobody killed. `test_exploring.py` has the same in small.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

_SCENARIO = "exploration/token-is-renewed-twice"
_SUBJECT = "mini-race-token-is-renewed-twice"
#: It is killed so long at most after it has got further than it was.
_LATER_S = 0.5
_PAUSE_S = 0.01
_PROJECT = Path(__file__).parents[2]


def whole(path: Path) -> int:
    """Return how many runs are in a history, each once, in a file that is sound."""
    connection = sqlite3.connect(path)
    try:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        runs, different = connection.execute(
            "SELECT count(*), count(DISTINCT session || '/' || scenario || '/' || number) FROM run"
        ).fetchone()
    finally:
        connection.close()
    assert runs == different
    return int(runs)


def _command(folder: Path, runs: int, workers: int, *options: str) -> list[str]:
    words = ["explore", _SCENARIO, "--subject", _SUBJECT, "--runs", str(runs), "--no-shrink", "-q"]
    words += ["--workers", str(workers), "--output", str(folder / "out")]
    return [sys.executable, "-m", "faultclock.cli", *words, *options]


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(_PROJECT), "PYTHONHASHSEED": "0"}


def _found(folder: Path) -> dict[str, Any]:
    """Return what an exploration found, without the names of the files that it wrote."""
    found: dict[str, Any] = json.loads((folder / "out" / "exploration.json").read_text("utf-8"))
    for group in found["groups"]:
        group.pop("files", None)
        group.pop("command", None)
    return found


def _runs(history: Path) -> int:
    """Return how many runs are there, while they are being written."""
    if not history.exists():
        return 0
    connection = sqlite3.connect(history)
    try:
        return int(connection.execute("SELECT count(*) FROM run").fetchone()[0])
    except sqlite3.OperationalError:
        # Its tables are not made yet.
        return 0
    finally:
        connection.close()


def _once(expected: dict[str, Any], runs: int, workers: int, chance: random.Random) -> list[int]:
    """Kill and resume until it ends; return how many runs were there after each death."""
    there: list[int] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        history = folder / "h.sqlite"
        while True:
            resume = ["--resume"] if history.exists() else []
            command = _command(folder, runs, workers, "--history", str(history), *resume)
            process = subprocess.Popen(
                command,
                env=_environment(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
            before = there[-1] if there else 0
            while process.poll() is None and _runs(history) <= before:
                time.sleep(_PAUSE_S)
            time.sleep(chance.uniform(0, _LATER_S))
            process.kill()
            _, words = process.communicate()
            if process.returncode != -signal.SIGKILL:
                assert process.returncode == 1, words
                break
            there.append(whole(history))
        assert whole(history) == runs
        assert _found(folder) == expected
    assert there == sorted(there)
    return there


def main(times: int = 5, runs: int = 200, workers: int = 2) -> None:
    """Do it so many times."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run(
            _command(folder, runs, 1), env=_environment(), stdout=subprocess.DEVNULL, check=False
        )
        expected = _found(folder)
    chance = random.Random(7)
    for number in range(1, times + 1):
        began_s = time.monotonic()
        there = _once(expected, runs, workers, chance)
        seconds = time.monotonic() - began_s
        sys.stdout.write(
            f"{number}: killed {len(there)} times with {there} of {runs} runs kept;"
            f" the report is the same ({seconds:.1f} s)\n"
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
