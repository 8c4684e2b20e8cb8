"""The folder of a run: where all files are that a subject writes, over all its lives.

It is a private one in memory, made for the run and removed with it. While a life is lived, it is
the working directory, `~` and the folder for temporary files are in it, and what is written
elsewhere is led into it; see `sim/host/overlay`. What is durable is decided by the simulation.
"""

# ruff: noqa: PTH100, PTH102, PTH106, PTH108, PTH109 - for every run, where pathlib is slow

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from msgspec import Struct

from faultclock.model.scenario.disk_script import DiskScript
from faultclock.model.scenario.scenario import Scenario
from faultclock.sim.host.disk import Disk
from faultclock.sim.host.disk_state import DiskState, FileBody
from faultclock.sim.host.overlay import ELSEWHERE, HOME, TEMPORARY, WORK, Overlay, name_outside
from faultclock.sim.host.sqlite_files import image, met_in_image
from faultclock.sim.kernel.kernel import Kernel

#: A file system in memory, where there is one: what is durable is decided by the simulation, and
#: a real disk would only make it slow.
_MEMORY = Path("/dev/shm").resolve()  # noqa: S108 - a fresh private folder is made in it
_PREFIX = "faultclock-run-"
#: What is in the folder of every run.
_FOLDERS = (WORK, HOME, TEMPORARY, ELSEWHERE)
#: Descriptor by which the folder has the same path in every process; below the lowest limit that
#: a usual system has, above what programs use.
_DESCRIPTOR = 250
_BY_DESCRIPTOR = Path(f"/proc/self/fd/{_DESCRIPTOR}")
#: A machine that stays when a process of it dies: nothing is lost, and nothing takes time.
_PLAIN = DiskScript.model_construct(latency=0, unsynced="all")


class FolderKept(Struct, kw_only=True):
    """What outlives a process of its folder. Plain data: it is pickled.

    Attributes:
        path: the real one, which is made new after each crash.
        origin: the working directory before the run.
        is_foreign: whether a process of another language writes in it, past the disk.
        crashed: whether the last life was killed.
    """

    path: Path
    origin: str
    disk: DiskState
    is_foreign: bool = False
    crashed: bool = False


class RunFolder:
    """The folder in one life.

    Attributes:
        path: as the subject sees it; its working directory.
    """

    def __init__(self, scenario: Scenario, kernel: Kernel, kept: FolderKept) -> None:
        self._kept = kept
        self._script = scenario.disk or _PLAIN
        shown = _shown_path(kept.path)
        self.path = shown / WORK
        self._shown = shown
        overlay = Overlay(root=str(kept.path), shown=str(shown), origin=kept.origin)
        self.disk = Disk(
            kernel,
            kept.path,
            kept.disk,
            self._script,
            overlay=overlay,
            recorded=scenario.disk is not None,
        )
        edited = edit_files(self.disk, self._script)
        if kept.crashed or edited or kernel.life == 1:
            write_folder(kept.path, kept.disk, kernel.wall_ns)
        kept.crashed = False
        if kept.is_foreign and scenario.disk is not None:
            kernel.escaped("the disk of the scenario, past which this program writes", "unknown:0")

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Be in the folder for a while."""
        before = os.getcwd()
        by_descriptor = self._shown == _BY_DESCRIPTOR
        changed = {"HOME": HOME, "TMPDIR": TEMPORARY, "TEMP": TEMPORARY, "TMP": TEMPORARY}
        environment = {name: os.environ.get(name) for name in changed}
        temporary = tempfile.tempdir
        opened = os.open(self._kept.path, os.O_RDONLY | os.O_DIRECTORY)
        # With as many files open, it may have been given that number.
        moved = by_descriptor and opened != _DESCRIPTOR
        try:
            if moved:
                os.dup2(opened, _DESCRIPTOR, inheritable=False)
            os.chdir(f"{self._kept.path}/{WORK}")
            os.environ |= {name: f"{self._shown}/{folder}" for name, folder in changed.items()}
            tempfile.tempdir = f"{self._shown}/{TEMPORARY}"
            yield
        finally:
            tempfile.tempdir = temporary
            _restore(environment)
            os.chdir(before)
            os.close(opened)
            if moved:
                os.close(_DESCRIPTOR)

    def die(self) -> None:
        """Keep what the crash of the process leaves."""
        self._adopt()
        self.disk.die(self._script.unsynced)
        self._kept.crashed = True

    def end_life(self) -> None:
        """Compare the folder with what is known of it."""
        self._adopt()
        self.disk.check()

    def _adopt(self) -> None:
        if self._kept.is_foreign:
            self.disk.adopt()

    def seal(self) -> None:
        """Record the rules of the disk that were never met."""
        for rule in self._script.rules:
            if rule.id not in self._kept.disk.fired:
                self.disk.kernel.record(
                    "harness",
                    "fault.unmet",
                    fault=rule.id,
                    optional=rule.optional,
                    of="disk",
                    call=None,
                    life=self.disk.kernel.life,
                )


@contextmanager
def keeping_folder(scenario: Scenario, *, is_foreign: bool = False) -> Iterator[FolderKept]:
    """Yield the folder of a run before its first life; it is gone when the run is over."""
    script = scenario.disk or _PLAIN
    origin = os.getcwd()
    path = make_folder(_PREFIX)
    try:
        disk = DiskState(file_system=script.file_system)
        for folder in _FOLDERS:
            disk.keep(folder, None)
        disk.met_names |= met_in_image()
        put_files(disk, {name: bytes(body.now) for name, body in image.items()})
        put_files(disk, texts_at(WORK, script))
        yield FolderKept(path=path, origin=origin, disk=disk, is_foreign=is_foreign)
    finally:
        _remove_folder(path)


def texts_at(folder: str, script: DiskScript) -> dict[str, bytes]:
    """Return what the scenario has in a folder at the start, by name."""
    prefix = f"{folder}/" if folder else ""
    return {f"{prefix}{name}": text.encode() for name, text in script.files.items()}


def put_files(disk: DiskState, files: Mapping[str, bytes]) -> None:
    """Have these files there, durable, with the folders that they lie in."""
    for name, content in files.items():
        for parent in reversed(Path(name).parents[:-1]):
            if parent.as_posix() not in disk:
                disk.keep(parent.as_posix(), None)
        disk.edit(name, content)


def name_when_loading(path: str) -> str | None:
    """Return the name below a run's folder of a file that is opened before any run."""
    origin = os.getcwd()
    return name_outside(os.path.abspath(path), origin)


def _shown_path(real: Path) -> Path:
    """Return the path that the subject sees: the same in every run, where the system has such."""
    try:
        os.fstat(_DESCRIPTOR)
    except OSError:
        return _BY_DESCRIPTOR if _has_descriptors() else real
    return real


@cache
def _has_descriptors() -> bool:
    return _BY_DESCRIPTOR.parent.is_dir()


def _restore(environment: Mapping[str, str | None]) -> None:
    for name, value in environment.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


# ---------------------------------------------------------------------- real folders


def make_folder(prefix: str) -> Path:
    """Make a private folder; the first one takes away those whose processes were killed."""
    root = _MEMORY if os.access(_MEMORY, os.W_OK) else Path(tempfile.gettempdir()).resolve()
    _take_away(root, prefix)
    return Path(tempfile.mkdtemp(prefix=f"{prefix}{os.getpid()}-", dir=root))


def _remove_folder(path: Path) -> None:
    try:
        # Most runs write no file, and to look for some takes longer than to remove the folders.
        for folder in _FOLDERS:
            os.rmdir(f"{path}/{folder}")
        os.rmdir(path)
    except OSError:
        shutil.rmtree(path, ignore_errors=True)


@cache
def _take_away(root: Path, prefix: str) -> None:
    for left in root.glob(f"{prefix}*-*"):
        owner = left.name.removeprefix(prefix).partition("-")[0]
        if owner.isdigit() and not _is_running(int(owner)):
            shutil.rmtree(left, ignore_errors=True)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def write_folder(folder: Path, state: DiskState, wall_ns: int) -> None:
    """Make the real folder what the disk has kept."""
    root = str(folder)
    for entry in os.scandir(root):
        if entry.is_dir():
            shutil.rmtree(entry.path)
        else:
            os.unlink(entry.path)
    linked: dict[int, str] = {}
    for name, body in sorted(state.names.items()):
        path = f"{root}/{name}"
        if body is None:
            os.mkdir(path)
        elif id(body) in linked:
            os.link(linked[id(body)], path)
        else:
            Path(path).write_bytes(bytes(body.now))
            linked[id(body)] = path
    for name in sorted(state.names, reverse=True):
        os.utime(f"{root}/{name}", ns=(wall_ns, wall_ns))


def edit_files(disk: Disk, script: DiskScript) -> bool:
    """Change files as the scenario says it of the time before this life; return whether any."""
    edits = [edit for edit in script.edits if edit.before_life == disk.kernel.life]
    for edit in edits:
        for name, body in list(disk.state.names.items()):
            if body is not None and body.now and fnmatchcase(name, edit.files):
                disk.state.edit(name, _edited(body, edit.how))
                disk.kernel.record(
                    "disk", "disk.edited", file=name, how=edit.how, call=None, life=disk.kernel.life
                )
    return bool(edits)


def _edited(body: FileBody, how: str) -> bytes:
    length = len(body.now)
    return {
        "half": bytes(body.now[: length // 2]),
        "empty": b"",
        "garbage": (b"\x7f\xfe#!" * (length // 4 + 1))[:length],
        "zeros": bytes(length),
    }[how]
