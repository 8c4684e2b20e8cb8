"""What is in a folder, twice: as programs see it, and as it would be after a crash.

A write reaches the page cache; a sync takes it from there to the disk. In between, a crash takes
it away. This is plain data with no time and no files of its own, so it can be handed over to the
next process. Which rules hold is chosen by the scenario:

    ordered   name changes survive as a prefix, in the order in which they were made; a replace
              of an existing file takes the data of the new one with it; any sync commits all
              name changes before it. ext4 with data=ordered and auto_da_alloc, its defaults
              (kernel documentation, admin-guide/ext4, read 2026-11-21)
    posix     a sync of a file is for its data, a sync of a folder for the names in it, and
              nothing else is promised

Not modelled: pages of one file that reach the disk in another order than they were written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from msgspec import Struct, field

from faultclock.model.scenario.disk_script import FileSystem

#: How much of what was not synced survives a crash: none of it; all name changes and half of the
#: bytes in each file; or everything, as when only the process dies.
Leaves = Literal["nothing", "part", "all"]

#: (offset, bytes) for a write, (length, None) for a cut.
_Change = tuple[int, bytes | None]


class FileBody(Struct):
    """The content of one file, whatever its name.

    Attributes:
        now: as programs read it.
        durable: as it is on the disk.
        pending: the changes that lead from `durable` to `now`, in order.
        changes: how many changes there ever were.
    """

    now: bytearray = field(default_factory=bytearray)
    durable: bytearray = field(default_factory=bytearray)
    pending: list[_Change] = field(default_factory=list)
    changes: int = 0

    def change(self, offset: int, data: bytes | None) -> None:
        """Write `data` at `offset`, or cut the file to `offset` bytes where it is None."""
        _apply(self.now, (offset, data))
        self.pending.append((offset, data))
        self.changes += 1

    def settle(self, upto: int | None = None) -> None:
        """Make the first `upto` changes durable; None: all of them."""
        done = self.changes - len(self.pending)
        count = len(self.pending) if upto is None else max(0, upto - done)
        for change in self.pending[:count]:
            _apply(self.durable, change)
        del self.pending[:count]

    def forget(self) -> None:
        """Treat what is pending as written, as a system does after a sync that failed."""
        self.pending.clear()

    def half(self) -> bytes:
        """Return what is on the disk when half of the pending bytes got there."""
        content = bytearray(self.durable)
        left = sum(len(data) for _, data in self.pending if data is not None) // 2
        for offset, data in self.pending:
            if data is not None and len(data) > left:
                _apply(content, (offset, data[:left]))
                break
            left -= len(data) if data is not None else 0
            _apply(content, (offset, data))
        return bytes(content)


#: Name below the folder (with slashes) to the file's body; None stands for a folder.
_Names = dict[str, FileBody | None]


class _NameChange(Struct, kw_only=True):
    """One change of names. `body_changes` says how much of the body a replace takes with it."""

    kind: Literal["add", "drop", "move"]
    name: str
    to: str = ""
    body: FileBody | None = None
    body_changes: int = 0

    def touches(self, folder: str) -> bool:
        names = (self.name, self.to) if self.kind == "move" else (self.name,)
        return any(folder_of(name) == folder for name in names)


class DiskState(Struct):
    """A folder, as programs see it and as it is on the disk.

    Attributes:
        names: as programs see them.
        acts: how many acts changed it so far, over all lives.
        met: rule id to how many acts its conditions have held for.
        fired: ids of the rules that have fired.
        met_names: every name that was ever there. What the system has below such a name does not
            show through any more.
    """

    file_system: FileSystem = "ordered"
    names: _Names = field(default_factory=dict)
    durable_names: _Names = field(default_factory=dict)
    pending: list[_NameChange] = field(default_factory=list)
    acts: int = 0
    met: dict[str, int] = field(default_factory=dict)
    fired: set[str] = field(default_factory=set)
    met_names: set[str] = field(default_factory=set)

    # ------------------------------------------------------------------ what is there

    def __contains__(self, name: str) -> bool:
        return name == "" or name in self.names

    def is_folder(self, name: str) -> bool:
        """Return whether there is a folder of this name; the whole one has the name ""."""
        return name == "" or self.names.get(name, self) is None

    def children(self, folder: str) -> list[str]:
        """Return the names right below a folder."""
        return [name for name in self.names if folder_of(name) == folder]

    def name_of(self, body: FileBody) -> str | None:
        """Return the first name of a body, None when it has none any more."""
        return next((name for name, found in self.names.items() if found is body), None)

    # ------------------------------------------------------------------ name changes

    def add(self, name: str, body: FileBody | None) -> None:
        """Add a file (a further name for it, or its first) or, for None, a folder."""
        self._change(_NameChange(kind="add", name=name, body=body))

    def drop(self, name: str) -> None:
        """Take a name away."""
        self._change(_NameChange(kind="drop", name=name))

    def move(self, name: str, to: str) -> None:
        """Rename, in place of whatever has the name `to`."""
        body = self.names[name]
        change = _NameChange(kind="move", name=name, to=to, body=body)
        if self.file_system == "ordered" and body is not None and to in self.names:
            change.body_changes = body.changes
        self._change(change)

    def _change(self, change: _NameChange) -> None:
        self.met_names.update((change.name, change.to))
        _rename(self.names, change)
        self.pending.append(change)

    # ------------------------------------------------------------------ syncs

    def sync_file(self, body: FileBody) -> None:
        """Make a file's data durable."""
        body.settle()
        if self.file_system == "ordered":
            self._commit(self.pending)

    def sync_folder(self, folder: str) -> None:
        """Make the names in a folder durable."""
        everything = self.file_system == "ordered"
        self._commit([item for item in self.pending if everything or item.touches(folder)])

    def sync_all(self) -> None:
        """Make everything durable."""
        for body in _bodies(self.names):
            body.settle()
        self._commit(self.pending)

    def _commit(self, changes: list[_NameChange]) -> None:
        done = {id(change) for change in changes}
        for change in changes:
            _rename(self.durable_names, change)
            if change.body is not None and change.body_changes:
                change.body.settle(change.body_changes)
        self.pending = [change for change in self.pending if id(change) not in done]

    # ------------------------------------------------------------------ the crash

    def crash(self, leaves: Leaves) -> list[dict[str, str]]:
        """Become what is left, and return each file that is not as programs saw it last.

        Each is `{"file": name, "how": "gone" | "back" | "older" | "torn"}`.
        """
        before = {
            name: None if body is None else bytes(body.now) for name, body in self.names.items()
        }
        known = (*_bodies(self.names), *_bodies(self.durable_names))
        older = {bytes(body.durable) for body in known if body.durable}
        if leaves != "nothing":
            self._commit(self.pending)
        source = self.names if leaves == "all" else self.durable_names
        kept: dict[int, FileBody] = {}
        left: _Names = {}
        for name in sorted(source):
            body = source[name]
            if body is None:
                left[name] = None
                continue
            content = {"nothing": bytes(body.durable), "part": body.half(), "all": bytes(body.now)}
            fresh = kept.setdefault(id(body), _settled(content[leaves]))
            left[name] = fresh
        # What lies in a folder that is gone cannot be reached.
        self.names = {name: body for name, body in left.items() if _reachable(name, left)}
        self.durable_names = dict(self.names)
        self.pending = []
        return _differences(before, older, self.names)

    def edit(self, name: str, content: bytes) -> None:
        """Replace a file's content for good, behind everybody's back."""
        self.keep(name, _settled(content))

    def keep(self, name: str, body: FileBody | None) -> None:
        """Have a file, or for None a folder, that is there and durable without any act."""
        self.met_names.add(name)
        self.names[name] = self.durable_names[name] = body

    def become(self, tree: Mapping[str, bytes | None]) -> None:
        """Have these files and folders (None) and no others, all of them durable."""
        self.names, self.durable_names, self.pending = {}, {}, []
        for name, content in tree.items():
            self.keep(name, None if content is None else _settled(content))

    @property
    def bytes_count(self) -> int:
        """How much space the files take, in bytes."""
        return sum(len(body.now) for body in {id(body): body for body in self._all()}.values())

    def _all(self) -> Iterator[FileBody]:
        return _bodies(self.names)


def folder_of(name: str) -> str:
    """Return the name of the folder that `name` lies in."""
    return name.rpartition("/")[0]


def _apply(content: bytearray, change: _Change) -> None:
    offset, data = change
    if len(content) < offset:
        content.extend(bytes(offset - len(content)))
    if data is None:
        del content[offset:]
    else:
        content[offset : offset + len(data)] = data


def _rename(names: _Names, change: _NameChange) -> None:
    if change.kind == "add":
        names[change.name] = change.body
    elif change.kind == "drop":
        names.pop(change.name, None)
    else:
        names.pop(change.name, None)
        for below in [name for name in names if name.startswith(f"{change.name}/")]:
            names[change.to + below[len(change.name) :]] = names.pop(below)
        names[change.to] = change.body


def _bodies(names: _Names) -> Iterator[FileBody]:
    return (body for body in names.values() if body is not None)


def _settled(content: bytes) -> FileBody:
    return FileBody(now=bytearray(content), durable=bytearray(content))


def _reachable(name: str, names: _Names) -> bool:
    folder = folder_of(name)
    return folder == "" or (folder in names and _reachable(folder, names))


def _differences(
    before: dict[str, bytes | None], older: set[bytes], after: _Names
) -> list[dict[str, str]]:
    found = []
    for name in sorted({*before, *after}):
        body = after.get(name)
        content = None if body is None else bytes(body.now)
        if name not in after:
            how = "gone"
        elif name not in before:
            how = "back"
        elif content == before[name]:
            continue
        else:
            how = "older" if content in older else "torn"
        found.append({"file": name, "how": how})
    return found
