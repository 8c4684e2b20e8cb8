"""The digest of a tree of files, which anybody can compute again with coreutils.

It is the SHA-256 of what `sha256sum` prints for the files, sorted by their paths byte by byte:

    find . \\( -name '.?*' -o -name __pycache__ -o -name node_modules -o -name '*.egg-info' \\) \\
        -prune -o -type f ! -name '*.py[co]' -printf '%P\\0' \\
        | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum

What begins with a dot (version control, virtual environments, caches) is not part of a tree, and
no cache of Python is. A virtual environment under another name is left out as well; there the
command needs `-path ./NAME -prune -o` at its front.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from faultclock.errors import InputError

_FILES_MAX = 50_000
_BYTES_MAX = 1_000_000_000
_FOLDERS_LEFT_OUT = ("__pycache__", "node_modules")
_ENDINGS_LEFT_OUT = (".egg-info",)
_CACHED = (".pyc", ".pyo")
#: What a virtual environment has at its top.
_ENVIRONMENT = "pyvenv.cfg"


def tree_files(
    root: Path, *, without: tuple[str, ...] = (), files_max: int = _FILES_MAX
) -> dict[str, str]:
    """Return the path of each file below `root`, with forward slashes, and its SHA-256 (hex).

    Args:
        without: folders at the top that are left out.
        files_max: a larger tree is refused.

    Raises:
        InputError: there is none, a symbolic link or another thing that is neither file nor
            folder, a name that no list of files can hold, or too much of it.
    """
    found: dict[str, str] = {}
    size = 0
    for path in _files(root, root, without):
        if len(found) >= files_max:
            raise InputError(
                f"{root}: more than {files_max:,} files",
                hint="name the folder that holds the code alone, or a wheel",
            )
        size += path.stat().st_size
        if size > _BYTES_MAX:
            raise InputError(
                f"{root}: larger than {_BYTES_MAX:,} bytes",
                hint="name the folder that holds the code alone, or a wheel",
            )
        name = path.relative_to(root).as_posix()
        if "\n" in name or "\r" in name or "\\" in name:
            raise InputError(f"{path}: a name with a line break or a backslash in it")
        try:
            name.encode("utf-8")
        except UnicodeEncodeError:
            raise InputError(f"{os.fsencode(path)!r}: a name that is not UTF-8") from None
        found[name] = file_digest(path)
    if not found:
        raise InputError(f"{root}: it holds no file")
    return found


def digest_of_files(files: Mapping[str, str]) -> str:
    """Return the digest of a tree: path to SHA-256 (hex) of each of its files."""
    ordered = sorted(files, key=lambda name: name.encode("utf-8"))
    lines = "".join(f"{files[name]}  {name}\n" for name in ordered)
    return hashlib.sha256(lines.encode("utf-8")).hexdigest()


def file_digest(path: Path) -> str:
    """Return the SHA-256 (hex) of the file at `path`.

    Raises:
        InputError: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None


def _files(root: Path, folder: Path, without: tuple[str, ...]) -> Iterator[Path]:
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        raise InputError(f"{folder}: cannot be read: {error.strerror or error}") from None
    for path in entries:
        if _is_left_out(path) or (folder == root and path.name in without):
            continue
        mode = path.lstat().st_mode
        if stat.S_ISDIR(mode):
            if not (path / _ENVIRONMENT).exists():
                yield from _files(root, path, without)
        elif not stat.S_ISREG(mode):
            what = "a symbolic link" if stat.S_ISLNK(mode) else "neither a file nor a folder"
            raise InputError(
                f"{path}: this is {what}, whose content no digest of the tree would hold",
                hint="name a folder without it, or a wheel",
            )
        elif path.suffix not in _CACHED:
            yield path


def _is_left_out(path: Path) -> bool:
    name = path.name
    hidden = name.startswith(".")
    return hidden or name in _FOLDERS_LEFT_OUT or name.endswith(_ENDINGS_LEFT_OUT)
