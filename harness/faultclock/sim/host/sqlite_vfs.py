"""SQLite in a simulated world: the table of functions by which its C code reaches the system.

SQLite asks a VFS for files, locks, sleep, time and entropy (https://www.sqlite.org/vfs.html, read
2026-11-24). Ours becomes the usual one of the process. On a simulated thread it gives the disk, the
clock and the entropy of the run; while a subject is loaded it gives the image. Everywhere else it
hands the question to the real one, whose files then have nothing to do with us.

A Python exception cannot pass through C. What a file raises becomes a code of SQLite, and a run
that has ended raises again at the next thing that the subject does.
"""

from __future__ import annotations

import _sqlite3
import ctypes
import errno
import hashlib
import os
import sqlite3
from collections.abc import Callable
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_double, c_int, c_int64, c_void_p
from functools import wraps
from typing import Any

from msgspec import Struct

from faultclock.sim.host.disk import current_disk
from faultclock.sim.host.sqlite_files import (
    OpenFile,
    bring,
    delete,
    exists,
    is_empty,
    is_loading,
)
from faultclock.sim.kernel.actors import current
from faultclock.sim.kernel.escapes import refuse

#: Result codes and flags of SQLite. https://www.sqlite.org/rescode.html, read 2026-11-24
_OK, _BUSY, _NOMEM, _IOERR, _NOTFOUND, _FULL, _CANTOPEN = 0, 5, 7, 10, 12, 13, 14
_SHORT_READ = _IOERR | (2 << 8)
_DELETE_NOENT = _IOERR | (23 << 8)
_OPEN_READONLY, _OPEN_CREATE, _OPEN_DELETE, _OPEN_EXCLUSIVE = 0x1, 0x4, 0x8, 0x10
#: A new journal, of a transaction over several databases or not, or a new write-ahead log.
_OPEN_JOURNALS = 0x800 | 0x4000 | 0x80000
_SHM_UNLOCK, _SHM_LOCK, _SHM_EXCLUSIVE = 1, 2, 8
_POWERSAFE_OVERWRITE = 0x1000
#: Version of the VFS from which on it has `time64`.
_TIME64_SINCE = 2
_SECTOR_BYTES = 4_096
_PATH_MAX = 1_024
#: 1970-01-01 as SQLite counts time: milliseconds since noon of -4713-11-24.
_EPOCH_MS = 210_866_760_000_000
_DAY_MS = 86_400_000

_DRAWN = "sqlite_random"


class _Methods(Structure):
    """sqlite3_io_methods."""


class _File(Structure):
    """sqlite3_file, with the number of ours behind it."""

    _fields_ = (("methods", POINTER(_Methods)), ("number", c_int64))


class _Vfs(Structure):
    """sqlite3_vfs."""


_file_p, _vfs_p, _int_p = POINTER(_File), POINTER(_Vfs), POINTER(c_int)
_XOpen = CFUNCTYPE(c_int, _vfs_p, c_void_p, _file_p, c_int, _int_p)
_XDelete = CFUNCTYPE(c_int, _vfs_p, c_char_p, c_int)
_XAccess = CFUNCTYPE(c_int, _vfs_p, c_char_p, c_int, _int_p)
_XFull = CFUNCTYPE(c_int, _vfs_p, c_char_p, c_int, c_void_p)
_XRandomness = CFUNCTYPE(c_int, _vfs_p, c_int, c_void_p)
_XSleep = CFUNCTYPE(c_int, _vfs_p, c_int)
_XTime = CFUNCTYPE(c_int, _vfs_p, POINTER(c_double))
_XTime64 = CFUNCTYPE(c_int, _vfs_p, POINTER(c_int64))

_Vfs._fields_ = [
    ("version", c_int),
    ("file_size", c_int),
    ("path_max", c_int),
    ("next", c_void_p),
    ("name", c_char_p),
    ("data", c_void_p),
    ("open", _XOpen),
    ("delete", _XDelete),
    ("access", _XAccess),
    ("full_path", _XFull),
    *((name, c_void_p) for name in ("dl_open", "dl_error", "dl_sym", "dl_close")),
    ("randomness", _XRandomness),
    ("sleep", _XSleep),
    ("time", _XTime),
    ("last_error", c_void_p),
    ("time64", _XTime64),
    *((name, c_void_p) for name in ("set_call", "get_call", "next_call")),
]

_Of1 = CFUNCTYPE(c_int, _file_p)
_OfInt = CFUNCTYPE(c_int, _file_p, c_int)
_OfBytes = CFUNCTYPE(c_int, _file_p, c_void_p, c_int, c_int64)
_OfLength = CFUNCTYPE(c_int, _file_p, c_int64)
_OfSize = CFUNCTYPE(c_int, _file_p, POINTER(c_int64))
_OfFlag = CFUNCTYPE(c_int, _file_p, _int_p)
_OfControl = CFUNCTYPE(c_int, _file_p, c_int, c_void_p)
_OfMap = CFUNCTYPE(c_int, _file_p, c_int, c_int, c_int, POINTER(c_void_p))
_OfSlots = CFUNCTYPE(c_int, _file_p, c_int, c_int, c_int)
_OfNothing = CFUNCTYPE(None, _file_p)

_Methods._fields_ = [
    ("version", c_int),
    ("close", _Of1),
    ("read", _OfBytes),
    ("write", _OfBytes),
    ("truncate", _OfLength),
    ("sync", _OfInt),
    ("size", _OfSize),
    ("lock", _OfInt),
    ("unlock", _OfInt),
    ("is_reserved", _OfFlag),
    ("control", _OfControl),
    ("sector", _Of1),
    ("traits", _Of1),
    ("shm_map", _OfMap),
    ("shm_lock", _OfSlots),
    ("shm_barrier", _OfNothing),
    ("shm_unmap", _OfInt),
]

#: Number of each file of ours that is open, to the file.
_files: dict[int, OpenFile] = {}
_numbers = iter(range(1, 2**62))


def _answers(otherwise: int) -> Callable[[Callable[..., int | None]], Callable[..., int]]:
    """Make what SQLite may call of a method: None is success, and what is raised is a code."""

    def make(method: Callable[..., int | None]) -> Callable[..., int]:
        @wraps(method)
        def answer(*args: Any) -> int:
            try:
                return method(*args) or _OK
            except MemoryError:
                return _NOMEM
            except OSError as error:
                return _FULL if error.errno == errno.ENOSPC else otherwise
            except BaseException:  # noqa: BLE001 - the end of the run, which is raised again
                return otherwise

        return answer

    return make


# ---------------------------------------------------------------------- files


def _of(file: Any) -> OpenFile:
    return _files[file.contents.number]


@_answers(_IOERR)
def _close(file: Any) -> None:
    _files.pop(file.contents.number).close()


@_answers(_IOERR | (1 << 8))
def _read(file: Any, into: int, size: int, offset: int) -> int | None:
    data = _of(file).read(offset, size)
    ctypes.memmove(into, data.ljust(size, b"\0"), size)
    return None if len(data) == size else _SHORT_READ


@_answers(_IOERR | (3 << 8))
def _write(file: Any, data: int, size: int, offset: int) -> int | None:
    count = _of(file).write(offset, ctypes.string_at(data, size))
    return None if count == size else _FULL


@_answers(_IOERR | (6 << 8))
def _truncate(file: Any, length: int) -> None:
    _of(file).truncate(length)


@_answers(_IOERR | (4 << 8))
def _sync(file: Any, _flags: int) -> None:
    _of(file).sync()


@_answers(_IOERR | (7 << 8))
def _size(file: Any, size: Any) -> None:
    size[0] = _of(file).size()


@_answers(_IOERR | (15 << 8))
def _lock(file: Any, level: int) -> int | None:
    return None if _of(file).lock(level) else _BUSY


@_answers(_IOERR | (8 << 8))
def _unlock(file: Any, level: int) -> None:
    _of(file).unlock(level)


@_answers(_IOERR | (14 << 8))
def _is_reserved(file: Any, result: Any) -> None:
    result[0] = int(_of(file).is_reserved())


@_answers(_IOERR | (21 << 8))
def _shm_map(file: Any, number: int, size: int, extend: int, result: Any) -> None:
    region = _of(file).region(number, size, extend=bool(extend))
    result[0] = None if region is None else ctypes.addressof(region)


@_answers(_IOERR | (20 << 8))
def _shm_lock(file: Any, first: int, count: int, flags: int) -> int | None:
    free = _of(file).lock_slots(
        first, count, lock=bool(flags & _SHM_LOCK), alone=bool(flags & _SHM_EXCLUSIVE)
    )
    return None if free else _BUSY


@_answers(_IOERR)
def _shm_unmap(file: Any, _delete: int) -> None:
    _of(file).drop_index()


_METHODS = _Methods(
    2,
    _Of1(_close),
    _OfBytes(_read),
    _OfBytes(_write),
    _OfLength(_truncate),
    _OfInt(_sync),
    _OfSize(_size),
    _OfInt(_lock),
    _OfInt(_unlock),
    _OfFlag(_is_reserved),
    _OfControl(lambda _file, _what, _value: _NOTFOUND),
    _Of1(lambda _file: _SECTOR_BYTES),
    _Of1(lambda _file: _POWERSAFE_OVERWRITE),
    _OfMap(_shm_map),
    _OfSlots(_shm_lock),
    _OfNothing(lambda _file: None),
    _OfInt(_shm_unmap),
)


# ---------------------------------------------------------------------- the VFS

_real: Any = None
_registered: _Registered | None = None
#: What was registered before: connections of then may still be open.
_kept: list[_Registered] = []


def _is_ours() -> bool:
    """Return whether files belong to the disk of a run, or to the image."""
    return current_disk() is not None or (is_loading() and current() is None)


def _named(path: str) -> str:
    """Return the name of a path below the folder, brought there if it is only beneath.

    Raises:
        SimEscape: it cannot be there.
    """
    disk = current_disk()
    name = None
    if disk is not None:
        name = disk.named(path)
        if name:
            disk.bring(name)
    else:
        name = bring(path)
    if not name:
        refuse(f"a database at {os.path.basename(path)!r} outside of the run's folder")  # noqa: PTH119
    return name


@_answers(_CANTOPEN)
def _open(_vfs: Any, path: int | None, file: Any, flags: int, out_flags: Any) -> int | None:
    if not _is_ours():
        return int(_real.contents.open(_real, path, file, flags, out_flags))
    file.contents.methods = None
    name = "" if path is None else _named(os.fsdecode(ctypes.string_at(path)))
    access = os.O_RDONLY if flags & _OPEN_READONLY else os.O_RDWR
    access |= os.O_CREAT if flags & _OPEN_CREATE else 0
    access |= os.O_EXCL if flags & _OPEN_EXCLUSIVE else 0
    opened = OpenFile(
        name=name,
        flags=access | os.O_CLOEXEC,
        syncs_folder=bool(flags & _OPEN_CREATE and flags & _OPEN_JOURNALS),
        deletes=bool(flags & _OPEN_DELETE),
    )
    opened.open()
    number = next(_numbers)
    _files[number] = opened
    file.contents.number = number
    file.contents.methods = ctypes.pointer(_METHODS)
    if out_flags:
        out_flags[0] = flags
    return None


@_answers(_IOERR | (10 << 8))
def _delete(_vfs: Any, path: bytes, syncs_folder: int) -> int | None:
    if not _is_ours():
        return int(_real.contents.delete(_real, path, syncs_folder))
    try:
        delete(_named(os.fsdecode(path)), syncs_folder=bool(syncs_folder & 1))
    except FileNotFoundError:
        return _DELETE_NOENT
    return None


@_answers(_IOERR | (13 << 8))
def _access(_vfs: Any, path: bytes, how: int, result: Any) -> int | None:
    if not _is_ours():
        return int(_real.contents.access(_real, path, how, result))
    name = _named(os.fsdecode(path))
    # As the real one: an empty journal or log is none.
    result[0] = int(exists(name) and (how != 0 or not is_empty(name)))
    return None


@_answers(_CANTOPEN)
def _full_path(_vfs: Any, path: bytes, size: int, into: int) -> int | None:
    if not _is_ours():
        return int(_real.contents.full_path(_real, path, size, into))
    whole = os.fsencode(os.path.abspath(os.fsdecode(path))) + b"\0"  # noqa: PTH100
    if len(whole) > size:
        return _CANTOPEN
    ctypes.memmove(into, whole, len(whole))
    return None


# ---------------------------------------------------------------------- time and entropy


def _randomness(_vfs: Any, size: int, into: int) -> int:
    here = current()
    if here is None and not is_loading():
        return int(_real.contents.randomness(_real, size, into))
    drawn = 0 if here is None else here[0].touched.get(_DRAWN, 0)
    seed = f"sqlite/{drawn}" if here is None else f"{here[0].seed}/sqlite/{drawn}"
    if here is not None:
        here[0].touched[_DRAWN] = drawn + 1
    ctypes.memmove(into, hashlib.shake_256(seed.encode()).digest(size), size)
    return size


@_answers(_OK)
def _sleep(_vfs: Any, delay_us: int) -> int:
    here = current()
    if here is None:
        return int(_real.contents.sleep(_real, delay_us))
    here[0].pause(delay_us * 1_000, "a lock of SQLite")
    return delay_us


@_answers(_IOERR)
def _time64(_vfs: Any, result: Any) -> int | None:
    here = current()
    if here is None:
        return int(_real.contents.time64(_real, result))
    here[0].touch("sqlite_time")
    result[0] = _EPOCH_MS + here[0].wall_ns // 1_000_000
    return None


@_answers(_IOERR)
def _time(_vfs: Any, result: Any) -> int | None:
    here = current()
    if here is None:
        return int(_real.contents.time(_real, result))
    here[0].touch("sqlite_time")
    result[0] = (_EPOCH_MS + here[0].wall_ns / 1_000_000) / _DAY_MS
    return None


# ---------------------------------------------------------------------- in and out


class _Registered(Struct, frozen=True):
    library: Any
    ours: _Vfs
    real: Any


def register() -> bool:
    """Make our VFS the usual one of this process; return False where that is not possible.

    The SQLite of this Python may be built into it so that nothing else can call it.
    """
    global _registered, _real
    if _registered is not None:
        return True
    try:
        library = ctypes.CDLL(getattr(_sqlite3, "__file__", None))
        library.sqlite3_vfs_find.restype = _vfs_p
        library.sqlite3_libversion.restype = c_char_p
        same = library.sqlite3_libversion().decode() == sqlite3.sqlite_version
        register_vfs, randomness = library.sqlite3_vfs_register, library.sqlite3_randomness
    except (AttributeError, OSError):
        return False
    real = library.sqlite3_vfs_find(None)
    if not same or not real or real.contents.version < _TIME64_SINCE:
        return False
    ours = _Vfs()
    ctypes.pointer(ours)[0] = real.contents
    ours.file_size = max(real.contents.file_size, ctypes.sizeof(_File))
    ours.path_max, ours.name = max(_PATH_MAX, real.contents.path_max), b"faultclock"
    ours.next = None
    ours.open, ours.delete, ours.access = _XOpen(_open), _XDelete(_delete), _XAccess(_access)
    ours.full_path, ours.sleep = _XFull(_full_path), _XSleep(_sleep)
    ours.randomness = _XRandomness(_randomness)
    ours.time, ours.time64 = _XTime(_time), _XTime64(_time64)
    _real = real
    if register_vfs(ctypes.byref(ours), 1) != _OK:
        return False
    randomness(0, None)
    _registered = _Registered(library=library, ours=ours, real=real)
    return True


def unregister() -> None:
    """Make the real VFS the usual one again; what is open on ours stays so."""
    global _registered
    if _registered is not None:
        _registered.library.sqlite3_vfs_register(_registered.real, 1)
        _kept.append(_registered)
        _registered = None


def forget_entropy() -> None:
    """Have SQLite ask for entropy anew; a run begins."""
    if _registered is not None:
        _registered.library.sqlite3_randomness(0, None)
