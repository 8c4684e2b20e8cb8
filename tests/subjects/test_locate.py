"""From a place to an object: what stands in the way of an import is named."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from faultclock.errors import SubjectError
from faultclock.subjects.locate import locate


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    """Have the library of these tests imported anew, here and by later tests."""
    sys.modules.pop("imaplib", None)
    yield
    sys.modules.pop("imaplib", None)


def test_a_target_that_is_called_like_its_library_is_told_to_be_renamed(tmp_path: Path) -> None:
    """Its import of the library finds the file itself."""
    path = tmp_path / "imaplib.py"
    path.write_text("from imaplib import IMAP4\nsubject = IMAP4\n")
    with pytest.raises(
        SubjectError, match=r"library 'imaplib', and finds imaplib\.py of this"
    ) as said:
        locate(str(path), "subject")
    assert said.value.hint == "give imaplib.py another name than that of a library"


def test_a_folder_beside_the_target_can_be_in_the_way_too(tmp_path: Path) -> None:
    """Such as a folder of tests for the library."""
    (tmp_path / "imaplib").mkdir()
    (tmp_path / "imaplib/__init__.py").write_text("")
    path = tmp_path / "mine.py"
    path.write_text("import imaplib\nsubject = imaplib.IMAP4\n")
    with pytest.raises(SubjectError, match="finds imaplib of this folder in its place"):
        locate(str(path), "subject")


def test_a_module_of_ones_own_is_in_nobodys_way(tmp_path: Path) -> None:
    """The message is about the import, as ever."""
    (tmp_path / "helper_of_mine.py").write_text("")
    path = tmp_path / "mine.py"
    path.write_text("import helper_of_mine\nsubject = helper_of_mine.missing\n")
    with pytest.raises(SubjectError, match=r"mine\.py:2: importing it raised AttributeError"):
        locate(str(path), "subject")


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    """A pipe would make the command wait, and no report can hold a name that is not UTF-8."""
    os.mkfifo(tmp_path / "pipe.py")
    with pytest.raises(SubjectError, match="a folder or a device"):
        locate(str(tmp_path / "pipe.py"), "ask")
    strange = os.fsdecode(bytes(tmp_path) + b"/x\xff.py")
    Path(strange).touch()
    with pytest.raises(SubjectError, match="is not UTF-8"):
        locate(strange, "ask")


def test_a_file_whose_import_does_not_end_is_refused_with_its_line(tmp_path: Path) -> None:
    """Its time is up at once here: the signal that says so comes from the file."""
    path = tmp_path / "endless.py"
    path.write_text(
        "import signal\n"
        "try:\n"
        "    signal.raise_signal(signal.SIGALRM)\n"
        "except Exception:\n"
        "    pass\n"
        "subject = 1\n"
    )
    before = signal.getsignal(signal.SIGALRM)
    with pytest.raises(
        SubjectError, match=r"endless\.py:3: importing it had not ended after 120 s"
    ):
        locate(str(path), "subject")
    assert signal.getsignal(signal.SIGALRM) == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
