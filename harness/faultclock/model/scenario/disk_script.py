"""DiskScript: the disk below the files that a subject writes, and what goes wrong with it.

They are real files. What is written reaches a page cache first and the disk only when it
is synced; a crash takes the rest. Which promises hold between the two is `file_system`:

    ordered   as ext4 with its defaults: name changes survive in the order in which they were
              made, and a replace takes the data of the file that replaces with it; syncing
              anything commits all name changes before it
    posix     only what POSIX promises: a sync of a file is for its data, a sync of a folder for
              the names in it
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from faultclock.model._base import SparseValue, Value
from faultclock.model.duration import MILLISECOND_NS, SECOND_NS, DurationNs
from faultclock.model.scenario.rule import EVERY, RangeField, TriggeredRule, When

#: What changes a disk, and `read`: a file is opened to be read.
DiskAct = Literal[
    "create", "write", "truncate", "fsync", "replace", "unlink", "mkdir", "rmdir", "link", "read"
]
FileSystem = Literal["ordered", "posix"]
#: What a task of role `session_store` may ask for; `restart` ends the process in good order.
STORE_OPERATIONS = (
    "read",
    "write",
    "append",
    "read_journal",
    "read_slot",
    "write_slot",
    "list_sessions",
    "close",
    "restart",
)


class NoSpace(Value):
    """The disk is full: ENOSPC."""

    kind: Literal["no_space"]
    leaves: Literal["nothing", "part"] = "part"
    """How much of a write still finds its place before the error: half of it, or nothing."""


class IoError(Value):
    """The disk fails: EIO. After a failed fsync the data is gone from the cache's list of what is
    to be written, so a second fsync succeeds and makes nothing durable, as on Linux."""

    kind: Literal["io_error"]


class SlowDisk(Value):
    """The act takes this long, and is good."""

    kind: Literal["slow"]
    takes: DurationNs = 30 * SECOND_NS


class LostFsync(Value):
    """An fsync that says it succeeded, and made nothing durable: the disk lies."""

    kind: Literal["lost_fsync"]


DiskFault = Annotated[NoSpace | IoError | SlowDisk | LostFsync, Field(discriminator="kind")]


class DiskTrigger(When):
    """Which acts a rule is for. Every condition that is given must hold."""

    act: DiskAct | None = None
    """None: every act that the fault can befall, but no `read`."""
    task: str | None = None
    """Only acts in calls of this task."""
    file: str | None = None
    """Glob of the file's name below the folder; `*` also matches slashes."""
    life: int | None = Field(default=None, ge=1)
    """Only in this life of the process."""
    nth: RangeField = EVERY
    """1-based, of the acts for which all other conditions hold: `2`, `1-3`, `3+` or `every`."""

    def holds(self, *, task: str | None, life: int, file: str) -> bool:
        """Return whether the conditions hold, beside the act and the number."""
        named = self.file is None or fnmatchcase(file, self.file)
        return named and super().holds(task=task, life=life)


class DiskRule(TriggeredRule):
    """One rule; the first that matches decides."""

    when: DiskTrigger = DiskTrigger.model_construct()
    then: DiskFault

    @model_validator(mode="after")
    def _can_happen(self) -> DiskRule:
        if isinstance(self.then, LostFsync) and self.when.act not in (None, "fsync"):
            raise ValueError("lost_fsync befalls only an fsync")
        return self


class DiskEdit(Value):
    """What becomes of files between two lives of the process, by no act of its own."""

    before_life: int = Field(ge=2)
    files: str = "*"
    """Glob of names below the folder; `*` also matches slashes."""
    how: Literal["half", "empty", "garbage", "zeros"] = "half"
    """Cut to half their length, cut to nothing, or overwritten with bytes of the same length."""


class DiskScript(SparseValue):
    """The disk of a run: of a session store, or of any other subject that writes files."""

    SPARSE: ClassVar[frozenset[str]] = frozenset({"size_bytes", "files"})

    store_id: str = Field(default="local", min_length=1)
    """Of a session store: what it is given as its id."""
    file_system: FileSystem = "ordered"
    latency: DurationNs = MILLISECOND_NS
    """How long a good act takes."""
    size_bytes: int | None = Field(default=None, ge=0)
    """How much all files together can hold: what is written beyond that is ENOSPC. None: enough."""
    files: Mapping[str, str] = {}
    """What is there before the first life: the name of each file below the working directory, or
    below the folder of a session store, and its text."""
    unsynced: Literal["nothing", "part", "all"] = "nothing"
    """What survives a crash at a time or after an event of what was not synced: none of it; all
    name changes and half of the bytes in each file; or everything, as when only the process dies.
    A crash in a write says it itself, as `leaves`."""
    rules: tuple[DiskRule, ...] = ()
    edits: tuple[DiskEdit, ...] = ()

    @model_validator(mode="after")
    def _lie_below(self) -> DiskScript:
        for name in self.files:
            if not name or any(part in ("", ".", "..") for part in name.split("/")):
                raise ValueError(
                    f"files: {name!r} is no name below the folder, such as notes/a.txt"
                )
        return self


class StoreArguments(Value):
    """What a task of role `session_store` is called with, as its `arguments`."""

    session: str = "alpha"
    revision: int | None = Field(default=None, ge=1)
    """For `write`: a manifest of the usual shape that holds this number."""
    manifest: dict[str, Any] | None = None
    """For `write`: the manifest itself."""
    pad_bytes: int = Field(default=0, ge=0, le=1_000_000)
    """For `write` with `revision`: how much longer the manifest is."""
    entry: int | dict[str, Any] | None = None
    """For `append`: the entry, or the number in an entry of the usual shape."""
    owner: str | None = None
    """For slots: whose."""
    version: int | None = Field(default=1, ge=0)
    data: dict[str, Any] = {}
    """For `write_slot`: what the slot holds."""
    store_id: str | None = None
    """For `restart`: the fresh store has this id in place of its own."""

    def check(self, operation: str) -> None:
        """Say what `operation` lacks.

        Raises:
            ValueError: an argument is missing.
        """
        if operation == "write" and (self.revision is None) == (self.manifest is None):
            raise ValueError("write needs exactly one of revision and manifest")
        if operation == "append" and self.entry is None:
            raise ValueError("append needs entry")
        if operation in ("read_slot", "write_slot") and self.owner is None:
            raise ValueError(f"{operation} needs owner")
