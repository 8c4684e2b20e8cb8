"""A session store: asked through its lives, on a real folder below a simulated disk.

Between two lives there is nothing but the folder. Right after a crash the fresh store is asked for
everything that was ever written, as task `recover`; then the tasks go on. Nothing is judged here.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from faultclock.model.duration import SECOND_NS
from faultclock.model.scenario.disk_script import DiskScript, StoreArguments
from faultclock.model.scenario.mishap import CrashRule
from faultclock.model.scenario.scenario import Scenario, StoreScenario
from faultclock.model.scenario.task import Task
from faultclock.run.agenda import Call
from faultclock.run.folder import edit_files, make_folder, put_files, texts_at, write_folder
from faultclock.run.program import Asked, Program, Setting, Step, Until
from faultclock.run.roles.store_calls import (
    call_method,
    describe_asked,
    describe_returned,
)
from faultclock.sim.host.disk import Disk, PlannedCrash
from faultclock.sim.host.disk_state import DiskState, Leaves
from faultclock.subjects.ports import StoreSurroundings

_FOLDER_PREFIX = "faultclock-store-"
#: How long a process that was ended in good order is away.
_RESTART_NS = SECOND_NS
_WRITES = ("write", "append", "write_slot")


class StoreKept(Struct, kw_only=True):
    """What outlives a process of the store. Plain data: it is pickled.

    Attributes:
        folder: the real one, which is made new after each crash.
        store_id: what the store is opened as.
        crashed: whether the last life was killed.
        skipped: ids of tasks that this store cannot be asked.
        written: session id to the owners of its slots, in the order of their first writes.
    """

    folder: Path
    disk: DiskState
    store_id: str
    crashed: bool = False
    skipped: set[str] = field(default_factory=set)
    written: dict[str, list[str]] = field(default_factory=dict)


class StoreProgram(Program):
    """A store on its disk.

    Attributes:
        store: the object that is asked; None before it was made, and when it could not start.
    """

    names_cut_off = True

    def __init__(self, setting: Setting) -> None:
        super().__init__(*setting.usual)
        kernel = setting.world.kernel
        self.kept: StoreKept = setting.kept
        self.store: Any = None
        self.script = _disk_of(self.scenario)
        self.disk = Disk(kernel, self.kept.folder, self.kept.disk, self.script)
        edited = edit_files(self.disk, self.script)
        if self.kept.crashed or edited or (self.script.files and kernel.life == 1):
            write_folder(self.kept.folder, self.kept.disk, kernel.wall_ns)

    @classmethod
    @contextmanager
    def keeping(cls, scenario: Scenario) -> Iterator[StoreKept]:
        """Yield an empty folder, which is gone when the run is over."""
        script = _disk_of(scenario)
        folder = make_folder(_FOLDER_PREFIX)
        try:
            disk = DiskState(file_system=script.file_system)
            put_files(disk, texts_at("", script))
            yield StoreKept(folder=folder, disk=disk, store_id=script.store_id)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    # ------------------------------------------------------------------ a life

    def steps(self) -> Iterator[Step]:
        """Yield the start, what was written before a crash, the tasks that are left, the close."""
        life, crashed = self.kernel.life, self.kept.crashed
        self.kept.crashed = False
        if life == 1:
            self._record("run.started")
        self._record("process.started", life=life, resume=life > 1, call=None)
        yield self._asked("start", "start", StoreArguments())
        tasks = {task.id: task for task in self.scenario.tasks}
        if self.store is None:
            for task in [tasks[id_] for id_ in self.agenda.todo]:
                self._skip(task)
            return
        if crashed:
            yield from self._recovery()
        last = ""
        while self.agenda.todo:
            task = tasks[next(iter(self.agenda.todo))]
            last = task.do
            if task.do != "restart" and not self._can(task.do):
                self._skip(task)
                continue
            yield Until(task.at)
            arguments = StoreArguments.model_validate(task.arguments)
            yield self._asked(task.id, task.do, arguments, task)
            if task.do == "restart":
                self.restarts = True
                yield Until(self.kernel.now_ns + _RESTART_NS)
                return
        if last != "close" and self._can("close"):
            yield self._asked("close", "close", StoreArguments())
        yield from self.settling()

    def _skip(self, task: Task) -> None:
        self.kept.skipped.add(task.id)
        why = f"the store has no {task.do}" if self.store is not None else "there is no store"
        self.skip(self.agenda.call(task.id, task.do, task), why)

    def _recovery(self) -> Iterator[Step]:
        for session, owners in list(self.kept.written.items()):
            for do in ("read", "read_journal"):
                if self._can(do):
                    yield self._asked("recover", do, StoreArguments(session=session))
            for owner in owners:
                if self._can("read_slot"):
                    arguments = StoreArguments(session=session, owner=owner)
                    yield self._asked("recover", "read_slot", arguments)
        if self._can("list_sessions"):
            yield self._asked("recover", "list_sessions", StoreArguments())

    def _can(self, do: str) -> bool:
        try:
            return callable(getattr(self.store, do, None))
        except Exception:  # noqa: BLE001 - an attribute of the subject's may raise anything
            return False

    def _asked(
        self, name: str, do: str, arguments: StoreArguments, task: Task | None = None
    ) -> Asked:
        return Asked((self.agenda.call(name, do, task, arguments=arguments),))

    def arm_write(self, rule: CrashRule, kill: Callable[[], None]) -> None:
        """Have `kill` called in the act on the disk that `rule` names."""
        assert rule.write is not None, "such a rule names an act"
        self.disk.crash = PlannedCrash(act=rule.write, leaves=rule.leaves, kill=kill)

    def die(self, leaves: Leaves | None) -> None:
        """Keep on the disk what a crash leaves."""
        self.disk.die(leaves or self.script.unsynced)
        self.kept.crashed = True

    def end_life(self) -> None:
        """Compare the folder with what is known of it."""
        self.disk.check()

    def seal(self) -> None:
        """Record the rules of the disk that were never met."""
        for rule in self.script.rules:
            if rule.id not in self.kept.disk.fired:
                # What was planned for a task that this store cannot be asked shows nothing of it.
                optional = rule.optional or rule.when.task in self.kept.skipped
                self._beside("fault.unmet", fault=rule.id, optional=optional, of="disk")

    def may_miss(self, rule: CrashRule) -> bool:
        """Return whether a crash was planned for a task that this store cannot be asked."""
        call = None if rule.on is None else rule.on.where.get("call")
        return call is not None and str(call).rpartition("/")[0] in self.kept.skipped

    # ------------------------------------------------------------------ a call

    def begin(self, call: Call, /, **facts: Any) -> None:
        """Record what is asked."""
        arguments: StoreArguments = call.arguments
        if call.do in _WRITES:
            owners = self.kept.written.setdefault(arguments.session, [])
            if arguments.owner is not None and arguments.owner not in owners:
                owners.append(arguments.owner)
        asked = describe_asked(call, self.kept.store_id)
        super().begin(call, copy=1, store=self.kept.store_id, **asked, **facts)

    def ask(self, call: Call) -> Generator[Callable[[], Any], Any, Any]:
        """Make the store, or call the method that the call is about."""
        if call.do == "start":
            surroundings = StoreSurroundings(
                folder=self.kept.folder, host=self.host, store_id=self.kept.store_id
            )
            self.store = yield partial(self.binding.function, surroundings)
            return None
        if call.do == "restart":
            return (yield lambda: self.store.close()) if self._can("close") else None
        return (yield partial(call_method, self.store, call, self.kept.store_id))

    def returned(self, call: Call, value: object, /, **facts: Any) -> None:
        """Record what was returned."""
        if call.do == "restart" and call.arguments.store_id is not None:
            self.kept.store_id = call.arguments.store_id
        super().returned(call, value, **describe_returned(call, value), **facts)


# ---------------------------------------------------------------------- the folder


def _disk_of(scenario: Scenario) -> DiskScript:
    """Return the disk that a scenario of this role has, a good one where it says nothing of it."""
    assert isinstance(scenario, StoreScenario), "the role was checked"
    return scenario.disk or DiskScript()
