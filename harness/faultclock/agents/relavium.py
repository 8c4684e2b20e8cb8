"""The reference runtime of the Relavium model.

A turn is a run: the nodes of a workflow, or one agent node where there is none. The run emits the
canonical events; a chain of providers lies below an agent node; what a node may be done again for
is its author's say, within what the document allows.

    run:started -> node:started -> ... -> node:completed -> run:completed
                        |  node:retrying -> node:started{attemptNumber} -> ...
                        |  node:failed -> node:skipped* -> run:failed -> the person is told, once

Adapters classify and do nothing again; the chain asks the next provider; a node begins anew. There
is no fourth layer. Nothing of the inside of a failure reaches the stream or the person.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from typing import Any

from faultclock.agents.calls import Call, Decision, Outcome, first_answer
from faultclock.agents.core import Agent, reference
from faultclock.agents.relavium_run import (
    CODE_OF_KIND,
    CODE_OF_LIMIT,
    CODE_OF_OUTCOME,
    RETRYABLE_KINDS,
    Run,
    RunError,
    cause_of,
    kind_of,
    told,
)
from faultclock.agents.turn import Ended, FailedAttempt, Next, Pair, Turn, code_of
from faultclock.agents.waits import wait_s
from faultclock.subjects.ports import (
    InteractionAnswer,
    InteractionKind,
    InteractionRequest,
    Node,
    ProviderTarget,
    Reply,
    SandboxError,
    Surroundings,
    TypedError,
)
from faultclock.subjects.stud import AttemptError

#: No wait is longer.
_DAY_S = 86_400.0


class RelaviumAgent(Agent):
    """A runtime that follows the document to the letter; each step can be overridden.

    Attributes:
        park_s: how long a rate limit parks a provider.
        gate_s: how long a gate stays open where nothing else is said.
        run: the run of the turn that is going on.
        parked: provider id to the virtual time until which it is not asked, in seconds.
    """

    park_s = 30.0
    gate_s = 120.0
    run_type: type[Run] = Run

    def __init__(self, surroundings: Surroundings) -> None:
        super().__init__(surroundings)
        self.run = self.run_type(self.host, "", 0)
        self.parked: dict[str, float] = {}

    # ------------------------------------------------------------------ the process, and a run

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

    def new_run(self, number: int) -> Run:
        """Return a run with an id of its own."""
        return self.run_type(self.host, f"run-{number}-{int(time.monotonic() * 1000)}", 0)

    async def kept(self, event: str, **fields: Any) -> None:
        """Note in the journal where the run is, before it is said."""
        entry = {"event": event, "runId": self.run.id, "seq": self.run.seq, **fields}
        await self.world.store.append(self.world.session_id, entry)

    def turn_started(self, turn: Turn) -> None:
        self.run = self.new_run(turn.number)
        self.run.emit("run:started")

    async def work(self, turn: Turn) -> str:
        """Do the nodes in their order; the first one that fails for good ends the run.

        What the model said last is what the turn returns.
        """
        await self.kept("started")
        message = Node(id=f"turn-{turn.number}", do="agent", prompt=turn.text)
        nodes = (message,) if self.world.workflow is None else self.world.workflow.nodes
        last_word = ""
        for node in nodes:
            try:
                text = await self.whole_node(turn, node)
            except Ended as end:
                self.node_failed(node, self.error_of(end, node), nodes)
                raise
            self.run.outputs[node.id] = text
            last_word = text if node.do == "agent" else last_word
        return last_word

    async def turn_over(self, turn: Turn, end: Ended) -> None:
        """Emit the one terminal event of the run, and tell the person of a failure, once."""
        if end.state == "completed":
            self.run.emit("run:completed", outputs=dict(self.run.outputs))
        elif end.state == "cancelled":
            self.run.emit("run:cancelled")
        else:
            self.fail_run(self.error_of(end, self.run.node))
        await self.kept("ended")

    # ------------------------------------------------------------------ nodes

    async def whole_node(self, turn: Turn, node: Node) -> str:
        """Do a node, again where its author and the document let it be done again."""
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
        own = {"attemptNumber": attempt, "error": self.shown(error)}
        self.node_event("node:retrying", node, **own, delayMs=round(delay_s * 1000))
        await asyncio.sleep(delay_s)

    def node_wait_s(self, node: Node, attempt: int) -> float:
        """Return the wait before a node begins anew, in seconds."""
        rule = node.retry
        if rule is None:
            return 0.0
        cap_s = _DAY_S if rule.cap_s is None else min(rule.cap_s, _DAY_S)
        return wait_s(rule.backoff, rule.base_s, attempt, factor=rule.factor, cap_s=cap_s)

    async def one_attempt(self, turn: Turn, node: Node) -> str:
        """Do a node once; it ends the run where it fails."""
        if node.do == "agent":
            return await self.agent_node(turn, node)
        return await (self.tool_node(turn, node) if node.do == "tool" else self.code_node(node))

    async def agent_node(self, turn: Turn, node: Node) -> str:
        """Let the model work, and look at what it answers."""
        turn.messages.clear()
        text = await self.converse(turn, node.prompt)
        if node.output_schema is not None:
            self.check_output(node, text)
        return text

    def check_output(self, node: Node, text: str) -> None:
        """Check that an answer is JSON; in phase 1 nothing more is asked of it."""
        try:
            json.loads(text)
        except ValueError as error:
            cause = {"type": "SyntaxError", "message": str(error)}
            found = RunError("validation", "no JSON", target=node.id, field="output", cause=cause)
            raise self.logged(found) from error

    async def tool_node(self, turn: Turn, node: Node) -> str:
        """Execute the tool of a node."""
        tools = {tool.contract.name: tool for tool in self.world.tools}
        name = node.tool or ""
        call = Call(id=node.id, name=name, tool=tools.get(name), arguments=node.arguments)
        outcome = await self.cleared(turn, call) or await self.tool(turn, call)
        if not outcome.ok and outcome.kind != "partial":
            cause = {"tool": name}
            raise self.logged(RunError("internal", outcome.message, target=node.id, cause=cause))
        return json.dumps(outcome.value, ensure_ascii=False)

    async def code_node(self, node: Node) -> str:
        """Evaluate an expression, or call a handler of the host."""
        workflow = self.world.workflow
        try:
            if workflow is None or node.do not in ("expression", "handler"):
                raise LookupError(f"this host has nothing that carries out a {node.do}")
            method = workflow.evaluate if node.do == "expression" else workflow.handle
            return json.dumps(await method(node.id))
        except SandboxError as error:
            raise self.logged(self.sandbox_error(node, error)) from error
        except Exception as error:
            raise self.logged(self.handler_error(node, error)) from error

    def sandbox_error(self, node: Node, error: SandboxError) -> RunError:
        """Return what a failed evaluation is: worth another try only where time ran out."""
        cause = {"type": "SandboxError", "cause": error.cause, "message": str(error)}
        again, said = error.cause == "wall_clock", "the expression failed"
        return RunError("sandbox_error", said, target=node.id, retryable=again, cause=cause)

    def handler_error(self, node: Node, error: Exception) -> RunError:
        """Return what an uncaught throw is: internal, and never worth another try."""
        return RunError("internal", "uncaught throw", target=node.id, cause=cause_of(error))

    def node_failed(self, node: Node, error: RunError, nodes: tuple[Node, ...]) -> None:
        """Emit that a node failed, and that those which need it are skipped."""
        self.run.failed_node = node.id
        own = {"error": self.shown(error), "correlationId": self.run.correlation_id}
        self.node_event("node:failed", node, **own)
        lost = {node.id}
        for other in nodes:
            if lost.intersection(other.needs):
                lost.add(other.id)
                self.node_event("node:skipped", other, reason="upstream_unreachable")

    def node_event(self, name: str, node: Node, **fields: Any) -> None:
        """Emit an event of a node."""
        self.run.emit(name, nodeId=node.id, nodeKey=f"{self.run.id}/{node.id}", **fields)

    # ------------------------------------------------------------------ the chain

    def available(self, turn: Turn) -> tuple[ProviderTarget, ...]:
        now_s = time.monotonic()
        return tuple(item for item in self.targets if self.parked.get(item.id, 0.0) <= now_s)

    def classify(self, failed: AttemptError) -> Pair | None:
        return ("llm", kind_of(failed))

    def after_failure(self, turn: Turn, attempt: FailedAttempt) -> Next:
        """Ask again within the entry's attempts, then the next provider; a fatal one ends it."""
        kind = code_of(attempt.pair) or "unknown"
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

    def attempt_failed(self, turn: Turn, attempt: FailedAttempt, step: Next) -> None:
        """Record a failed attempt with what it used, before anything else happens."""
        seen, id_ = attempt.error, attempt.target.id or "first"
        used = {"usage": {"inputTokens": 0, "outputTokens": 0}}
        own = {**seen.context(), "target": id_, "providerId": id_, **used}
        self.record(attempt.pair, attempt.number, own)
        self.run.emit("cost:updated", tokens=turn.tokens)
        kind, message = code_of(attempt.pair), str(seen)
        self.run.cause = {"type": "LlmError", "kind": kind, "message": message}

    def answered(self, turn: Turn, reply: Reply) -> None:
        """Count the cost; an answer that the provider blocked is none, and ends the node."""
        self.run.emit("cost:updated", tokens=turn.tokens)
        if reply.finish_reason == "content_filter":
            node, used = self.run.node_id, {"usage": {"totalTokens": reply.tokens}}
            blocked = ("llm", "content_filter")
            self.record(blocked, 1, {"target": node, "providerId": "first", **used})
            cause = {"type": "LlmError", "kind": blocked[1], "message": "blocked"}
            raise RunError("content_filter", "blocked", target=node, cause=cause)

    def run_pair(self, pair: Pair | None) -> Pair | None:
        if pair is None or pair[0] != "llm":
            return pair
        return ("run", CODE_OF_KIND[pair[1]])

    def no_provider_left(self, turn: Turn) -> Ended:
        cause = {"type": "LlmError", "kind": "rate_limit", "message": "every provider is parked"}
        return RunError("provider_rate_limit", "every provider is parked", cause=cause)

    # ------------------------------------------------------------------ tools

    def classify_tool(self, call: Call, outcome: Outcome) -> Pair | None:
        code = CODE_OF_OUTCOME.get(outcome.kind)
        return None if code is None else ("run", code)

    def after_tool(self, turn: Turn, call: Call, attempt: int, outcome: Outcome) -> Next:
        """End the node by what has a code; tell the model of the rest, so that it mends it."""
        return Next(act="tell" if self.classify_tool(call, outcome) is None else "end")

    def call_proposed(self, turn: Turn, call: Call) -> None:
        self.run.emit("agent:tool_call", toolCallId=call.id, tool=call.name)

    def approval_asked(self, call: Call) -> None:
        self.run.emit("agent:approval_requested", toolCallId=call.id, tool=call.name)

    def approval_decided(self, call: Call, decision: Decision) -> None:
        """A dialog that the person closes cancels the run."""
        if decision == "dismissed":
            raise asyncio.CancelledError(f"{call.name}: the dialog was closed")

    def call_over(
        self, turn: Turn, call: Call, attempt: int, outcome: Outcome, step: Next | None
    ) -> None:
        """Tell the result, or record the failure with the call that it belongs to."""
        if step is None or step.act == "tell":
            self.run.emit("agent:tool_result", toolCallId=call.id, tool=call.name, ok=outcome.ok)
            return
        pair = self.classify_tool(call, outcome)
        if pair is None:
            return
        self.run.tool = call.name
        self.run.cause = {"type": outcome.kind, "message": outcome.message}
        own = {"target": call.id, "tool": call.name, "cause": self.run.cause}
        self.record(pair, attempt, {**own, "correlationId": self.run.correlation_id})

    def content(self, call: Call, outcome: Outcome) -> Mapping[str, Any]:
        if outcome.ok:
            return {"ok": True, "value": outcome.value}
        if outcome.kind == "partial":
            failed = [{"item": item.item, "code": item.code} for item in outcome.errors]
            return {"ok": False, "value": outcome.value, "errors": failed}
        if outcome.kind == "unknown":
            return {"ok": False, "error": f"there is no tool {call.name}"}
        return {"ok": False, "error": f"the arguments of {call.name} do not fit"}

    # ------------------------------------------------------------------ errors and ends

    def at_limit(self, turn: Turn, limit: str) -> Ended:
        """Return the end of a run that has reached a limit; time runs out with its own event."""
        if limit == "wall_time":
            self.run.emit("run:timeout")
        code, cause = CODE_OF_LIMIT[limit], {"limit": limit}
        error = RunError(code, f"limit: {limit}", target=self.run.node_id, cause=cause)
        return self.logged(error)

    def cancelled(self, turn: Turn) -> Ended:
        return Ended("cancelled", ("run", "cancelled"), "the run was cancelled")

    def unexpected(self, turn: Turn, error: Exception) -> Ended:
        return RunError("internal", "uncaught throw", cause=cause_of(error))

    def error_of(self, end: Ended, node: Node | None) -> RunError:
        """Return the end of a node as a RunError, with what it stands for."""
        if isinstance(end, RunError):
            return end
        code = code_of(end.pair) or "internal"
        target = self.run.tool or ("" if node is None else node.id)
        field = "request" if code == "validation" else None
        return RunError(code, str(end), target=target, field=field, cause=self.run.cause)

    def fail_run(self, error: RunError) -> None:
        """Log an error whole, end the run with it, and tell the person."""
        self.log(error, final=True)
        own = {"nodeId": self.run.failed_node, "partialOutputs": dict(self.run.outputs)}
        id_ = self.run.correlation_id
        self.run.emit("run:failed", error=self.shown(error), correlationId=id_, **own)
        self.tell_user(error)

    def tell_user(self, error: RunError) -> None:
        """Map an internal error to one for the person, here and nowhere else."""
        self.host.show_user(told(error))

    def shown(self, error: RunError) -> dict[str, Any]:
        """Return an error as the stream of events has it: a code and a text for people."""
        fields = {"code": error.code, "message": told(error), "retryable": error.retryable}
        return fields if error.field is None else {**fields, "field": error.field}

    def logged(self, error: RunError) -> RunError:
        """Return an error that is in the log."""
        self.log(error)
        return error

    def log(self, error: RunError, *, final: bool = False) -> None:
        """Put an error into the structured log, with its cause and the correlation id."""
        own = {"target": error.target, "message": str(error), "final": final}
        joined = {
            "correlationId": self.run.correlation_id,
            "cause": error.cause or {"type": "none"},
        }
        self.record(("run", error.code), max(1, self.run.attempt), {**own, **joined})

    def record(self, pair: Pair | None, attempt: int, context: Mapping[str, Any]) -> None:
        """Put a failure on record, with the run and the node that it is of."""
        where = {"runId": self.run.id, "nodeId": self.run.node_id}
        self.put_on_record(pair, {**where, **context}, attempt)

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
        limit_s = deadline_s
        if limit_s is None:
            limit_s = self.world.deadlines_s.get(kind, self.gate_s)
        id_ = f"gate-{self.turns}"
        gate = InteractionRequest(
            id=id_, kind=kind, prompt=prompt, options=options, deadline_s=limit_s
        )
        node = self.run.node = Node(id=id_, do="handler")
        self.run.emit("run:started")
        await self.kept("started")
        self.node_event("node:started", node)
        self.gate_paused(gate)
        answer = await first_answer(self.world, gate)
        if answer is None:
            # Where there is no screen, the gate waits too.
            await asyncio.sleep(limit_s)
            answer = InteractionAnswer(status="timeout")
        if answer.status == "timeout":
            self.gate_timed_out(node)
        else:
            self.gate_resumed(gate, answer)
            await self.kept("node", nodeId=id_)
            self.node_event("node:completed", node, output=answer.status)
            self.run.emit("run:completed", outputs={id_: answer.status})
        await self.kept("ended")
        return answer

    def gate_paused(self, gate: InteractionRequest) -> None:
        """Emit that the run waits for a person, and until when."""
        expires_ms = round((time.monotonic() + gate.deadline_s) * 1000)
        own = {"timeoutMs": round(gate.deadline_s * 1000), "timeoutAction": "reject"}
        self.run.emit("human_gate:paused", gateId=gate.id, expiresAt=expires_ms, **own)
        self.run.emit("run:paused", gateIds=[gate.id])

    def gate_resumed(self, gate: InteractionRequest, answer: InteractionAnswer) -> None:
        """Emit what the person decided; a no is a decision and no failure."""
        decision = "approved" if answer.status == "accepted" else "rejected"
        self.run.emit("human_gate:resumed", gateId=gate.id, decision=decision, decidedBy="user")

    def gate_timed_out(self, node: Node) -> None:
        """Fail the run of a gate that was not answered."""
        error = RunError("run_timeout", "nobody answered", target=node.id, cause={"gate": node.id})
        self.log(error)
        self.node_failed(node, error, (node,))
        self.fail_run(error)


reference_relavium = reference("relavium", "Relavium")(RelaviumAgent)
