"""Disk: the folder of a run, for one life of its process.

The files are real ones below a private folder. Whatever changes them comes through here (the
patches in `patches.files` see to that): it takes virtual time, fails where the scenario says so,
is a fact, and may be what the process is killed in. What would survive a crash is kept beside it,
in `disk_state`. It knows nothing of sessions.

A session store has one folder and nothing else. A subject of any other role finds the files of the
system beneath its own; see `overlay`.
"""

# ruff: noqa: PTH120 - at every call of a patch, where pathlib is slow

from __future__ import annotations

import errno
import os
from _thread import get_ident
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from faultclock.model.scenario.disk_script import (
    DiskRule,
    DiskScript,
    IoError,
    LostFsync,
    NoSpace,
    SlowDisk,
)
from faultclock.sim.host.disk_state import DiskState, FileBody, Leaves
from faultclock.sim.host.overlay import Overlay
from faultclock.sim.host.places import Handle, Places
from faultclock.sim.kernel.actors import SIMULATED
from faultclock.sim.kernel.context import current_call
from faultclock.sim.kernel.escapes import SimKilled
from faultclock.sim.kernel.flood import make_room
from faultclock.sim.kernel.kernel import Kernel

#: Where a kernel keeps its disk.
PART = "disk"

#: What a full disk refuses.
_TAKES_SPACE = frozenset({"create", "write", "mkdir", "link"})

# The functions of the real system, bound before anything replaces them.
_write = os.write
_pwrite = os.pwrite
_lseek = os.lseek
_utime = os.utime
_scandir = os.scandir


class PlannedCrash(Struct, frozen=True, kw_only=True):
    """An act in which the process is killed.

    Attributes:
        act: its 1-based number, over all lives.
        leaves: how much of it is left.
        kill: has the disk `die`, and ends the world. It does not return.
    """

    act: int
    leaves: Leaves
    kill: Callable[[], None]


class Disk(Places):
    """One life's view of the folder.

    Args:
        root: the private folder, with all symbolic links resolved.
        state: what is in it; goes on over all lives.
        overlay: how other paths lead into it; None: they do not.
        recorded: whether each act is a fact; otherwise only what goes wrong is, and acts are
            counted.

    Attributes:
        crash: where the process is killed; None: nowhere.
    """

    def __init__(
        self,
        kernel: Kernel,
        root: Path,
        state: DiskState,
        script: DiskScript,
        *,
        overlay: Overlay | None = None,
        recorded: bool = True,
    ) -> None:
        super().__init__(root, state, overlay)
        self.recorded = recorded
        self.kernel = kernel
        self.script = script
        self.crash: PlannedCrash | None = None
        kernel.parts[PART] = self

    @property
    def dead(self) -> bool:
        """Whether the process is: what it still does in falling down changes nothing."""
        return self.kernel.ending is not None

    # ------------------------------------------------------------------ acts

    def act(
        self,
        act: str,
        name: str,
        perform: Callable[[], Any],
        *,
        to: str | None = None,
        data: bytes | None = None,
        perform_half: Callable[[], Any] | None = None,
        broken: Callable[[], None] | None = None,
        path: str | None = None,
    ) -> Any:
        """Do one thing that changes the disk, and return what `perform` returns.

        Args:
            to: the new name, for a replace.
            data: what is written.
            perform_half: what still happens when the disk becomes full in the middle.
            broken: what an input/output error leaves behind.
            path: as the subject named the file, for errors.

        Raises:
            OSError: the scenario says so, or the real system does.
            SimKilled: the process is dead, or dies in this very act.
        """
        self._alive()
        self.state.acts += 1
        op = self.state.acts
        if self.crash is not None and self.crash.act == op:
            self._die_in(self.crash, act, name, perform, to=to, data=data)
        rule = self._rule(act, name)
        fault = None if rule is None else rule.then
        self._wait(fault.takes if isinstance(fault, SlowDisk) else self.script.latency)
        error: OSError | None = None
        value: Any = None
        try:
            if isinstance(fault, NoSpace):
                if fault.leaves == "part" and perform_half is not None:
                    perform_half()
                error = _os_error(errno.ENOSPC, path)
            elif isinstance(fault, IoError):
                if broken is not None:
                    broken()
                error = _os_error(errno.EIO, path)
            elif not isinstance(fault, LostFsync):
                value = self.really(perform)
        except OSError as real:
            error = real
        self._record(op, act, name, to=to, data=data, error=error)
        if error is not None:
            raise error
        return value

    def reading(self, name: str, path: str) -> None:
        """Let a file be opened to be read, or not.

        Raises:
            OSError: the scenario says so.
            SimKilled: the process is dead.
        """
        self._alive()
        rule = self._rule("read", name)
        fault = None if rule is None else rule.then
        self._wait(fault.takes if isinstance(fault, SlowDisk) else self.script.latency)
        error = _os_error(errno.EIO, path) if isinstance(fault, IoError) else None
        if not self.recorded:
            return
        make_room(self.kernel)
        self.kernel.record(
            "disk",
            "disk.read",
            file=name,
            ok=error is None,
            error=None if error is None else "EIO",
            call=current_call(),
            life=self.kernel.life,
        )
        if error is not None:
            raise error

    def _alive(self) -> None:
        if self.dead:
            raise SimKilled("the run is over")

    def _wait(self, delay_ns: int) -> None:
        # A finalizer may run in a callback of the world, where nothing can wait.
        if delay_ns and not self.kernel.in_event:
            self.kernel.pause(delay_ns, "the disk")

    def really(self, perform: Callable[[], Any]) -> Any:
        """Do something in the real folder."""
        with self.own_work():
            return perform()

    def _record(
        self,
        op: int,
        act: str,
        name: str,
        *,
        to: str | None,
        data: bytes | None,
        error: OSError | str | None,
    ) -> None:
        if not self.recorded:
            self.kernel.touch(f"disk_{act}")
            return
        make_room(self.kernel)
        code = errno.errorcode.get(error.errno or 0) if isinstance(error, OSError) else error
        payload: dict[str, Any] = {} if to is None else {"to": to}
        self.kernel.record(
            "disk",
            "disk.acted",
            op=f"d{op}",
            act=act,
            file=name,
            **payload,
            bytes_count=None if data is None else len(data),
            ok=error is None,
            error=code,
            call=current_call(),
            life=self.kernel.life,
        )

    # ------------------------------------------------------------------ faults

    def _rule(self, act: str, name: str) -> DiskRule | None:
        found = None
        call = current_call()
        task = None if call is None else call.rpartition("/")[0]
        for rule in self.script.rules:
            when = rule.when
            if not _befalls(rule, act):
                continue
            if not when.holds(task=task, life=self.kernel.life, file=name):
                continue
            met = self.state.met[rule.id] = self.state.met.get(rule.id, 0) + 1
            if found is None and met in when.nth:
                found = rule
        if found is not None:
            self.state.fired.add(found.id)
            self.kernel.record(
                "disk",
                "fault.fired",
                fault=found.id,
                fault_kind=found.then.kind,
                of="disk",
                call=call,
                life=self.kernel.life,
            )
        return found

    # ------------------------------------------------------------------ the crash

    def _die_in(
        self,
        crash: PlannedCrash,
        act: str,
        name: str,
        perform: Callable[[], Any],
        *,
        to: str | None,
        data: bytes | None,
    ) -> None:
        """Kill the process in an act.

        Raises:
            SimKilled: always.
        """
        if crash.leaves == "all" or (crash.leaves == "part" and act != "fsync"):
            self.really(perform)
        self._record(self.state.acts, act, name, to=to, data=data, error="crashed")
        crash.kill()

    def die(self, leaves: Leaves) -> None:
        """Keep what a crash leaves. The caller ends the run."""
        self.check()
        differing = self.state.crash(leaves)
        if self.recorded:
            self.kernel.record(
                "disk", "disk.survived", leaves=leaves, differing=differing, life=self.kernel.life
            )

    # ------------------------------------------------------------------ the real folder

    def stamp(self, name: str) -> None:
        """Show the world's time as the time of the last change."""
        now_ns = self.kernel.wall_ns
        for path in (self.path(name), os.path.dirname(self.path(name))):
            try:
                _utime(path, ns=(now_ns, now_ns))
            except OSError:
                # An open file may have no name any more; then nobody can ask for its time.
                continue

    def check(self) -> None:
        """Compare the real folder with what is known of it; a difference is a leak."""
        with self.own_work():
            real = dict(_real_tree(self.root))
        known = {
            name: None if body is None else bytes(body.now)
            for name, body in self.state.names.items()
        }
        for name in sorted({*real, *known}):
            if real.get(name, _ABSENT) != known.get(name, _ABSENT):
                what = f"a change of {name} by something that is not simulated"
                self.kernel.leak(what, "the folder of the run")

    def adopt(self) -> None:
        """Know of the real folder what is in it: a process of another language wrote there."""
        with self.own_work():
            self.state.become(dict(_real_tree(self.root)))

    def write(self, handle: Handle, data: bytes, offset: int | None = None) -> int:
        """Write at the descriptor's place, or at `offset`, and return how many bytes it was."""
        body = handle.body
        if body is None:
            return _write(handle.fd, data)
        if not data:
            return 0

        def perform(part: bytes = data) -> int:
            start = offset
            if handle.appends:
                start = len(body.now)
            elif start is None:
                start = _lseek(handle.fd, 0, os.SEEK_CUR)
            if offset is None or handle.appends:
                count = _write(handle.fd, part)
            else:
                count = _pwrite(handle.fd, part, offset)
            body.change(start, part[:count])
            if handle.syncs:
                self.state.sync_file(body)
            self.stamp(self.state.name_of(body) or handle.name)
            return count

        name = self.state.name_of(body) or handle.name
        half = data[: len(data) // 2]
        fits = self._fits(body, len(body.now) if handle.appends else offset, handle.fd, data)
        value = self.act(
            "write",
            name,
            lambda: perform(fits) if fits else _refuse_space(),
            data=fits or data,
            perform_half=lambda: half and perform(half),
        )
        return int(value)

    def _fits(self, body: FileBody, offset: int | None, fd: int, data: bytes) -> bytes:
        """Return how much of `data` finds its place on a disk of the scenario's size."""
        size_bytes = self.script.size_bytes
        if size_bytes is None:
            return data
        start = _lseek(fd, 0, os.SEEK_CUR) if offset is None else offset
        free = max(0, size_bytes - self.state.bytes_count)
        return data[: max(0, len(body.now) + free - start)]

    def truncate(self, handle: Handle, length: int, really: Callable[[], Any]) -> None:
        """Cut a file, or make it longer; `really` does it."""
        body = handle.body
        assert body is not None

        def perform() -> None:
            really()
            body.change(length, None)
            self.stamp(self.state.name_of(body) or handle.name)

        self.act("truncate", self.state.name_of(body) or handle.name, perform)

    def sync(self, handle: Handle) -> None:
        """Make a file's data, or a folder's names, durable."""
        body = handle.body
        if body is None:
            self.act("fsync", handle.name, lambda: self.state.sync_folder(handle.name))
        else:
            name = self.state.name_of(body) or handle.name
            self.act("fsync", name, lambda: self.state.sync_file(body), broken=body.forget)


def current_disk() -> Disk | None:
    """Return the disk of the calling thread's run; None outside one, and at the harness's work."""
    here = SIMULATED.get(get_ident())
    if here is None:
        return None
    disk: Disk | None = here[0].parts.get(PART)
    return None if disk is None or disk.inside else disk


_ABSENT = object()


def _befalls(rule: DiskRule, act: str) -> bool:
    wanted = rule.when.act
    if wanted is not None:
        return act == wanted
    if isinstance(rule.then, LostFsync):
        return act == "fsync"
    if isinstance(rule.then, NoSpace):
        return act in _TAKES_SPACE
    return act != "read"


def _refuse_space() -> int:
    raise _os_error(errno.ENOSPC, None)


def _os_error(number: int, path: str | None) -> OSError:
    text = os.strerror(number)
    return OSError(number, text) if path is None else OSError(number, text, path)


def _real_tree(root: str, prefix: str = "") -> Iterator[tuple[str, bytes | None]]:
    with _scandir(f"{root}/{prefix}") as entries:
        for entry in list(entries):
            name = f"{prefix}{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                yield name, None
                yield from _real_tree(root, f"{name}/")
            else:
                yield name, Path(entry.path).read_bytes()
