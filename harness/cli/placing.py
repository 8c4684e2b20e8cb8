"""Adds files to a person's project, all of them or none, and never replaces one.

What is there already is found before anything is written. What fails later, a full disk or a file
that somebody else made meanwhile, is undone: what was made is taken away again, folders included.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from harness.errors import InputError

__all__ = ["add_all", "check_absent"]


def check_absent(root: Path, paths: Iterable[str], *, instead: Mapping[str, str]) -> None:
    """Check that no file of `paths`, which are relative to `root`, is there.

    Args:
        root: folder of the project; it need not be there.
        paths: of files, with `/`.
        instead: path to what else can be done, if it is there.

    Raises:
        InputError: some are, and all of them are named; or a folder cannot be made.
    """
    found = [path for path in paths if os.path.lexists(root / path)]
    if found:
        names = ", ".join(str(root / path) for path in found)
        are = "this file is" if len(found) == 1 else "these files are"
        others = [instead[path] for path in found if path in instead]
        raise InputError(
            f"{names}: {are} there already, and nothing was written",
            hint="; or ".join(
                ["move it away first" if len(found) == 1 else "move them away first", *others]
            ),
        )
    for path in paths:
        for folder in (root / path).parents:
            if os.path.lexists(folder):
                if not folder.is_dir():
                    raise InputError(f"{folder}: a file is where the folder should be")
                if not os.access(folder, os.W_OK | os.X_OK):
                    raise InputError(f"{folder}: cannot be written: permission denied")
                break


def add_all(root: Path, texts: Mapping[str, str], *, appended: tuple[Path, str] | None) -> None:
    """Write each text to its path below `root`, then append a text to a file that is there.

    Args:
        root: folder that the paths are relative to; it is made where it is not there.
        texts: UTF-8 text by path.
        appended: file and text. It comes last: until then nothing is that cannot be undone.

    Raises:
        InputError: something cannot be written; then nothing is.
    """
    made: list[Path] = []
    path = root
    try:
        for name, text in texts.items():
            path = root / name
            _make_folders(path.parent, made)
            with path.open("xb") as file:
                made.append(path)
                file.write(text.encode("utf-8"))
        if appended is not None:
            path, text = appended
            _append(path, text.encode("utf-8"))
    except OSError as error:
        _undo(made)
        raise InputError(
            f"{path}: cannot be written: {error.strerror or error}", hint="nothing was written"
        ) from None
    except BaseException:
        _undo(made)
        raise


def _make_folders(folder: Path, made: list[Path]) -> None:
    missing = [item for item in (folder, *folder.parents) if not item.is_dir()]
    for item in reversed(missing):
        item.mkdir()
        made.append(item)


def _append(path: Path, content: bytes) -> None:
    """Append in place: the file keeps its owner, its mode and its links."""
    with path.open("r+b", buffering=0) as file:
        size = file.seek(0, os.SEEK_END)
        try:
            written = file.write(content)
            if written != len(content):
                raise OSError(None, "the disk is full")
        except BaseException:
            file.truncate(size)
            raise


def _undo(made: list[Path]) -> None:
    for path in reversed(made):
        with suppress(OSError):
            if path.is_dir():
                path.rmdir()
            else:
                path.unlink()
