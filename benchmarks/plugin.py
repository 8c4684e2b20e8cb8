"""What the pytest plugin costs beside the command line, and beside no plugin at all.

The same scenarios, subject and seeds, each time in a process of its own that starts, imports,
runs and ends; and a session of one empty test with the plugin and without.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import faultclock
from benchmarks._table import Row, Size, rows_of
from benchmarks._turns import best_ms

SUBJECT = "reference-common"
ROOT = str(Path(faultclock.__file__).parents[1])
#: Plugins of others cost what they cost.
PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
OURS = ("-p", "faultclock.pytest_plugin")
CLI = "faultclock run"


def measure(size: Size) -> Iterator[Row]:
    """Yield what each command takes."""
    scenarios = size.of("rate-limits", "rate-limits/retry-after-integer")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "pyproject.toml").write_text("")
        (Path(folder) / "test_empty.py").write_text("def test_empty(): pass\n")
        commands = {
            CLI: (
                sys.executable, "-m", "faultclock.cli", "run", scenarios, "--subject", SUBJECT,
                "--jobs", "1", "-q",
            ),
            "pytest with the plugin": (
                *PYTEST, *OURS, f"--faultclock-scenario={scenarios}",
                f"--faultclock-subject={SUBJECT}", "pyproject.toml",
            ),
            "one empty test, with the plugin": (*PYTEST, *OURS, "test_empty.py"),
            "one empty test, without it": (*PYTEST, "test_empty.py"),
        }  # fmt: skip
        pieces = {name: partial(run_command, command, folder) for name, command in commands.items()}
        yield from rows_of(f"{scenarios} with {SUBJECT}", "ms", best_ms(pieces, size), CLI)


def run_command(command: tuple[str, ...], folder: str) -> None:
    """Start a command as a person does, without a hash seed, and see it end well."""
    environment = {**os.environ, "PYTHONPATH": ROOT, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    environment.pop("PYTHONHASHSEED", None)
    result = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
