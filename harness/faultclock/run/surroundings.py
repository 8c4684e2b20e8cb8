"""Puts a runtime into its world: builds the fakes of one life, and the Surroundings of them.

The fakes know scripts and a kernel, the ports know neither: each fake is shown as its port here,
and each value as `script_values` has it. What most scenarios leave out is made in
`surroundings_services`. What the fakes remember over the lives of the subject is a FakesState.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from faultclock.fakes.ports.extensions import FakeExtension
from faultclock.fakes.ports.interactors import FakeInteractor, InteractorState
from faultclock.fakes.ports.state_machine import FakeStateMachine
from faultclock.fakes.ports.store import FakeStore
from faultclock.fakes.ports.stored_session import StoreState
from faultclock.fakes.ports.tools import FakeTool, ToolsState
from faultclock.fakes.provider.providers import FakeProviders, ProvidersState
from faultclock.model.duration import SECOND_NS
from faultclock.model.scenario.scenario import Scenario
from faultclock.model.scenario.tool_script import ToolScript
from faultclock.run.bind_scenario import payloads_of
from faultclock.run.script_values import contract_of, limits_of, stage_of, target_of
from faultclock.run.surroundings_services import Services, ServicesState
from faultclock.sim.kernel.kernel import Kernel
from faultclock.sim.world import World
from faultclock.subjects.ports import (
    Host,
    Next,
    Slot,
    SlotDecision,
    Stage,
    Surroundings,
)

_Style = Literal["async", "sync"]


class FakesState(Struct):
    """What the fakes remember over the lives of the subject. Plain data: it is pickled.

    Attributes:
        interactors: by id.
    """

    providers: ProvidersState
    tools: ToolsState
    interactors: dict[str, InteractorState]
    store: StoreState
    services: ServicesState

    @classmethod
    def initial(cls, scenario: Scenario) -> FakesState:
        """Return the state before the first life."""
        world = scenario.world
        return cls(
            providers=ProvidersState.initial(world.fallbacks),
            tools=ToolsState(),
            interactors={script.id: InteractorState() for script in world.interactors},
            store=StoreState.initial(world.stored, world.set_up.id),
            services=ServicesState.initial(world),
        )


class Fakes:
    """Everything around a runtime in one life.

    Args:
        world: of this life.
        state: of the run; it is changed in place.
        seed: of the run, not of the life: what the provider makes up goes on over all lives.
        offers_tools: whether the subject offers the model each tool that it may call.

    Attributes:
        store: the session store, for a rule that crashes a write.
    """

    def __init__(
        self,
        scenario: Scenario,
        world: World,
        style: _Style,
        state: FakesState,
        seed: int,
        *,
        offers_tools: bool = False,
    ) -> None:
        kernel = world.kernel
        session = scenario.world.set_up
        life = kernel.life
        self._scenario = scenario
        self._providers = FakeProviders(
            scenario,
            payloads_of(scenario.provider),
            seed,
            state.providers,
            world.choices.streams,
            offers=offers_tools,
        )
        self._providers.mount(world)
        self.store = FakeStore(scenario.world.stored, kernel, style, state.store, life)
        self._tools = [
            FakeTool(script, kernel, style, state.tools, life) for script in scenario.world.tools
        ]
        self._interactors = [
            FakeInteractor(script, kernel, style, state.interactors[script.id], life)
            for script in scenario.world.interactors
        ]
        self._extensions = [
            FakeExtension(script, kernel, style, life)
            for script in session.extensions
            if not script.lives or life in script.lives
        ]
        self._services = Services(scenario.world, world, style, state.services)
        self._kernel: Kernel = kernel

    def begin_life(self) -> None:
        """Let happen what happens to the store before the process starts."""
        self.store.begin_life()

    def end_life(self) -> None:
        """Record what is left unfinished when a process ends in order."""
        for tool in self._tools:
            tool.end_life()
        for extension in self._extensions:
            extension.end_life()
        self._services.end_life()

    def seal(self) -> None:
        """Record every rule that was never met. Call it once, after the last life."""
        self._providers.seal()
        for tool in self._tools:
            tool.seal()
        for interactor in self._interactors:
            interactor.seal()
        self.store.seal()
        self._services.seal()

    def surroundings(self, host: Host, *, resume: bool, folder: Path) -> Surroundings:
        """Return what the runtime of this life is given."""
        scenario, session = self._scenario, self._scenario.world.set_up
        machine = None
        if session.entry_stage is not None:
            machine = _StateMachine(FakeStateMachine(session, self._kernel, self._kernel.life))
        services, life = self._services, self._kernel.life
        return Surroundings(
            host=host,
            session_id=session.id,
            resume=resume,
            store=self.store,
            tools=tuple(_Tool(tool) for tool in self._tools if _is_there(tool.script, life)),
            interactors=tuple(self._interactors),
            extensions=tuple(_Extension(extension) for extension in self._extensions),
            state_machine=machine,
            mode=session.mode,
            allowlist=session.allowlist,
            headless=session.headless,
            deadlines_s={
                kind: deadline_ns / SECOND_NS for kind, deadline_ns in session.deadlines.items()
            },
            limits=limits_of(session.budgets),
            timeout_s=scenario.tasks[0].timeout / SECOND_NS,
            fallbacks=tuple(target_of(script) for script in scenario.world.fallbacks),
            attempts_per_provider=scenario.world.attempts_per_provider,
            policy=services.policy,
            policies={str(what): then for what, then in session.policies.items()},
            join=session.join,
            quorum=session.quorum,
            denials_max=session.denials_max,
            workflow=services.workflow,
            hooks=services.hooks,
            telemetry=services.telemetry,
            queue=services.queue,
            archive=services.archive,
            folder=folder,
        )


def _is_there(script: ToolScript, life: int) -> bool:
    return not script.lives or life in script.lives


class _Tool:
    """A fake tool as the port shows it."""

    def __init__(self, tool: FakeTool) -> None:
        self.contract = contract_of(tool.script)
        #: The fake's own, so that it is a coroutine function where it has to be one.
        self.execute: Callable[..., Any] = tool.execute
        #: For the own tools of an agent, which its code may call without `await`.
        self.execute_blocking: Callable[..., Any] = tool.execute_blocking
        self.refused = tool.refused


class _StateMachine:
    """A fake state machine as the port shows it: with the port's own types."""

    def __init__(self, machine: FakeStateMachine) -> None:
        self._machine = machine
        self.entry = machine.entry
        self.check_gate = machine.check_gate
        self.grant_tool = machine.grant_tool

    def stage(self, stage_id: str) -> Stage:
        return stage_of(self._machine.stage(stage_id))

    def assess(
        self, stage_id: str, attempt: int, transcript: Sequence[Mapping[str, Any]], failed: bool
    ) -> Literal["ok", "retry", "skip", "fail"]:
        return self._machine.assess(stage_id, attempt, transcript, failed)

    def next(self, stage_id: str, outcome: Literal["ok", "retry", "skip", "fail"]) -> Next:
        step = self._machine.next(stage_id, outcome)
        return Next(kind=step.kind, stage=step.stage)


class _Extension:
    """A fake extension as the port shows it: with the port's own types."""

    def __init__(self, extension: FakeExtension) -> None:
        self._extension = extension
        self.id = extension.id
        self.kind = extension.kind
        self.depends_on = extension.depends_on
        self.conflicts_with = extension.conflicts_with
        self.slot_version = extension.slot_version
        self.init = extension.init
        self.activate = extension.activate
        self.deactivate = extension.deactivate
        self.dispose = extension.dispose
        self.deliver_slot = extension.deliver_slot

    def on_slot_drift(self, stored: Slot) -> SlotDecision:
        choice = self._extension.on_slot_drift(stored)
        return SlotDecision(decision=choice.decision, slot=choice.slot)
