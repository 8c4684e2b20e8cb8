"""Files: what changes the folder of a run goes through its simulated disk.

Only in a run that has a disk. What is read elsewhere is the real thing. What is changed elsewhere
is led into the folder; a session store has its folder alone, and there it is refused. What would
change the folder past the disk (C extensions, memory maps, links) is refused by name, and what gets
past that is found at the end, when the folder differs from what is known of it.
"""

from __future__ import annotations

import builtins
import errno
import fcntl
import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from faultclock.sim.host.disk import Disk, current_disk
from faultclock.sim.host.disk_file import flags_of, open_descriptor, open_file, refused_flag
from faultclock.sim.host.places import Handle
from faultclock.sim.kernel.escapes import refuse
from faultclock.sim.patches.registry import Patch, named_like

#: Virtual nanoseconds between two looks at a lock that somebody else holds.
_LOCK_POLL_NS = 1_000_000
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_NOWHERE = frozenset({os.devnull, "/dev/tty", "/dev/stdout", "/dev/stderr"})
_VALID_MODE = frozenset("rwxabt+")


def handle_of(disk: Disk, fd: Any) -> Handle | None:
    """Return what is open at a descriptor, or in a file object; None: nothing of the disk's."""
    if not isinstance(fd, int):
        fileno = getattr(fd, "fileno", None)
        fd = fileno() if callable(fileno) else None
    return disk.handles.get(fd) if isinstance(fd, int) else None


def outside(disk: Disk, what: str, path: Any) -> None:
    """Refuse a change outside of the folder of a store; compiled modules do not count."""
    if disk.overlay is not None:
        return
    text = os.fsdecode(path) if isinstance(path, (str, bytes, os.PathLike)) else ""
    if text and text not in _NOWHERE and "__pycache__" not in text:
        refuse(f"{what} of {text.rpartition('/')[2]!r} outside of the store's folder")


def name_of(disk: Disk, path: Any, dir_fd: int | None, *, changes: bool = True) -> str | None:
    """Return the name of a path; see `Disk.named`."""
    name = disk.named(path, dir_fd)
    if name is None and changes and dir_fd is not None and disk.overlay is not None:
        # Only the folder shows through; what is below it by its descriptor is the real thing.
        refuse(f"a change of {os.fsdecode(path)!r} below a folder of the system")
    return name


@contextmanager
def as_given(*pairs: Any) -> Iterator[None]:
    """Let an error name a path as the subject does.

    Args:
        pairs: a path as it was given, and as the system was asked; and so on.
    """
    try:
        yield
    except OSError as error:
        for given, asked in zip(pairs[::2], pairs[1::2], strict=True):
            if asked is not given:
                if error.filename == asked:
                    error.filename = os.fspath(given)
                if error.filename2 == asked:
                    error.filename2 = os.fspath(given)
        raise


# ---------------------------------------------------------------------- opening


def _make_os_open(original: Callable[..., int]) -> Callable[..., int]:
    def open(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        disk = current_disk()
        if disk is None:
            return original(path, flags, mode, dir_fd=dir_fd)
        name = name_of(disk, path, dir_fd, changes=bool(flags & WRITING))
        if name is None:
            if flags & WRITING:
                outside(disk, "opening", path)
            return original(path, flags, mode, dir_fd=dir_fd)
        if not flags & WRITING and dir_fd is None and name not in disk.state:
            with as_given(path, at := disk.look(path)):
                return original(at, flags, mode)
        refused = refused_flag(flags)
        if refused is not None and disk.overlay is not None:
            # As a file system without it; `tempfile` goes on, and so does who cares for speed.
            raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP), os.fspath(path))
        if refused is not None:
            refuse(f"opening a file with {refused}")
        with as_given(path, at := disk.reach(path, name, dir_fd)):
            return open_descriptor(
                disk, name, flags, path, lambda: original(at, flags, mode, dir_fd=dir_fd)
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
            name = disk.named(file)
            if name is None:
                if set(mode) & set("wxa+"):
                    outside(disk, "opening", file)
                return original(*whole)
            reads = "r" in mode and "+" not in mode
            if reads and disk.overlay is not None and name not in disk.state:
                with as_given(file, at := disk.look(file)):
                    return original(at, *whole[1:])
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
            handle = None if disk is None else handle_of(disk, fd)
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


def cut(disk: Disk, handle: Handle, original: Any, length: int) -> None:
    """Do what `os.ftruncate` does."""
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
        if disk is not None and handle_of(disk, dst) is not None:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        return original(src, dst, *args, **kwargs)

    return named_like(replacement, original)


def _fallocate(disk: Disk, handle: Handle, original: Any, *args: Any) -> None:  # noqa: ARG001
    refuse("os.posix_fallocate on a simulated disk")


def _make_lock(original: Callable[..., Any]) -> Callable[..., Any]:
    """A lock that somebody else holds is waited for in virtual time."""

    def lock(fd: Any, operation: int, *args: Any) -> Any:
        disk = current_disk()
        waits = not operation & (fcntl.LOCK_NB | fcntl.LOCK_UN)
        if disk is None or handle_of(disk, fd) is None or not waits:
            return original(fd, operation, *args)
        while True:
            try:
                return original(fd, operation | fcntl.LOCK_NB, *args)
            except BlockingIOError:
                disk.kernel.pause(_LOCK_POLL_NS, "a file lock")

    return named_like(lock, original)


def optional(owner: Any, name: str, make: Callable[[Any], Any]) -> tuple[Patch, ...]:
    """Return the patch of what not every system has."""
    return (Patch(owner, name, make),) if hasattr(owner, name) else ()


PATCHES: tuple[Patch, ...] = (
    Patch(builtins, "open", _make_open),
    Patch(os, "open", _make_os_open),
    Patch(os, "write", _on_handle(_write)),
    Patch(os, "fsync", _on_handle(_fsync)),
    Patch(os, "close", _on_handle(_close)),
    Patch(os, "dup", _on_handle(_dup)),
    Patch(os, "ftruncate", _on_handle(cut)),
    *optional(os, "pwrite", _on_handle(_pwrite)),
    *optional(os, "writev", _on_handle(_writev)),
    *optional(os, "pwritev", _on_handle(_pwritev)),
    *optional(os, "fdatasync", _on_handle(_fsync)),
    *optional(os, "sendfile", _on_handle(_no_fast_copy)),
    *optional(os, "copy_file_range", _make_second_fd),
    *optional(os, "splice", _make_second_fd),
    *optional(os, "posix_fallocate", _on_handle(_fallocate)),
    Patch(fcntl, "flock", _make_lock),
    Patch(fcntl, "lockf", _make_lock),
)
