"""Wrong KODE SDK agents that are code: permissions and hooks."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from faultclock.mutants.by_hand.table import ByHand
from faultclock.subjects.ports import Hook, HookSlot, InteractionAnswer
from faultclock.subjects.reference_agents.calls import Call, Outcome, approval_request, execute_once
from faultclock.subjects.reference_agents.kode import KodeAgent
from faultclock.subjects.reference_agents.kode_telling import CallRecord
from faultclock.subjects.reference_agents.turn import Ended, Next, Pair, Turn

wrong = ByHand("kode-sdk")


# Permissions.


@wrong(
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


@wrong(
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


@wrong(
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


@wrong(
    "a-hook-keeps-the-tool-from-running",
    "Does not execute a tool when the hook before it fails",
    fails="ordering.failing-hook-lets-the-tool-run",
    shown_by="hook-fails-pre-tool",
)
class _AHookKeepsTheToolFromRunning(_FailsTheCall):
    """Somebody's broken logger, and the agent can do nothing any more."""

    slot = "pre_tool"


@wrong(
    "a-hook-keeps-the-model-from-being-asked",
    "Does not ask the model when the hook before it fails",
    fails="ordering.failing-hook-lets-the-model-be-asked",
    shown_by="hook-fails-pre-model",
)
class _AHookKeepsTheModelFromBeingAsked(_EndsTheTurn):
    """It ends as an error of the model, which was never asked."""

    slot = "pre_model"
    ends_with = ("model", "failure")


@wrong(
    "a-hook-makes-an-exception",
    "Makes an exception of a result when the hook after the tool fails",
    fails="ordering.failing-hook-fails-no-tool",
    shown_by="hook-fails-post-tool",
)
class _AHookMakesAnException(_FailsTheCall):
    """The tool has done its work, and the model is told that it failed."""

    slot = "post_tool"


@wrong(
    "a-hook-ends-the-turn",
    "Ends the turn when the hook after the model fails",
    fails="failures.outcome",
    shown_by="hook-fails-post-model",
)
class _AHookEndsTheTurn(_EndsTheTurn):
    """The answer is there, and is thrown away."""

    slot = "post_model"
