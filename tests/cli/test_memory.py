"""The memory of a run does not grow with the number of its runs: what `benchmarks.memory` shows."""

from __future__ import annotations

from pathlib import Path

from benchmarks.memory import commands, peak_of


def test_hundreds_of_runs_take_little_more_than_one(tmp_path: Path) -> None:
    """A run in memory took 150 kB; what is kept of one on disk takes less than one."""
    peaks = {}
    for runs in (60, 160):
        folder = tmp_path / str(runs)
        folder.mkdir()
        name, command = next(commands(runs, folder))
        assert name == "run"
        peaks[runs] = peak_of(command, folder)
        assert (folder / "run.json").stat().st_size > runs * 10_000
    assert peaks[160] - peaks[60] < 100 * 0.05
