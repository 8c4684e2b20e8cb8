"""Files of a store under test: ordinary calls, on a disk that takes time, fails and forgets."""

# ruff: noqa: PTH103, PTH105, PTH208 - the lowest calls are what is tested

from __future__ import annotations

import errno
import fcntl
import io
import json
import os
import shutil
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from faultclock.sim.host.disk_state import Leaves
from faultclock.sim.kernel.clock import SECOND_NS
from tests.sim.disk_lab import Lab


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """A lab in an empty folder."""
    root = tmp_path / "store"
    root.mkdir()
    return Lab(root.resolve())


def test_a_careful_save_is_seven_acts_in_virtual_time(lab: Lab) -> None:
    """Folder, file, data, sync, rename, sync: each is a fact, and takes the disk's time."""

    def save() -> None:
        folder = lab.root / "alpha"
        folder.mkdir()
        with (folder / "m.tmp").open("w") as file:
            json.dump({"n": 1}, file)
            file.flush()
            os.fsync(file.fileno())
        (folder / "m.tmp").replace(folder / "m.json")
        descriptor = os.open(folder, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)

    lab.value(save)
    assert lab.acts == [
        "mkdir alpha",
        "create alpha/m.tmp",
        "write alpha/m.tmp",
        "fsync alpha/m.tmp",
        "replace alpha/m.tmp -> alpha/m.json",
        "fsync alpha",
    ]
    assert lab.world.kernel.now_ns == 6_000_000
    assert (lab.root / "alpha/m.json").read_text() == '{"n": 1}'


def test_text_and_binary_files_work_as_real_ones(lab: Lab) -> None:
    """Encodings, newlines, seeking, appending, updating: the library's own layers do it."""

    def use() -> tuple[Any, ...]:
        path = lab.root / "a.txt"
        path.write_text("zwölf\nBoxkämpfer\n", encoding="latin-1", newline="\r\n")
        with path.open("rb") as file:
            raw = file.read()
        with path.open("r+b", buffering=0) as file:
            assert isinstance(file, io.FileIO)
            file.seek(2)
            file.write(b"OE")
            position = file.tell()
        with path.open("a", encoding="latin-1") as file:
            assert file.name == str(path)
            assert file.mode == "a"
            file.write("!")
        with path.open(encoding="latin-1") as file:
            lines = list(file)
        with path.open("r+") as file:
            file.truncate(3)
        return raw, position, lines, path.stat().st_size

    raw, position, lines, size = lab.value(use)
    assert raw == "zwölf\r\nBoxkämpfer\r\n".encode("latin-1")
    assert position == 4
    assert lines == ["zwOEf\n", "Boxkämpfer\n", "!"]
    assert size == 3


def test_a_buffer_is_not_the_disk(lab: Lab) -> None:
    """What was never flushed is no act, and a large text is as many acts on every machine."""

    def write() -> None:
        with (lab.root / "a").open("wb") as file:
            file.write(b"x" * 100)
            assert (lab.root / "a").stat().st_size == 0
            for _ in range(5):
                file.write(b"y" * 4_000)

    lab.value(write)
    assert lab.acts == ["create a", "write a", "write a", "write a"]


@pytest.mark.parametrize(
    "error",
    [
        lambda root: (root / "missing").open(),
        lambda root: (root / "no/folder").open("w"),
        lambda root: root.open("w"),
        lambda root: root.mkdir(),
        lambda root: (root / "missing").unlink(),
        lambda root: (root / "missing").rename(root / "b"),
        lambda root: (root / "d").rmdir(),
        lambda root: (root / "d/f").open("x"),
        lambda root: os.open(root / "d/f", os.O_CREAT | os.O_EXCL | os.O_WRONLY),
        lambda root: (root / "d").unlink(),
        lambda root: (root / "d/f").replace(root / "d"),
        lambda root: (root / "d/f").open("rw"),
        lambda root: (root / "d/f").open("rb", encoding="utf-8"),
    ],
    ids=range(13),
)
def test_mistakes_are_told_as_the_system_tells_them(
    lab: Lab, tmp_path: Path, error: Callable[[Path], Any]
) -> None:
    """Same type and same number of the error as without a simulation, and no act on the disk."""
    real = tmp_path / "real"
    (real / "d").mkdir(parents=True)
    (real / "d/f").touch()
    with pytest.raises((OSError, ValueError)) as expected:
        error(real)

    def use() -> BaseException | None:
        (lab.root / "d").mkdir()
        (lab.root / "d/f").touch()
        try:
            error(lab.root)
        except (OSError, ValueError) as caught:
            return caught
        return None

    caught = lab.value(use)
    assert type(caught) is type(expected.value)
    assert getattr(caught, "errno", None) == getattr(expected.value, "errno", None)
    assert len(lab.acts) == 2


def test_the_helpers_of_the_library_end_in_the_same_acts(lab: Lab) -> None:
    """Copies, moves, temporary files and trees are made of the calls that are seen."""

    def use() -> list[str]:
        (lab.root / "a").write_text("content")
        shutil.copyfile(lab.root / "a", lab.root / "b")
        shutil.move(lab.root / "b", lab.root / "c")
        os.makedirs(lab.root / "d/e")
        with tempfile.NamedTemporaryFile("w", dir=lab.root / "d", delete=False) as file:
            file.write("x")
        os.replace(file.name, lab.root / "d/f")
        os.link(lab.root / "d/f", lab.root / "d/g")
        names = sorted(path.relative_to(lab.root).as_posix() for path in lab.root.rglob("*"))
        shutil.rmtree(lab.root / "d")
        return names

    assert lab.value(use) == ["a", "c", "d", "d/e", "d/f", "d/g"]
    assert sorted(os.listdir(lab.root)) == ["a", "c"]
    assert set(lab.state.names) == {"a", "c"}


def test_names_of_temporary_files_are_the_same_in_every_run(lab: Lab) -> None:
    """They are drawn from the world's randomness, as everything else is."""

    def name() -> str:
        with tempfile.NamedTemporaryFile(dir=lab.root) as file:
            return Path(file.name).name

    assert lab.value(name) == lab.value(name)


def test_descriptors_write_append_cut_and_sync_through_the_disk(lab: Lab) -> None:
    """Code that uses the lowest calls meets the same disk."""

    def use() -> bytes:
        path = lab.root / "a"
        fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        os.write(fd, b"0123456789")
        os.pwrite(fd, b"ab", 2)
        os.ftruncate(fd, 8)
        os.fsync(fd)
        with os.fdopen(fd, "r+b") as file:
            file.seek(0, 2)
            file.write(b"!")
        log = os.open(path, os.O_WRONLY | os.O_APPEND)
        other = os.dup(log)
        os.close(log)
        os.write(other, b"?")
        os.close(other)
        os.truncate(path, 9)
        return path.read_bytes()

    assert lab.value(use) == b"01ab4567!"
    assert bytes(lab.state.names["a"].now) == b"01ab4567!"  # type: ignore[union-attr]
    assert bytes(lab.state.names["a"].durable) == b"01ab4567"  # type: ignore[union-attr]


def test_a_file_opened_to_sync_is_durable_with_each_write(lab: Lab) -> None:
    """O_SYNC is an fsync after each write."""

    def use() -> None:
        fd = os.open(lab.root / "a", os.O_WRONLY | os.O_CREAT | os.O_SYNC)
        os.write(fd, b"x")
        os.close(fd)

    lab.value(use)
    assert bytes(lab.state.names["a"].durable) == b"x"  # type: ignore[union-attr]


def test_outside_of_a_run_and_of_the_folder_nothing_is_changed(lab: Lab, tmp_path: Path) -> None:
    """The patches look at each use whether they are meant; reading elsewhere is as ever."""
    (tmp_path / "elsewhere").write_text("real")
    assert lab.value(lambda: (tmp_path / "elsewhere").read_text()) == "real"
    with (tmp_path / "elsewhere").open("a") as file:
        assert type(file.buffer.raw) is io.FileIO  # type: ignore[attr-defined]
    assert lab.acts == []


# ---------------------------------------------------------------------- faults


def test_a_full_disk_takes_half_of_a_write_and_fails(lab: Lab) -> None:
    """The caller gets ENOSPC with the name that it used, and the half is there to be seen."""
    rules = [{"id": "full", "when": {"act": "write", "nth": 2}, "then": {"kind": "no_space"}}]

    def use() -> int | None:
        with (lab.root / "a").open("wb", buffering=0) as file:
            file.write(b"1234")
            with pytest.raises(OSError, match="No space") as caught:
                file.write(b"5678")
        return caught.value.errno

    assert lab.value(use, rules=rules) == errno.ENOSPC
    assert (lab.root / "a").read_bytes() == b"123456"
    assert lab.acts[-1] == "write a ENOSPC"


def test_a_failed_sync_loses_the_data_for_the_next_one_too(lab: Lab) -> None:
    """EIO once, then success, and after a crash there is a hole."""
    rules = [
        {
            "id": "bad",
            "when": {"act": "fsync", "file": "j*", "nth": 1},
            "then": {"kind": "io_error"},
        }
    ]

    def use() -> None:
        with (lab.root / "journal").open("wb", buffering=0) as file:
            file.write(b"lost")
            with pytest.raises(OSError, match="Input/output error"):
                os.fsync(file.fileno())
            file.write(b"kept")
            os.fsync(file.fileno())

    lab.value(use, rules=rules)
    lab.state.crash("nothing")
    body = lab.state.names["journal"]
    assert body is not None
    assert bytes(body.now) == b"\0\0\0\0kept"


def test_a_lying_disk_says_yes(lab: Lab) -> None:
    """The sync returns, and nothing is durable."""
    rules = [{"id": "liar", "then": {"kind": "lost_fsync"}}]

    def use() -> None:
        with (lab.root / "a").open("wb", buffering=0) as file:
            file.write(b"x")
            os.fsync(file.fileno())

    lab.value(use, rules=rules)
    assert lab.state.crash("nothing") == [{"file": "a", "how": "gone"}]


def test_a_slow_act_takes_virtual_time_and_others_go_on(lab: Lab) -> None:
    """A thread that waits for the disk blocks nobody else."""
    rules = [{"id": "slow", "when": {"act": "mkdir"}, "then": {"kind": "slow", "takes": "30s"}}]

    def use() -> list[str]:
        order: list[str] = []

        def slow() -> None:
            (lab.root / "d").mkdir()
            order.append("slow")

        thread = threading.Thread(target=slow)
        thread.start()
        (lab.root / "a").touch()
        order.append("quick")
        thread.join()
        return order

    assert lab.value(use, rules=rules) == ["quick", "slow"]
    assert lab.world.kernel.now_ns == 30 * SECOND_NS


def test_reading_fails_where_a_rule_says_so(lab: Lab) -> None:
    """A file that cannot be read is an error of the disk, and no missing file."""
    rules = [{"id": "bad", "when": {"act": "read"}, "then": {"kind": "io_error"}}]

    def use() -> int | None:
        (lab.root / "a").write_text("x")
        with pytest.raises(OSError, match="Input/output error") as caught:
            (lab.root / "a").read_text()
        return caught.value.errno

    assert lab.value(use, rules=rules) == errno.EIO


def test_a_lock_is_waited_for_in_virtual_time(lab: Lab) -> None:
    """Two threads that lock one file never block for real."""

    def use() -> int:
        def hold() -> None:
            with (lab.root / "lock").open("w") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                lab.world.kernel.pause(SECOND_NS)

        thread = threading.Thread(target=hold)
        thread.start()
        lab.world.kernel.pause(SECOND_NS // 2)
        with (lab.root / "lock").open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            taken_ns = lab.world.kernel.now_ns
        thread.join()
        return taken_ns

    assert lab.value(use) >= SECOND_NS


# ---------------------------------------------------------------------- crashes


def _two_saves(root: Path) -> None:
    for text in ("one", "two!"):
        with (root / "tmp").open("w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        (root / "tmp").replace(root / "a")
        descriptor = os.open(root, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)


@pytest.mark.parametrize("leaves", ["nothing", "part", "all"])
def test_a_crash_in_any_act_leaves_the_old_file_or_the_new_one(
    lab: Lab, leaves: Leaves, tmp_path: Path
) -> None:
    """A temporary file, a sync, a rename and a sync of the folder are enough, wherever it dies."""
    lab.value(lambda: _two_saves(lab.root))
    count = lab.state.acts
    assert count == 10
    seen = set()
    for number in range(1, count + 1):
        root = tmp_path / f"{number}-{leaves}"
        root.mkdir()
        other = Lab(root)
        ending = other.run(lambda root=root: _two_saves(root), crash=(number, leaves))
        assert ending.reason == "crashed"
        body = other.state.names.get("a")
        seen.add(None if body is None else bytes(body.now))
        assert other.world.kernel.leaks == []
    assert {b"one"} <= seen <= {None, b"one", b"two!"}


def test_what_a_killed_process_still_does_changes_nothing(lab: Lab) -> None:
    """Buffers that are flushed on the way out, and `finally`, are of no process any more."""

    def use() -> None:
        try:
            with (lab.root / "a").open("w") as file:
                file.write("never")
                (lab.root / "b").touch()
        finally:
            (lab.root / "a").unlink()

    assert lab.run(use, crash=(2, "all")).reason == "crashed"
    assert set(lab.state.names) == {"a", "b"}
    assert bytes(lab.state.names["a"].now) == b""  # type: ignore[union-attr]
