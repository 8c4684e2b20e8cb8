"""Files: what changes the folder of a store under test goes through its simulated disk.

Only in a run that has a disk, and only for paths below its folder and descriptors that were
opened there; everything else is the real thing. What would change the folder past the disk (C
extensions, memory maps, links) is refused by name, and what gets past that is found at the end,
when the folder differs from what is known of it.
"""

from __future__ import annotations

import builtins
import errno
import fcntl
import io
import os
from collections.abc import Callable
from typing import Any

from faultclock.sim.host.disk import PART, Disk, Handle, current_disk
from faultclock.sim.host.disk_file import flags_of, open_descriptor, open_file, refused_flag
from faultclock.sim.host.disk_state import folder_of
from faultclock.sim.kernel.actors import current
from faultclock.sim.kernel.escapes import refuse
from faultclock.sim.patches.registry import Patch, named_like

#: Audit events of functions that somebody bound before they were replaced, as `tempfile` does.
_NAME_EVENTS = frozenset({"os.remove", "os.rename", "os.mkdir", "os.rmdir"})
#: Audit events in which a file may be changed without any of the replaced functions.
EVENTS = _NAME_EVENTS | {"open", "os.link", "os.symlink", "sqlite3.connect", "mmap.__new__"}

#: Virtual nanoseconds between two looks at a lock that somebody else holds.
_LOCK_POLL_NS = 1_000_000
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_NOWHERE = frozenset({os.devnull, "/dev/tty", "/dev/stdout", "/dev/stderr"})
_VALID_MODE = frozenset("rwxabt+")


def _handle(disk: Disk, fd: Any) -> Handle | None:
    if not isinstance(fd, int):
        fileno = getattr(fd, "fileno", None)
        fd = fileno() if callable(fileno) else None
    return disk.handles.get(fd) if isinstance(fd, int) else None


def _outside(what: str, path: Any) -> None:
    """Refuse a change outside of the folder; compiled modules do not count."""
    text = os.fsdecode(path) if isinstance(path, (str, bytes, os.PathLike)) else ""
    if text and text not in _NOWHERE and "__pycache__" not in text:
        refuse(f"{what} of {text.rpartition('/')[2]!r} outside of the store's folder")


# ---------------------------------------------------------------------- opening


def _make_os_open(original: Callable[..., int]) -> Callable[..., int]:
    def open(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        disk = current_disk()
        if disk is None:
            return original(path, flags, mode, dir_fd=dir_fd)
        name = disk.named(path, dir_fd)
        if name is None:
            if flags & _WRITING:
                _outside("opening", path)
            return original(path, flags, mode, dir_fd=dir_fd)
        refused = refused_flag(flags)
        if refused is not None:
            refuse(f"opening a file with {refused}")
        return open_descriptor(
            disk, name, flags, path, lambda: original(path, flags, mode, dir_fd=dir_fd)
        )

    return named_like(open, original)


def _make_open(original: Callable[..., Any]) -> Callable[..., Any]:
    def open(
        file: Any,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        closefd: bool = True,
        opener: Callable[[Any, int], int] | None = None,
    ) -> Any:
        disk = current_disk()
        whole = (file, mode, buffering, encoding, errors, newline, closefd, opener)
        if disk is None or not _is_valid(mode):
            return original(*whole)
        fd = file
        if not isinstance(file, int):
            if disk.named(file) is None:
                if set(mode) & set("wxa+"):
                    _outside("opening", file)
                return original(*whole)
            flags = flags_of(mode)
            fd = os.open(file, flags, 0o666) if opener is None else opener(file, flags)
        handle = disk.handles.get(fd)
        if handle is None:
            return original(fd, mode, buffering, encoding, errors, newline, closefd)
        encoding = encoding if "b" in mode else io.text_encoding(encoding)
        return open_file(
            disk, handle, file, mode, buffering, encoding, errors, newline, closefd=closefd
        )

    return named_like(open, original)


def _is_valid(mode: Any) -> bool:
    if not isinstance(mode, str) or not set(mode) <= _VALID_MODE or len(set(mode)) != len(mode):
        return False
    return sum(letter in mode for letter in "rwxa") == 1 and not {"b", "t"} <= set(mode)


# ---------------------------------------------------------------------- descriptors


def _on_handle(
    simulated: Callable[..., Any],
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a replacement that calls `simulated(disk, handle, original, *args)` for our own."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def replacement(fd: Any, *args: Any, **kwargs: Any) -> Any:
            disk = current_disk()
            handle = None if disk is None else _handle(disk, fd)
            if disk is None or handle is None:
                return original(fd, *args, **kwargs)
            return simulated(disk, handle, original, *args, **kwargs)

        return named_like(replacement, original)

    return make


def _write(disk: Disk, handle: Handle, original: Any, data: Any) -> int:
    if not handle.writable:
        return int(original(handle.fd, data))
    return disk.write(handle, bytes(data))


def _pwrite(disk: Disk, handle: Handle, original: Any, data: Any, offset: int) -> int:
    if not handle.writable:
        return int(original(handle.fd, data, offset))
    return disk.write(handle, bytes(data), offset)


def _writev(disk: Disk, handle: Handle, original: Any, buffers: Any) -> int:
    return _write(disk, handle, lambda fd, data: original(fd, [data]), b"".join(buffers))


def _pwritev(
    disk: Disk, handle: Handle, original: Any, buffers: Any, offset: int, flags: int = 0
) -> int:
    data = b"".join(buffers)
    return _pwrite(
        disk, handle, lambda fd, whole, at: original(fd, [whole], at, flags), data, offset
    )


def _ftruncate(disk: Disk, handle: Handle, original: Any, length: int) -> None:
    if not handle.writable or handle.body is None:
        original(handle.fd, length)
        return
    disk.truncate(handle, length, lambda: original(handle.fd, length))


def _fsync(disk: Disk, handle: Handle, original: Any) -> None:  # noqa: ARG001 - no real sync
    disk.sync(handle)


def _close(disk: Disk, handle: Handle, original: Any) -> None:
    disk.handles.pop(handle.fd, None)
    original(handle.fd)


def _dup(disk: Disk, handle: Handle, original: Any) -> int:
    fd = int(original(handle.fd))
    disk.handles[fd] = Handle(
        fd=fd,
        name=handle.name,
        body=handle.body,
        appends=handle.appends,
        syncs=handle.syncs,
        writable=handle.writable,
    )
    return fd


def _no_fast_copy(disk: Disk, handle: Handle, original: Any, *args: Any, **kwargs: Any) -> int:  # noqa: ARG001
    """Copying inside the kernel: refuse it as a file system without it does; `shutil` goes on."""
    raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))


def _make_second_fd(original: Callable[..., Any]) -> Callable[..., Any]:
    """`copy_file_range` and `splice` write to their second descriptor."""

    def replacement(src: Any, dst: Any, *args: Any, **kwargs: Any) -> Any:
        disk = current_disk()
        if disk is not None and _handle(disk, dst) is not None:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        return original(src, dst, *args, **kwargs)

    return named_like(replacement, original)


def _fallocate(disk: Disk, handle: Handle, original: Any, *args: Any) -> None:  # noqa: ARG001
    refuse("os.posix_fallocate on a simulated disk")


def _make_lock(original: Callable[..., Any]) -> Callable[..., Any]:
    """A lock that somebody else holds is waited for in virtual time."""

    def lock(fd: Any, operation: int, *args: Any) -> Any:
        disk = current_disk()
        if disk is None or _handle(disk, fd) is None or operation & (fcntl.LOCK_NB | fcntl.LOCK_UN):
            return original(fd, operation, *args)
        while True:
            try:
                return original(fd, operation | fcntl.LOCK_NB, *args)
            except BlockingIOError:
                disk.kernel.pause(_LOCK_POLL_NS, "a file lock")

    return named_like(lock, original)


# ---------------------------------------------------------------------- names


def _on_name(
    act: str,
    possible: Callable[[Disk, str], bool],
    change: Callable[[Disk, str], None],
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a replacement of a function of one path."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def replacement(path: Any, *args: Any, dir_fd: int | None = None) -> Any:
            disk = current_disk()
            plain = {} if dir_fd is None else {"dir_fd": dir_fd}
            name = None if disk is None else disk.named(path, dir_fd)
            if disk is None or name is None:
                if disk is not None:
                    _outside(act, path)
                return original(path, *args, **plain)
            if not possible(disk, name):
                # The system says what is wrong; nothing changes.
                with disk.own_work():
                    return original(path, *args, **plain)

            def perform() -> None:
                original(path, *args, **plain)
                change(disk, name)
                disk.stamp(folder_of(name))

            return disk.act(act, name, perform, path=os.fsdecode(path))

        return named_like(replacement, original)

    return make


def _is_file(disk: Disk, name: str) -> bool:
    return name in disk.state and not disk.state.is_folder(name)


def _can_mkdir(disk: Disk, name: str) -> bool:
    return name not in disk.state and disk.state.is_folder(folder_of(name))


def _can_rmdir(disk: Disk, name: str) -> bool:
    return name != "" and disk.state.is_folder(name) and not disk.state.children(name)


def _make_rename(original: Callable[..., Any]) -> Callable[..., Any]:
    def rename(
        src: Any, dst: Any, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None
    ) -> None:
        disk = current_disk()

        def really() -> None:
            original(src, dst, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

        name = None if disk is None else disk.named(src, src_dir_fd)
        to = None if disk is None else disk.named(dst, dst_dir_fd)
        if disk is None or (name is None and to is None):
            if disk is not None:
                _outside("rename", dst)
            return really()
        if name is None or to is None:
            _outside("rename", dst if name is not None else src)
            return really()
        if not _can_rename(disk, name, to):
            with disk.own_work():
                return really()

        def perform() -> None:
            really()
            disk.state.move(name, to)
            disk.stamp(to)

        disk.act("replace", name, perform, to=to, path=os.fsdecode(src))
        return None

    return named_like(rename, original)


def _can_rename(disk: Disk, name: str, to: str) -> bool:
    state = disk.state
    if name not in state or not state.is_folder(folder_of(to)) or name == to or "" in (name, to):
        return False
    if state.is_folder(name):
        return not to.startswith(f"{name}/") and (to not in state or _can_rmdir(disk, to))
    return not (to in state and state.is_folder(to))


def _make_link(original: Callable[..., Any]) -> Callable[..., Any]:
    def link(src: Any, dst: Any, **options: Any) -> None:
        disk = current_disk()
        name = None if disk is None else disk.named(src, options.get("src_dir_fd"))
        to = None if disk is None else disk.named(dst, options.get("dst_dir_fd"))
        if disk is None or name is None or to is None:
            original(src, dst, **options)
            return
        body = disk.state.names.get(name)
        if body is None or to in disk.state or not disk.state.is_folder(folder_of(to)):
            with disk.own_work():
                original(src, dst, **options)
            return

        def perform() -> None:
            original(src, dst, **options)
            disk.state.add(to, body)
            disk.stamp(to)

        disk.act("link", name, perform, to=to, path=os.fsdecode(src))

    return named_like(link, original)


def _refused_below(what: str, position: int = 0) -> Callable[[Any], Any]:
    """Make a replacement that is refused for a path below the folder."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def replacement(*args: Any, **kwargs: Any) -> Any:
            disk = current_disk()
            if disk is not None and len(args) > position and disk.named(args[position]) is not None:
                refuse(f"{what} below the folder of a store")
            return original(*args, **kwargs)

        return named_like(replacement, original)

    return make


def _make_truncate(original: Callable[..., Any]) -> Callable[..., Any]:
    def truncate(path: Any, length: int) -> None:
        disk = current_disk()
        if disk is None:
            original(path, length)
            return
        handle = _handle(disk, path) if isinstance(path, int) else None
        if handle is not None:
            _ftruncate(disk, handle, original, length)
            return
        name = None if isinstance(path, int) else disk.named(path)
        body = None if name is None else disk.state.names.get(name)
        if name is None or body is None:
            with disk.own_work():
                original(path, length)
            return
        whole = Handle(fd=-1, name=name, body=body, writable=True)
        disk.truncate(whole, length, lambda: original(path, length))

    return named_like(truncate, original)


def _make_sync(original: Callable[[], None]) -> Callable[[], None]:
    def sync() -> None:
        disk = current_disk()
        if disk is None:
            return original()
        disk.act("fsync", "", disk.state.sync_all)
        return None

    return named_like(sync, original)


# ---------------------------------------------------------------------- what goes past them


def escape_of(event: str, args: tuple[Any, ...]) -> str | None:
    """Return what an audit event of a simulated thread reaches past the disk; None: nothing.

    A change of names that comes by an alias of the real function is made known to the disk.

    Raises:
        OSError, SimKilled: as the disk says, of such a change; then the system never sees it.
    """
    here = current()
    disk: Disk | None = None if here is None else here[0].parts.get(PART)
    if disk is None or disk.inside:
        return None
    if event in _NAME_EVENTS:
        _by_alias(disk, event, args)
        return None
    if event == "sqlite3.connect":
        return None if args[0] == ":memory:" else "sqlite3, which writes its files in C,"
    if event == "mmap.__new__":
        return "mmap of a file of the store" if args[0] in disk.handles else None
    path = args[1] if event in ("os.link", "os.symlink") else args[0]
    if isinstance(path, int) or (event == "open" and not _writes(args[2])):
        return None
    name = disk.named(path) if isinstance(path, (str, bytes, os.PathLike)) else None
    how = "io.FileIO or in C" if event == "open" else f"an alias of {event}"
    return None if name is None else f"opening {name!r} by {how}"


def _writes(flags: Any) -> bool:
    return isinstance(flags, int) and bool(flags & _WRITING)


def _by_alias(disk: Disk, event: str, args: tuple[Any, ...]) -> None:
    folder_fd = args[2] if event in ("os.rename", "os.mkdir") else args[1]
    name = disk.named(args[0], None if folder_fd == -1 else folder_fd)
    if name is None:
        return
    path = os.fsdecode(args[0])
    if event == "os.rename":
        to = disk.named(args[1], None if args[3] == -1 else args[3])
        if to is not None and _can_rename(disk, name, to):
            disk.act("replace", name, lambda: disk.state.move(name, to), to=to, path=path)
    elif event == "os.mkdir" and _can_mkdir(disk, name):
        disk.act("mkdir", name, lambda: disk.state.add(name, None), path=path)
    elif event == "os.remove" and _is_file(disk, name):
        disk.act("unlink", name, lambda: disk.state.drop(name), path=path)
    elif event == "os.rmdir" and _can_rmdir(disk, name):
        disk.act("rmdir", name, lambda: disk.state.drop(name), path=path)


def _optional(owner: Any, name: str, make: Callable[[Any], Any]) -> tuple[Patch, ...]:
    return (Patch(owner, name, make),) if hasattr(owner, name) else ()


_UNLINK = _on_name("unlink", _is_file, lambda disk, name: disk.state.drop(name))

PATCHES: tuple[Patch, ...] = (
    Patch(builtins, "open", _make_open),
    Patch(os, "open", _make_os_open),
    Patch(os, "write", _on_handle(_write)),
    Patch(os, "fsync", _on_handle(_fsync)),
    Patch(os, "close", _on_handle(_close)),
    Patch(os, "dup", _on_handle(_dup)),
    Patch(os, "ftruncate", _on_handle(_ftruncate)),
    Patch(os, "truncate", _make_truncate),
    *_optional(os, "pwrite", _on_handle(_pwrite)),
    *_optional(os, "writev", _on_handle(_writev)),
    *_optional(os, "pwritev", _on_handle(_pwritev)),
    *_optional(os, "fdatasync", _on_handle(_fsync)),
    *_optional(os, "sync", _make_sync),
    *_optional(os, "sendfile", _on_handle(_no_fast_copy)),
    *_optional(os, "copy_file_range", _make_second_fd),
    *_optional(os, "splice", _make_second_fd),
    *_optional(os, "posix_fallocate", _on_handle(_fallocate)),
    Patch(os, "rename", _make_rename),
    Patch(os, "replace", _make_rename),
    Patch(os, "link", _make_link),
    Patch(os, "unlink", _UNLINK),
    Patch(os, "remove", _UNLINK),
    Patch(
        os, "mkdir", _on_name("mkdir", _can_mkdir, lambda disk, name: disk.state.add(name, None))
    ),
    Patch(os, "rmdir", _on_name("rmdir", _can_rmdir, lambda disk, name: disk.state.drop(name))),
    Patch(os, "symlink", _refused_below("a symbolic link", position=1)),
    *_optional(os, "mkfifo", _refused_below("a named pipe")),
    *_optional(os, "mknod", _refused_below("a device")),
    Patch(fcntl, "flock", _make_lock),
    Patch(fcntl, "lockf", _make_lock),
)
