"""Output files appear whole or not at all."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path

import pytest

from faultclock.errors import InputError
from faultclock.load.files import (
    check_output_file,
    make_output_folder,
    read_bytes,
    write_text_atomically,
)


def test_the_text_replaces_the_file_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    """The hidden draft takes the name."""
    path = tmp_path / "report.html"
    write_text_atomically(path, "old")
    write_text_atomically(path, "néw")
    assert path.read_bytes() == "néw".encode()
    assert [item.name for item in tmp_path.iterdir()] == ["report.html"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError("disk full")])
def test_an_interrupted_write_keeps_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    """Whatever ends the writing, the reader sees the file of before, and no draft stays."""
    path = tmp_path / "report.html"
    path.write_text("old")

    def fail(_: int) -> None:
        raise error

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises((KeyboardInterrupt, InputError)):
        write_text_atomically(path, "new")
    assert path.read_text() == "old"
    assert [item.name for item in tmp_path.iterdir()] == ["report.html"]


def test_a_symbolic_link_keeps_pointing_where_it_did(tmp_path: Path) -> None:
    """The file behind it is replaced, not the link."""
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "real").write_text("old")
    write_text_atomically(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_a_device_is_written_directly() -> None:
    """`--json /dev/null` is a reasonable wish, and must not replace the device."""
    write_text_atomically("/dev/null", "text")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_an_output_path_is_checked_and_its_folder_made_beforehand(tmp_path: Path) -> None:
    """Nobody waits for a run whose report then has no place."""
    check_output_file(tmp_path / "new" / "deep" / "report.html")
    assert (tmp_path / "new" / "deep").is_dir()


def test_a_folder_given_as_a_file_is_refused(tmp_path: Path) -> None:
    """The message says that it is a folder."""
    with pytest.raises(InputError, match="this is a folder"):
        check_output_file(tmp_path)


def test_a_file_in_the_way_of_a_folder_is_refused(tmp_path: Path) -> None:
    """Also as a parent of the wanted folder."""
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(InputError, match="a file is where the folder should be"):
            make_output_folder(path)


def test_a_write_into_a_missing_folder_is_an_input_error(tmp_path: Path) -> None:
    """No traceback of the operating system."""
    with pytest.raises(InputError, match="cannot be written"):
        write_text_atomically(tmp_path / "missing" / "x", "text")


def test_why_a_folder_cannot_be_made_is_said_in_words(tmp_path: Path) -> None:
    """Without the number that the system has for it."""
    with pytest.raises(InputError) as caught:
        make_output_folder(tmp_path / ("x" * 300))
    assert caught.value.message.endswith("the folder cannot be made: File name too long")


@pytest.mark.parametrize("kind", ["pipe", "device", "link to a device", "folder", "socket"])
def test_what_is_no_regular_file_is_not_read(tmp_path: Path, kind: str) -> None:
    """A pipe without a writer would make a command wait for ever, and a device never ends."""
    path = tmp_path / "file"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(str(path))
    else:
        path = Path("/dev/zero") if kind == "device" else path
        if kind != "device":
            path.symlink_to("/dev/full")
    with pytest.raises(InputError, match=r"a folder or a device|cannot be read"):
        read_bytes(path, bytes_max=10)


def test_a_file_has_a_bound_and_a_name_that_reports_can_hold(tmp_path: Path) -> None:
    """Each refusal says what is wrong."""
    path = tmp_path / "file"
    path.write_bytes(b"0123456789")
    assert read_bytes(path, bytes_max=10) == b"0123456789"
    with pytest.raises(InputError, match="larger than 9 bytes"):
        read_bytes(path, bytes_max=9)
    strange = os.fsdecode(bytes(tmp_path) + b"/x\xff.yaml")
    Path(strange).touch()
    for name, said in ((strange, "is not UTF-8"), ("\0", "null"), ("gone", "no such file")):
        with pytest.raises(InputError, match=said):
            read_bytes(name, bytes_max=9)
