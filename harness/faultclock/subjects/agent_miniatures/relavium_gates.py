"""Miniatures of Relavium runtimes that treat a person, a limit or a cancel wrongly."""

from __future__ import annotations

import asyncio
from typing import Any

from faultclock.subjects.agent_miniatures.relavium_events import altered
from faultclock.subjects.agent_miniatures.relavium_table import relavium
from faultclock.subjects.ports import InteractionAnswer, Node, Reply, RunResult
from faultclock.subjects.reference_agents.calls import Call, Outcome
from faultclock.subjects.reference_agents.core import Ended, Next, Turn
from faultclock.subjects.reference_agents.relavium import RelaviumAgent
from faultclock.subjects.reference_agents.relavium_errors import RunError
from faultclock.subjects.reference_agents.relavium_gates import Gate

__all__: list[str] = []

# Approvals.


@relavium(
    "asks-in-silence",
    "Asks a person without saying so",
    fails="ordering.approval-asked-first",
    shown_by="person-approves-a-tool",
)
class _AsksInSilence(RelaviumAgent):
    def approval_asked(self, call: Call) -> None:
        return


@relavium(
    "one-yes-is-all",
    "Takes the approval of one call for that of the whole answer (openai/codex PR#11162)",
    fails="ordering.approval-before-execution",
    shown_by="one-yes-is-not-two",
    origin="openai/codex PR#11162",
)
class _OneYesIsAll(RelaviumAgent):
    approved = False

    async def refusal(self, call: Call) -> Outcome | None:
        refusal = await super().refusal(call)
        self.approved = self.approved or refusal is None
        return None if self.approved else refusal


@relavium(
    "silence-is-consent",
    "Goes on when nobody has answered an approval (NousResearch/hermes-agent#54110)",
    fails="failures.outcome",
    shown_by="approval-never-comes",
    origin="NousResearch/hermes-agent#54110",
)
class _SilenceIsConsent(RelaviumAgent):
    def after_tool(self, turn: Turn, call: Call, attempt: int, outcome: Outcome) -> Next:
        if outcome.kind == "approval_timed_out":
            return Next(act="tell")
        return super().after_tool(turn, call, attempt, outcome)


@relavium(
    "executes-what-is-denied",
    "Executes a tool that the policy has denied, and then says so",
    fails="ordering.denied-never-executed",
    shown_by="tool-denied",
)
class _ExecutesWhatIsDenied(RelaviumAgent):
    async def refusal(self, call: Call) -> Outcome | None:
        refusal = await super().refusal(call)
        if refusal is not None and refusal.kind == "denied_by_policy" and call.tool is not None:
            await call.tool.execute(call.arguments, call_id=call.id)
        return refusal


@relavium(
    "denial-is-a-failure",
    "Records a denial of the policy as a failed execution",
    fails="failures.classified",
    shown_by="tool-denied",
)
class _DenialIsAFailure(RelaviumAgent):
    def classify_tool(self, call: Call, outcome: Outcome) -> tuple[str, str] | None:
        if outcome.kind == "denied_by_policy":
            return ("run", "tool_failed")
        return super().classify_tool(call, outcome)


@relavium(
    "asks-again-for-what-is-denied",
    "Begins a node anew after a denial",
    fails="failures.redone",
    shown_by="tool-denied",
)
class _AsksAgainForWhatIsDenied(RelaviumAgent):
    def is_redone(self, node: Node, attempt: int, error: RunError) -> bool:
        denied = error.code == "tool_denied" and attempt < 3
        return denied or super().is_redone(node, attempt, error)


# Gates.


@relavium(
    "gate-without-an-end",
    "Does not say until when a gate waits",
    fails="ordering.gate-is-whole",
    shown_by="gate-is-approved",
)
class _GateWithoutAnEnd(RelaviumAgent):
    def gate_paused(self, gate: Gate, limit_s: float) -> None:
        self.run.emit("human_gate:paused", gateId=gate.id)
        self.run.emit("run:paused", gateIds=[gate.id])


@relavium(
    "gate-pauses-nothing",
    "Pauses a gate and not its run",
    fails="ordering.gate-pauses-the-run",
    shown_by="gate-is-approved",
)
class _GatePausesNothing(RelaviumAgent):
    run_type = altered(lambda _, name, fields: () if name == "run:paused" else ((name, fields),))


@relavium(
    "pauses-without-a-gate",
    "Pauses a run without saying for which gate",
    fails="ordering.run-pauses-at-a-gate",
    shown_by="gate-is-approved",
)
class _PausesWithoutAGate(RelaviumAgent):
    def gate_paused(self, gate: Gate, limit_s: float) -> None:
        self.run.emit("run:paused", gateIds=[])
        super().gate_paused(gate, limit_s)


@relavium(
    "resumes-another-gate",
    "Resumes a gate that was never paused",
    fails="ordering.gate-resumes-what-paused",
    shown_by="gate-is-approved",
)
class _ResumesAnotherGate(RelaviumAgent):
    def gate_resumed(self, gate: Gate, answer: InteractionAnswer) -> None:
        self.run.emit(
            "human_gate:resumed", gateId=f"not-{gate.id}", decision="approved", decidedBy="user"
        )


@relavium(
    "resumes-twice",
    "Resumes a gate twice",
    fails="ordering.gate-resumes-once",
    shown_by="gate-is-approved",
)
class _ResumesTwice(RelaviumAgent):
    def gate_resumed(self, gate: Gate, answer: InteractionAnswer) -> None:
        super().gate_resumed(gate, answer)
        super().gate_resumed(gate, answer)


@relavium(
    "decided-by-nobody",
    "Does not say who decided at a gate",
    fails="ordering.gate-names-its-decision",
    shown_by="gate-is-approved",
)
class _DecidedByNobody(RelaviumAgent):
    def gate_resumed(self, gate: Gate, answer: InteractionAnswer) -> None:
        self.run.emit("human_gate:resumed", gateId=gate.id, decision="approved")


@relavium(
    "timeout-is-a-rejection",
    "Records a gate that timed out as one that was decided (use-agent-os/agent-os#1564)",
    fails="ordering.rejected-gate-is-not-resumed",
    shown_by="gate-times-out",
    origin="use-agent-os/agent-os#1564",
)
class _TimeoutIsARejection(RelaviumAgent):
    def gate_timed_out(self, node: Node) -> None:
        self.run.emit(
            "human_gate:resumed", gateId=node.id, decision="rejected", decidedBy="timeout"
        )
        super().gate_timed_out(node)


# Limits.


@relavium(
    "loops-past-the-cap",
    "Looks at the cap of turns on the good path alone (nicobailon/pi-subagents#1779)",
    fails="limits.ends",
    shown_by="turns-used-up",
    origin="nicobailon/pi-subagents#1779",
)
class _LoopsPastTheCap(RelaviumAgent):
    def check_steps(self, turn: Turn) -> None:
        if turn.steps >= 6:
            super().check_steps(turn)


@relavium(
    "drops-the-over-budget",
    "Ignores for a while that the budget is used up (rescrv/claudius PR#38)",
    fails="limits.ends",
    shown_by="cost-used-up",
    origin="rescrv/claudius PR#38",
)
class _DropsTheOverBudget(RelaviumAgent):
    def check_spent(self, turn: Turn) -> None:
        if turn.steps >= 8:
            super().check_spent(turn)


@relavium(
    "stops-quietly",
    "Stops under a cap as if all were done (anomalyco/opencode#21960)",
    fails="limits.ends",
    shown_by="turns-used-up",
    origin="anomalyco/opencode#21960",
)
class _StopsQuietly(RelaviumAgent):
    async def work(self, turn: Turn) -> str:
        try:
            return await super().work(turn)
        except RunError as error:
            if error.code == "turn_limit":
                return ""
            raise


@relavium(
    "tells-nobody-of-limits",
    "Does not tell the person that a limit has ended the run",
    fails="ordering.user-is-told-of-a-failed-run",
    shown_by="time-used-up",
)
class _TellsNobodyOfLimits(RelaviumAgent):
    def tell_user(self, error: RunError) -> None:
        if "limit" not in error.cause:
            super().tell_user(error)


@relavium(
    "retries-into-a-limit",
    "Begins a node anew when the turns are used up",
    fails="ordering.limit-is-never-retried",
    shown_by="turns-used-up",
)
class _RetriesIntoALimit(RelaviumAgent):
    def is_redone(self, node: Node, attempt: int, error: RunError) -> bool:
        return attempt < 2


@relavium(
    "runs-out-of-time-unsaid",
    "Fails with run_timeout and emits no run:timeout",
    fails="ordering.time-runs-out-first",
    shown_by="time-used-up",
)
class _RunsOutOfTimeUnsaid(RelaviumAgent):
    run_type = altered(lambda _, name, fields: () if name == "run:timeout" else ((name, fields),))


@relavium(
    "time-is-money",
    "Fails with budget_exceeded after run:timeout",
    fails="ordering.timeout-fails-the-run",
    shown_by="time-used-up",
)
class _TimeIsMoney(RelaviumAgent):
    def at_limit(self, turn: Turn, limit: str) -> Ended:
        found = super().at_limit(turn, limit)
        return RunError("budget_exceeded", str(found), cause={"limit": limit})


@relavium(
    "pauses-and-fails",
    "Pauses for its budget and then fails by it",
    fails="ordering.budget-code-is-the-fail-path",
    shown_by="cost-used-up",
)
class _PausesAndFails(RelaviumAgent):
    def at_limit(self, turn: Turn, limit: str) -> Ended:
        self.run.emit("budget:paused", tokens=turn.tokens)
        return super().at_limit(turn, limit)


# Cancels.


@relavium(
    "catches-the-cancel",
    "Takes a cancel in a retry for a failure, and goes on (harbor-framework/harbor#1223)",
    fails="ordering.cancel-disarms-the-retry",
    shown_by="cancel-disarms-the-retry",
    origin="harbor-framework/harbor#1223",
)
class _CatchesTheCancel(RelaviumAgent):
    async def before_retry(self, node: Node, attempt: int, error: RunError) -> None:
        try:
            await super().before_retry(node, attempt, error)
        except asyncio.CancelledError:
            return


@relavium(
    "cancel-is-a-crash",
    "Ends a run that was cancelled as failed",
    fails="ordering.cancel-is-told",
    shown_by="cancel-in-the-stream",
)
class _CancelIsACrash(RelaviumAgent):
    def cancelled(self, turn: Turn) -> Ended:
        return RunError("internal", "the task was cancelled", cause={"type": "CancelledError"})


@relavium(
    "abort-is-a-tool-failure",
    "Records a tool that the run's abort has stopped as tool_failed",
    fails="ordering.cancel-beats-a-failure",
    shown_by="cancel-beats-a-failing-tool",
)
class _AbortIsAToolFailure(RelaviumAgent):
    async def tool(self, turn: Turn, call: Call) -> Outcome:
        try:
            return await super().tool(turn, call)
        except asyncio.CancelledError:
            self.log(RunError("tool_failed", "aborted", target=call.id))
            raise


@relavium(
    "signal-never-reaches-the-tool",
    "Does not pass the run's signal on to its tools (openai/openai-agents-js PR#1528)",
    fails="cancel.outcome",
    shown_by="cancel-beats-a-failing-tool",
    origin="openai/openai-agents-js PR#1528",
)
class _SignalNeverReachesTheTool(RelaviumAgent):
    async def tool(self, turn: Turn, call: Call) -> Outcome:
        work = asyncio.ensure_future(super().tool(turn, call))
        # Nobody looks at what it comes to in the end.
        work.add_done_callback(lambda done: done.cancelled() or done.exception())
        return await asyncio.shield(work)


@relavium(
    "cancel-at-its-leisure",
    "Ends a cancelled run half a minute later",
    fails="cancel.outcome",
    shown_by="cancel-in-the-stream",
)
class _CancelAtItsLeisure(RelaviumAgent):
    async def turn_over(self, turn: Turn, end: Ended) -> None:
        if end.state == "cancelled":
            await asyncio.sleep(30)
        await super().turn_over(turn, end)


@relavium(
    "tells-of-a-failover-after-the-abort",
    "Asks the next provider after the user's abort (zirkelc/ai-retry#39)",
    fails="ordering.cancel-disarms-the-retry",
    shown_by="cancel-at-the-entry",
    origin="zirkelc/ai-retry#39",
)
class _TellsOfAFailoverAfterTheAbort(RelaviumAgent):
    async def ask_chain(self, turn: Turn, messages: Any) -> Reply:
        try:
            return await super().ask_chain(turn, messages)
        except asyncio.CancelledError:
            self.parked[""] = float("inf")
            return await super().ask_chain(turn, messages)


# Resumes.


@relavium(
    "resumes-anything",
    "Opens a new session where there is none to resume",
    fails="resume.decision",
    shown_by="nothing-to-resume",
)
class _ResumesAnything(RelaviumAgent):
    async def start(self) -> None:
        return


@relavium(
    "never-comes-back",
    "Waits for ever after an engine fault",
    fails="ordering.call-ends-once",
    shown_by="handler-throws",
)
class _NeverComesBack(RelaviumAgent):
    async def run_turn(self, text: str) -> RunResult:
        result = await super().run_turn(text)
        if result.code == "internal":
            await asyncio.Event().wait()
        return result
