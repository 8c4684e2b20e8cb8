"""The folder of a certificate: written as a whole or not at all, and read as if a stranger made it.

A reader follows no link, opens nothing but files, and stops at a size; what is strange about a
folder is a list of faults, one for each thing, and never an exception.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from harness.errors import InputError
from harness.model.certificate import Fault

__all__ = ["Draft", "Listing", "check_place", "file_sum", "listing", "read_file"]

#: Files, and bytes in all: a hardened certificate of a whole runtime has a tenth of it.
_FILES_MAX = 200_000
_BYTES_MAX = 8_000_000_000
_DEPTH_MAX = 16
_CHUNK = 1 << 20


@dataclass(slots=True)
class Listing:
    """What is in a folder.

    Attributes:
        files: path with forward slashes to size in bytes.
        faults: what is no file, or has no place in a certificate.
    """

    files: dict[str, int] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)


class Draft:
    """A folder that takes its name only when all of it is written.

    Use it as a context manager: without `finish` nothing is left behind.
    """

    def __init__(self, target: Path) -> None:
        check_place(target)
        self._target = target
        parent = target.parent
        try:
            parent.mkdir(parents=True, exist_ok=True)
            self._folder = parent / f".{target.name[:100]}.{os.getpid()}.tmp"
            self._folder.mkdir()
        except OSError as error:
            raise _not_written(target, error) from None
        self.digests: dict[str, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

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


def check_place(target: Path) -> None:
    """Check that a certificate can be written to `target`.

    Raises:
        InputError: there is something: a certificate is never overwritten.
    """
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise InputError(f"{target}: there is something of that name", hint="name a new folder")
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
        raise InputError(f"{root}: it holds more than any certificate does")
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
    digest = hashlib.sha256()
    with contextlib.suppress(OSError, ValueError), _opened(root / name) as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
        return digest.hexdigest()
    return None


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    # Neither follows a link nor waits for the other end of a pipe.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with open(os.open(path, flags), "rb") as file:  # noqa: PTH123 - a descriptor
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(f"{path} is no file")
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
