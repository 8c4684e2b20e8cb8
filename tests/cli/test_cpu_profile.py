"""`--cpu-profile` says whose processor time the runs take, and changes none of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.process import process
from tests.cli.test_run import ADAPTER, ONE


def test_the_parts_are_written_and_the_traces_stay_as_they_are(tmp_path: Path) -> None:
    """A blocking client of a person's own, whose runs each have a process and a thread."""
    (tmp_path / "client.py").write_text(ADAPTER)
    words = ("run", ONE, "--subject", "client.py:subject", "--trace-dir")
    done = process(tmp_path, *words, "with", "--cpu-profile", "cpu.json")
    process(tmp_path, *words, "without")
    assert done.returncode == 1, done.stderr
    (trace,) = (tmp_path / "with").rglob("*.jsonl")
    other = tmp_path / "without" / trace.relative_to(tmp_path / "with")
    assert trace.read_bytes() == other.read_bytes()
    written = json.loads((tmp_path / "cpu.json").read_text())
    parts = written["parts"]
    assert {"subject", "world", "judge"} <= set(parts)
    assert set(parts["subject"]["rooms"]) == {"client.py"}
    assert {"sim", "fakes"} <= set(parts["world"]["rooms"])
    assert sum(part["cpu_ms"] for part in parts.values()) == pytest.approx(
        written["cpu_ms"], abs=0.1
    )
    (line,) = [line for line in done.stderr.splitlines() if "processor time: " in line]
    assert "the simulated world" in line
    assert "your code" in line
    assert line.endswith("(cpu.json)")


@pytest.mark.parametrize(
    "words",
    [
        ("check", "reference", "--only", ONE, "--jobs", "1"),
        ("explore", ONE, "--subject", "reference", "--runs", "3", "--workers", "2"),
        ("run", ONE, "--subject", "reference", "--inline"),
    ],
)
def test_every_command_that_makes_runs_has_it(tmp_path: Path, words: tuple[str, ...]) -> None:
    """Wherever they are made: in a session, in workers, or in the process of the command."""
    done = process(tmp_path, *words, "--cpu-profile", "cpu.json")
    assert done.returncode == 0, done.stdout + done.stderr
    parts = json.loads((tmp_path / "cpu.json").read_text())["parts"]
    assert {"subject", "world", "judge"} <= set(parts)


def test_a_file_that_cannot_be_written_is_told_before_anything_runs(tmp_path: Path) -> None:
    """A folder is none."""
    done = process(tmp_path, "run", ONE, "--subject", "reference", "--cpu-profile", ".")
    assert done.returncode == 2
    assert done.stdout == ""
    assert "faultclock: " in done.stderr
