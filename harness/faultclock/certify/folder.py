"""The folder of a certificate: written as a whole or not at all, and read as if a stranger made it.

A reader follows no link, opens nothing but files, and stops at a size; what is strange about a
folder is a list of faults, one for each thing, and never an exception.
"""

from __future__ import annotations

import contextlib
import fcntl
import glob
import hashlib
import os
import shutil
import signal
import stat
import threading
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Self

from msgspec import Struct, field

from faultclock.errors import InputError
from faultclock.model.report.certificate import Fault

#: Files, and bytes in all: a hardened certificate of a whole runtime has a tenth of it.
_FILES_MAX = 200_000
_BYTES_MAX = 8_000_000_000
_DEPTH_MAX = 16
#: A draft is called `.NAME.PID.tmp`.
_NAME_MAX, _DRAFT = 100, ".tmp"
#: Names of drafts that are tried.
_TRIES = 100
#: Signals that end a process at once, and what a shell adds to them for an exit code.
_ENDS = (signal.SIGTERM, signal.SIGHUP)
_BY_SIGNAL = 128


class Listing(Struct):
    """What is in a folder.

    Attributes:
        files: path with forward slashes to size in bytes.
        faults: what is no file, or has no place in a certificate.
    """

    files: dict[str, int] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)


class Draft:
    """A folder that takes its name only when all of it is written.

    Use it as a context manager: without `finish` nothing is left behind, also where SIGTERM or
    SIGHUP ends the process. Only a process that is killed outright leaves its draft: the next one
    for the same place removes it. A draft is locked for as long as a process of its own lives.
    """

    def __init__(self, target: Path) -> None:
        check_place(target)
        self._target = target
        self._owner = os.getpid()
        self._handlers: dict[signal.Signals, Any] = {}
        parent = target.parent
        start = f".{target.name[:_NAME_MAX]}."
        try:
            parent.mkdir(parents=True, exist_ok=True)
            _remove_dead(parent, start)
            self._folder, self._lock = _locked(parent, f"{start}{self._owner}{_DRAFT}")
        except OSError as error:
            raise _not_written(target, error) from None
        self.digests: dict[str, str] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._handlers = {number: signal.signal(number, self._end) for number in _ENDS}
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if os.getpid() != self._owner:
            # A process that was forked from this one: the draft is not its own.
            return
        shutil.rmtree(self._folder, ignore_errors=True)
        os.close(self._lock)
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    def _end(self, number: int, _: FrameType | None) -> None:
        if os.getpid() != self._owner:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
            return
        raise SystemExit(_BY_SIGNAL + number)

    def write(self, name: str, content: bytes) -> None:
        """Write one file; its digest is noted in `digests`.

        Raises:
            InputError: it cannot be written.
        """
        path = self._folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as file:
                file.write(content)
        except OSError as error:
            raise _not_written(self._target / name, error) from None
        self.digests[name] = hashlib.sha256(content).hexdigest()

    def finish(self) -> None:
        """Give the folder its name.

        Raises:
            InputError: something took the name meanwhile.
        """
        try:
            # Onto an empty folder, too; onto anything else the system refuses.
            self._folder.rename(self._target)
        except OSError as error:
            raise _not_written(self._target, error) from None


def _locked(parent: Path, name: str) -> tuple[Path, int]:
    """Make a folder, and return it with the descriptor that locks it."""
    number = -1
    while True:
        number += 1
        folder = parent / (name if not number else name.replace(_DRAFT, f"-{number}{_DRAFT}"))
        try:
            folder.mkdir()
        except FileExistsError:
            # Of a process of another machine or container that has the same number.
            if number < _TRIES:
                continue
            raise
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Another process may have found it before it was locked, and removed it.
            if os.fstat(lock).st_nlink and folder.exists():
                return folder, lock
        os.close(lock)


def _remove_dead(parent: Path, start: str) -> None:
    """Remove the drafts of processes that live no more; that of any other stays untouched."""
    for folder in sorted(parent.glob(f"{glob.escape(start)}*{_DRAFT}")):
        number = folder.name.removeprefix(start).removesuffix(_DRAFT).partition("-")[0]
        if not number.isdecimal() or folder.is_symlink() or _lives(int(number)):
            continue
        with contextlib.suppress(OSError):
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                # Held by a process that is not seen from here, such as one of another container.
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder)
            finally:
                os.close(lock)


def _lives(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def check_place(target: Path) -> None:
    """Check that a certificate can be written to `target`.

    Raises:
        InputError: there is something: a certificate is never overwritten.
    """
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise InputError(f"{target}: it exists already", hint="name a new folder")
    try:
        taken = target.is_dir() and any(target.iterdir())
    except OSError as error:
        raise _not_written(target, error) from None
    if taken:
        raise InputError(
            f"{target}: this folder is not empty, and a certificate is never written over another",
            hint="name a new folder, or remove this one",
        )


def listing(root: Path) -> Listing:
    """Return everything that is below `root`.

    Raises:
        InputError: there is no such folder, or it cannot be read.
    """
    if not root.is_dir():
        raise InputError(
            f"{root}: there is no such folder", hint="name the folder that `certify` has written"
        )
    found = Listing()
    try:
        _walk(root, "", found, 0)
    except OSError as error:
        raise InputError(f"{root}: cannot be read: {error.strerror or error}") from None
    if len(found.files) > _FILES_MAX or sum(found.files.values()) > _BYTES_MAX:
        raise InputError(f"{root}: it holds too many files for a certificate")
    return found


def read_file(root: Path, name: str, *, bytes_max: int) -> bytes | None:
    """Return what the file `name` of a listing holds; None: it cannot be read or is too large.

    No link is followed, also if it came after the listing.
    """
    with contextlib.suppress(OSError, ValueError), _opened(root / name) as file:
        content = file.read(bytes_max + 1)
        return content if len(content) <= bytes_max else None
    return None


def file_sum(root: Path, name: str) -> str | None:
    """Return the SHA-256 (hex) of a file of a listing; None: it cannot be read."""
    with contextlib.suppress(OSError, ValueError), _opened(root / name) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
    return None


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[BufferedReader]:
    # Neither follows a link nor waits for the other end of a pipe.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with open(os.open(path, flags), "rb") as file:  # noqa: PTH123 - a descriptor
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(f"{path} is not a file")
        yield file


def _walk(root: Path, inside: str, found: Listing, depth: int) -> None:
    for entry in _entries(root / inside):
        name = f"{inside}/{entry.name}" if inside else entry.name
        # In a fixed order, and no further than a certificate goes: a tree may be endless.
        if len(found.files) + len(found.faults) > _FILES_MAX:
            return
        if entry.is_symlink():
            found.faults.append(Fault(file=name, what="a symbolic link: a certificate has none"))
        elif entry.is_dir(follow_symlinks=False):
            if depth >= _DEPTH_MAX:
                found.faults.append(Fault(file=name, what="nested deeper than any certificate"))
                continue
            before = len(found.files) + len(found.faults)
            _walk(root, name, found, depth + 1)
            if before == len(found.files) + len(found.faults):
                found.faults.append(Fault(file=name, what="an empty folder: it does not belong"))
        elif entry.is_file(follow_symlinks=False):
            found.files[name] = entry.stat(follow_symlinks=False).st_size
        else:
            found.faults.append(Fault(file=name, what="neither a file nor a folder"))


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        yield from sorted(entries, key=lambda entry: entry.name)


def _not_written(path: Path, error: OSError) -> InputError:
    return InputError(f"{path}: cannot be written: {error.strerror or error}")
