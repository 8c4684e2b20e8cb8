"""Files of SQLite on a simulated disk: what one open file of one connection does.

SQLite reaches its files by a table of functions, its VFS; `sqlite_vfs` hands ours to it. A file
belongs to the disk of the run: its writes and syncs are acts of that disk. A file that was opened
while the subject was loaded is kept in memory, in the image; each run begins with a copy of it.

Locks and the index of a write-ahead log are shared by the connections of one process, and end
with it. Only one process uses the folder of a run, so the system's own locks are not needed.
"""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct, field

from faultclock.sim.host.disk import Disk, current_disk
from faultclock.sim.host.disk_file import open_descriptor
from faultclock.sim.host.disk_state import FileBody, folder_of
from faultclock.sim.host.places import Handle

#: Levels of a lock on a database. https://www.sqlite.org/lockingv3.html, read 2026-11-24
NONE, SHARED, RESERVED, PENDING, EXCLUSIVE = range(5)
#: Slots of the index of a write-ahead log that can be locked.
_SLOTS = 8

_os_open = os.open
_os_close = os.close
_os_ftruncate = os.ftruncate
_os_unlink = os.unlink


class Shared(Struct, eq=False):
    """What the connections of this process share about one database.

    Attributes:
        disk: the run's; None while the subject is loaded.
        files: who has it open.
        regions: the index of the write-ahead log, in memory.
        readers, writers: of each slot: how many have it shared, and who has it alone.
    """

    disk: Disk | None
    files: list[OpenFile] = field(default_factory=list)
    regions: list[ctypes.Array[ctypes.c_char]] = field(default_factory=list)
    readers: list[list[OpenFile]] = field(default_factory=lambda: [[] for _ in range(_SLOTS)])
    writers: list[OpenFile | None] = field(default_factory=lambda: [None] * _SLOTS)

    def others(self, asking: OpenFile) -> list[OpenFile]:
        """Return the other files that are open on the database."""
        return [file for file in self.files if file is not asking]


#: Name below a run's folder to the content that was there when the subject was loaded.
image: dict[str, FileBody] = {}
#: Names of the image that were there once: what the system has below them does not show again.
_met: set[str] = set()
#: Says the names of paths while a subject is loaded.
_name_when_loading: Callable[[str], str | None] | None = None
#: Name to what is shared about it.
_shared: dict[str, Shared] = {}


def shared_of(name: str, disk: Disk | None) -> Shared:
    """Return what is shared about a database now; another run begins without locks and index."""
    found = _shared.get(name)
    if found is None or found.disk is not disk:
        lasting = [] if found is None else [file for file in found.files if file.lasts]
        # Only what such a file has mapped goes on: of the rest, files that nothing can use any
        # more may still have the addresses.
        regions = [] if found is None or not any(file.mapped for file in lasting) else found.regions
        for region in regions:
            # A process that starts finds no index: it is made of the log again.
            ctypes.memset(region, 0, len(region))
        found = _shared[name] = Shared(disk=disk, files=lasting, regions=regions)
    return found


class OpenFile(Struct, eq=False, kw_only=True):
    """A database, a journal or a log that one connection has open.

    Attributes:
        name: below the folder; empty: a temporary file, which is only in memory.
        flags: of `os.open`.
        lasts: it was opened while the subject was loaded, so every life begins with it.
        syncs_folder: its first sync is one of its folder, too.
        deletes: it is removed when it is closed.
        level: of the lock that this connection has.
        mapped: the parts of the index whose addresses this connection has.
    """

    name: str
    flags: int
    lasts: bool = False
    syncs_folder: bool = False
    deletes: bool = False
    level: int = NONE
    mapped: list[ctypes.Array[ctypes.c_char]] = field(default_factory=list)
    _body: FileBody = field(default_factory=FileBody)
    _disk: Disk | None = None
    _handle: Handle | None = None

    # ------------------------------------------------------------------ the file

    def open(self) -> None:
        """Open or make the file.

        Raises:
            OSError: it is not there, or the disk refuses.
        """
        if not self.name:
            return
        disk = current_disk()
        if disk is None:
            self.lasts = True
            if self.name not in image and not self.flags & os.O_CREAT:
                raise FileNotFoundError(self.name)
            self._body = image.setdefault(self.name, self._body)
        else:
            self._attach(disk)
        shared_of(self.name, disk).files.append(self)

    def _attach(self, disk: Disk) -> None:
        path = disk.path(self.name)
        fd = open_descriptor(
            disk, self.name, self.flags, path, lambda: _os_open(path, self.flags, 0o644)
        )
        self._disk, self._handle = disk, disk.handles[fd]

    def _here(self) -> tuple[Disk | None, FileBody]:
        """Return the disk that the file is on now, and its content.

        Raises:
            OSError: the life is over in which the file was opened.
        """
        disk = self._alive()
        if not self.name or disk is None:
            return None, self._body
        if disk is not self._disk:
            # A life began: what was opened while the subject was loaded is opened in it.
            self.flags = (self.flags | os.O_CREAT) & ~os.O_EXCL
            self._attach(disk)
        assert self._handle is not None
        assert self._handle.body is not None
        return disk, self._handle.body

    def _alive(self) -> Disk | None:
        disk = current_disk()
        if self.name and not self.lasts and disk is not self._disk:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        return disk

    def close(self) -> None:
        """Let the file go."""
        shared = _shared.get(self.name)
        if shared is not None and self in shared.files:
            shared.files.remove(self)
        if self._handle is not None and self._disk is not None:
            if self._disk.handles.pop(self._handle.fd, None) is not None:
                _os_close(self._handle.fd)
            self._handle = None
        if self.deletes and self.name and current_disk() is self._disk:
            delete(self.name, syncs_folder=False)

    def read(self, offset: int, size: int) -> bytes:
        """Return what is there, which may be less than `size`."""
        _, body = self._here()
        return bytes(body.now[offset : offset + size])

    def write(self, offset: int, data: bytes) -> int:
        """Write, and return how many bytes found their place."""
        disk, body = self._here()
        if disk is None:
            body.change(offset, data)
            body.settle()
            return len(data)
        assert self._handle is not None
        return disk.write(self._handle, data, offset)

    def truncate(self, length: int) -> None:
        """Cut the file."""
        disk, body = self._here()
        if disk is None:
            body.change(length, None)
            body.settle()
            return
        handle = self._handle
        assert handle is not None
        disk.truncate(handle, length, lambda: _os_ftruncate(handle.fd, length))

    def sync(self) -> None:
        """Make the content durable, and the name of a new file."""
        disk, _ = self._here()
        if disk is None:
            return
        assert self._handle is not None
        disk.sync(self._handle)
        if self.syncs_folder:
            self.syncs_folder = False
            _sync_folder(disk, self.name)

    def size(self) -> int:
        """Return its length in bytes."""
        return len(self._here()[1].now)

    # ------------------------------------------------------------------ locks

    def lock(self, level: int) -> bool:
        """Raise the lock to `level`; return False where another connection is in the way."""
        if not self.name or self.level >= level:
            return True
        others = shared_of(self.name, self._alive()).others(self)
        if level == SHARED:
            free = all(file.level < PENDING for file in others)
        elif level == RESERVED:
            free = all(file.level < RESERVED for file in others)
        else:
            if any(file.level >= RESERVED for file in others):
                return False
            # No further reader comes; those that are there may end.
            free = all(file.level == NONE for file in others)
            self.level = max(self.level, PENDING)
        if free:
            self.level = level
        return free

    def unlock(self, level: int) -> None:
        """Lower the lock to `level`."""
        self.level = min(self.level, level)

    def is_reserved(self) -> bool:
        """Return whether any connection is about to write."""
        if not self.name:
            return False
        shared = shared_of(self.name, self._alive())
        return any(file.level >= RESERVED for file in (self, *shared.others(self)))

    # ------------------------------------------------------------------ the index of the log

    def region(self, number: int, size: int, *, extend: bool) -> ctypes.Array[ctypes.c_char] | None:
        """Return a part of the index; None where it is not there yet."""
        regions = shared_of(self.name, self._alive()).regions
        while extend and len(regions) <= number:
            regions.append(ctypes.create_string_buffer(size))
        if number >= len(regions):
            return None
        self.mapped.append(regions[number])
        return regions[number]

    def lock_slots(self, first: int, count: int, *, lock: bool, alone: bool) -> bool:
        """Lock or unlock slots of the index; return False where another is in the way."""
        shared = shared_of(self.name, self._alive())
        slots = range(first, first + count)
        for slot in slots:
            if not lock:
                continue
            if shared.writers[slot] not in (None, self):
                return False
            if alone and any(reader is not self for reader in shared.readers[slot]):
                return False
        for slot in slots:
            readers = shared.readers[slot]
            if lock and alone:
                shared.writers[slot] = self
            elif lock:
                readers.append(self)
            else:
                if shared.writers[slot] is self:
                    shared.writers[slot] = None
                readers[:] = [reader for reader in readers if reader is not self]
        return True

    def drop_index(self) -> None:
        """Let the index go with the last connection."""
        self.mapped.clear()
        shared = _shared.get(self.name)
        if shared is not None and self in shared.files and not shared.others(self):
            shared.regions.clear()


# ---------------------------------------------------------------------- names


def exists(name: str) -> bool:
    """Return whether a file has this name."""
    disk = current_disk()
    return name in image if disk is None else name in disk.state


def is_empty(name: str) -> bool:
    """Return whether a file that is there has no content."""
    disk = current_disk()
    body = image.get(name) if disk is None else disk.state.names.get(name)
    return body is None or not body.now


def bring(path: str) -> str | None:
    """Return the name in the image of a path; a file of the system is copied there."""
    name = None if _name_when_loading is None else _name_when_loading(path)
    if name is None or name in _met:
        return name
    _met.add(name)
    try:
        content = Path(path).read_bytes()
    except OSError:
        return name
    image[name] = FileBody(now=bytearray(content), durable=bytearray(content))
    return name


def is_loading() -> bool:
    """Return whether a subject is being loaded."""
    return _name_when_loading is not None


@contextmanager
def loading(name_of: Callable[[str], str | None]) -> Iterator[None]:
    """Keep every database that is opened meanwhile in the image.

    Args:
        name_of: the name below a run's folder of a path; None where it cannot be there.
    """
    global _name_when_loading
    _name_when_loading = name_of
    try:
        yield
    finally:
        _name_when_loading = None


def met_in_image() -> frozenset[str]:
    """Return every name that was ever in the image."""
    return frozenset((*image, *_met))


def delete(name: str, *, syncs_folder: bool) -> None:
    """Remove a file.

    Raises:
        FileNotFoundError: there is none.
        OSError: the disk refuses.
    """
    disk = current_disk()
    if not exists(name):
        raise FileNotFoundError(name)
    if disk is None:
        del image[name]
        return
    path = disk.path(name)

    def perform() -> None:
        _os_unlink(path)
        disk.state.drop(name)
        disk.stamp(folder_of(name))

    disk.act("unlink", name, perform)
    if syncs_folder:
        _sync_folder(disk, name)


def _sync_folder(disk: Disk, name: str) -> None:
    folder = folder_of(name)
    perform: Callable[[], None] = lambda: disk.state.sync_folder(folder)  # noqa: E731
    disk.act("fsync", folder, perform)
