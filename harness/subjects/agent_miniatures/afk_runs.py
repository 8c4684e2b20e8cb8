"""Miniatures of AFK runtimes: tools, subagents, memory, telemetry, queue, limits, cancels."""

# ruff: noqa: ARG002 - an override takes what the step takes, needed or not

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from harness.subjects.agent_miniatures.table import wrong
from harness.subjects.ports import Reply
from harness.subjects.reference_agents.afk import AfkAgent
from harness.subjects.reference_agents.afk_kinds import (
    MEMORY,
    SUBAGENT_FAILED,
    SUBAGENT_TIMEOUT,
    words_for,
)
from harness.subjects.reference_agents.calls import Call, Outcome
from harness.subjects.reference_agents.core import Ended, Message, Next, Pair, State, Turn

__all__: list[str] = []

# Tools.


@wrong(
    "fail-is-continue",
    "Goes on where the failure policy says fail",
    fails="failures.outcome",
    model="afk",
    shown_by="afk/tool-raises-and-fails",
)
class _FailIsContinue(AfkAgent):
    """The documented value is accepted, and behaves as another one; so it does in the code."""

    def policy_for(self, call: Call) -> str:
        return "continue"


@wrong(
    "degrade-is-continue",
    "Ends as completed where the failure policy says degrade",
    fails="failures.outcome",
    model="afk",
    shown_by="afk/tool-raises-and-degrades",
)
class _DegradeIsContinue(AfkAgent):
    """Nobody learns that something was missing."""

    def policy_for(self, call: Call) -> str:
        found = super().policy_for(call)
        return "continue" if found == "degrade" else found


@wrong(
    "invalid-arguments-end-the-run",
    "Ends the run when the LLM mistypes an argument",
    fails="failures.outcome",
    model="afk",
    shown_by="afk/tool-arguments-invalid",
)
class _InvalidArgumentsEndTheRun(AfkAgent):
    """The LLM could have mended it in the next step."""

    def after_tool(self, turn: Turn, call: Call, attempt: int, outcome: Outcome) -> Next:
        if outcome.kind == "input_invalid":
            return Next(act="end", state="failed")
        return super().after_tool(turn, call, attempt, outcome)


@wrong(
    "denial-looks-good",
    "Tells the LLM that a denied call was done",
    fails="failures.told-model",
    model="afk",
    shown_by="afk/policy-denies",
)
class _DenialLooksGood(AfkAgent):
    """It goes on as if the file were gone."""

    def content(self, call: Call, outcome: Outcome) -> Mapping[str, Any]:
        if outcome.kind == "denied_by_policy":
            return {"success": True, "output": None}
        return super().content(call, outcome)


@wrong(
    "executes-what-is-denied",
    "Executes what the policy engine denies",
    fails="ordering.denied-never-executed",
    model="afk",
    shown_by="afk/policy-denies",
)
class _ExecutesWhatIsDenied(AfkAgent):
    """The engine is asked, and its answer told; then the tool is executed beside it."""

    async def cleared(self, turn: Turn, call: Call) -> Outcome | None:
        refusal = await super().cleared(turn, call)
        if refusal is not None and refusal.kind == "denied_by_policy" and call.tool is not None:
            await call.tool.execute(call.arguments, call_id=call.id)
        return refusal


@wrong(
    "exception-to-the-model",
    "typescript-sdk#1651: the raw text of an exception was sent to the other side",
    fails="failures.told-model",
    model="afk",
    shown_by="afk/tool-raises-and-continues",
    origin="modelcontextprotocol/typescript-sdk#1651",
)
class _ExceptionToTheModel(AfkAgent):
    """Whatever the exception says of keys and paths is in the prompt from then on."""

    def content(self, call: Call, outcome: Outcome) -> Mapping[str, Any]:
        told = super().content(call, outcome)
        return {**told, "error": outcome.message} if outcome.kind == "exception" else told

    def tell_model(self, call: Call, outcome: Outcome) -> None:
        super().tell_model(call, replace(outcome, message="it raised"))


@wrong(
    "exception-in-the-shape",
    "Hands the model a shape with the text of an exception",
    fails="audience.model",
    model="afk",
    shown_by="afk/tool-raises-and-continues",
)
class _ExceptionInTheShape(AfkAgent):
    """The message is clean, and what is handed over beside it is not."""

    def tell_model(self, call: Call, outcome: Outcome) -> None:
        self.host.tell_model({"class": "Configurable", "error": outcome.message})


@wrong(
    "exception-to-the-user",
    "litellm#15799: a key ended up in the text of an exception",
    fails="audience.user",
    model="afk",
    shown_by="afk/tool-raises-and-fails",
    origin="BerriAI/litellm#15799",
)
class _ExceptionToTheUser(AfkAgent):
    """The user is shown what the exception says."""

    async def turn_over(self, turn: Turn, end: Ended) -> None:
        if str(end):
            self.host.show_user(str(end))
        await super().turn_over(turn, end)


@wrong(
    "audit-without-context",
    "Puts failures on record without saying where",
    fails="audience.audit",
    model="afk",
    shown_by="afk/rate-limited-then-answers",
)
class _AuditWithoutContext(AfkAgent):
    """An operator reads that something failed, and not what."""

    def audit(
        self, pair: Pair | None, target: str, attempt: int | None = None, **more: Any
    ) -> None:
        self.put_on_record(pair, {}, attempt)


# Subagents.


@wrong(
    "timeout-is-a-failure",
    "Puts a subagent that took too long on record as one that failed",
    fails="failures.classified",
    model="afk",
    shown_by="afk/subagent-times-out-and-degrades",
)
class _TimeoutIsAFailure(AfkAgent):
    """Two rows of the matrix in one."""

    def classify_tool(self, call: Call, outcome: Outcome) -> Pair | None:
        found = super().classify_tool(call, outcome)
        return SUBAGENT_FAILED if found == SUBAGENT_TIMEOUT else found


@wrong(
    "ignores-the-join",
    "Goes on where a required subagent failed",
    fails="joins.held",
    model="afk",
    shown_by="afk/required-subagent-fails-among-optional",
)
class _IgnoresTheJoin(AfkAgent):
    """What is missing is left to the LLM to make up."""

    def joined(self) -> bool:
        return True


@wrong(
    "every-subagent-is-required",
    "Fails where an optional subagent failed",
    fails="joins.held",
    model="afk",
    shown_by="afk/optional-subagent-fails",
)
class _EverySubagentIsRequired(AfkAgent):
    """One policy for every group."""

    def joined(self) -> bool:
        return set(self.batch.agents) <= self.batch.good


@wrong(
    "children-fail-in-silence",
    "pi-packages#889: a failed child was reported to the parent as a success",
    fails="failures.told-model",
    model="afk",
    shown_by="afk/optional-subagent-fails",
    origin="gotgenes/pi-packages#889",
)
class _ChildrenFailInSilence(AfkAgent):
    """The parent invents what the child has done."""

    def content(self, call: Call, outcome: Outcome) -> Mapping[str, Any]:
        if call.id in self.batch.agents and not outcome.ok:
            return {"success": True, "output": ""}
        return super().content(call, outcome)


# Memory, telemetry, queue.


@wrong(
    "needs-its-memory",
    "Fails when a checkpoint cannot be written",
    fails="failures.outcome",
    model="afk",
    shown_by="afk/memory-is-down",
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


@wrong(
    "waits-for-telemetry",
    "Waits a minute for the telemetry exporter",
    fails="ordering.telemetry-holds-nothing-up",
    model="afk",
    shown_by="afk/telemetry-hangs",
)
class _WaitsForTelemetry(AfkAgent):
    """Silent, and yet everybody notices."""

    hook_s = 60.0


@wrong(
    "warns-of-telemetry",
    "Warns that telemetry could not be exported",
    fails="ordering.telemetry-failure-silent",
    model="afk",
    shown_by="afk/telemetry-raises",
)
class _WarnsOfTelemetry(AfkAgent):
    """Each span that is lost is one more line for somebody to read."""

    def telemetry_failed(self, name: str, error: Exception) -> None:
        super().telemetry_failed(name, error)
        self.emit("warning", message="Telemetry could not be exported")


@wrong(
    "pushes-once",
    "Gives the queue up after one refusal",
    fails="failures.redone",
    model="afk",
    shown_by="afk/queue-refuses-twice",
)
class _PushesOnce(AfkAgent):
    """A queue that is back in half a second has lost the result."""

    queue_attempts_max = 1


@wrong(
    "pushes-at-once",
    "Pushes again without a wait",
    fails="failures.wait",
    model="afk",
    shown_by="afk/queue-refuses-twice",
)
class _PushesAtOnce(AfkAgent):
    """Three refusals within a millisecond are one."""

    def queue_wait_s(self, attempt: int) -> float:
        return 0.0


@wrong(
    "loses-the-result",
    "Completes though no queue has taken the result",
    fails="failures.outcome",
    model="afk",
    shown_by="afk/queue-refuses-for-ever",
)
class _LosesTheResult(AfkAgent):
    """Whoever waits for the result waits for ever."""

    def undelivered(self, turn: Turn, end: Ended) -> None:
        return


# Limits.


@wrong(
    "one-step-more",
    "Looks at the number of steps after the step",
    fails="limits.ends",
    model="afk",
    shown_by="afk/steps-used-up",
)
class _OneStepMore(AfkAgent):
    """Compared by "greater than", as in the system's own code."""

    def check_steps(self, turn: Turn) -> None:
        limit = self.world.limits.steps_max
        if limit is not None and turn.steps > limit:
            raise self.at_limit(turn, "steps")


@wrong(
    "failures-do-not-count",
    "pi-subagents#1779: the path of errors left the limit on tool calls out",
    fails="limits.ends",
    model="afk",
    shown_by="afk/tool-calls-used-up",
    origin="nicobailon/pi-subagents#1779",
)
class _FailuresDoNotCount(AfkAgent):
    """512 calls were made where 150 were allowed."""

    def after_tool(self, turn: Turn, call: Call, attempt: int, outcome: Outcome) -> Next:
        turn.executions -= 1
        return super().after_tool(turn, call, attempt, outcome)


@wrong(
    "ignores-the-cost",
    "claudius#38: the value that said over budget was ignored",
    fails="limits.ends",
    model="afk",
    shown_by="afk/cost-used-up",
    origin="rescrv/claudius#38",
)
class _IgnoresTheCost(AfkAgent):
    """It is computed after each step."""

    def check_spent(self, turn: Turn) -> None:
        try:
            super().check_spent(turn)
        except Ended:
            return


@wrong(
    "out-of-time-is-failed",
    "Fails where the time of a run is over",
    fails="limits.ends",
    model="afk",
    shown_by="afk/wall-time-used-up",
)
class _OutOfTimeIsFailed(AfkAgent):
    """The system's own code knows no interrupted run."""

    def at_limit(self, turn: Turn, limit: str) -> Ended:
        found = super().at_limit(turn, limit)
        state: State = "failed" if limit == "wall_time" else found.state
        return Ended(state, found.pair, str(found))


# Cancels.


@wrong(
    "retries-the-cancel",
    "harbor#1223: a retry decorator caught the cancel",
    fails="failures.outcome",
    model="afk",
    shown_by="afk/cancelled-while-it-waits",
    origin="harbor-framework/harbor#1223",
)
class _RetriesTheCancel(AfkAgent):
    """A cancel is one more failure that another attempt may mend."""

    async def ask_chain(self, turn: Turn, messages: Sequence[Message]) -> Reply:
        try:
            return await super().ask_chain(turn, messages)
        except asyncio.CancelledError:
            return await super().ask_chain(turn, messages)
