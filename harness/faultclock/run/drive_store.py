"""Drives a session store through its lives, on a real folder below a simulated disk.

A life is one process of the store: a world of its own that goes on where the last one ended, and
a fresh object made by the binding. Between two lives there is nothing but the folder. Right after
a crash the fresh store is asked for everything that was ever written, as task `recover`; then the
tasks go on. Nothing is judged here.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path

from faultclock.model.disk_script import DiskEdit, DiskScript
from faultclock.model.mishap import CrashRule
from faultclock.model.scenario import Scenario
from faultclock.model.tape import BLANK, PLAIN, Chance, Tape
from faultclock.model.trace import EndingReason
from faultclock.run.happened import Happened, reason_of, so_far
from faultclock.run.isolate import Died, Hung, run_isolated, time_left_s
from faultclock.run.moments import Watch
from faultclock.run.notes import RawNotes, hung_notes, noting
from faultclock.run.store_program import StoreProgram
from faultclock.run.worlds import choices_of, has_lives, limits_of, seed_of_life
from faultclock.sim.disk import Disk, PlannedCrash
from faultclock.sim.disk_state import DiskState
from faultclock.sim.recorder import Fact, Recorder, WatchedRecorder
from faultclock.sim.world import World
from faultclock.subjects.binding import Binding

__all__ = ["StoreRun", "forks_lives", "simulate_store"]

#: Real seconds kept of the time left, and their largest part of it, so that the watchdog of a life
#: can say where it hung before that of the run ends both.
_KEPT_S, _KEPT_SHARE = 2.0, 0.5
_FOLDER_PREFIX = "faultclock-store-"
#: A file system in memory, where there is one: what is durable is decided by the simulation, and
#: a real disk would only make it slow.
_MEMORY = Path("/dev/shm")  # noqa: S108 - a fresh private folder is made in it


@dataclass(slots=True, kw_only=True)
class StoreRun:
    """What goes from life to life. Plain data: it is pickled.

    Attributes:
        now_ns: virtual time at which the next life begins.
        life: 1-based number of the next life.
        task: index of the next task.
        crashes: how many of the scenario's crashes have happened.
        seen: crash rule id to the facts that matched its trigger.
        crashed: whether the last life was killed.
        asked: task id to how often it was asked.
        skipped: ids of tasks that this store cannot be asked.
        written: session id to the owners of its slots, in the order of their first writes.
        ending: how it ended; None while there is a life to come.
        notes: of all lives so far; see `Happened`.
    """

    disk: DiskState
    store_id: str
    tape: Tape = BLANK
    facts: list[Fact] = field(default_factory=list)
    now_ns: int = 0
    life: int = 1
    task: int = 0
    crashes: int = 0
    seen: dict[str, int] = field(default_factory=dict)
    crashed: bool = False
    asked: dict[str, int] = field(default_factory=dict)
    written: dict[str, list[str]] = field(default_factory=dict)
    skipped: set[str] = field(default_factory=set)
    ending: EndingReason | None = None
    detail: tuple[str, ...] = ()
    notes: RawNotes = field(default_factory=RawNotes)


def simulate_store(
    scenario: Scenario,
    binding: Binding,
    seed: int,
    chance: Chance = PLAIN,
) -> Happened:
    """Run a store through all its lives, each in a process of its own unless it is `inline`."""
    script = scenario.disk or DiskScript()
    run = StoreRun(disk=DiskState(file_system=script.file_system), store_id=script.store_id)
    folder = _make_folder()
    try:
        while run.ending is None:
            if forks_lives(scenario, binding):
                run = _live_apart(scenario, binding, seed, chance, run, folder)
            else:
                run = _live(scenario, binding, seed, chance, run, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return Happened(
        facts=run.facts,
        ending=run.ending,
        detail=run.detail,
        ended_at_ns=run.now_ns,
        tape=run.tape,
        notes=run.notes,
    )


def forks_lives(scenario: Scenario, binding: Binding) -> bool:
    """Return whether a run forks a process for each life of a store: that one does the work."""
    return binding.role == "session_store" and has_lives(scenario) and not binding.inline


def _live_apart(
    scenario: Scenario,
    binding: Binding,
    seed: int,
    chance: Chance,
    run: StoreRun,
    folder: Path,
) -> StoreRun:
    left_s = min(scenario.limits.wall_time / 1e9, time_left_s())
    limit_s = left_s - min(_KEPT_S, left_s * _KEPT_SHARE)
    outcome = run_isolated(
        lambda: _live(scenario, binding, seed, chance, run, folder),
        wall_limit_s=limit_s,
        so_far=so_far,
    )
    if isinstance(outcome, Hung):
        if isinstance(known := outcome.so_far, Happened):
            facts, now_ns = [*run.facts, *known.facts], known.ended_at_ns
            run = replace(run, facts=facts, now_ns=now_ns, notes=run.notes.joined(known.notes))
        notes = run.notes.joined(hung_notes(outcome.stacks, run.now_ns))
        return replace(run, ending=outcome.ending, detail=outcome.detail, notes=notes)
    if isinstance(outcome, Died):
        return replace(run, ending=outcome.ending, detail=outcome.detail)
    return outcome


# ---------------------------------------------------------------------- one life


class _Life:
    """One process of the store: its world, its disk, and how it is killed."""

    def __init__(
        self,
        scenario: Scenario,
        binding: Binding,
        seed: int,
        chance: Chance,
        run: StoreRun,
        folder: Path,
    ) -> None:
        self.run = run
        self.crash = next(iter(scenario.crashes[run.crashes :]), None)
        self.killed: CrashRule | None = None
        before = len(run.facts)
        trigger = None if self.crash is None else self.crash.on
        recorder = Recorder(before=before)
        if self.crash is not None and trigger is not None:
            watch = Watch(run.seen)
            watch.add(self.crash.id, trigger, self.kill_now)
            recorder = WatchedRecorder(watch.look, before=before)
        self.world = World(
            seed=seed_of_life(seed, run.life),
            limits=limits_of(scenario),
            recorder=recorder,
            life=run.life,
            start_ns=run.now_ns,
            choices=choices_of(scenario, seed, chance, run.life),
        )
        self.kernel = self.world.kernel
        planned = None
        if self.crash is not None and self.crash.write is not None:
            planned = PlannedCrash(act=self.crash.write, leaves=self.crash.leaves)
        self.disk = Disk(
            self.kernel,
            folder,
            run.disk,
            scenario.disk or DiskScript(),
            crash=planned,
            on_crash=self.crashed,
        )
        self.program = StoreProgram(self.kernel, binding, scenario, run, folder)

    async def run_async(self) -> None:
        """Live, with an async store."""
        self._begin()
        await self.program.run_async()

    def run_blocking(self) -> None:
        """Live, with a blocking store."""
        self._begin()
        self.program.run_blocking()

    def _begin(self) -> None:
        # In the world, since a crash may come right after either of these.
        life = self.run.life
        if life == 1:
            self.kernel.record("harness", "run.started")
        self.kernel.record("harness", "process.started", life=life, resume=life > 1, call=None)

    def kill_now(self) -> None:
        """Kill the process, wherever it is."""
        if self.killed is None and self.kernel.ending is None:
            self.disk.die(self.disk.script.unsynced)
            self.kernel.crash()

    def crashed(self) -> None:
        """Record the crash, and the calls that it cut off."""
        rule = self.crash
        assert rule is not None, "only a rule crashes"
        self.killed = rule
        self.run.crashes += 1
        life = self.run.life
        call = self.program.running.id if self.program.running is not None else None
        self.kernel.record(
            "harness",
            "fault.fired",
            fault=rule.id,
            fault_kind="crash",
            of="crash",
            call=call,
            life=life,
        )
        self.kernel.record("harness", "process.crashed", life=life, crash=rule.id, call=call)
        if call is not None:
            self.kernel.record("harness", "call.crashed", call=call, life=life)


def _live(
    scenario: Scenario,
    binding: Binding,
    seed: int,
    chance: Chance,
    run: StoreRun,
    folder: Path,
) -> StoreRun:
    life = _Life(scenario, binding, seed, chance, run, folder)
    kernel, disk = life.kernel, life.disk
    edited = [edit for edit in _edits(scenario) if edit.before_life == run.life]
    for edit in edited:
        _edit(disk, edit)
    if run.crashed or edited:
        _write_folder(folder, run.disk, kernel.wall_ns)
    if life.crash is not None and life.crash.at is not None and life.crash.at >= run.now_ns:
        kernel.call_at(life.crash.at, life.kill_now)
    with noting(kernel) as notes:
        ending = life.world.run(life.run_async if binding.style == "async" else life.run_blocking)
    run.notes = run.notes.joined(notes.taken())
    run.crashed = life.killed is not None
    if not run.crashed:
        disk.check()
    run.now_ns = kernel.now_ns
    goes_on = run.crashed or (ending.reason == "completed" and life.program.restarts)
    if goes_on:
        _go_on(run, life)
    else:
        run.ending, run.detail = reason_of(ending)
        _seal(scenario, life)
    run.facts += kernel.recorder.events
    run.tape = run.tape.joined(life.world.choices.noted())
    return run


def _go_on(run: StoreRun, life: _Life) -> None:
    if life.killed is not None:
        run.now_ns += life.killed.restart_after
        if life.killed.then == "next" and life.program.in_task:
            run.task += 1
    run.life += 1


def _seal(scenario: Scenario, life: _Life) -> None:
    """Record every rule that was not met."""
    run, script = life.run, scenario.disk or DiskScript()
    # What was planned for a task that this store cannot be asked shows nothing of it.
    unmet = [
        (rule.id, _task_of(rule) in run.skipped, "crash")
        for rule in scenario.crashes[run.crashes :]
    ]
    unmet += [
        (rule.id, rule.optional or rule.when.task in run.skipped, "disk")
        for rule in script.rules
        if rule.id not in run.disk.fired
    ]
    for id_, optional, of in unmet:
        life.kernel.record(
            "harness",
            "fault.unmet",
            fault=id_,
            optional=optional,
            of=of,
            call=None,
            life=run.life,
        )


def _task_of(rule: CrashRule) -> str | None:
    """Return the task whose call a crash waits for."""
    call = None if rule.on is None else rule.on.where.get("call")
    return str(call).rpartition("/")[0] if call is not None else None


# ---------------------------------------------------------------------- the folder


def _edits(scenario: Scenario) -> tuple[DiskEdit, ...]:
    return () if scenario.disk is None else scenario.disk.edits


def _edit(disk: Disk, edit: DiskEdit) -> None:
    for name, body in list(disk.state.names.items()):
        if body is None or not fnmatchcase(name, edit.files) or not body.now:
            continue
        length = len(body.now)
        content = {
            "half": bytes(body.now[: length // 2]),
            "empty": b"",
            "garbage": (b"\x7f\xfe#!" * (length // 4 + 1))[:length],
            "zeros": bytes(length),
        }[edit.how]
        disk.state.edit(name, content)
        disk.kernel.record(
            "disk", "disk.edited", file=name, how=edit.how, call=None, life=disk.kernel.life
        )


def _make_folder() -> Path:
    """Make a private folder, and take away those whose processes were killed."""
    root = _MEMORY if os.access(_MEMORY, os.W_OK) else Path(tempfile.gettempdir())
    for left in root.glob(f"{_FOLDER_PREFIX}*-*"):
        owner = left.name.removeprefix(_FOLDER_PREFIX).partition("-")[0]
        if owner.isdigit() and not _is_running(int(owner)):
            shutil.rmtree(left, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"{_FOLDER_PREFIX}{os.getpid()}-", dir=root)).resolve()


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _write_folder(folder: Path, state: DiskState, wall_ns: int) -> None:
    """Make the real folder what the disk has kept."""
    for path in list(folder.iterdir()):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    linked: dict[int, Path] = {}
    for name, body in sorted(state.names.items()):
        path = folder / name
        if body is None:
            path.mkdir()
        elif id(body) in linked:
            path.hardlink_to(linked[id(body)])
        else:
            path.write_bytes(bytes(body.now))
            linked[id(body)] = path
    for name in sorted(state.names, reverse=True):
        os.utime(folder / name, ns=(wall_ns, wall_ns))
