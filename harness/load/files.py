"""Writes text files whole or not at all, and says beforehand whether it could.

A reader never sees half a file: the text goes to a hidden neighbour first, then takes the name
in one step. Nothing here knows what the text is.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from harness.errors import InputError

__all__ = [
    "check_output_file",
    "make_output_folder",
    "read_text_there",
    "write_text_atomically",
]


def write_text_atomically(path: str | os.PathLike[str], text: str) -> None:
    """Write `text` as UTF-8, so that `path` is at any instant the old file or the new one.

    A device or pipe (`/dev/stdout`) is written directly: it has no other way.

    Raises:
        InputError: it cannot be written.
    """
    shown = os.fspath(path)
    # The real path: a symbolic link keeps pointing where it did.
    target = Path(os.path.realpath(shown))
    try:
        if target.exists() and not target.is_file():
            target.write_text(text, encoding="utf-8")
            return
        _replace(target, text.encode("utf-8"))
    except OSError as error:
        raise InputError(f"{shown}: cannot be written: {error.strerror or error}") from None


def read_text_there(path: str | os.PathLike[str]) -> str:
    """Return the text of a file that is to be added to, in whole lines; nothing if it is not there.

    Raises:
        InputError: it cannot be read, or is no text.
    """
    target = Path(path)
    try:
        # What is no file, such as a pipe, is written to and never read.
        text = target.read_bytes().decode("utf-8") if target.is_file() else ""
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: this is no UTF-8 text, so nothing can be added to it") from None
    return text if not text or text.endswith("\n") else text + "\n"


def check_output_file(path: str | os.PathLike[str]) -> None:
    """Make the folder of `path`, and check that a file can be written there.

    Raises:
        InputError: it cannot, so that nobody waits for a run whose report is lost.
    """
    shown = os.fspath(path)
    target = Path(shown)
    if target.is_dir():
        raise InputError(f"{shown}: this is a folder", hint="name a file in it")
    make_output_folder(target.parent)
    if not os.access(target if target.exists() else target.parent, os.W_OK):
        raise InputError(f"{shown}: cannot be written: permission denied")


def make_output_folder(path: str | os.PathLike[str]) -> None:
    """Make the folder `path` with its parents, unless it is there.

    Raises:
        InputError: a file is in the way, or it is not permitted.
    """
    shown = os.fspath(path)
    try:
        Path(shown).mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise InputError(f"{shown}: a file is where the folder should be") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{shown}: the folder cannot be made: {reason}") from None


def _replace(target: Path, content: bytes) -> None:
    draft = target.with_name(f".{target.name[:100]}.{os.getpid()}.tmp")
    try:
        with draft.open("wb") as file:
            file.write(content)
            file.flush()
            # Without it, a power cut after the rename can leave an empty file under the name.
            os.fsync(file.fileno())
        draft.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise
