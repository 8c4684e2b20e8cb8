"""Opening files on a simulated disk: descriptors, and the file objects that `open` returns.

The objects are what the library makes too: a raw file below a buffer below a text layer. Only
the raw file is ours, and only what it changes goes through the Disk; reading is the real thing.
"""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Callable
from functools import partial
from typing import Any

from faultclock.sim.host.disk import Disk
from faultclock.sim.host.disk_state import FileBody, folder_of
from faultclock.sim.host.places import Handle

#: Bytes that a buffered file collects before it writes. Real buffers follow the block size of the
#: file system, and the number of writes would differ between machines.
BUFFER_BYTES = 8_192

_os_open = os.open
_os_close = os.close
_os_ftruncate = os.ftruncate

_SYNC_FLAGS = os.O_SYNC | getattr(os, "O_DSYNC", 0)
#: Ways to open that leave a file without a name, or without the page cache.
_REFUSED_FLAGS = {"O_TMPFILE": getattr(os, "O_TMPFILE", 0), "O_DIRECT": getattr(os, "O_DIRECT", 0)}


class DiskFile(io.FileIO):
    """A raw file on a simulated disk."""

    def __init__(self, disk: Disk, handle: Handle, mode: str, name: Any, *, closefd: bool) -> None:
        with disk.own_work():
            super().__init__(handle.fd, mode, closefd)
        self._disk = disk
        self._handle = handle
        self.name = name if isinstance(name, int) else os.fspath(name)

    def write(self, data: Any, /) -> int:
        """Write through the disk; a process that is dead changes nothing."""
        if self.closed or not self.writable():
            return super().write(data)
        whole = bytes(data)
        return len(whole) if self._disk.dead else self._disk.write(self._handle, whole)

    def truncate(self, size: int | None = None, /) -> int:
        """Cut the file through the disk."""
        if self.closed or not self.writable():
            return super().truncate(size)
        length = self.tell() if size is None else size
        if not self._disk.dead:
            self._disk.truncate(
                self._handle, length, lambda: _os_ftruncate(self._handle.fd, length)
            )
        return length

    def close(self) -> None:
        """Close, and forget the descriptor."""
        if not self.closed and self.closefd:
            self._disk.handles.pop(self._handle.fd, None)
        super().close()


def open_descriptor(disk: Disk, name: str, flags: int, path: Any, really: Callable[[], int]) -> int:
    """Open `name` and return its descriptor, which the disk knows from now on.

    Args:
        path: as the subject named it, for errors.
        really: opens it in the real folder.
    """
    body = disk.state.names.get(name)
    writable = bool(flags & (os.O_WRONLY | os.O_RDWR))
    shown = os.fsdecode(path)
    if name not in disk.state and flags & os.O_CREAT and disk.state.is_folder(folder_of(name)):
        body = FileBody()
        fd = _changed(disk, "create", name, partial(disk.state.add, name, body), really, shown)
    elif body is None:
        # A folder, or nothing at all: the system's own answer is the right one.
        fd = disk.really(really)
    elif flags & os.O_CREAT and flags & os.O_EXCL:
        fd = disk.really(really)
    else:
        if not flags & os.O_WRONLY:
            disk.reading(name, shown)
        if flags & os.O_TRUNC and writable and body.now:
            fd = _changed(disk, "truncate", name, partial(body.change, 0, None), really, shown)
        else:
            fd = disk.really(really)
    disk.handles[fd] = Handle(
        fd=fd,
        name=name,
        body=body,
        appends=bool(flags & os.O_APPEND),
        syncs=bool(flags & _SYNC_FLAGS),
        writable=writable,
    )
    return fd


def refused_flag(flags: int) -> str | None:
    """Return the name of a flag that cannot be simulated, None where there is none."""
    return next(
        (name for name, bits in _REFUSED_FLAGS.items() if bits and flags & bits == bits), None
    )


def _changed(
    disk: Disk,
    act: str,
    name: str,
    change: Callable[[], object],
    really: Callable[[], int],
    shown: str,
) -> int:
    def perform() -> int:
        fd = really()
        change()
        disk.stamp(name)
        return fd

    return int(disk.act(act, name, perform, path=shown))


def open_file(
    disk: Disk,
    handle: Handle,
    file: Any,
    mode: str,
    buffering: int,
    encoding: str | None,
    errors: str | None,
    newline: str | None,
    *,
    closefd: bool = True,
) -> Any:
    """Do what `open` does, for a file on the disk whose descriptor is open.

    Args:
        file: what `open` was given: a path, or the descriptor.
        mode: a valid one.
    """
    binary = "b" in mode
    raw_mode = "".join(letter for letter in mode if letter not in "bt")
    if binary and any(item is not None for item in (encoding, errors, newline)):
        raise ValueError("binary mode doesn't take an encoding, errors or newline argument")
    if buffering == 0 and not binary:
        raise ValueError("can't have unbuffered text I/O")
    if handle.body is None:
        disk.handles.pop(handle.fd, None)
        _os_close(handle.fd)
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), file)
    # The descriptor is open already: to make the file anew would cut it a second time.
    opened = {"w": "w", "x": "w", "a": "a", "r": "r"}[raw_mode.replace("+", "")[:1] or "r"]
    raw = DiskFile(disk, handle, opened + ("+" if "+" in raw_mode else ""), file, closefd=closefd)
    if buffering == 0:
        return raw
    size = buffering if buffering > 1 else BUFFER_BYTES
    buffer: Any
    if "+" in raw_mode:
        buffer = io.BufferedRandom(raw, size)
    elif opened == "r":
        buffer = io.BufferedReader(raw, size)
    else:
        buffer = io.BufferedWriter(raw, size)
    if binary:
        return buffer
    text = io.TextIOWrapper(buffer, encoding, errors, newline, line_buffering=buffering == 1)
    text.mode = mode  # type: ignore[misc]
    return text


def flags_of(mode: str) -> int:
    """Return the flags of `os.open` for a valid mode of `open`."""
    raw_mode = "".join(letter for letter in mode if letter not in "bt")
    reads_and_writes = "+" in raw_mode
    kind = raw_mode.replace("+", "")
    access = os.O_RDWR if reads_and_writes else os.O_RDONLY if kind == "r" else os.O_WRONLY
    extra = {
        "r": 0,
        "w": os.O_CREAT | os.O_TRUNC,
        "x": os.O_CREAT | os.O_EXCL,
        "a": os.O_CREAT | os.O_APPEND,
    }[kind]
    return access | extra | getattr(os, "O_CLOEXEC", 0)
