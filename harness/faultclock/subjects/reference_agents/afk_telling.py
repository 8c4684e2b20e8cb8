"""What a run of AFK says of itself: its events, its audit trail, and what anybody is told.

The names of the events are AFK's own. Nothing from the inside of a failure leaves here: neither
the text of an exception nor what a provider wrote.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Literal

from faultclock.subjects.ports import ProviderTarget, Reply
from faultclock.subjects.reference_agents.afk_kinds import MEMORY, TELEMETRY, words_for
from faultclock.subjects.reference_agents.calls import Call, Outcome
from faultclock.subjects.reference_agents.core import Agent, Ended, FailedAttempt, Next, Pair, Turn
from faultclock.subjects.reference_agents.person import Decision

if TYPE_CHECKING:
    from faultclock.subjects.reference_agents.afk import Batch

_TERMINAL = {
    "completed": "run_completed",
    "degraded": "run_completed",
    "failed": "run_failed",
    "interrupted": "run_interrupted",
    "cancelled": "run_cancelled",
}


class AfkTelling(Agent):
    """The moments of a run, and who hears of them."""

    batch: Batch

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
        """A run begins."""
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
        """An attempt at a provider has failed."""
        target, seen = attempt.target.id or "provider", attempt.error.seen
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
        """The LLM has asked for a tool, or for a subagent."""
        if call.tool is not None and call.tool.contract.agent:
            self.batch.agents[call.id] = call.tool.contract.required

    def policy_decided(self, call: Call, decision: Literal["allow", "deny"]) -> None:
        """The policy engine has said what it thinks of a call."""
        kind = "subagent" if call.id in self.batch.agents else "tool"
        self.emit(
            "policy_decision",
            event_type=f"{kind}_before_execute",
            action=decision,
            tool_name=call.name,
            tool_call_id=call.id,
        )

    def approval_asked(self, call: Call) -> None:
        """The run waits for a person."""
        self.emit("run_paused", tool_name=call.name, tool_call_id=call.id)

    def approval_decided(self, call: Call, decision: Decision) -> None:
        """The run goes on."""
        self.emit("run_resumed", tool_name=call.name, tool_call_id=call.id, decision=decision)

    def call_refused(self, turn: Turn, call: Call, outcome: Outcome, step: Next) -> None:
        """A call is not executed."""
        pair = self.classify_tool(call, outcome)
        self.audit(pair, call.id, 1, tool=call.name, outcome=outcome.kind)
        if pair is not None and pair[0] == "NonFatal":
            self.warn(pair)
        self.call_completed(call, success=False, error=words_for(pair))
        self.tell_model(call, outcome)

    def call_started(self, turn: Turn, call: Call, attempt: int) -> None:
        """A tool is about to be executed, or a subagent to be dispatched."""
        if call.id in self.batch.agents:
            self.emit("subagent_started", subagent_name=call.name, correlation_id=call.id)

    def call_ended(
        self,
        turn: Turn,
        call: Call,
        attempt: int,
        outcome: Outcome,
        step: Next | None,
    ) -> None:
        """A tool or a subagent has come to its end."""
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
