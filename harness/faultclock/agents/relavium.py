"""The reference runtime of the Relavium model.

A turn is a run: the nodes of a workflow, or one agent node where there is none. The run emits the
canonical events; a chain of providers lies below an agent node; what a node may be done again for
is its author's say, within what the document allows.

    run:started -> node:started -> ... -> node:completed -> run:completed
                        |  node:retrying -> node:started{attemptNumber} -> ...
                        |  node:failed -> node:skipped* -> run:failed -> the person is told, once

Adapters classify and do nothing again; the chain asks the next provider; a node begins anew. There
is no fourth layer.
"""

from __future__ import annotations

import asyncio
import json
import time
import traceback
from collections.abc import Mapping
from typing import Any, Literal

from faultclock.agents.calls import Call, Outcome, first_answer
from faultclock.agents.core import reference
from faultclock.agents.relavium_telling import (
    CODE_OF_KIND,
    RETRYABLE_KINDS,
    RelaviumTelling,
    RunError,
    kind_of,
)
from faultclock.agents.turn import Ended, FailedAttempt, Next, Pair, Turn
from faultclock.agents.waits import wait_s
from faultclock.subjects.ports import (
    InteractionAnswer,
    InteractionKind,
    InteractionRequest,
    Node,
    ProviderTarget,
    SandboxError,
    TypedError,
)
from faultclock.subjects.stud import AttemptError

#: No wait is longer.
_DAY_S = 86_400.0
_CODE_OF_OUTCOME = {
    "denied_by_policy": "tool_denied",
    "denied_by_user": "tool_denied",
    "approval_timed_out": "run_timeout",
    "exception": "tool_failed",
    "timeout": "tool_failed",
    "failed": "tool_failed",
    "output_malformed": "tool_failed",
    "unavailable": "internal",
}
_CODE_OF_LIMIT = {
    "steps": "turn_limit",
    "turns": "turn_limit",
    "tool_calls": "turn_limit",
    "tokens": "budget_exceeded",
    "cost": "budget_exceeded",
    "wall_time": "run_timeout",
}


class RelaviumAgent(RelaviumTelling):
    """A runtime that follows the document to the letter; each step can be overridden.

    Attributes:
        park_s: how long a rate limit parks a provider.
        gate_s: how long a gate stays open where nothing else is said.
    """

    park_s = 30.0
    gate_s = 120.0

    # ------------------------------------------------------------------ the process

    async def start(self) -> None:
        """Open the session; runs that a crash cut off are brought to their end first.

        Raises:
            TypedError: engine/unknown_run: there is nothing to resume.
        """
        store, id_ = self.world.store, self.world.session_id
        if not self.world.resume:
            await store.write(id_, {"sessionId": id_, "storeId": store.id, "runs": []})
            return
        if await store.read(id_) is None:
            message = f"there is no run of the session {id_}"
            raise TypedError("engine", "unknown_run", message, {"sessionId": id_})
        await self.reconcile(await store.read_journal(id_))

    async def reconcile(self, journal: list[Mapping[str, Any]]) -> None:
        """End each run that began and did not end: one run:failed, and the person is told."""
        ended = {entry["runId"] for entry in journal if entry.get("event") == "ended"}
        for entry in journal:
            if entry.get("event") != "started" or entry["runId"] in ended:
                continue
            self.run = self.run_type(self.host, entry["runId"], int(entry["seq"]) + 1)
            cause = {"type": "crash", "message": "the process ended before the run did"}
            self.fail_run(RunError("internal", "the run was cut off", cause=cause))
            await self.kept("ended")

    # ------------------------------------------------------------------ a run

    def turn_started(self, turn: Turn) -> None:
        self.run = self.new_run(turn.number)
        self.run.emit("run:started")

    def nodes(self, turn: Turn) -> tuple[Node, ...]:
        """Return what is to be done: the workflow, or one agent node for a message."""
        if self.world.workflow is not None:
            return self.world.workflow.nodes
        return (Node(id=f"turn-{turn.number}", do="agent", prompt=turn.text),)

    async def work(self, turn: Turn) -> str:
        """Do the nodes in their order; the first one that fails for good ends the run.

        What the model said last is what the turn returns.
        """
        await self.kept("started")
        nodes, last_word = self.nodes(turn), ""
        for node in nodes:
            try:
                text = await self.whole_node(turn, node)
            except Ended as end:
                self.node_failed(node, self.error_of(end, node), nodes)
                raise
            self.run.outputs[node.id] = text
            last_word = text if node.do == "agent" else last_word
        return last_word

    async def whole_node(self, turn: Turn, node: Node) -> str:
        """Do a node, again where its author and the document let it be done again.

        Raises:
            RunError: it failed for good.
        """
        attempt = 0
        while True:
            attempt += 1
            self.run.node, self.run.attempt = node, attempt
            numbered = {"attemptNumber": attempt} if attempt > 1 else {}
            self.node_event("node:started", node, **numbered)
            try:
                text = await self.one_attempt(turn, node)
            except Ended as end:
                error = self.error_of(end, node)
                if not self.is_redone(node, attempt, error):
                    raise error from end
                await self.before_retry(node, attempt, error)
                continue
            await self.kept("node", nodeId=node.id)
            self.node_event("node:completed", node, output=text)
            return text

    def is_redone(self, node: Node, attempt: int, error: RunError) -> bool:
        """Return whether a node is done again: a retryable error, within its author's budget."""
        rule = node.retry
        if rule is None or attempt >= rule.attempts_max or not error.retryable:
            return False
        return not rule.retry_on or error.code in rule.retry_on

    async def before_retry(self, node: Node, attempt: int, error: RunError) -> None:
        """Announce the retry and wait; a cancel ends the wait."""
        delay_s = self.node_wait_s(node, attempt)
        self.node_event(
            "node:retrying",
            node,
            attemptNumber=attempt,
            error=self.shown(error),
            delayMs=round(delay_s * 1000),
        )
        await asyncio.sleep(delay_s)

    def node_wait_s(self, node: Node, attempt: int) -> float:
        """Return the wait before a node begins anew, in seconds."""
        rule = node.retry
        if rule is None:
            return 0.0
        cap_s = _DAY_S if rule.cap_s is None else min(rule.cap_s, _DAY_S)
        return wait_s(rule.backoff, rule.base_s, attempt, factor=rule.factor, cap_s=cap_s)

    async def one_attempt(self, turn: Turn, node: Node) -> str:
        """Do a node once.

        Raises:
            Ended: it failed.
        """
        if node.do == "agent":
            return await self.agent_node(turn, node)
        if node.do == "tool":
            return await self.tool_node(turn, node)
        return await self.code_node(node)

    async def agent_node(self, turn: Turn, node: Node) -> str:
        """Let the model work, and look at what it answers."""
        turn.messages.clear()
        text = await self.converse(turn, node.prompt)
        if node.output_schema is not None:
            self.check_output(node, text)
        return text

    def check_output(self, node: Node, text: str) -> None:
        """Check that an answer is JSON; in phase 1 nothing more is asked of it.

        Raises:
            RunError: it is not.
        """
        try:
            json.loads(text)
        except ValueError as error:
            cause = {"type": "SyntaxError", "message": str(error)}
            found = RunError("validation", "no JSON", target=node.id, field="output", cause=cause)
            self.log(found)
            raise found from error

    async def tool_node(self, turn: Turn, node: Node) -> str:
        """Execute the tool of a node."""
        tools = {tool.contract.name: tool for tool in self.world.tools}
        name = node.tool or ""
        call = Call(id=node.id, name=name, tool=tools.get(name), arguments=node.arguments)
        refusal = await self.cleared(turn, call)
        outcome = refusal if refusal is not None else await self.tool(turn, call)
        if not outcome.ok and outcome.kind != "partial":
            found = RunError("internal", outcome.message, target=node.id, cause={"tool": name})
            self.log(found)
            raise found
        return json.dumps(outcome.value, ensure_ascii=False)

    async def code_node(self, node: Node) -> str:
        """Evaluate an expression, or call a handler of the host.

        Raises:
            RunError: sandbox_error by the cause; internal for whatever a handler throws.
        """
        workflow = self.world.workflow
        try:
            if workflow is None or node.do not in ("expression", "handler"):
                raise LookupError(f"this host has nothing that carries out a {node.do}")
            method = workflow.evaluate if node.do == "expression" else workflow.handle
            return json.dumps(await method(node.id))
        except SandboxError as error:
            found = self.sandbox_error(node, error)
            self.log(found)
            raise found from error
        except Exception as error:
            found = self.handler_error(node, error)
            self.log(found)
            raise found from error

    def sandbox_error(self, node: Node, error: SandboxError) -> RunError:
        """Return what a failed evaluation is: worth another try only where time ran out."""
        return RunError(
            "sandbox_error",
            "the expression failed",
            target=node.id,
            retryable=error.cause == "wall_clock",
            cause={"type": "SandboxError", "cause": error.cause, "message": str(error)},
        )

    def handler_error(self, node: Node, error: Exception) -> RunError:
        """Return what an uncaught throw is: internal, and never worth another try."""
        return RunError("internal", "uncaught throw", target=node.id, cause=_cause(error))

    # ------------------------------------------------------------------ the chain

    def available(self, turn: Turn) -> tuple[ProviderTarget, ...]:
        now_s = time.monotonic()
        return tuple(item for item in self.targets if self.parked.get(item.id, 0.0) <= now_s)

    def classify(self, failed: AttemptError) -> Pair | None:
        return ("llm", kind_of(failed))

    def after_failure(self, turn: Turn, attempt: FailedAttempt) -> Next:
        """Ask again within the entry's attempts, then the next provider; a fatal one ends it."""
        kind = "unknown" if attempt.pair is None else attempt.pair[1]
        if not self.is_retryable(kind):
            return Next(act="end")
        if attempt.number < (attempt.target.attempts_max or 1):
            return Next(act="again", wait_s=self.entry_wait_s(attempt.number))
        if kind == "rate_limit":
            self.park(attempt.target)
        if attempt.is_last or not self.may_advance(attempt.error):
            return Next(act="end")
        return Next(act="advance")

    def is_retryable(self, kind: str) -> bool:
        """Return whether a kind of failure is worth another attempt anywhere."""
        return kind in RETRYABLE_KINDS

    def entry_wait_s(self, attempt: int) -> float:
        """Return the wait before the next attempt at the same provider, in seconds."""
        return wait_s("exponential", 0.25, attempt, cap_s=8.0)

    def may_advance(self, failed: AttemptError) -> bool:
        """Return whether another provider may be asked: not once content was passed on."""
        return not failed.after_content

    def park(self, target: ProviderTarget) -> None:
        """Leave a provider alone for a while; one that stands alone cannot be left alone."""
        if len(self.targets) > 1:
            self.parked[target.id] = time.monotonic() + self.park_s

    def run_pair(self, pair: Pair | None) -> Pair | None:
        if pair is None or pair[0] != "llm":
            return pair
        return ("run", CODE_OF_KIND[pair[1]])

    def no_provider_left(self, turn: Turn) -> Ended:
        cause = {"type": "LlmError", "kind": "rate_limit", "message": "every provider is parked"}
        return RunError("provider_rate_limit", "every provider is parked", cause=cause)

    # ------------------------------------------------------------------ tools

    def classify_tool(self, call: Call, outcome: Outcome) -> Pair | None:
        code = _CODE_OF_OUTCOME.get(outcome.kind)
        return None if code is None else ("run", code)

    def after_tool(self, turn: Turn, call: Call, attempt: int, outcome: Outcome) -> Next:
        """End the node by whatever has a code; tell the model of the rest, so that it mends it."""
        return Next(act="tell" if self.classify_tool(call, outcome) is None else "end")

    def content(self, call: Call, outcome: Outcome) -> Mapping[str, Any]:
        if outcome.ok:
            return {"ok": True, "value": outcome.value}
        if outcome.kind == "partial":
            failed = [{"item": item.item, "code": item.code} for item in outcome.errors]
            return {"ok": False, "value": outcome.value, "errors": failed}
        if outcome.kind == "unknown":
            return {"ok": False, "error": f"there is no tool {call.name}"}
        return {"ok": False, "error": f"the arguments of {call.name} do not fit"}

    # ------------------------------------------------------------------ limits and ends

    def at_limit(self, turn: Turn, limit: str) -> Ended:
        """Return the end of a run that has reached a limit; time runs out with its own event."""
        code = _CODE_OF_LIMIT[limit]
        if limit == "wall_time":
            self.run.emit("run:timeout")
        found = RunError(code, f"limit: {limit}", target=self.run.node_id, cause={"limit": limit})
        self.log(found)
        return found

    def cancelled(self, turn: Turn) -> Ended:
        return Ended("cancelled", ("run", "cancelled"), "the run was cancelled")

    def unexpected(self, turn: Turn, error: Exception) -> Ended:
        return RunError("internal", "uncaught throw", cause=_cause(error))

    async def turn_over(self, turn: Turn, end: Ended) -> None:
        """Emit the one terminal event of the run, and tell the person of a failure, once."""
        if end.state == "completed":
            self.run.emit("run:completed", outputs=dict(self.run.outputs))
        elif end.state == "cancelled":
            self.run.emit("run:cancelled")
        else:
            self.fail_run(self.error_of(end, self.run.node))
        await self.kept("ended")

    # ------------------------------------------------------------------ human gates

    async def ask(
        self,
        kind: InteractionKind,
        prompt: str,
        options: tuple[str, ...],
        deadline_s: float | None,
    ) -> InteractionAnswer:
        """Carry out a run that is one human gate, and return what was decided."""
        self.turns += 1
        self.run = self.new_run(self.turns)
        limit_s = (
            self.world.deadlines_s.get(kind, self.gate_s) if deadline_s is None else deadline_s
        )
        gate = InteractionRequest(
            id=f"gate-{self.turns}",
            kind=kind,
            prompt=prompt,
            options=options,
            deadline_s=limit_s,
        )
        node = Node(id=gate.id, do="handler")
        self.run.node = node
        self.run.emit("run:started")
        await self.kept("started")
        self.node_event("node:started", node)
        self.gate_paused(gate)
        answer = await first_answer(self.world, gate)
        if answer is None:
            # Where nobody sees it, the gate waits too.
            await asyncio.sleep(limit_s)
            answer = InteractionAnswer(status="timeout")
        if answer.status == "timeout":
            self.gate_timed_out(node)
            await self.kept("ended")
            return answer
        self.gate_resumed(gate, answer)
        await self.kept("node", nodeId=node.id)
        self.node_event("node:completed", node, output=answer.status)
        self.run.emit("run:completed", outputs={node.id: answer.status})
        await self.kept("ended")
        return answer

    def gate_paused(self, gate: InteractionRequest) -> None:
        """Emit that the run waits for a person, and until when."""
        self.run.emit(
            "human_gate:paused",
            gateId=gate.id,
            timeoutMs=round(gate.deadline_s * 1000),
            timeoutAction="reject",
            expiresAt=round((time.monotonic() + gate.deadline_s) * 1000),
        )
        self.run.emit("run:paused", gateIds=[gate.id])

    def gate_resumed(self, gate: InteractionRequest, answer: InteractionAnswer) -> None:
        """Emit what the person decided; a no is a decision and no failure."""
        decision: Literal["approved", "rejected"] = (
            "approved" if answer.status == "accepted" else "rejected"
        )
        self.run.emit("human_gate:resumed", gateId=gate.id, decision=decision, decidedBy="user")

    def gate_timed_out(self, node: Node) -> None:
        """Fail the run of a gate that nobody answered."""
        error = RunError("run_timeout", "nobody answered", target=node.id, cause={"gate": node.id})
        self.log(error)
        self.node_failed(node, error, (node,))
        self.fail_run(error)


def _cause(error: BaseException) -> dict[str, Any]:
    """Return an exception for the log: its type, its text and where it was thrown."""
    stack = "".join(traceback.format_exception(error))
    return {"type": type(error).__name__, "message": str(error), "stack": stack}


reference_relavium = reference("relavium", "Relavium")(RelaviumAgent)
