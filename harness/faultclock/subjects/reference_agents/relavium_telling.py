"""What a run of the Relavium model says: its events, its log, and the one message for the person.

An error reaches three audiences, and each has its own form of it: the log has it whole, the stream
of events has its code and a text for people, and the person has that text once. What a failure is,
and what is done about it, is decided elsewhere.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

from faultclock.subjects.ports import Node, Reply, Surroundings
from faultclock.subjects.reference_agents.calls import Call, Outcome
from faultclock.subjects.reference_agents.core import Agent, Ended, FailedAttempt, Next, Turn
from faultclock.subjects.reference_agents.person import Decision
from faultclock.subjects.reference_agents.relavium_errors import RunError, told
from faultclock.subjects.reference_agents.relavium_run import Run


class RelaviumTelling(Agent):
    """The moments of a run, as the stream and the log have them.

    Attributes:
        run: the run of the turn that is going on.
        parked: provider id to the virtual time until which it is not asked, in seconds.
    """

    run_type: type[Run] = Run

    def __init__(self, surroundings: Surroundings) -> None:
        super().__init__(surroundings)
        self.run = self.run_type(self.host, "", 0)
        self.parked: dict[str, float] = {}

    def new_run(self, number: int) -> Run:
        """Return a run with an id of its own."""
        return self.run_type(self.host, f"run-{number}-{int(time.monotonic() * 1000)}", 0)

    async def kept(self, event: str, **fields: Any) -> None:
        """Note in the journal where the run is, before anybody is told."""
        entry = {"event": event, "runId": self.run.id, "seq": self.run.seq, **fields}
        await self.world.store.append(self.world.session_id, entry)

    # ------------------------------------------------------------------ attempts

    def attempt_failed(self, turn: Turn, attempt: FailedAttempt, step: Next) -> None:
        """Record a failed attempt with what it used, before anything else happens."""
        kind = None if attempt.pair is None else attempt.pair[1]
        context = {
            **attempt.error.seen.context(),
            **self.where(),
            "providerId": attempt.target.id or "first",
            "target": attempt.target.id or "first",
            "usage": {"inputTokens": 0, "outputTokens": 0},
        }
        self.put_on_record(attempt.pair, context, attempt.number)
        self.run.emit("cost:updated", tokens=turn.tokens)
        self.run.cause = {"type": "LlmError", "kind": kind, "message": str(attempt.error)}

    def answered(self, turn: Turn, reply: Reply) -> None:
        """Count the cost; an answer that the provider blocked is none.

        Raises:
            RunError: content_filter.
        """
        self.run.emit("cost:updated", tokens=turn.tokens)
        if reply.finish_reason == "content_filter":
            cause = {"type": "LlmError", "kind": "content_filter", "message": "blocked"}
            context = {
                **self.where(),
                "providerId": "first",
                "target": self.run.node_id,
                "usage": {"totalTokens": reply.tokens},
            }
            self.put_on_record(("llm", "content_filter"), context, 1)
            raise RunError("content_filter", "blocked", target=self.run.node_id, cause=cause)

    # ------------------------------------------------------------------ tools

    def call_proposed(self, turn: Turn, call: Call) -> None:
        """The model has asked for a tool."""
        self.run.emit("agent:tool_call", toolCallId=call.id, tool=call.name)

    def approval_asked(self, call: Call) -> None:
        """The person is about to be asked."""
        self.run.emit("agent:approval_requested", toolCallId=call.id, tool=call.name)

    def approval_decided(self, call: Call, decision: Decision) -> None:
        """A dialog that the person closes cancels the run."""
        if decision == "dismissed":
            raise asyncio.CancelledError(f"{call.name}: the dialog was closed")

    def call_refused(self, turn: Turn, call: Call, outcome: Outcome, step: Next) -> None:
        """A call is not executed: it is recorded where the run ends by it."""
        self.tool_told(call, outcome, step, attempt=1)

    def call_ended(
        self,
        turn: Turn,
        call: Call,
        attempt: int,
        outcome: Outcome,
        step: Next | None,
    ) -> None:
        """A tool was executed: its result is told, or its failure recorded."""
        self.tool_told(call, outcome, step, attempt=attempt)

    def tool_told(self, call: Call, outcome: Outcome, step: Next | None, *, attempt: int) -> None:
        """Tell the result, or record the failure with the call that it belongs to."""
        if step is None or step.act == "tell":
            self.run.emit("agent:tool_result", toolCallId=call.id, tool=call.name, ok=outcome.ok)
            return
        pair = self.classify_tool(call, outcome)
        if pair is None:
            return
        self.run.tool, self.run.cause = (
            call.name,
            {"type": outcome.kind, "message": outcome.message},
        )
        context = {
            **self.where(),
            "target": call.id,
            "tool": call.name,
            "cause": self.run.cause,
            "correlationId": self.run.correlation_id,
        }
        self.put_on_record(pair, context, attempt)

    # ------------------------------------------------------------------ errors

    def fail_run(self, error: RunError) -> None:
        """Log an error whole, end the run with it, and tell the person."""
        self.log(error, final=True)
        self.run.emit(
            "run:failed",
            nodeId=self.run.failed_node,
            error=self.shown(error),
            partialOutputs=dict(self.run.outputs),
            correlationId=self.run.correlation_id,
        )
        self.tell_user(error)

    def tell_user(self, error: RunError) -> None:
        """Map an internal error to one for the person, here and nowhere else."""
        self.host.show_user(told(error))

    def node_failed(self, node: Node, error: RunError, nodes: tuple[Node, ...]) -> None:
        """Emit that a node failed, and that those which need it are skipped."""
        self.run.failed_node = node.id
        self.node_event(
            "node:failed", node, error=self.shown(error), correlationId=self.run.correlation_id
        )
        lost = {node.id}
        for other in nodes:
            if lost.intersection(other.needs):
                lost.add(other.id)
                self.node_event("node:skipped", other, reason="upstream_unreachable")

    def error_of(self, end: Ended, node: Node | None) -> RunError:
        """Return the end of a node as a RunError, with what it stands for."""
        if isinstance(end, RunError):
            return end
        code = "internal" if end.pair is None else end.pair[1]
        target = self.run.tool or ("" if node is None else node.id)
        field = "request" if code == "validation" else None
        return RunError(code, str(end), target=target, field=field, cause=self.run.cause)

    def shown(self, error: RunError) -> dict[str, Any]:
        """Return an error as the stream of events has it: a code and a text for people."""
        fields = {"code": error.code, "message": told(error), "retryable": error.retryable}
        return fields if error.field is None else {**fields, "field": error.field}

    def log(self, error: RunError, *, final: bool = False) -> None:
        """Put an error into the structured log, with its cause and the correlation id."""
        context = {
            **self.where(),
            "target": error.target,
            "message": str(error),
            "cause": error.cause or {"type": "none"},
            "correlationId": self.run.correlation_id,
            "final": final,
        }
        self.put_on_record(("run", error.code), context, max(1, self.run.attempt))

    def where(self) -> dict[str, Any]:
        """Return the fields that each record of the log has."""
        return {"runId": self.run.id, "nodeId": self.run.node_id}

    def node_event(self, name: str, node: Node, **fields: Any) -> None:
        """Emit an event of a node."""
        self.run.emit(name, nodeId=node.id, nodeKey=f"{self.run.id}/{node.id}", **fields)
