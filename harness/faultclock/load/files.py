"""Opens the files that a user names, and writes text files whole or not at all.

What is read is a regular file: a pipe or a device may never end. `-` and pipes are for the commands
that say so.

A reader never sees half a file: the text goes to a hidden neighbour first, then takes the name
in one step. Nothing here knows what the text is.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from faultclock.errors import InputError

_NO_FILE = "this is a folder or a device, not a file"


def opened(path: str | os.PathLike[str]) -> BinaryIO:
    """Return the file at `path`, open for reading.

    Raises:
        InputError: it is missing, no regular file, or unreadable; or its name is not UTF-8, which
            no trace and no report could hold.
    """
    shown = os.fspath(path)
    try:
        shown.encode("utf-8")
        # A pipe that has no writer yet would make the opening wait.
        file = open(shown, "rb", opener=_without_waiting)  # noqa: SIM115 - with an opener
    except UnicodeEncodeError:
        hint = "give the file another name"
        raise InputError(f"{shown}: the name of this file is not UTF-8", hint=hint) from None
    except FileNotFoundError:
        raise InputError(f"{shown}: there is no such file") from None
    except IsADirectoryError:
        raise InputError(f"{shown}: {_NO_FILE}") from None
    except (OSError, ValueError) as error:
        # ValueError: a NUL character in the path.
        reason = error.strerror if isinstance(error, OSError) else None
        raise InputError(f"{shown}: cannot be read: {reason or error}") from None
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise InputError(f"{shown}: {_NO_FILE}")
    return file


def read_bytes(path: str | os.PathLike[str], *, bytes_max: int) -> bytes:
    """Return the content of a file of at most `bytes_max` bytes.

    Raises:
        InputError: as `opened` does; or it is too large.
    """
    shown = os.fspath(path)
    with opened(path) as file:
        try:
            content = file.read(bytes_max + 1)
        except OSError as error:
            raise InputError(f"{shown}: cannot be read: {error.strerror or error}") from None
    if len(content) > bytes_max:
        raise InputError(f"{shown}: larger than {bytes_max:,} bytes, so it is not meant for this")
    return content


def write_text_atomically(path: str | os.PathLike[str], text: str | Iterable[str]) -> None:
    """Write `text` as UTF-8, so that `path` is at any instant the old file or the new one.

    A device or pipe (`/dev/stdout`) is written directly: it has no other way.

    Args:
        text: or its pieces, one after the other.

    Raises:
        InputError: it cannot be written.
    """
    shown = os.fspath(path)
    # The real path: a symbolic link keeps pointing where it did.
    target = Path(os.path.realpath(shown))
    pieces = (piece.encode("utf-8") for piece in ((text,) if isinstance(text, str) else text))
    try:
        if target.exists() and not target.is_file():
            with target.open("wb") as file:
                file.writelines(pieces)
            return
        _replace(target, pieces)
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
        raise InputError(f"{path}: this is not UTF-8 text, so nothing can be added to it") from None
    return text if not text or text.endswith("\n") else text + "\n"


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


def check_output_file(path: str | os.PathLike[str]) -> None:
    """Make the folder of `path`, and check that a file can be written there.

    Raises:
        InputError: it cannot, so that no run is made whose report is lost.
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


def _replace(target: Path, pieces: Iterable[bytes]) -> None:
    draft = target.with_name(f".{target.name[:100]}.{os.getpid()}.tmp")
    try:
        with draft.open("wb") as file:
            file.writelines(pieces)
            file.flush()
            # Without it, a power cut after the rename can leave an empty file under the name.
            os.fsync(file.fileno())
        draft.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise
