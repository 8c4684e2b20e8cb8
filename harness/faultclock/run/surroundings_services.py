"""Puts into a runtime's world what few need: services, a workflow, a policy engine, programs.

They are the part of `surroundings` that most scenarios leave out. What one does not have is None,
or an empty tuple, as the port says; an archive is there whenever there is a workflow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from msgspec import Struct, field

from faultclock.fakes.ports.archive import FakeArchive
from faultclock.fakes.ports.policy import FakePolicy
from faultclock.fakes.ports.programs import FakePrograms, ProgramsState
from faultclock.fakes.ports.services import FakeHook, FakeQueue, FakeTelemetry
from faultclock.fakes.ports.uses import UsesState
from faultclock.fakes.ports.workflow import FakeWorkflow, made_nodes
from faultclock.model.scenario.scenario import RuntimeWorld
from faultclock.run.script_values import node_of
from faultclock.sim.world import World
from faultclock.subjects.outcome import scrub
from faultclock.subjects.ports import Node, SandboxError, Workflow


class ServicesState(Struct):
    """What these fakes remember over the lives of the subject. Plain data: it is pickled.

    Attributes:
        hooks, nodes: by id.
    """

    hooks: dict[str, UsesState] = field(default_factory=dict)
    nodes: dict[str, UsesState] = field(default_factory=dict)
    telemetry: UsesState = field(default_factory=UsesState)
    queue: UsesState = field(default_factory=UsesState)
    programs: ProgramsState = field(default_factory=ProgramsState)

    @classmethod
    def initial(cls, script: RuntimeWorld) -> ServicesState:
        """Return the state before the first life."""
        return cls(
            hooks={hook.id: UsesState() for hook in script.hooks},
            nodes={node.id: UsesState() for node in made_nodes(script.nodes)},
        )


class Services:
    """These fakes in one life of the subject, each as its port shows it.

    Programs have no port: the subject starts them as it would start real ones.

    Args:
        world: of this life.
        style: of the subject.
        state: of the run; it is changed in place.

    Attributes:
        policy: None unless some tool has a policy.
        archive: None unless there is a workflow.
    """

    def __init__(
        self,
        script: RuntimeWorld,
        world: World,
        style: Literal["async", "sync"],
        state: ServicesState,
    ) -> None:
        kernel, life = world.kernel, world.kernel.life
        self.hooks = tuple(
            FakeHook(hook, kernel, style, state.hooks[hook.id], life, clean=scrub)
            for hook in script.hooks
        )
        self.telemetry: FakeTelemetry | None = None
        if script.telemetry is not None:
            self.telemetry = FakeTelemetry(
                script.telemetry, kernel, style, state.telemetry, life, clean=scrub
            )
        self.queue: FakeQueue | None = None
        if script.queue is not None:
            self.queue = FakeQueue(script.queue, kernel, style, state.queue, life, clean=scrub)
        self.policy: FakePolicy | None = None
        if any(tool.policy for tool in script.tools):
            self.policy = FakePolicy(script.tools, kernel, life)
        self.workflow: Workflow | None = None
        self.archive: FakeArchive | None = None
        self._workflow: FakeWorkflow | None = None
        if script.workflow is not None:
            self._workflow = FakeWorkflow(
                script.workflow, kernel, style, state.nodes, SandboxError, life, clean=scrub
            )
            nodes = tuple(node_of(node) for node in script.nodes)
            self.workflow = _Workflow(self._workflow, nodes, script.workflow.iterations_max)
            self.archive = FakeArchive(kernel, style, life, clean=scrub)
        self._programs = FakePrograms(script.programs, kernel, state.programs, life)
        self._programs.mount(world)

    def end_life(self) -> None:
        """Record what is left unfinished when a process ends in order."""
        self._programs.end_life()

    def seal(self) -> None:
        """Record every rule that was never met. Call it once, after the last life."""
        for fake in (*self.hooks, self.telemetry, self.queue, self._workflow, self._programs):
            if fake is not None:
                fake.seal()


class _Workflow:
    """A fake workflow as the port shows it: with the port's own nodes."""

    def __init__(
        self, workflow: FakeWorkflow, nodes: tuple[Node, ...], iterations_max: int
    ) -> None:
        self.nodes = nodes
        self.iterations_max = iterations_max
        #: The fake's own, so that they are coroutine functions where they have to be.
        self.evaluate: Callable[[str], Any] = workflow.evaluate
        self.handle: Callable[[str], Any] = workflow.handle
