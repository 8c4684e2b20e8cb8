"""Looking at files: names come in their own order, and from where a run has them.

The order that a file system has differs between machines, and so would a trace. In a run whose
folder is laid over the files of the system, a path is looked at where its file is: in the folder,
or beneath it.
"""

# ruff: noqa: PTH100, PTH118 - the replaced functions are those of os

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Iterator
from typing import Any

from faultclock.sim.host.disk import Disk, current_disk
from faultclock.sim.patches.files import as_given, optional
from faultclock.sim.patches.registry import Patch, named_like

_scandir = os.scandir
_listdir = os.listdir


# ---------------------------------------------------------------------- lists


def _make_listdir(original: Callable[..., Any]) -> Callable[..., Any]:
    def listdir(path: Any = ".") -> Any:
        disk = current_disk()
        if disk is None or isinstance(path, int) or path is None:
            return original(path)
        with as_given(path, at := disk.look(path)):
            found = original(at)
        name = disk.named(path)
        if name is None:
            return found
        below = disk.folder_beneath(name)
        if below is not None:
            more = {item for item in _listdir(below) if _shows(disk, name, item)}
            found += [os.fsencode(item) if isinstance(path, bytes) else item for item in more]
        if name in disk.state or disk.overlay is not None:
            found.sort()
        return found

    return named_like(listdir, original)


def _shows(disk: Disk, folder: str, item: str) -> bool:
    name = f"{folder}/{item}" if folder else item
    return name not in disk.state and name not in disk.state.met_names


class _Entry:
    """An entry of `os.scandir` whose path is the one that was asked for."""

    def __init__(self, entry: Any, folder: Any) -> None:
        self._entry = entry
        self.name = entry.name
        self.path = os.path.join(os.fspath(folder), entry.name)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._entry, name)

    def __fspath__(self) -> Any:
        return self.path

    def __repr__(self) -> str:
        return f"<DirEntry {self.name!r}>"


class _Entries:
    """What `os.scandir` returns, sorted."""

    def __init__(self, entries: list[Any]) -> None:
        self._entries = iter(sorted(entries, key=lambda entry: entry.name))

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return next(self._entries)

    def __enter__(self) -> _Entries:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End it."""
        self._entries = iter(())


def _make_scandir(original: Callable[..., Any]) -> Callable[..., Any]:
    def scandir(path: Any = ".") -> Any:
        disk = current_disk()
        if disk is None or path is None:
            return original(path)
        if isinstance(path, int):
            entries = original(path)
            return _Entries(_all_of(entries)) if path in disk.handles else entries
        name = disk.named(path)
        if name is None:
            return original(path)
        with as_given(path, at := disk.look(path)):
            found = _all_of(original(at))
        below = disk.folder_beneath(name)
        if below is not None:
            at = below
            found += [entry for entry in _all_of(_scandir(below)) if _shows(disk, name, entry.name)]
        return _Entries(found if at is path else [_Entry(entry, path) for entry in found])

    return named_like(scandir, original)


def _all_of(entries: Any) -> list[Any]:
    with entries:
        return list(entries)


# ---------------------------------------------------------------------- single files


def _placed(where: Callable[[Disk, Any], Any]) -> Callable[[Any], Any]:
    """Make a replacement that takes its first argument to be where the run has it."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def replacement(path: Any, *args: Any, **options: Any) -> Any:
            disk = current_disk()
            if disk is None or disk.overlay is None or options.get("dir_fd") is not None:
                return original(path, *args, **options)
            with as_given(path, at := where(disk, path)):
                return original(at, *args, **options)

        return named_like(replacement, original)

    return make


def _to_mark(disk: Disk, path: Any) -> Any:
    """Return where a file is whose content stays, and of which the system is to say otherwise."""
    name = None if isinstance(path, int) else disk.named(path)
    return path if name is None else disk.reach(path, name)


# ---------------------------------------------------------------------- where it all is


def _shown(disk: Disk | None, path: str) -> str:
    """Return a path as the subject sees it."""
    within = None if disk is None or disk.overlay is None else disk.overlay.within(path)
    if disk is None or disk.overlay is None or within is None:
        return path
    return os.path.join(disk.overlay.shown, within) if within else disk.overlay.shown


def _make_getcwd(original: Callable[[], str]) -> Callable[[], str]:
    return named_like(lambda: _shown(current_disk(), original()), original)


def _make_getcwdb(original: Callable[[], bytes]) -> Callable[[], bytes]:
    def getcwdb() -> bytes:
        return os.fsencode(_shown(current_disk(), os.fsdecode(original())))

    return named_like(getcwdb, original)


def _make_realpath(original: Callable[..., Any]) -> Callable[..., Any]:
    """There are no links in the folder, but its own path may lead over some."""

    def realpath(filename: Any, *, strict: bool = False) -> Any:
        disk = current_disk()
        if disk is not None and disk.overlay is not None:
            whole = os.path.abspath(os.fspath(filename))
            text = os.fsdecode(whole)
            if disk.overlay.within(text) is not None:
                if strict:
                    os.lstat(text)
                shown = _shown(disk, text)
                return os.fsencode(shown) if isinstance(whole, bytes) else shown
        return original(filename, strict=strict)

    return named_like(realpath, original)


_looking, _marking = _placed(Disk.look), _placed(_to_mark)

PATCHES: tuple[Patch, ...] = (
    Patch(os, "listdir", _make_listdir),
    Patch(os, "scandir", _make_scandir),
    *(Patch(os, name, _looking) for name in ("stat", "lstat", "access", "readlink", "chdir")),
    *(
        patch
        for name in ("statvfs", "getxattr", "listxattr")
        for patch in optional(os, name, _looking)
    ),
    *(
        patch
        for name in ("chmod", "chown", "lchown", "utime", "setxattr", "removexattr")
        for patch in optional(os, name, _marking)
    ),
    Patch(os, "getcwd", _make_getcwd),
    Patch(os, "getcwdb", _make_getcwdb),
    Patch(posixpath, "realpath", _make_realpath),
)
