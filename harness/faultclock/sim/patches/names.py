"""Names: making, moving and removing files goes through the simulated disk, as `files` has it.

Behind it stands the audit hook: what changes the folder by another way is refused by name.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from faultclock.sim.host.disk import PART, Disk, current_disk
from faultclock.sim.host.disk_state import folder_of
from faultclock.sim.host.places import Handle
from faultclock.sim.kernel.actors import current
from faultclock.sim.kernel.escapes import refuse
from faultclock.sim.patches.files import (
    WRITING,
    as_given,
    cut,
    handle_of,
    name_of,
    optional,
    outside,
)
from faultclock.sim.patches.registry import Patch, named_like

#: Audit events of functions that somebody bound before they were replaced, as `tempfile` does.
_NAME_EVENTS = frozenset({"os.remove", "os.rename", "os.mkdir", "os.rmdir"})
#: Audit events in which a file may be changed without any of the replaced functions.
EVENTS = _NAME_EVENTS | {"open", "os.link", "os.symlink", "mmap.__new__"}


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
            name = None if disk is None else name_of(disk, path, dir_fd)
            if disk is None or name is None:
                if disk is not None:
                    outside(disk, act, path)
                return original(path, *args, **plain)
            at = disk.reach(path, name, dir_fd)
            if not possible(disk, name):
                # The system says what is wrong; nothing changes.
                with disk.own_work(), as_given(path, at):
                    return original(at, *args, **plain)

            def perform() -> None:
                original(at, *args, **plain)
                change(disk, name)
                disk.stamp(folder_of(name))

            with as_given(path, at):
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
        from_at, to_at = src, dst

        def really() -> None:
            original(from_at, to_at, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

        name = None if disk is None else name_of(disk, src, src_dir_fd)
        to = None if disk is None else name_of(disk, dst, dst_dir_fd)
        if disk is None or (name is None and to is None):
            if disk is not None:
                outside(disk, "rename", dst)
            return really()
        if name is None or to is None:
            outside(disk, "rename", dst if name is not None else src)
            return really()
        from_at, to_at = disk.reach(src, name, src_dir_fd), disk.reach(dst, to, dst_dir_fd)
        if not _can_rename(disk, name, to):
            with disk.own_work(), as_given(src, from_at, dst, to_at):
                return really()

        def perform() -> None:
            really()
            disk.state.move(name, to)
            disk.stamp(to)

        with as_given(src, from_at, dst, to_at):
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
        name = None if disk is None else name_of(disk, src, options.get("src_dir_fd"))
        to = None if disk is None else name_of(disk, dst, options.get("dst_dir_fd"))
        if disk is None or name is None or to is None:
            original(src, dst, **options)
            return
        from_at = disk.reach(src, name, options.get("src_dir_fd"))
        to_at = disk.reach(dst, to, options.get("dst_dir_fd"))
        body = disk.state.names.get(name)
        if body is None or to in disk.state or not disk.state.is_folder(folder_of(to)):
            with disk.own_work(), as_given(src, from_at, dst, to_at):
                original(from_at, to_at, **options)
            return

        def perform() -> None:
            original(from_at, to_at, **options)
            disk.state.add(to, body)
            disk.stamp(to)

        with as_given(src, from_at, dst, to_at):
            disk.act("link", name, perform, to=to, path=os.fsdecode(src))

    return named_like(link, original)


def _refused_below(what: str, position: int = 0) -> Callable[[Any], Any]:
    """Make a replacement that is refused for a path below the folder."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def replacement(*args: Any, **kwargs: Any) -> Any:
            disk = current_disk()
            if disk is not None and len(args) > position and disk.named(args[position]) is not None:
                refuse(f"{what} in the folder of the run")
            return original(*args, **kwargs)

        return named_like(replacement, original)

    return make


def _make_truncate(original: Callable[..., Any]) -> Callable[..., Any]:
    def truncate(path: Any, length: int) -> None:
        disk = current_disk()
        if disk is None:
            original(path, length)
            return
        handle = handle_of(disk, path) if isinstance(path, int) else None
        if handle is not None:
            cut(disk, handle, original, length)
            return
        name = None if isinstance(path, int) else disk.named(path)
        at = path if name is None else disk.reach(path, name)
        body = None if name is None else disk.state.names.get(name)
        if name is None or body is None:
            with disk.own_work(), as_given(path, at):
                original(at, length)
            return
        whole = Handle(fd=-1, name=name, body=body, writable=True)
        disk.truncate(whole, length, lambda: original(at, length))

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
        return _by_alias(disk, event, args)
    if event == "mmap.__new__":
        return "mmap of a file of the store" if args[0] in disk.handles else None
    path = args[1] if event in ("os.link", "os.symlink") else args[0]
    if isinstance(path, int) or (event == "open" and not _writes(args[2])):
        return None
    name = disk.named(path) if isinstance(path, (str, bytes, os.PathLike)) else None
    how = "io.FileIO or in C" if event == "open" else f"an alias of {event}"
    return None if name is None else f"opening {name!r} by {how}"


def _writes(flags: Any) -> bool:
    return isinstance(flags, int) and bool(flags & WRITING)


def _by_alias(disk: Disk, event: str, args: tuple[Any, ...]) -> str | None:
    folder_fd = args[2] if event in ("os.rename", "os.mkdir") else args[1]
    name = disk.named(args[0], None if folder_fd == -1 else folder_fd)
    if name is None:
        return None
    path = os.fsdecode(args[0])
    if folder_fd == -1 and disk.is_led(path):
        return f"an alias of {event} for a file outside of the run's folder"
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
    return None


_UNLINK = _on_name("unlink", _is_file, lambda disk, name: disk.state.drop(name))

PATCHES: tuple[Patch, ...] = (
    Patch(os, "truncate", _make_truncate),
    *optional(os, "sync", _make_sync),
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
    *optional(os, "mkfifo", _refused_below("a named pipe")),
    *optional(os, "mknod", _refused_below("a device")),
)
