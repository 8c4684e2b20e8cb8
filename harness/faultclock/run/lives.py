"""Lives: a run of a subject, from its first process to its last.

Each life of the process is a world of its own. A fresh one goes on where the last one ended, in
virtual time, in the numbers of the facts, and with everything that outlives a process: what is
left to ask, the counters of all rules, and what the role keeps (a store's disk, the fakes of a
runtime). All of that is a Progress, plain data, so that each life can have a real process of its
own: then nothing else can survive.

A crash takes the Progress as it is at that very instant. What the killed code still does, in
a `finally` or on the way out, changes nothing any more; in a process of its own it does nothing.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from faultclock.fakes.provider.services import FakeServices, ServicesState
from faultclock.model.scenario.mishap import CrashRule
from faultclock.model.scenario.scenario import Role, Scenario
from faultclock.model.tape import BLANK, PLAIN, Chance, Tape
from faultclock.run.agenda import Agenda
from faultclock.run.drive import AsyncDriver, SyncDriver
from faultclock.run.folder import FolderKept, RunFolder, keeping_folder
from faultclock.run.foreign import connect, process_of
from faultclock.run.mishaps import Mishaps, MishapsState
from faultclock.run.notes.taking import RawNotes, noting
from faultclock.run.program import Setting
from faultclock.run.roles.adapter import AdapterProgram
from faultclock.run.roles.extension import ExtensionProgram
from faultclock.run.roles.runtime import RuntimeProgram
from faultclock.run.roles.store import StoreProgram
from faultclock.run.roles.tool import ToolProgram
from faultclock.run.run_result import Happened, reason_of
from faultclock.run.worlds import choices_of, limits_of, seed_of_life
from faultclock.sim.kernel.recorder import Fact, Recorder
from faultclock.sim.world import World
from faultclock.subjects.binding import Binding

_Program = (
    type[AdapterProgram]
    | type[RuntimeProgram]
    | type[ToolProgram]
    | type[StoreProgram]
    | type[ExtensionProgram]
)
#: What a subject of each role is asked, and what is put around it.
_PROGRAMS: Mapping[Role, _Program] = {
    "provider_adapter": AdapterProgram,
    "runtime": RuntimeProgram,
    "tool": ToolProgram,
    "session_store": StoreProgram,
    "extension": ExtensionProgram,
}


class Progress(Struct):
    """How far a run has come. Plain data: it is pickled.

    Attributes:
        kept: what the role keeps; see `Program.keeping`.
        services: what the other hosts remember.
        folder: what the subject's files are; None for a session store, whose program keeps them.
        life: 1-based number of the process that lives now, or comes next.
        now_ns: virtual time at which it starts.
        facts: how many were recorded before it.
        connections: how many were opened before it.
        escapes: what was refused so far, which spoils the run however it ends.
    """

    agenda: Agenda
    kept: Any
    folder: FolderKept | None
    services: ServicesState
    mishaps: MishapsState = field(default_factory=MishapsState)
    life: int = 1
    now_ns: int = 0
    facts: int = 0
    connections: int = 0
    escapes: tuple[str, ...] = ()


class LifeOver(Struct, frozen=True, kw_only=True):
    """What a life left behind after which another one comes. Plain data: it is pickled.

    Attributes:
        facts: of this life.
        progress: at its end.
        crash: id of the rule that killed the process.
        restarts: a fresh one was asked for.
        tape, notes: what was chosen in it, and noted of it; see `Happened`.
    """

    facts: list[Fact]
    progress: Progress
    crash: str | None = None
    restarts: bool = False
    tape: Tape = BLANK
    notes: RawNotes = field(default_factory=RawNotes)


#: Ends the process of a life with what it left behind; returns where that is not possible.
Leave = Callable[[LifeOver], None]


class Life(Protocol):
    """A life that is about to be lived."""

    def __call__(self, leave: Leave) -> LifeOver | Happened:
        """Live it, and return what happened in it if it is the last one.

        A process that is killed calls `leave`, if that can end it.
        """
        ...


def inline(life: Life) -> LifeOver | Happened:
    """Live a life in this process, which goes on afterwards."""
    return life(lambda _: None)


def live(
    scenario: Scenario,
    binding: Binding,
    seed: int,
    chance: Chance = PLAIN,
    *,
    run_life: Callable[[Life], LifeOver | Happened] = inline,
) -> Happened:
    """Let a subject live through `scenario`, with as many lives as it takes.

    Args:
        run_life: lives one life; it may do so in another process. What it raises ends the run.

    Raises:
        InputError: a task asks for something that its role cannot be asked for.
    """
    program = _PROGRAMS[binding.role]
    program.check(scenario, binding)
    facts: list[Fact] = []
    tape = BLANK
    notes = RawNotes()
    with program.keeping(scenario) as kept, _folder_of(scenario, binding) as folder:
        progress = Progress(
            agenda=Agenda.initial(scenario),
            kept=kept,
            folder=folder,
            services=ServicesState.initial(scenario.services),
        )
        while True:
            life = partial(_live_once, scenario, binding, seed, chance, progress)
            with process_of(binding):
                over = run_life(life)
            facts += over.facts
            tape = tape.joined(over.tape)
            notes = notes.joined(over.notes)
            if isinstance(over, Happened):
                ended_at_ns = max(over.ended_at_ns, progress.now_ns)
                return replace(over, facts=facts, tape=tape, notes=notes, ended_at_ns=ended_at_ns)
            progress = _next_life(scenario, program, over, facts)


def _live_once(
    scenario: Scenario,
    binding: Binding,
    seed: int,
    chance: Chance,
    progress: Progress,
    leave: Leave,
) -> LifeOver | Happened:
    """Live one life; `progress` is used up by it."""
    killed: list[LifeOver] = []
    # What is killed and what is cancelled is made below, with the world that it lives in.
    mishaps = Mishaps(
        scenario,
        progress.mishaps,
        kill=lambda rule, in_write: kill(rule, in_write),
        cancel=lambda rule: driver.cancel(rule),
    )
    world = _world(binding, scenario, seed, chance, progress, mishaps.recorder(progress.facts))
    services = FakeServices(scenario.services, progress.services, world, seed, binding.unreachable)
    own = progress.folder
    folder = None if own is None else RunFolder(scenario, world.kernel, own)
    program = _PROGRAMS[binding.role](
        Setting(
            scenario=scenario,
            binding=binding,
            seed=seed,
            world=world,
            agenda=progress.agenda,
            cancelled=progress.mishaps.cancelled,
            kept=progress.kept,
            folder=None if folder is None else folder.path,
        )
    )
    driver = AsyncDriver(program) if binding.style == "async" else SyncDriver(program)
    mishaps.arm(world.kernel, program)

    def left_behind() -> dict[str, Any]:
        facts, tape = list(world.recorder.events), world.choices.noted()
        return {"facts": facts, "tape": tape, "notes": notes.taken()}

    def kill(rule: CrashRule, in_write: bool) -> None:
        program.die(rule.leaves if in_write else None)
        if folder is not None:
            folder.die()
        _note(progress, world)
        # Copies: what the killed code does from here on must not reach them.
        left: Progress = pickle.loads(pickle.dumps(progress))  # noqa: S301 - our own
        killed.append(LifeOver(progress=left, crash=rule.id, **left_behind()))
        leave(killed[0])
        world.kernel.crash()

    with noting(world.kernel) as notes, folder.entered() if folder else nullcontext():
        ending = world.run(driver.main)
    if ending.reason == "crashed":
        return killed[0]
    program.end_life()
    if folder is not None:
        folder.end_life()
    if program.restarts and ending.reason == "completed":
        _note(progress, world)
        return LifeOver(progress=progress, restarts=True, **left_behind())
    for part in (program, services, *filter(None, (folder,))):
        part.seal()
    mishaps.seal(world.kernel, program)
    _note(progress, world)
    reason, detail = reason_of(ending)
    if reason == "completed" and progress.escapes:
        reason, detail = "escape", progress.escapes
    ended_at_ns = world.kernel.now_ns
    return Happened(ending=reason, detail=detail, ended_at_ns=ended_at_ns, **left_behind())


def _folder_of(scenario: Scenario, binding: Binding) -> AbstractContextManager[FolderKept | None]:
    if scenario.role == "session_store":
        return nullcontext()
    return keeping_folder(scenario, is_foreign=binding.program is not None)


def _world(
    binding: Binding,
    scenario: Scenario,
    seed: int,
    chance: Chance,
    progress: Progress,
    recorder: Recorder,
) -> World:
    world = World(
        seed=seed_of_life(seed, progress.life),
        limits=limits_of(scenario),
        latency_ns=scenario.provider.latency,
        jitter_ns=scenario.provider.jitter,
        recorder=recorder,
        life=progress.life,
        start_ns=progress.now_ns,
        connections=progress.connections,
        choices=choices_of(scenario, seed, chance, progress.life),
    )
    connect(binding, world, progress.folder)
    return world


def _note(progress: Progress, world: World) -> None:
    """Take down what the world knows of how far it has come."""
    progress.now_ns = world.kernel.now_ns
    progress.facts = world.recorder.before + len(world.recorder.events)
    progress.connections = world.network.connections_made
    progress.escapes += tuple(world.kernel.escapes)


def _next_life(
    scenario: Scenario, program: _Program, over: LifeOver, facts: list[Fact]
) -> Progress:
    """Record the end of a process, and return the progress at which the next one starts."""
    progress = over.progress
    life = progress.life
    rule = next((rule for rule in scenario.crash_rules if rule.id == over.crash), None)

    def record(kind: str, **payload: object) -> None:
        number = len(facts) + 1
        facts.append((number, progress.now_ns, "harness", kind, {**payload, "life": life}))

    again = rule is not None and rule.then == "again"
    calls = progress.agenda.cut_off(scenario, again=again)
    if rule is not None:
        named = calls[0] if calls and program.names_cut_off else None
        record("fault.fired", fault=rule.id, fault_kind="crash", of="crash", call=named)
        record("process.crashed", crash=rule.id, call=named)
    for call in calls:
        record("call.crashed", call=call)
    progress.life += 1
    progress.facts = len(facts)
    progress.now_ns += 0 if rule is None else rule.restart_after
    return progress
