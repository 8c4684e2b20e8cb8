"""Reads what a wheel or an sdist holds, without unpacking anything."""

from __future__ import annotations

import hashlib
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from faultclock.errors import InputError

_MEMBERS_MAX = 50_000
#: Of all members together, unpacked.
_BYTES_MAX = 1_000_000_000
_CHUNK = 1 << 20


def archive_files(path: Path) -> dict[str, str]:
    """Return the path of each member that is a file, and the SHA-256 (hex) of what it holds.

    Raises:
        InputError: it cannot be read, or holds a name twice, a link or too much.
    """
    budget = _Budget(path)
    with _told(path):
        members = _of_wheel(path, budget) if path.suffix == ".whl" else _of_sdist(path, budget)
        found: dict[str, str] = {}
        for name, digest in members:
            if name in found:
                # What is unpacked last would win: which one ran is unknown.
                raise InputError(f"{path}: it holds {name!r} twice")
            found[name] = digest
    if not found:
        raise InputError(f"{path}: it holds no file")
    return found


class _Budget:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._members = 0
        self._bytes = 0

    def digest(self, file: IO[bytes]) -> str:
        """Return the SHA-256 (hex) of what is left to read of `file`."""
        self._members += 1
        digest = hashlib.sha256()
        while chunk := file.read(_CHUNK):
            self._bytes += len(chunk)
            digest.update(chunk)
            # While it is read: what the archive says of sizes may be a lie.
            if self._bytes > _BYTES_MAX or self._members > _MEMBERS_MAX:
                raise InputError(f"{self._path}: it holds too much for a package")
        return digest.hexdigest()


def _of_wheel(path: Path, budget: _Budget) -> Iterator[tuple[str, str]]:
    with zipfile.ZipFile(path) as archive:
        for item in archive.infolist():
            if not item.is_dir():
                with archive.open(item) as file:
                    yield item.filename, budget.digest(file)


def _of_sdist(path: Path, budget: _Budget) -> Iterator[tuple[str, str]]:
    with tarfile.open(path, "r:gz") as archive:
        for item in archive:
            if item.isdir():
                continue
            file = archive.extractfile(item) if item.isreg() else None
            if file is None:
                raise InputError(f"{path}: {item.name!r} in it is neither a file nor a folder")
            yield item.name, budget.digest(file)


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (
        zipfile.BadZipFile,
        tarfile.TarError,
        zlib.error,
        EOFError,
        RuntimeError,
        NotImplementedError,
        ValueError,
    ):
        # RuntimeError: a member is encrypted. NotImplementedError: by an unknown method.
        kind = "wheel" if path.suffix == ".whl" else "sdist"
        raise InputError(f"{path}: this is not a readable {kind}") from None
