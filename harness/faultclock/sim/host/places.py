"""Places: which file of a run's folder a path means, and what is open there.

Paths of the system are translated by the `overlay`, where the run has one. What shows through from
beneath is copied into the folder before it is changed.
"""

# ruff: noqa: PTH100, PTH112, PTH117, PTH118 - at every call of a patch, where pathlib is slow

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct

from faultclock.sim.host.disk_state import DiskState, FileBody, folder_of
from faultclock.sim.host.overlay import Overlay

# The functions of the real system, bound before anything replaces them.
_lstat = os.lstat
_mkdir = os.mkdir


class Handle(Struct):
    """An open file or folder.

    Attributes:
        fd: its real descriptor.
        body: None for a folder.
        appends: whether each write goes to the end.
        syncs: whether each write is durable at once.
        writable: whether it was opened to be written.
    """

    fd: int
    name: str
    body: FileBody | None
    appends: bool = False
    syncs: bool = False
    writable: bool = False


class Places:
    """The files of a run's folder, by their paths.

    Args:
        root: the private folder, with all symbolic links resolved.
        state: what is in it.
        overlay: how other paths lead into it; None: they do not.

    Attributes:
        handles: real descriptor to what is open.
        inside: the harness itself is at work: patches look away.
    """

    def __init__(self, root: Path, state: DiskState, overlay: Overlay | None) -> None:
        self.root = str(root)
        self.state = state
        self.overlay = overlay
        self.handles: dict[int, Handle] = {}
        self.inside = False

    @contextmanager
    def own_work(self) -> Iterator[None]:
        """Reach the real files without being seen."""
        before, self.inside = self.inside, True
        try:
            yield
        finally:
            self.inside = before

    def named(self, path: Any, dir_fd: int | None = None) -> str | None:
        """Return the name of `path` below the folder, "" for the folder; None if it is outside."""
        try:
            text = os.fsdecode(path)
        except TypeError:
            return None
        if dir_fd is not None and not os.path.isabs(text):
            handle = self.handles.get(dir_fd)
            if handle is None:
                return None
            text = os.path.join(self.root, handle.name, text)
        whole = os.path.abspath(text)
        if self.overlay is not None:
            return self.overlay.name_of(whole)
        if whole == self.root:
            return ""
        return whole[len(self.root) + 1 :] if whole.startswith(f"{self.root}{os.sep}") else None

    def path(self, name: str) -> str:
        """Return the real path of a name."""
        return os.path.join(self.root, name) if name else self.root

    def reach(self, path: Any, name: str, dir_fd: int | None = None) -> Any:
        """Return the path by which the real system changes `name`.

        It is `path` itself, unless that leads elsewhere without us. What shows through there is
        copied first.

        Args:
            dir_fd: the folder that `path` is relative to, where it is.
        """
        if self.overlay is None or dir_fd is not None:
            return path
        self.bring(name)
        is_within = self.overlay.within(os.path.abspath(os.fsdecode(path))) is not None
        return path if is_within else self.path(name)

    def is_led(self, path: str) -> bool:
        """Return whether what is written at `path` is led into the folder from elsewhere."""
        return self.overlay is not None and self.overlay.within(os.path.abspath(path)) is None

    def look(self, path: Any) -> Any:
        """Return the path at which the real system has what `path` shows."""
        if self.overlay is None or not isinstance(path, (str, bytes, os.PathLike)):
            return path
        whole = os.path.abspath(os.fsdecode(path))
        name = self.overlay.name_of(whole)
        if name is None:
            return path
        is_within = self.overlay.within(whole) is not None
        if name in self.state or name in self.state.met_names:
            return path if is_within else self.path(name)
        beneath = self.beneath(name) if is_within else None
        return path if beneath is None else beneath

    def beneath(self, name: str) -> str | None:
        """Return the path of what shows through at a name; None where nothing does."""
        if self.overlay is None or name in self.state.met_names:
            return None
        path = self.overlay.beneath(name)
        try:
            _lstat(path or "")
        except OSError:
            return None
        return path

    def folder_beneath(self, name: str) -> str | None:
        """Return the folder of the system that shows through one that is in the folder."""
        if self.overlay is None or name not in self.state:
            return None
        path = self.overlay.beneath(name)
        with self.own_work():
            return path if path is not None and os.path.isdir(path) else None

    def bring(self, name: str) -> None:
        """Copy what shows through at a name into the folder, and the folders around it."""
        if self.overlay is None or name in self.state:
            return
        missing, at = [name], folder_of(name)
        while at not in self.state:
            missing.append(at)
            at = folder_of(at)
        for part in reversed(missing):
            found = self.beneath(part)
            if found is None:
                return
            with self.own_work():
                self._copy(part, found)

    def _copy(self, name: str, found: str) -> None:
        if os.path.isdir(found):
            _mkdir(self.path(name))
            self.state.keep(name, None)
            return
        try:
            content = Path(found).read_bytes()
        except OSError:
            # No plain file, or none of the subject's to read: the system says so when it is used.
            return
        Path(self.path(name)).write_bytes(content)
        self.state.edit(name, content)
