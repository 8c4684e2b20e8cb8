"""Miniatures of AFK runtimes: tools, subagents, memory, telemetry, queue, limits, cancels."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from faultclock.subjects.agent_miniatures.afk_table import afk
from faultclock.subjects.ports import Reply
from faultclock.subjects.reference_agents.afk import AfkAgent
from faultclock.subjects.reference_agents.afk_kinds import (
    MEMORY,
    SUBAGENT_FAILED,
    SUBAGENT_TIMEOUT,
    words_for,
)
from faultclock.subjects.reference_agents.calls import Call, Outcome
from faultclock.subjects.reference_agents.core import Ended, Message, Next, Pair, RunState, Turn

__all__: list[str] = []

# Tools.


@afk(
    "fail-is-continue",
    "Goes on where the failure policy says fail",
    fails="failures.outcome",
    shown_by="tool-raises-and-fails",
)
class _FailIsContinue(AfkAgent):
    """The documented value is accepted, and behaves as another one; so it does in the code."""

    def policy_for(self, call: Call) -> str:
        return "continue"


@afk(
    "degrade-is-continue",
    "Ends as completed where the failure policy says degrade",
    fails="failures.outcome",
    shown_by="tool-raises-and-degrades",
)
class _DegradeIsContinue(AfkAgent):
    """Nobody learns that something was missing."""

    def policy_for(self, call: Call) -> str:
        found = super().policy_for(call)
        return "continue" if found == "degrade" else found


@afk(
    "invalid-arguments-end-the-run",
    "Ends the run when the LLM mistypes an argument",
    fails="failures.outcome",
    shown_by="tool-arguments-invalid",
)
class _InvalidArgumentsEndTheRun(AfkAgent):
    """The LLM could have mended it in the next step."""

    def after_tool(self, turn: Turn, call: Call, attempt: int, outcome: Outcome) -> Next:
        if outcome.kind == "input_invalid":
            return Next(act="end", state="failed")
        return super().after_tool(turn, call, attempt, outcome)


@afk(
    "denial-looks-good",
    "Tells the LLM that a denied call was done",
    fails="failures.told-model",
    shown_by="policy-denies",
)
class _DenialLooksGood(AfkAgent):
    """It goes on as if the file were gone."""

    def content(self, call: Call, outcome: Outcome) -> Mapping[str, Any]:
        if outcome.kind == "denied_by_policy":
            return {"success": True, "output": None}
        return super().content(call, outcome)


@afk(
    "executes-what-is-denied",
    "Executes what the policy engine denies",
    fails="ordering.denied-never-executed",
    shown_by="policy-denies",
)
class _ExecutesWhatIsDenied(AfkAgent):
    """The engine is asked, and its answer told; then the tool is executed beside it."""

    async def cleared(self, turn: Turn, call: Call) -> Outcome | None:
        refusal = await super().cleared(turn, call)
        if refusal is not None and refusal.kind == "denied_by_policy" and call.tool is not None:
            await call.tool.execute(call.arguments, call_id=call.id)
        return refusal


@afk(
    "exception-to-the-model",
    "typescript-sdk#1651: the raw text of an exception was sent to the other side",
    fails="failures.told-model",
    shown_by="tool-raises-and-continues",
    origin="modelcontextprotocol/typescript-sdk#1651",
)
class _ExceptionToTheModel(AfkAgent):
    """Whatever the exception says of keys and paths is in the prompt from then on."""

    def content(self, call: Call, outcome: Outcome) -> Mapping[str, Any]:
        told = super().content(call, outcome)
        return {**told, "error": outcome.message} if outcome.kind == "exception" else told

    def tell_model(self, call: Call, outcome: Outcome) -> None:
        super().tell_model(call, replace(outcome, message="it raised"))


@afk(
    "exception-in-the-shape",
    "Hands the model a shape with the text of an exception",
    fails="audience.model",
    shown_by="tool-raises-and-continues",
)
class _ExceptionInTheShape(AfkAgent):
    """The message is clean, and what is handed over beside it is not."""

    def tell_model(self, call: Call, outcome: Outcome) -> None:
        self.host.tell_model({"class": "Configurable", "error": outcome.message})


@afk(
    "exception-to-the-user",
    "litellm#15799: a key ended up in the text of an exception",
    fails="audience.user",
    shown_by="tool-raises-and-fails",
    origin="BerriAI/litellm#15799",
)
class _ExceptionToTheUser(AfkAgent):
    """The user is shown what the exception says."""

    async def turn_over(self, turn: Turn, end: Ended) -> None:
        if str(end):
            self.host.show_user(str(end))
        await super().turn_over(turn, end)


@afk(
    "audit-without-context",
    "Puts failures on record without saying where",
    fails="audience.audit",
    shown_by="rate-limited-then-answers",
)
class _AuditWithoutContext(AfkAgent):
    """An operator reads that something failed, and not what."""

    def audit(
        self, pair: Pair | None, target: str, attempt: int | None = None, **more: Any
    ) -> None:
        self.put_on_record(pair, {}, attempt)


# Subagents.


@afk(
    "timeout-is-a-failure",
    "Puts a subagent that took too long on record as one that failed",
    fails="failures.classified",
    shown_by="subagent-times-out-and-degrades",
)
class _TimeoutIsAFailure(AfkAgent):
    """Two rows of the matrix in one."""

    def classify_tool(self, call: Call, outcome: Outcome) -> Pair | None:
        found = super().classify_tool(call, outcome)
        return SUBAGENT_FAILED if found == SUBAGENT_TIMEOUT else found


@afk(
    "ignores-the-join",
    "Goes on where a required subagent failed",
    fails="joins.held",
    shown_by="required-subagent-fails-among-optional",
)
class _IgnoresTheJoin(AfkAgent):
    """What is missing is left to the LLM to make up."""

    def joined(self) -> bool:
        return True


@afk(
    "every-subagent-is-required",
    "Fails where an optional subagent failed",
    fails="joins.held",
    shown_by="optional-subagent-fails",
)
class _EverySubagentIsRequired(AfkAgent):
    """One policy for every group."""

    def joined(self) -> bool:
        return set(self.batch.agents) <= self.batch.good


@afk(
    "children-fail-in-silence",
    "pi-packages#889: a failed child was reported to the parent as a success",
    fails="failures.told-model",
    shown_by="optional-subagent-fails",
    origin="gotgenes/pi-packages#889",
)
class _ChildrenFailInSilence(AfkAgent):
    """The parent invents what the child has done."""

    def content(self, call: Call, outcome: Outcome) -> Mapping[str, Any]:
        if call.id in self.batch.agents and not outcome.ok:
            return {"success": True, "output": ""}
        return super().content(call, outcome)


# Memory, telemetry, queue.


@afk(
    "needs-its-memory",
    "Fails when a checkpoint cannot be written",
    fails="failures.outcome",
    shown_by="memory-is-down",
)
class _NeedsItsMemory(AfkAgent):
    """The answer was there already."""

    def warn(self, pair: Pair | None) -> None:
        super().warn(pair)
        if pair == MEMORY:
            raise Ended("failed", MEMORY, words_for(MEMORY))

    async def turn_over(self, turn: Turn, end: Ended) -> None:
        if end.state == "failed":
            self.run_over(end)
        else:
            await super().turn_over(turn, end)


@afk(
    "waits-for-telemetry",
    "Waits a minute for the telemetry exporter",
    fails="ordering.telemetry-holds-nothing-up",
    shown_by="telemetry-hangs",
)
class _WaitsForTelemetry(AfkAgent):
    """Silent, and yet everybody notices."""

    hook_s = 60.0


@afk(
    "warns-of-telemetry",
    "Warns that telemetry could not be exported",
    fails="ordering.telemetry-failure-silent",
    shown_by="telemetry-raises",
)
class _WarnsOfTelemetry(AfkAgent):
    """Each span that is lost is one more line for somebody to read."""

    def telemetry_failed(self, name: str, error: Exception) -> None:
        super().telemetry_failed(name, error)
        self.emit("warning", message="Telemetry could not be exported")


@afk(
    "pushes-once",
    "Gives the queue up after one refusal",
    fails="failures.redone",
    shown_by="queue-refuses-twice",
)
class _PushesOnce(AfkAgent):
    """A queue that is back in half a second has lost the result."""

    queue_attempts_max = 1


@afk(
    "pushes-at-once",
    "Pushes again without a wait",
    fails="failures.wait",
    shown_by="queue-refuses-twice",
)
class _PushesAtOnce(AfkAgent):
    """Three refusals within a millisecond are one."""

    def queue_wait_s(self, attempt: int) -> float:
        return 0.0


@afk(
    "loses-the-result",
    "Completes though no queue has taken the result",
    fails="failures.outcome",
    shown_by="queue-refuses-for-ever",
)
class _LosesTheResult(AfkAgent):
    """Whoever waits for the result waits for ever."""

    def undelivered(self, turn: Turn, end: Ended) -> None:
        return


# Limits.


@afk(
    "one-step-more",
    "Looks at the number of steps after the step",
    fails="limits.ends",
    shown_by="steps-used-up",
)
class _OneStepMore(AfkAgent):
    """Compared by "greater than", as in the system's own code."""

    def check_steps(self, turn: Turn) -> None:
        limit = self.world.limits.steps_max
        if limit is not None and turn.steps > limit:
            raise self.at_limit(turn, "steps")


@afk(
    "failures-do-not-count",
    "pi-subagents#1779: the path of errors left the limit on tool calls out",
    fails="limits.ends",
    shown_by="tool-calls-used-up",
    origin="nicobailon/pi-subagents#1779",
)
class _FailuresDoNotCount(AfkAgent):
    """512 calls were made where 150 were allowed."""

    def after_tool(self, turn: Turn, call: Call, attempt: int, outcome: Outcome) -> Next:
        turn.executions -= 1
        return super().after_tool(turn, call, attempt, outcome)


@afk(
    "ignores-the-cost",
    "claudius#38: the value that said over budget was ignored",
    fails="limits.ends",
    shown_by="cost-used-up",
    origin="rescrv/claudius#38",
)
class _IgnoresTheCost(AfkAgent):
    """It is computed after each step."""

    def check_spent(self, turn: Turn) -> None:
        try:
            super().check_spent(turn)
        except Ended:
            return


@afk(
    "out-of-time-is-failed",
    "Fails where the time of a run is over",
    fails="limits.ends",
    shown_by="wall-time-used-up",
)
class _OutOfTimeIsFailed(AfkAgent):
    """The system's own code knows no interrupted run."""

    def at_limit(self, turn: Turn, limit: str) -> Ended:
        found = super().at_limit(turn, limit)
        state: RunState = "failed" if limit == "wall_time" else found.state
        return Ended(state, found.pair, str(found))


# Cancels.


@afk(
    "retries-the-cancel",
    "harbor#1223: a retry decorator caught the cancel",
    fails="failures.outcome",
    shown_by="cancelled-while-it-waits",
    origin="harbor-framework/harbor#1223",
)
class _RetriesTheCancel(AfkAgent):
    """A cancel is one more failure that another attempt may mend."""

    async def ask_chain(self, turn: Turn, messages: Sequence[Message]) -> Reply:
        try:
            return await super().ask_chain(turn, messages)
        except asyncio.CancelledError:
            return await super().ask_chain(turn, messages)
