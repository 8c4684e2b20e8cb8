"""Miniatures of Relavium runtimes that treat a person, a limit or a cancel wrongly."""

from __future__ import annotations

import asyncio
from typing import Any

from harness.subjects.agent_miniatures.relavium_events import altered
from harness.subjects.agent_miniatures.table import wrong
from harness.subjects.ports import InteractionAnswer, Node, Reply, RunResult
from harness.subjects.reference_agents.calls import Call, Outcome
from harness.subjects.reference_agents.core import Ended, Next, Turn
from harness.subjects.reference_agents.relavium import RelaviumAgent
from harness.subjects.reference_agents.relavium_errors import RunError
from harness.subjects.reference_agents.relavium_gates import Gate

__all__: list[str] = []

# Approvals.


@wrong(
    "asks-in-silence",
    "Asks a person without saying so",
    fails="ordering.approval-asked-first",
    model="relavium",
    shown_by="relavium/person-approves-a-tool",
)
class _AsksInSilence(RelaviumAgent):
    def approval_asked(self, call: Call) -> None:
        return


@wrong(
    "one-yes-is-all",
    "Takes the approval of one call for that of the whole answer (openai/codex PR#11162)",
    fails="ordering.approval-before-execution",
    model="relavium",
    shown_by="relavium/one-yes-is-not-two",
    origin="openai/codex PR#11162",
)
class _OneYesIsAll(RelaviumAgent):
    approved = False

    async def refusal(self, call: Call) -> Outcome | None:
        refusal = await super().refusal(call)
        self.approved = self.approved or refusal is None
        return None if self.approved else refusal


@wrong(
    "silence-is-consent",
    "Goes on when nobody has answered an approval (NousResearch/hermes-agent#54110)",
    fails="failures.outcome",
    model="relavium",
    shown_by="relavium/approval-never-comes",
    origin="NousResearch/hermes-agent#54110",
)
class _SilenceIsConsent(RelaviumAgent):
    def after_tool(self, turn: Turn, call: Call, attempt: int, outcome: Outcome) -> Next:
        if outcome.kind == "approval_timed_out":
            return Next(act="tell")
        return super().after_tool(turn, call, attempt, outcome)


@wrong(
    "executes-what-is-denied",
    "Executes a tool that the policy has denied, and then says so",
    fails="ordering.denied-never-executed",
    model="relavium",
    shown_by="relavium/tool-denied",
)
class _ExecutesWhatIsDenied(RelaviumAgent):
    async def refusal(self, call: Call) -> Outcome | None:
        refusal = await super().refusal(call)
        if refusal is not None and refusal.kind == "denied_by_policy" and call.tool is not None:
            await call.tool.execute(call.arguments, call_id=call.id)
        return refusal


@wrong(
    "denial-is-a-failure",
    "Records a denial of the policy as a failed execution",
    fails="failures.classified",
    model="relavium",
    shown_by="relavium/tool-denied",
)
class _DenialIsAFailure(RelaviumAgent):
    def classify_tool(self, call: Call, outcome: Outcome) -> tuple[str, str] | None:
        if outcome.kind == "denied_by_policy":
            return ("run", "tool_failed")
        return super().classify_tool(call, outcome)


@wrong(
    "asks-again-for-what-is-denied",
    "Begins a node anew after a denial",
    fails="failures.redone",
    model="relavium",
    shown_by="relavium/tool-denied",
)
class _AsksAgainForWhatIsDenied(RelaviumAgent):
    def is_redone(self, node: Node, attempt: int, error: RunError) -> bool:
        denied = error.code == "tool_denied" and attempt < 3
        return denied or super().is_redone(node, attempt, error)


# Gates.


@wrong(
    "gate-without-an-end",
    "Does not say until when a gate waits",
    fails="ordering.gate-is-whole",
    model="relavium",
    shown_by="relavium/gate-is-approved",
)
class _GateWithoutAnEnd(RelaviumAgent):
    def gate_paused(self, gate: Gate, limit_s: float) -> None:
        self.run.emit("human_gate:paused", gateId=gate.id)
        self.run.emit("run:paused", gateIds=[gate.id])


@wrong(
    "gate-pauses-nothing",
    "Pauses a gate and not its run",
    fails="ordering.gate-pauses-the-run",
    model="relavium",
    shown_by="relavium/gate-is-approved",
)
class _GatePausesNothing(RelaviumAgent):
    run_type = altered(lambda _, name, fields: () if name == "run:paused" else ((name, fields),))


@wrong(
    "pauses-without-a-gate",
    "Pauses a run without saying for which gate",
    fails="ordering.run-pauses-at-a-gate",
    model="relavium",
    shown_by="relavium/gate-is-approved",
)
class _PausesWithoutAGate(RelaviumAgent):
    def gate_paused(self, gate: Gate, limit_s: float) -> None:
        self.run.emit("run:paused", gateIds=[])
        super().gate_paused(gate, limit_s)


@wrong(
    "resumes-another-gate",
    "Resumes a gate that was never paused",
    fails="ordering.gate-resumes-what-paused",
    model="relavium",
    shown_by="relavium/gate-is-approved",
)
class _ResumesAnotherGate(RelaviumAgent):
    def gate_resumed(self, gate: Gate, answer: InteractionAnswer) -> None:
        self.run.emit(
            "human_gate:resumed", gateId=f"not-{gate.id}", decision="approved", decidedBy="user"
        )


@wrong(
    "resumes-twice",
    "Resumes a gate twice",
    fails="ordering.gate-resumes-once",
    model="relavium",
    shown_by="relavium/gate-is-approved",
)
class _ResumesTwice(RelaviumAgent):
    def gate_resumed(self, gate: Gate, answer: InteractionAnswer) -> None:
        super().gate_resumed(gate, answer)
        super().gate_resumed(gate, answer)


@wrong(
    "decided-by-nobody",
    "Does not say who decided at a gate",
    fails="ordering.gate-names-its-decision",
    model="relavium",
    shown_by="relavium/gate-is-approved",
)
class _DecidedByNobody(RelaviumAgent):
    def gate_resumed(self, gate: Gate, answer: InteractionAnswer) -> None:
        self.run.emit("human_gate:resumed", gateId=gate.id, decision="approved")


@wrong(
    "timeout-is-a-rejection",
    "Records a gate that timed out as one that was decided (use-agent-os/agent-os#1564)",
    fails="ordering.rejected-gate-is-not-resumed",
    model="relavium",
    shown_by="relavium/gate-times-out",
    origin="use-agent-os/agent-os#1564",
)
class _TimeoutIsARejection(RelaviumAgent):
    def gate_timed_out(self, node: Node) -> None:
        self.run.emit(
            "human_gate:resumed", gateId=node.id, decision="rejected", decidedBy="timeout"
        )
        super().gate_timed_out(node)


# Limits.


@wrong(
    "loops-past-the-cap",
    "Looks at the cap of turns on the good path alone (nicobailon/pi-subagents#1779)",
    fails="limits.ends",
    model="relavium",
    shown_by="relavium/turns-used-up",
    origin="nicobailon/pi-subagents#1779",
)
class _LoopsPastTheCap(RelaviumAgent):
    def check_steps(self, turn: Turn) -> None:
        if turn.steps >= 6:
            super().check_steps(turn)


@wrong(
    "drops-the-over-budget",
    "Ignores for a while that the budget is used up (rescrv/claudius PR#38)",
    fails="limits.ends",
    model="relavium",
    shown_by="relavium/cost-used-up",
    origin="rescrv/claudius PR#38",
)
class _DropsTheOverBudget(RelaviumAgent):
    def check_spent(self, turn: Turn) -> None:
        if turn.steps >= 8:
            super().check_spent(turn)


@wrong(
    "stops-quietly",
    "Stops under a cap as if all were done (anomalyco/opencode#21960)",
    fails="limits.ends",
    model="relavium",
    shown_by="relavium/turns-used-up",
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


@wrong(
    "tells-nobody-of-limits",
    "Does not tell the person that a limit has ended the run",
    fails="ordering.user-is-told-of-a-failed-run",
    model="relavium",
    shown_by="relavium/time-used-up",
)
class _TellsNobodyOfLimits(RelaviumAgent):
    def tell_user(self, error: RunError) -> None:
        if "limit" not in error.cause:
            super().tell_user(error)


@wrong(
    "retries-into-a-limit",
    "Begins a node anew when the turns are used up",
    fails="ordering.limit-is-never-retried",
    model="relavium",
    shown_by="relavium/turns-used-up",
)
class _RetriesIntoALimit(RelaviumAgent):
    def is_redone(self, node: Node, attempt: int, error: RunError) -> bool:
        return attempt < 2


@wrong(
    "runs-out-of-time-unsaid",
    "Fails with run_timeout and emits no run:timeout",
    fails="ordering.time-runs-out-first",
    model="relavium",
    shown_by="relavium/time-used-up",
)
class _RunsOutOfTimeUnsaid(RelaviumAgent):
    run_type = altered(lambda _, name, fields: () if name == "run:timeout" else ((name, fields),))


@wrong(
    "time-is-money",
    "Fails with budget_exceeded after run:timeout",
    fails="ordering.timeout-fails-the-run",
    model="relavium",
    shown_by="relavium/time-used-up",
)
class _TimeIsMoney(RelaviumAgent):
    def at_limit(self, turn: Turn, limit: str) -> Ended:
        found = super().at_limit(turn, limit)
        return RunError("budget_exceeded", str(found), cause={"limit": limit})


@wrong(
    "pauses-and-fails",
    "Pauses for its budget and then fails by it",
    fails="ordering.budget-code-is-the-fail-path",
    model="relavium",
    shown_by="relavium/cost-used-up",
)
class _PausesAndFails(RelaviumAgent):
    def at_limit(self, turn: Turn, limit: str) -> Ended:
        self.run.emit("budget:paused", tokens=turn.tokens)
        return super().at_limit(turn, limit)


# Cancels.


@wrong(
    "catches-the-cancel",
    "Takes a cancel in a retry for a failure, and goes on (harbor-framework/harbor#1223)",
    fails="ordering.cancel-disarms-the-retry",
    model="relavium",
    shown_by="relavium/cancel-disarms-the-retry",
    origin="harbor-framework/harbor#1223",
)
class _CatchesTheCancel(RelaviumAgent):
    async def before_retry(self, node: Node, attempt: int, error: RunError) -> None:
        try:
            await super().before_retry(node, attempt, error)
        except asyncio.CancelledError:
            return


@wrong(
    "cancel-is-a-crash",
    "Ends a run that was cancelled as failed",
    fails="ordering.cancel-is-told",
    model="relavium",
    shown_by="relavium/cancel-in-the-stream",
)
class _CancelIsACrash(RelaviumAgent):
    def cancelled(self, turn: Turn) -> Ended:
        return RunError("internal", "the task was cancelled", cause={"type": "CancelledError"})


@wrong(
    "abort-is-a-tool-failure",
    "Records a tool that the run's abort has stopped as tool_failed",
    fails="ordering.cancel-beats-a-failure",
    model="relavium",
    shown_by="relavium/cancel-beats-a-failing-tool",
)
class _AbortIsAToolFailure(RelaviumAgent):
    async def tool(self, turn: Turn, call: Call) -> Outcome:
        try:
            return await super().tool(turn, call)
        except asyncio.CancelledError:
            self.log(RunError("tool_failed", "aborted", target=call.id))
            raise


@wrong(
    "signal-never-reaches-the-tool",
    "Does not pass the run's signal on to its tools (openai/openai-agents-js PR#1528)",
    fails="cancel.outcome",
    model="relavium",
    shown_by="relavium/cancel-beats-a-failing-tool",
    origin="openai/openai-agents-js PR#1528",
)
class _SignalNeverReachesTheTool(RelaviumAgent):
    async def tool(self, turn: Turn, call: Call) -> Outcome:
        work = asyncio.ensure_future(super().tool(turn, call))
        # Nobody looks at what it comes to in the end.
        work.add_done_callback(lambda done: done.cancelled() or done.exception())
        return await asyncio.shield(work)


@wrong(
    "cancel-at-its-leisure",
    "Ends a cancelled run half a minute later",
    fails="cancel.outcome",
    model="relavium",
    shown_by="relavium/cancel-in-the-stream",
)
class _CancelAtItsLeisure(RelaviumAgent):
    async def turn_over(self, turn: Turn, end: Ended) -> None:
        if end.state == "cancelled":
            await asyncio.sleep(30)
        await super().turn_over(turn, end)


@wrong(
    "tells-of-a-failover-after-the-abort",
    "Asks the next provider after the user's abort (zirkelc/ai-retry#39)",
    fails="ordering.cancel-disarms-the-retry",
    model="relavium",
    shown_by="relavium/cancel-at-the-entry",
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


@wrong(
    "resumes-anything",
    "Opens a new session where there is none to resume",
    fails="resume.decision",
    model="relavium",
    shown_by="relavium/nothing-to-resume",
)
class _ResumesAnything(RelaviumAgent):
    async def start(self) -> None:
        return


@wrong(
    "never-comes-back",
    "Waits for ever after an engine fault",
    fails="ordering.call-ends-once",
    model="relavium",
    shown_by="relavium/handler-throws",
)
class _NeverComesBack(RelaviumAgent):
    async def run_turn(self, text: str) -> RunResult:
        result = await super().run_turn(text)
        if result.code == "internal":
            await asyncio.Event().wait()
        return result
