"""Adds files to a person's project, all of them or none, and replaces only what it is asked to.

What is there already is found before anything is written. What fails later, a full disk or a file
that another program made meanwhile, is undone: what was made is taken away again, folders included,
and what was replaced is there again.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from faultclock.errors import InputError


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


def add_all(
    root: Path,
    texts: Mapping[str, str],
    *,
    appended: tuple[Path, str] | None,
    replaced: Collection[str] = (),
) -> None:
    """Write each text to its path below `root`, then append a text to a file that is there.

    Args:
        root: folder that the paths are relative to; it is made where it is not there.
        texts: UTF-8 text by path.
        appended: file and text. It comes last: until then nothing is that cannot be undone.
        replaced: those of the paths at which a file may be, which is then replaced.

    Raises:
        InputError: something cannot be written; then nothing is.
    """
    made: list[Path] = []
    before: dict[Path, bytes] = {}
    path = root
    try:
        for name, text in texts.items():
            path = root / name
            if name in replaced and path.is_file():
                kept = path.read_bytes()
                _swap(path, text.encode("utf-8"))
                before[path] = kept
                continue
            _make_folders(path.parent, made)
            with path.open("xb") as file:
                made.append(path)
                file.write(text.encode("utf-8"))
        if appended is not None:
            path, text = appended
            _append(path, text.encode("utf-8"))
    except OSError as error:
        _undo(made, before)
        raise InputError(
            f"{path}: cannot be written: {error.strerror or error}", hint="nothing was written"
        ) from None
    except BaseException:
        _undo(made, before)
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


def _swap(path: Path, content: bytes) -> None:
    """Replace a file in one step; it keeps its mode, and a link to it keeps leading to it."""
    target = Path(os.path.realpath(path))
    draft = target.with_name(f".{target.name[:100]}.{os.getpid()}.tmp")
    try:
        draft.write_bytes(content)
        shutil.copymode(target, draft)
        draft.replace(target)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise


def _undo(made: list[Path], before: Mapping[Path, bytes]) -> None:
    for path, content in before.items():
        with suppress(OSError):
            _swap(path, content)
    for path in reversed(made):
        with suppress(OSError):
            if path.is_dir():
                path.rmdir()
            else:
                path.unlink()
