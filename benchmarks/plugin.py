"""What the pytest plugin costs beside the command line, and beside no plugin at all.

    python -m benchmarks.plugin [FAMILY]...

The same scenarios, subject and seeds, each time in a process of its own that starts, imports,
runs and ends; and a session of one empty test with the plugin and without. All take turns; the
best turn of each counts, in seconds of processor time of the process and all that it started.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import faultclock
from benchmarks._turns import machine

ROUNDS = 5
SUBJECT = "reference"
FAMILIES = ("rate-limits",)
ROOT = str(Path(faultclock.__file__).parents[1])
#: Plugins of others cost what they cost.
PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
OURS = ("-p", "faultclock.pytest_plugin")


def main() -> None:
    """Measure and print."""
    families = tuple(sys.argv[1:]) or FAMILIES
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "pyproject.toml").write_text("")
        (Path(folder) / "test_empty.py").write_text("def test_empty(): pass\n")
        scenarios = [f"--faultclock-scenario={name}" for name in families]
        commands = {
            "faultclock run": (
                sys.executable, "-m", "faultclock.cli", "run", *families, "--subject", SUBJECT,
                "--jobs", "1", "-q",
            ),
            "pytest with the plugin": (
                *PYTEST, *OURS, *scenarios, f"--faultclock-subject={SUBJECT}", "pyproject.toml",
            ),
            "pytest, one empty test, with the plugin": (*PYTEST, *OURS, "test_empty.py"),
            "pytest, one empty test, without": (*PYTEST, "test_empty.py"),
        }  # fmt: skip
        best = dict.fromkeys(commands, float("inf"))
        for _ in range(ROUNDS):
            for name, command in commands.items():
                best[name] = min(best[name], _spent_s(command, folder))
    print(machine())
    print(f"\n{', '.join(families)} with {SUBJECT}, best of {ROUNDS}\n")
    cli_s = best["faultclock run"]
    for name, spent_s in best.items():
        print(f"{name:42} {spent_s * 1000:6.0f} ms  {spent_s / cli_s:5.2f} of the command line")


def _spent_s(command: tuple[str, ...], folder: str) -> float:
    """Return the processor time of one process and its children, in seconds."""
    environment = {**os.environ, "PYTHONPATH": ROOT, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    environment.pop("PYTHONHASHSEED", None)
    before = os.times()
    result = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    after = os.times()
    assert result.returncode == 0, result.stdout + result.stderr
    return (
        after.children_user - before.children_user + after.children_system - before.children_system
    )


if __name__ == "__main__":
    main()
