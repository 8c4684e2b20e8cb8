"""Miniatures of Relavium runtimes whose stream of events is wrong: envelope, runs, and nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from faultclock.subjects.agent_miniatures.relavium_table import relavium
from faultclock.subjects.ports import Node
from faultclock.subjects.reference_agents.core import Ended, Turn
from faultclock.subjects.reference_agents.relavium import RelaviumAgent
from faultclock.subjects.reference_agents.relavium_errors import RunError
from faultclock.subjects.reference_agents.relavium_run import Run

__all__ = ["EventFields", "adding", "altered", "lacking", "without"]

EventFields = dict[str, Any]
_Change = Callable[[Run, str, EventFields], Iterable[tuple[str, EventFields]]]


def altered(change: _Change) -> type[Run]:
    """Return a kind of run whose every event goes through `change`, which may drop or add some."""

    class Altered(Run):
        def emit(self, name: str, **fields: Any) -> None:
            for own_name, own_fields in change(self, name, fields):
                super().emit(own_name, **own_fields)

    return Altered


def without(name: str) -> type[Run]:
    """Return a kind of run that never emits `name`."""
    return altered(lambda _, each, fields: () if each == name else ((each, fields),))


def lacking(name: str, *lost: str) -> type[Run]:
    """Return a kind of run whose events `name` lack some fields."""

    def change(_: Run, each: str, fields: EventFields) -> Iterable[tuple[str, EventFields]]:
        left = {key: value for key, value in fields.items() if each != name or key not in lost}
        return ((each, left),)

    return altered(change)


def adding(name: str, **more: Any) -> type[Run]:
    """Return a kind of run whose events `name` have further fields, or other ones."""
    return altered(
        lambda _, each, fields: ((each, {**fields, **more} if each == name else fields),)
    )


# The envelope.


@relavium(
    "forgets-the-time",
    "Emits events without a timestamp",
    fails="ordering.envelope-is-whole",
    shown_by="healthy-run",
)
class _ForgetsTheTime(RelaviumAgent):
    class run_type(Run):  # noqa: N801 - it takes the place of an attribute
        def emit(self, name: str, **fields: Any) -> None:
            number, self.seq = self.seq, self.seq + 1
            self.host.event(name, runId=self.id, sequenceNumber=number, **fields)


# Runs.


@relavium(
    "starts-late",
    "Says that a run has started when its first node is done",
    fails="ordering.run-starts-first",
    shown_by="healthy-run",
)
class _StartsLate(RelaviumAgent):
    def turn_started(self, turn: Turn) -> None:
        self.run = self.new_run(turn.number)

    async def whole_node(self, turn: Turn, node: Node) -> str:
        text = await super().whole_node(turn, node)
        if not self.run.outputs:
            self.run.emit("run:started")
        return text


# Nodes.


@relavium(
    "fails-what-never-began",
    "Fails the nodes that cannot be reached, in place of skipping them",
    fails="ordering.node-started-first",
    shown_by="handler-throws",
)
class _FailsWhatNeverBegan(RelaviumAgent):
    run_type = altered(
        lambda run, name, fields: (
            (
                "node:failed" if name == "node:skipped" else name,
                {**fields, "error": {"code": "internal", "message": "no", "retryable": False}}
                | {"correlationId": run.correlation_id}
                if name == "node:skipped"
                else fields,
            ),
        )
    )


@relavium(
    "announces-and-gives-up",
    "Announces a retry that never comes",
    fails="ordering.retry-starts-again",
    shown_by="tool-fails-for-good",
)
class _AnnouncesAndGivesUp(RelaviumAgent):
    def node_failed(self, node: Node, error: RunError, nodes: tuple[Node, ...]) -> None:
        shown = self.shown(error)
        self.node_event("node:retrying", node, attemptNumber=2, error=shown, delayMs=0)
        super().node_failed(node, error, nodes)


@relavium(
    "executes-what-it-skips",
    "Executes a node that it has skipped",
    fails="ordering.skipped-never-acts",
    shown_by="handler-throws",
)
class _ExecutesWhatItSkips(RelaviumAgent):
    async def work(self, turn: Turn) -> str:
        try:
            return await super().work(turn)
        except Ended:
            workflow = self.world.workflow
            assert workflow is not None
            await workflow.handle(workflow.nodes[-1].id)
            raise
