"""What changes the folder of a store past its disk: refused by name, or found afterwards."""

# ruff: noqa: PTH208 - a plain list of names is what is compared

from __future__ import annotations

import io
import mmap
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.sim.disk_lab import Lab


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """A lab in an empty folder."""
    root = tmp_path / "store"
    root.mkdir()
    return Lab(root.resolve())


@pytest.mark.parametrize(
    ("reach", "named"),
    [
        (lambda root: sqlite3.connect(root / "../db"), "outside"),
        (lambda root: sqlite3.connect(f"file:{root}/db?vfs=unix", uri=True), "VFS"),
        (lambda root: io.FileIO(root / "a", "w"), "io.FileIO"),
        (lambda root: (root / "l").symlink_to(root / "a"), "symbolic link"),
        (lambda root: os.mkfifo(root / "p"), "named pipe"),
        (lambda root: (root.parent / "x").write_text("x"), "outside"),
        (lambda root: (root / "../x").touch(), "outside"),
        (lambda root: (root.parent / "d").mkdir(), "outside"),
    ],
    ids=["sqlite3", "VFS", "FileIO", "symlink", "pipe", "write", "up", "mkdir"],
)
def test_what_goes_past_the_disk_is_refused_by_name(
    lab: Lab, reach: Callable[[Path], Any], named: str
) -> None:
    """The run ends as an escape that says what was reached for; nothing is changed."""
    ending = lab.run(lambda: reach(lab.root))
    assert ending.reason == "escape"
    assert named in ending.detail[0]
    assert os.listdir(lab.root.parent) == ["store"]


def test_a_memory_map_is_refused(lab: Lab) -> None:
    """Its writes ask nobody."""

    def use() -> None:
        with (lab.root / "a").open("w+b") as file:
            file.write(b"x" * 100)
            file.flush()
            mmap.mmap(file.fileno(), 0)

    ending = lab.run(use)
    assert ending.reason == "escape"
    assert "mmap" in ending.detail[0]


def test_a_database_in_memory_is_no_file(lab: Lab) -> None:
    """It has nothing to do with the disk."""

    def use() -> Any:
        connection = sqlite3.connect(":memory:")
        try:
            return connection.execute("select 1").fetchone()
        finally:
            connection.close()

    assert lab.value(use) == (1,)


def test_what_got_past_everything_is_found_in_the_folder(lab: Lab) -> None:
    """Whoever writes in C leaves a folder that is not what it should be."""

    def use() -> None:
        (lab.root / "a").write_text("x")
        with lab.world.kernel.parts["disk"].own_work():
            (lab.root / "a").write_text("from elsewhere")
            (lab.root / "b").write_text("from elsewhere")

    lab.run(use)
    assert [what for what, _ in lab.world.kernel.leaks] == [
        "a change of a by something that is not simulated",
        "a change of b by something that is not simulated",
    ]
