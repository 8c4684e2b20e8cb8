"""The reference runtime of the AFK model: its failure matrix, its circuit breaker, its joins.

    what failed        -> a row of the page "Failure Policy Matrix", or none: no category is made up
    a Retryable model  -> asked three times, then the next one; a breaker counts for each of them
    a Terminal one     -> the run ends as the policy `llm` has it
    a Configurable one -> of a tool or a subagent: `fail`, `degrade` or `continue`, by policy
    a NonFatal one     -> a warning, and the run goes on

Nothing from the inside of a failure leaves here: neither the text of an exception nor what a
provider wrote.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from msgspec import Struct, field

from faultclock.agents.breaker import Breaker
from faultclock.agents.calls import Call, Decision, Outcome, until
from faultclock.agents.core import Agent, classified, reference
from faultclock.agents.turn import (
    Ended,
    FailedAttempt,
    Message,
    Next,
    Pair,
    RunState,
    Turn,
    code_of,
)
from faultclock.agents.waits import wait_s
from faultclock.subjects.ports import ProviderTarget, Reply, Surroundings
from faultclock.subjects.provider_words import Meaning
from faultclock.subjects.stud import AttemptError

#: Code to class, and to all that may be said of such a failure to anyone.
ROWS: Final = {
    "RateLimit": ("Retryable", "Rate limit exceeded"),
    "ServerError": ("Retryable", "Internal server error"),
    "Timeout": ("Retryable", "Request timed out"),
    "QueuePush": ("Retryable", "The result could not be queued"),
    "Auth": ("Terminal", "Invalid API key"),
    "InvalidRequest": ("Terminal", "The provider refused the request"),
    "CircuitOpen": ("Terminal", "Circuit breaker open for provider"),
    "JoinViolation": ("Terminal", "Required subagent failed"),
    "Validation": ("NonFatal", "Invalid arguments"),
    "PolicyDenial": ("NonFatal", "Action denied by policy"),
    "MemoryUnavailable": ("NonFatal", "Could not persist checkpoint"),
    "TelemetryExport": ("NonFatal", "Telemetry could not be exported"),
    "HandlerException": ("Configurable", "Tool raised an error"),
    "ToolTimeout": ("Configurable", "Tool exceeded its timeout"),
    "SubagentFailed": ("Configurable", "Subagent completed with state=failed"),
    "SubagentTimeout": ("Configurable", "Subagent exceeded wall time"),
    "max_steps": ("Budget", "Step count exceeded"),
    "max_tool_calls": ("Budget", "Tool call count exceeded"),
    "max_total_cost_usd": ("Budget", "Estimated cost exceeded"),
    "max_wall_time_s": ("Budget", "Wall time exceeded"),
}
_BY_STATUS: Final = {
    **dict.fromkeys((401, 403), "Auth"),
    **dict.fromkeys((500, 502, 503), "ServerError"),
    400: "InvalidRequest",
    408: "Timeout",
    429: "RateLimit",
}
#: What an error object in a 200 stands for; the matrix has no row for an overload.
_BY_MEANING: Final[dict[Meaning, str]] = {
    "limit": "RateLimit",
    "server": "ServerError",
    "key": "Auth",
    "request": "InvalidRequest",
}
_OF_ANY_CALL: Final = {"input_invalid": "Validation", "denied_by_policy": "PolicyDenial"}
_OF_TOOL: Final = {
    **dict.fromkeys(("exception", "failed"), "HandlerException"),
    "timeout": "ToolTimeout",
}
_OF_SUBAGENT: Final = {
    **dict.fromkeys(("exception", "failed", "unavailable", "output_malformed"), "SubagentFailed"),
    "timeout": "SubagentTimeout",
    "denied_by_user": "PolicyDenial",
}
#: The page knows no limit on tokens.
_OF_LIMIT: Final = {
    "steps": "max_steps",
    "tool_calls": "max_tool_calls",
    "cost": "max_total_cost_usd",
    "wall_time": "max_wall_time_s",
}


def row(code: str | None) -> Pair | None:
    """Return class and code of a row, None where the matrix has no row."""
    return None if code is None else (ROWS[code][0], code)


def _named(call: Call) -> dict[str, Any]:
    return {"tool_name": call.name, "tool_call_id": call.id}


def words_for(pair: Pair | None) -> str:
    """Return what may be said of a failure to anyone."""
    return "The run could not go on" if pair is None else ROWS[pair[1]][1]


def of_attempt(seen: AttemptError) -> Pair | None:
    """Return what an attempt at a provider failed with, None where the matrix has no row."""
    if seen.status == 404 and seen.provider_code == "model_not_found":
        # "Model does not exist" is the example of an invalid request.
        return row("InvalidRequest")
    return row(classified(seen, {"deadline": "Timeout"}, _BY_STATUS.get, _BY_MEANING))


def of_call(call: Call, outcome: Outcome) -> Pair | None:
    """Return what a tool call failed with, None where the matrix has no row."""
    own = _OF_SUBAGENT if call.is_agent else _OF_TOOL
    return row(_OF_ANY_CALL.get(outcome.kind, own.get(outcome.kind)))


class Batch(Struct):
    """The tool calls of one answer.

    Attributes:
        agents: ids of the calls that go to subagents, to whether the join needs them.
        good: ids of calls that succeeded; `bad`: of those that did not.
        won: set when a subagent has succeeded.
    """

    agents: dict[str, bool] = field(default_factory=dict)
    good: set[str] = field(default_factory=set)
    bad: set[str] = field(default_factory=set)
    won: asyncio.Event = field(default_factory=asyncio.Event)


class AfkAgent(Agent):
    """AFK as its page has it."""

    approval_s = 300.0
    attempts_max = 3
    base_s = 0.5
    jitter_s = 0.15
    queue_attempts_max = 3
    queue_base_s = 0.5
    queue_cap_s = 30.0
    queue_jitter_s = 0.2
    breaker_type: type[Breaker] = Breaker

    def __init__(self, surroundings: Surroundings) -> None:
        super().__init__(surroundings)
        self.breakers: dict[str, Breaker] = {}
        self.batch = Batch()

    def audit(
        self, pair: Pair | None, target: str, attempt: int | None = None, **more: Any
    ) -> None:
        """Put a failure on record; one without a row in the matrix has no category."""
        self.put_on_record(pair, {"target": target, "message": words_for(pair), **more}, attempt)

    def warn(self, pair: Pair | None) -> None:
        """Emit a warning: something went wrong, and the run goes on."""
        self.emit("warning", code=code_of(pair), message=words_for(pair))

    def tolerated(self, turn: Turn, pair: Pair | None) -> None:
        """Note that a failure was tolerated: the run will end as degraded."""
        turn.degraded = True
        self.warn(pair)

    # ------------------------------------------------------------------ the LLM

    def turn_started(self, turn: Turn) -> None:
        self.emit("run_started", agent_name="agent", resumed=False, run=turn.number)

    async def answer(self, turn: Turn, messages: Sequence[Message]) -> Reply:
        """Return the LLM's answer; each is a step of the run, and no policy is for it."""
        self.emit("step_started", step=turn.steps + 1, state="running")
        self.emit("policy_decision", event_type="llm_before_execute", action="allow")
        self.llm_called(self.targets[0])
        reply = await super().answer(turn, messages)
        reason = reply.finish_reason
        self.emit("llm_completed", tool_call_count=len(reply.tool_calls), finish_reason=reason)
        await self.export("llm", step=turn.steps + 1)
        return reply

    def llm_called(self, target: ProviderTarget) -> None:
        """The LLM is about to be asked."""
        self.emit("llm_called", model=target.model, provider=target.id or "first")

    async def ask_target(self, target: ProviderTarget, messages: Sequence[Message]) -> Reply:
        """Ask one model once, and report to its breaker how that went."""
        breaker = self.breaker(target)
        try:
            reply = await super().ask_target(target, messages)
        except AttemptError as failed:
            breaker.failed(self.now_s(), counts=self.counts(self.classify(failed)))
            raise
        except asyncio.CancelledError:
            breaker.let_go()
            raise
        breaker.good()
        return reply

    def breaker(self, target: ProviderTarget) -> Breaker:
        """Return the breaker of a provider."""
        return self.breakers.setdefault(target.id, self.breaker_type())

    def now_s(self) -> float:
        """Return the time of the loop's clock, in seconds."""
        return asyncio.get_running_loop().time()

    def counts(self, pair: Pair | None) -> bool:
        """Return whether a failure says that the provider is down."""
        return pair is not None and pair[0] == "Retryable"

    def admitted(self, turn: Turn, target: ProviderTarget, *, is_last: bool) -> bool:
        if self.breaker(target).admits(self.now_s()):
            return True
        self.audit(row("CircuitOpen"), target.id or "provider")
        if is_last:
            raise self.no_provider_left(turn)
        return False

    def classify(self, failed: AttemptError) -> Pair | None:
        return of_attempt(failed)

    def after_failure(self, turn: Turn, attempt: FailedAttempt) -> Next:
        """Retry what is transient, then fall back; stop at everything else."""
        retryable = attempt.pair is not None and attempt.pair[0] == "Retryable"
        if retryable and attempt.number < self.attempts_max:
            delay_s = self.wait_s(attempt.number)
            # Who is refused next has nothing to wait for.
            is_closed = self.breaker(attempt.target).is_closed
            return Next(act="again", wait_s=delay_s if is_closed else 0)
        if self.falls_back(attempt.pair, attempt.error) and not attempt.is_last:
            return Next(act="advance")
        return Next(act="end", state=self.llm_state())

    def attempt_failed(self, turn: Turn, attempt: FailedAttempt, step: Next) -> None:
        target, seen = attempt.target.id or "provider", attempt.error
        self.audit(attempt.pair, target, attempt.number, signal=seen.kind, next=step.act)

    def wait_s(self, attempt: int) -> float:
        """Return the wait after an attempt that failed, in seconds."""
        return wait_s("exponential", self.base_s, attempt) + random.uniform(0, self.jitter_s)

    def falls_back(self, pair: Pair | None, failed: AttemptError) -> bool:
        """Return whether another model may be asked after this failure."""
        if failed.after_content or pair in (row("Auth"), row("InvalidRequest")):
            return False
        return pair is not None

    def llm_state(self) -> RunState:
        """Return how a run ends that has no answer of any model."""
        return "failed" if self.world.policies.get("llm", "fail") == "fail" else "degraded"

    def unanswered(self, turn: Turn, attempt: FailedAttempt, step: Next) -> Ended:
        return self.llm_gone(turn, step.state, attempt.pair)

    def no_provider_left(self, turn: Turn) -> Ended:
        return self.llm_gone(turn, self.llm_state(), row("CircuitOpen"))

    def llm_gone(self, turn: Turn, state: RunState, pair: Pair | None) -> Ended:
        """Return the end of a run without an answer; a degraded one has the error as its text."""
        words = words_for(pair)
        if state == "degraded":
            self.tolerated(turn, pair)
        return Ended(state, pair, words, text=words if state == "degraded" else "")

    # ------------------------------------------------------------------ tools and subagents

    async def use_tools(self, turn: Turn, reply: Reply) -> None:
        """Carry out the calls of an answer; then see whether the subagents among them joined.

        Raises:
            Ended: by the policy for tools or subagents, or because the join is violated.
        """
        self.batch = Batch()
        calls = reply.tool_calls
        names, ids = [call.name for call in calls], [call.id for call in calls]
        listed = {"tool_names": names, "tool_call_ids": ids}
        self.emit("tool_batch_started", tool_call_count=len(calls), **listed)
        await super().use_tools(turn, reply)
        if self.batch.agents and not self.joined():
            violation = row("JoinViolation")
            self.audit(violation, "join")
            raise Ended("failed", violation, words_for(violation))
        await self.checkpoint(turn)

    def joined(self) -> bool:
        """Return whether the group of subagents has succeeded as its join policy asks."""
        agents, good = self.batch.agents, self.batch.good
        succeeded = len(good & set(agents))
        if self.world.join == "first_success":
            return succeeded > 0
        if self.world.join == "quorum":
            return succeeded >= (self.world.quorum or len(agents) // 2 + 1)
        return all(call in good for call, required in agents.items() if required)

    def call_proposed(self, turn: Turn, call: Call) -> None:
        if call.is_agent:
            self.batch.agents[call.id] = call.contract.required

    def policy_decided(self, call: Call, decision: Literal["allow", "deny"]) -> None:
        kind = "subagent" if call.id in self.batch.agents else "tool"
        type_ = f"{kind}_before_execute"
        self.emit("policy_decision", event_type=type_, action=decision, **_named(call))

    def approval_asked(self, call: Call) -> None:
        self.emit("run_paused", **_named(call))

    def approval_decided(self, call: Call, decision: Decision) -> None:
        self.emit("run_resumed", **_named(call), decision=decision)

    def call_started(self, turn: Turn, call: Call, attempt: int) -> None:
        if call.id in self.batch.agents:
            self.emit("subagent_started", subagent_name=call.name, correlation_id=call.id)

    async def tool(self, turn: Turn, call: Call) -> Outcome:
        """Execute a call; where the first success counts, the other subagents are let go."""
        work = super().tool(turn, call)
        if self.world.join == "first_success" and call.id in self.batch.agents:
            won_by_another = Outcome(kind="cancelled", message="another subagent was first")
            work = until(self.batch.won, work, won_by_another)
        try:
            outcome = await work
        except asyncio.CancelledError:
            self.call_stopped(call)
            raise
        if outcome.kind == "cancelled":
            self.call_stopped(call)
        return outcome

    def call_over(
        self, turn: Turn, call: Call, attempt: int, outcome: Outcome, step: Next | None
    ) -> None:
        pair = self.classify_tool(call, outcome)
        if not outcome.ok:
            self.audit(pair, call.id, attempt, tool=call.name, outcome=outcome.kind)
        elif call.id in self.batch.agents:
            self.batch.won.set()
        if pair is not None and pair[0] == "NonFatal":
            self.warn(pair)
        success = outcome.kind in ("ok", "partial")
        self.completed(call, None if success else words_for(pair), ran=not outcome.is_refusal)
        if step is not None and (step.act == "tell" or outcome.is_refusal):
            self.tell_model(call, outcome)

    def call_stopped(self, call: Call) -> None:
        """A call was given up before its end."""
        if call.id not in self.batch.good | self.batch.bad:
            self.completed(call, "cancelled", ran=True)

    def completed(self, call: Call, error: str | None, *, ran: bool) -> None:
        """A call is through, and the subagent that it went to, if it ran."""
        if ran and call.id in self.batch.agents:
            own = {"subagent_name": call.name, "correlation_id": call.id}
            self.emit("subagent_completed", **own, success=error is None, error=error)
        self.call_completed(call, success=error is None, error=error)

    def call_completed(self, call: Call, *, success: bool, error: str | None) -> None:
        """A call of the batch is through."""
        (self.batch.good if success else self.batch.bad).add(call.id)
        self.emit("tool_completed", **_named(call), success=success, error=error)

    def classify_tool(self, call: Call, outcome: Outcome) -> Pair | None:
        return of_call(call, outcome)

    def after_tool(self, turn: Turn, call: Call, attempt: int, outcome: Outcome) -> Next:
        """Tell the LLM; where the failure is configurable, the policy may end the run."""
        pair = self.classify_tool(call, outcome)
        policy = self.policy_for(call) if pair is not None and pair[0] == "Configurable" else ""
        if policy == "degrade":
            self.tolerated(turn, pair)
        return Next(act="end", state="failed") if policy == "fail" else Next(act="tell")

    def policy_for(self, call: Call) -> str:
        """Return the failure policy that is for a call."""
        return self.world.policies.get("subagent" if call.is_agent else "tool", "continue")

    def tell_model(self, call: Call, outcome: Outcome) -> None:
        """Hand the LLM the shape of a failed call."""
        error_class, code = self.classify_tool(call, outcome) or (None, None)
        self.host.tell_model({"class": error_class, "code": code, **self.content(call, outcome)})

    def content(self, call: Call, outcome: Outcome) -> Mapping[str, Any]:
        """Return what the LLM is told of a call, without anything from the inside."""
        if outcome.kind in ("ok", "partial"):
            told: dict[str, Any] = {"success": True, "output": outcome.value}
            if outcome.errors:
                told["errors"] = [error.message for error in outcome.errors]
            return told
        pair = self.classify_tool(call, outcome)
        words = words_for(pair)
        if outcome.kind in ("input_invalid", "failed"):
            words = f"{words}: {outcome.message}"
        elif pair is None:
            words = "The call did not succeed"
        return {"success": False, "error": words}

    # ------------------------------------------------------------------ ends, and infrastructure

    def at_limit(self, turn: Turn, limit: str) -> Ended:
        """Return the end of a run that has reached a limit: at once, under the limit's own name."""
        pair = row(_OF_LIMIT.get(limit))
        self.audit(pair, "run")
        return Ended("interrupted" if limit == "wall_time" else "failed", pair, words_for(pair))

    def cancelled(self, turn: Turn) -> Ended:
        return Ended("cancelled", None, "The run was cancelled")

    def unexpected(self, turn: Turn, error: Exception) -> Ended:
        self.audit(None, "run", what=type(error).__name__)
        return Ended("failed", None, words_for(None))

    async def turn_over(self, turn: Turn, end: Ended) -> None:
        """Keep and hand over the result, then emit the one terminal event."""
        try:
            if end.state != "cancelled":
                await self.checkpoint(turn)
                await self.deliver(turn, end)
                await self.export("run", state=end.state)
        except asyncio.CancelledError:
            end.state, end.pair = "cancelled", None
        self.run_over(end)

    def run_over(self, end: Ended) -> None:
        """Emit the terminal event; show an error to the user, too."""
        fields: dict[str, Any] = {"state": end.state}
        if end.state in ("failed", "interrupted"):
            fields |= {"error": words_for(end.pair), "code": code_of(end.pair)}
            self.host.show_user(f"{words_for(end.pair)}. Please try again later.")
        self.emit("run_completed" if end.state == "degraded" else f"run_{end.state}", **fields)

    async def checkpoint(self, turn: Turn) -> None:
        """Write a checkpoint; without one the run goes on all the same."""
        id_, messages = self.world.session_id, [*self.history, *turn.messages]
        manifest = {"sessionId": id_, "messages": messages, "step": turn.steps}
        if error := await self.tried(self.world.store.write, id_, manifest):
            self.audit(row("MemoryUnavailable"), "store", what=type(error).__name__)
            self.warn(row("MemoryUnavailable"))

    def telemetry_failed(self, name: str, error: Exception) -> None:
        """Put it on record, and say nothing: telemetry must not be felt."""
        self.audit(row("TelemetryExport"), name, what=type(error).__name__)

    async def deliver(self, turn: Turn, end: Ended) -> None:
        """Push the result to the queue, again while that is refused and there are attempts left."""
        if self.world.queue is None:
            return
        item = f"{self.world.session_id}-run-{turn.number}"
        body = {"state": end.state, "text": end.text}
        for attempt in range(1, self.queue_attempts_max + 1):
            error = await self.tried(self.world.queue.push, item, body)
            if error is None:
                return
            self.audit(row("QueuePush"), item, attempt=attempt, what=type(error).__name__)
            if attempt < self.queue_attempts_max:
                await asyncio.sleep(self.queue_wait_s(attempt))
        self.undelivered(turn, end)

    def undelivered(self, turn: Turn, end: Ended) -> None:
        """Let a run end degraded whose result no queue has taken."""
        if end.state == "completed":
            end.state, end.pair = "degraded", row("QueuePush")
        self.tolerated(turn, row("QueuePush"))

    def queue_wait_s(self, attempt: int) -> float:
        """Return the wait after a push that failed, in seconds."""
        nominal_s = wait_s("exponential", self.queue_base_s, attempt, cap_s=self.queue_cap_s)
        return nominal_s + random.uniform(0, self.queue_jitter_s)


reference_afk = reference("afk", "AFK")(AfkAgent)
