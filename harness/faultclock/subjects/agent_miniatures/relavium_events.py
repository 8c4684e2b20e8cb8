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


@relavium(
    "belongs-to-both",
    "Emits events that belong to a run and to a session",
    fails="ordering.one-correlation-key",
    shown_by="healthy-run",
)
class _BelongsToBoth(RelaviumAgent):
    run_type = adding("node:started", sessionId="s1")


@relavium(
    "counts-from-one",
    "Numbers the events of a run from one",
    fails="ordering.numbered-from-zero",
    shown_by="healthy-run",
)
class _CountsFromOne(RelaviumAgent):
    def new_run(self, number: int) -> Run:
        run = super().new_run(number)
        run.seq = 1
        return run


@relavium(
    "loses-a-number",
    "Leaves out a sequence number for each event that it does not show",
    fails="ordering.numbered-without-a-gap",
    shown_by="healthy-run",
)
class _LosesANumber(RelaviumAgent):
    class run_type(Run):  # noqa: N801 - it takes the place of an attribute
        def emit(self, name: str, **fields: Any) -> None:
            if name == "agent:tool_call":
                self.seq += 1
            super().emit(name, **fields)


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


@relavium(
    "ends-good-runs-only",
    "Ends no run that failed (ag-ui-protocol/ag-ui#2416)",
    fails="ordering.run-ends-once",
    shown_by="handler-throws",
    origin="ag-ui-protocol/ag-ui#2416",
)
class _EndsGoodRunsOnly(RelaviumAgent):
    run_type = without("run:failed")


@relavium(
    "fails-and-finishes",
    "Emits run:completed after run:failed (agentscope-ai/agentscope-java#2642)",
    fails="ordering.run-ends-once",
    shown_by="tool-fails-for-good",
    origin="agentscope-ai/agentscope-java#2642",
)
class _FailsAndFinishes(RelaviumAgent):
    async def turn_over(self, turn: Turn, end: Ended) -> None:
        await super().turn_over(turn, end)
        if end.state == "failed":
            self.run.emit("run:completed", outputs={})


@relavium(
    "counts-after-the-end",
    "Emits the cost of a run after its terminal event",
    fails="ordering.run-end-is-last",
    shown_by="healthy-run",
)
class _CountsAfterTheEnd(RelaviumAgent):
    async def turn_over(self, turn: Turn, end: Ended) -> None:
        await super().turn_over(turn, end)
        self.run.emit("cost:updated", tokens=turn.tokens)


@relavium(
    "forgets-cut-off-runs",
    "Leaves a run that a crash cut off running for ever",
    fails="ordering.run-ends-once",
    shown_by="crash-in-a-run",
)
class _ForgetsCutOffRuns(RelaviumAgent):
    async def reconcile(self, journal: list[Any]) -> None:
        return


@relavium(
    "completes-cut-off-runs",
    "Ends a run that a crash cut off as completed",
    fails="ordering.cut-off-run-is-internal",
    shown_by="crash-in-a-run",
)
class _CompletesCutOffRuns(RelaviumAgent):
    def fail_run(self, error: RunError) -> None:
        if error.cause.get("type") == "crash":
            self.run.emit("run:completed", outputs={})
        else:
            super().fail_run(error)


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
    "never-completes",
    "Emits no node:completed",
    fails="ordering.node-started-ends",
    shown_by="healthy-run",
)
class _NeverCompletes(RelaviumAgent):
    run_type = without("node:completed")


@relavium(
    "completes-what-failed",
    "Emits node:completed after node:failed (openai/codex PR#28375)",
    fails="ordering.node-ends-once",
    shown_by="tool-fails-for-good",
    origin="openai/codex PR#28375",
)
class _CompletesWhatFailed(RelaviumAgent):
    def node_failed(self, node: Node, error: RunError, nodes: tuple[Node, ...]) -> None:
        super().node_failed(node, error, nodes)
        self.node_event("node:completed", node, output=None)


@relavium(
    "tells-before-it-is-kept",
    "Emits node:completed before the store has acknowledged it",
    fails="ordering.node-is-persisted-first",
    shown_by="sandbox-ran-out-of-time",
)
class _TellsBeforeItIsKept(RelaviumAgent):
    async def kept(self, event: str, **fields: Any) -> None:
        if event != "node":
            await super().kept(event, **fields)


@relavium(
    "retries-in-silence",
    "Begins a node anew without node:retrying",
    fails="ordering.retry-is-announced",
    shown_by="tool-fails-within-its-budget",
)
class _RetriesInSilence(RelaviumAgent):
    run_type = without("node:retrying")


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
    "forgets-the-attempt",
    "Starts a node again without its attemptNumber",
    fails="ordering.retry-names-its-attempt",
    shown_by="tool-fails-within-its-budget",
)
class _ForgetsTheAttempt(RelaviumAgent):
    run_type = lacking("node:started", "attemptNumber")


@relavium(
    "numbers-the-first-attempt",
    "Gives the first attempt of a node a number",
    fails="ordering.first-attempt-is-unnumbered",
    shown_by="healthy-run",
)
class _NumbersTheFirstAttempt(RelaviumAgent):
    run_type = adding("node:started", attemptNumber=1)


@relavium(
    "retries-without-a-delay",
    "Does not say how long a retry waits",
    fails="ordering.retrying-is-whole",
    shown_by="tool-fails-within-its-budget",
)
class _RetriesWithoutADelay(RelaviumAgent):
    run_type = lacking("node:retrying", "delayMs")


@relavium(
    "opens-a-ticket-for-each-retry",
    "Gives node:retrying a correlation id",
    fails="ordering.retrying-has-no-correlation",
    shown_by="tool-fails-within-its-budget",
)
class _OpensATicketForEachRetry(RelaviumAgent):
    run_type = adding("node:retrying", correlationId="corr-1")


@relavium(
    "fails-without-a-node",
    "Emits run:failed without a node:failed before it",
    fails="ordering.run-failure-names-its-node",
    shown_by="tool-fails-for-good",
)
class _FailsWithoutANode(RelaviumAgent):
    run_type = without("node:failed")


class _SkipsFirst(RelaviumAgent):
    """Skips what depends on a node before it says that the node failed."""

    def node_failed(self, node: Node, error: RunError, nodes: tuple[Node, ...]) -> None:
        for other in nodes:
            if node.id in other.needs:
                self.node_event("node:skipped", other, reason="upstream_unreachable")
        super().node_failed(node, error, ())


@relavium(
    "skips-before-it-fails",
    "Skips nodes before the one above them has failed",
    fails="ordering.skipped-after-failed",
    shown_by="handler-throws",
)
class _SkipsBeforeItFails(_SkipsFirst):
    pass


@relavium(
    "skips-after-the-end",
    "Skips nodes after the run has failed",
    fails="ordering.failed-skipped-ended",
    shown_by="handler-throws",
)
class _SkipsAfterTheEnd(RelaviumAgent):
    def __init__(self, surroundings: Any) -> None:
        super().__init__(surroundings)
        self.unreached: tuple[Node, ...] = ()

    def node_failed(self, node: Node, error: RunError, nodes: tuple[Node, ...]) -> None:
        super().node_failed(node, error, ())
        self.unreached = tuple(other for other in nodes if node.id in other.needs)

    def fail_run(self, error: RunError) -> None:
        super().fail_run(error)
        for other in self.unreached:
            self.node_event("node:skipped", other, reason="upstream_unreachable")


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
