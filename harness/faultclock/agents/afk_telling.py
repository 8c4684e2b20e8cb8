"""What a run of AFK says of itself: the names of its failures, its events, and its audit trail.

The names of failures are the rows of the page "Failure Policy Matrix". What it has no row for is
None: nobody may make up a category. Nothing from the inside of a failure leaves here: neither the
text of an exception nor what a provider wrote.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from faultclock.agents.calls import Call, Decision, Outcome
from faultclock.agents.core import Agent
from faultclock.agents.turn import Ended, FailedAttempt, Next, Pair, Turn
from faultclock.subjects.ports import ProviderTarget, Reply, Surroundings
from faultclock.subjects.provider_words import Meaning, said
from faultclock.subjects.stud import AttemptError

RATE_LIMIT: Final = ("Retryable", "RateLimit")
SERVER_ERROR: Final = ("Retryable", "ServerError")
TIMEOUT: Final = ("Retryable", "Timeout")
QUEUE_PUSH: Final = ("Retryable", "QueuePush")
AUTH: Final = ("Terminal", "Auth")
INVALID_REQUEST: Final = ("Terminal", "InvalidRequest")
CIRCUIT_OPEN: Final = ("Terminal", "CircuitOpen")
JOIN_VIOLATION: Final = ("Terminal", "JoinViolation")
VALIDATION: Final = ("NonFatal", "Validation")
DENIAL: Final = ("NonFatal", "PolicyDenial")
MEMORY: Final = ("NonFatal", "MemoryUnavailable")
TELEMETRY: Final = ("NonFatal", "TelemetryExport")
HANDLER: Final = ("Configurable", "HandlerException")
TOOL_TIMEOUT: Final = ("Configurable", "ToolTimeout")
SUBAGENT_FAILED: Final = ("Configurable", "SubagentFailed")
SUBAGENT_TIMEOUT: Final = ("Configurable", "SubagentTimeout")

#: Limit to what a run ends with that has reached it; the page knows no limit on tokens.
LIMITS: Final[dict[str, Pair]] = {
    "steps": ("Budget", "max_steps"),
    "tool_calls": ("Budget", "max_tool_calls"),
    "cost": ("Budget", "max_total_cost_usd"),
    "wall_time": ("Budget", "max_wall_time_s"),
}

#: What is said of each, without anything from the inside.
WORDS: Final[dict[Pair, str]] = {
    RATE_LIMIT: "Rate limit exceeded",
    SERVER_ERROR: "Internal server error",
    TIMEOUT: "Request timed out",
    QUEUE_PUSH: "The result could not be queued",
    AUTH: "Invalid API key",
    INVALID_REQUEST: "The provider refused the request",
    CIRCUIT_OPEN: "Circuit breaker open for provider",
    JOIN_VIOLATION: "Required subagent failed",
    VALIDATION: "Invalid arguments",
    DENIAL: "Action denied by policy",
    MEMORY: "Could not persist checkpoint",
    TELEMETRY: "Telemetry could not be exported",
    HANDLER: "Tool raised an error",
    TOOL_TIMEOUT: "Tool exceeded its timeout",
    SUBAGENT_FAILED: "Subagent completed with state=failed",
    SUBAGENT_TIMEOUT: "Subagent exceeded wall time",
    LIMITS["steps"]: "Step count exceeded",
    LIMITS["tool_calls"]: "Tool call count exceeded",
    LIMITS["cost"]: "Estimated cost exceeded",
    LIMITS["wall_time"]: "Wall time exceeded",
}

_BY_STATUS: Final[dict[int, Pair]] = {
    **dict.fromkeys((401, 403), AUTH),
    **dict.fromkeys((500, 502, 503), SERVER_ERROR),
    400: INVALID_REQUEST,
    408: TIMEOUT,
    429: RATE_LIMIT,
}
#: What an error object in a 200 stands for; the matrix has no row for an overload.
_ANSWERS: Final[dict[Meaning, Pair]] = {
    "limit": RATE_LIMIT,
    "server": SERVER_ERROR,
    "key": AUTH,
    "request": INVALID_REQUEST,
}
_TERMINAL = {
    "completed": "run_completed",
    "degraded": "run_completed",
    "failed": "run_failed",
    "interrupted": "run_interrupted",
    "cancelled": "run_cancelled",
}


def of_attempt(seen: AttemptError) -> Pair | None:
    """Return what an attempt at a provider failed with, None where the matrix has no row."""
    if seen.kind == "deadline":
        return TIMEOUT
    if seen.kind == "http_error":
        # "Model does not exist" is the example of an invalid request, and comes with a 404.
        missing = seen.status == 404 and seen.provider_code == "model_not_found"
        return INVALID_REQUEST if missing else _BY_STATUS.get(seen.status or 0)
    if seen.kind not in ("error_body", "stream_error"):
        return None
    return said(seen.provider_code, seen.provider_type, _ANSWERS, _BY_STATUS.get)


def of_call(call: Call, outcome: Outcome) -> Pair | None:
    """Return what a tool call failed with, None where the matrix has no row."""
    if outcome.kind == "input_invalid":
        return VALIDATION
    if outcome.kind == "denied_by_policy":
        return DENIAL
    if call.tool is not None and call.tool.contract.agent:
        return {
            "exception": SUBAGENT_FAILED,
            "failed": SUBAGENT_FAILED,
            "unavailable": SUBAGENT_FAILED,
            "output_malformed": SUBAGENT_FAILED,
            "timeout": SUBAGENT_TIMEOUT,
            "denied_by_user": DENIAL,
        }.get(outcome.kind)
    return {"exception": HANDLER, "failed": HANDLER, "timeout": TOOL_TIMEOUT}.get(outcome.kind)


def words_for(pair: Pair | None) -> str:
    """Return what may be said of a failure to anybody."""
    return "The run could not go on" if pair is None else WORDS[pair]


@dataclass(slots=True)
class Batch:
    """The tool calls of one answer.

    Attributes:
        agents: ids of the calls that go to subagents, to whether the join needs them.
        good: ids of calls that succeeded; `bad`: of those that did not.
        told: ids of calls whose tool_completed was emitted.
        won: set when a subagent has succeeded.
    """

    agents: dict[str, bool] = field(default_factory=dict)
    good: set[str] = field(default_factory=set)
    bad: set[str] = field(default_factory=set)
    told: set[str] = field(default_factory=set)
    won: asyncio.Event = field(default_factory=asyncio.Event)


class AfkTelling(Agent):
    """The moments of a run, and who hears of them."""

    def __init__(self, surroundings: Surroundings) -> None:
        super().__init__(surroundings)
        self.batch = Batch()

    def now_s(self) -> float:
        """Return the time of the loop's clock, in seconds."""
        return asyncio.get_running_loop().time()

    def emit(self, name: str, **fields: Any) -> None:
        """Emit an event of the run."""
        self.host.event(name, **fields)

    def audit(
        self, pair: Pair | None, target: str, attempt: int | None = None, **more: Any
    ) -> None:
        """Put a failure on record; one without a row in the matrix has no category."""
        context = {"target": target, "message": words_for(pair), **more}
        self.put_on_record(pair, context, attempt)

    def warn(self, pair: Pair | None) -> None:
        """Emit a warning: something went wrong, and the run goes on."""
        self.emit("warning", code=None if pair is None else pair[1], message=words_for(pair))

    def tolerated(self, turn: Turn, pair: Pair | None) -> None:
        """Note that a failure was tolerated: the run will end as degraded."""
        turn.degraded = True
        self.warn(pair)

    # ------------------------------------------------------------------ the run and its steps

    def turn_started(self, turn: Turn) -> None:
        self.emit("run_started", agent_name="agent", resumed=False, run=turn.number)

    def step_started(self, turn: Turn) -> None:
        """A step begins; nothing forbids the LLM, so that it is allowed."""
        self.emit("step_started", step=turn.steps + 1, state="running")
        self.emit("policy_decision", event_type="llm_before_execute", action="allow")

    def llm_called(self, target: ProviderTarget) -> None:
        """The LLM is about to be asked."""
        self.emit("llm_called", model=target.model, provider=target.id or "first")

    def llm_completed(self, reply: Reply) -> None:
        """The LLM has answered."""
        self.emit(
            "llm_completed",
            tool_call_count=len(reply.tool_calls),
            finish_reason=reply.finish_reason,
        )

    def attempt_failed(self, turn: Turn, attempt: FailedAttempt, step: Next) -> None:
        target, seen = attempt.target.id or "provider", attempt.error
        self.audit(attempt.pair, target, attempt.number, signal=seen.kind, next=step.act)

    def run_over(self, end: Ended) -> None:
        """Emit the terminal event; of an error, tell the user too."""
        name = _TERMINAL[end.state]
        fields: dict[str, Any] = {"state": end.state}
        if name in ("run_failed", "run_interrupted"):
            fields["error"] = words_for(end.pair)
            fields["code"] = None if end.pair is None else end.pair[1]
            self.host.show_user(f"{words_for(end.pair)}. Please try again later.")
        self.emit(name, **fields)

    # ------------------------------------------------------------------ tools and subagents

    def batch_started(self, reply: Reply) -> None:
        """The calls of an answer are about to be carried out."""
        self.emit(
            "tool_batch_started",
            tool_call_count=len(reply.tool_calls),
            tool_names=[call.name for call in reply.tool_calls],
            tool_call_ids=[call.id for call in reply.tool_calls],
        )

    def call_proposed(self, turn: Turn, call: Call) -> None:
        if call.tool is not None and call.tool.contract.agent:
            self.batch.agents[call.id] = call.tool.contract.required

    def policy_decided(self, call: Call, decision: Literal["allow", "deny"]) -> None:
        kind = "subagent" if call.id in self.batch.agents else "tool"
        self.emit(
            "policy_decision",
            event_type=f"{kind}_before_execute",
            action=decision,
            tool_name=call.name,
            tool_call_id=call.id,
        )

    def approval_asked(self, call: Call) -> None:
        self.emit("run_paused", tool_name=call.name, tool_call_id=call.id)

    def approval_decided(self, call: Call, decision: Decision) -> None:
        self.emit("run_resumed", tool_name=call.name, tool_call_id=call.id, decision=decision)

    def call_refused(self, turn: Turn, call: Call, outcome: Outcome, step: Next) -> None:
        pair = self.classify_tool(call, outcome)
        self.audit(pair, call.id, 1, tool=call.name, outcome=outcome.kind)
        if pair is not None and pair[0] == "NonFatal":
            self.warn(pair)
        self.call_completed(call, success=False, error=words_for(pair))
        self.tell_model(call, outcome)

    def call_started(self, turn: Turn, call: Call, attempt: int) -> None:
        if call.id in self.batch.agents:
            self.emit("subagent_started", subagent_name=call.name, correlation_id=call.id)

    def call_ended(
        self, turn: Turn, call: Call, attempt: int, outcome: Outcome, step: Next | None
    ) -> None:
        if outcome.ok:
            if call.id in self.batch.agents:
                self.batch.won.set()
            self.subagent_completed(call, success=True)
            self.call_completed(call, success=True)
            return
        pair = self.classify_tool(call, outcome)
        self.audit(pair, call.id, attempt, tool=call.name, outcome=outcome.kind)
        whole = outcome.kind == "partial"
        self.subagent_completed(call, success=whole, error=words_for(pair))
        self.call_completed(call, success=whole, error=words_for(pair))
        if step is not None and step.act == "tell":
            self.tell_model(call, outcome)

    def call_stopped(self, call: Call) -> None:
        """A call was given up before its end."""
        if call.id not in self.batch.told:
            self.subagent_completed(call, success=False, error="cancelled")
            self.call_completed(call, success=False, error="cancelled")

    def subagent_completed(self, call: Call, *, success: bool, error: str | None = None) -> None:
        """A subagent has finished, in success or failure."""
        if call.id in self.batch.agents:
            self.emit(
                "subagent_completed",
                subagent_name=call.name,
                correlation_id=call.id,
                success=success,
                error=None if success else error,
            )

    def call_completed(self, call: Call, *, success: bool, error: str | None = None) -> None:
        """A call of the batch is through."""
        (self.batch.good if success else self.batch.bad).add(call.id)
        self.batch.told.add(call.id)
        self.emit(
            "tool_completed",
            tool_name=call.name,
            tool_call_id=call.id,
            success=success,
            error=None if success else error,
        )

    def tell_model(self, call: Call, outcome: Outcome) -> None:
        """Hand the LLM the shape of a failed call."""
        pair = self.classify_tool(call, outcome)
        error_class, code = pair or (None, None)
        self.host.tell_model({"class": error_class, "code": code, **self.content(call, outcome)})

    # ------------------------------------------------------------------ infrastructure

    async def checkpoint(self, turn: Turn) -> None:
        """Write a checkpoint; without one the run goes on all the same."""
        manifest = {
            "sessionId": self.world.session_id,
            "messages": [*self.history, *turn.messages],
            "step": turn.steps,
        }
        try:
            async with asyncio.timeout(self.hook_s):
                await self.world.store.write(self.world.session_id, manifest)
        except Exception as error:  # noqa: BLE001 - a backend may raise anything
            self.audit(MEMORY, "store", what=type(error).__name__)
            self.warn(MEMORY)

    def telemetry_failed(self, name: str, error: Exception) -> None:
        """Put it on record, and tell nobody: telemetry must not be felt."""
        self.audit(TELEMETRY, name, what=type(error).__name__)
