"""Wrong KODE SDK agents that are code."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from faultclock.agents.calls import (
    Call,
    Outcome,
    approval_request,
    execute_once,
    proposed,
)
from faultclock.agents.kode import KodeAgent
from faultclock.agents.kode_records import CallRecord
from faultclock.agents.turn import Turn
from faultclock.mutants.by_hand.table import ByHand
from faultclock.subjects.ports import InteractionAnswer, Reply

wrong = ByHand("kode-sdk")


@wrong(
    "records-failures-as-completed",
    "Keeps a ToolCallRecord without the failure",
    fails="ordering.failure-is-recorded",
    shown_by="tool-throws",
)
class _RecordsFailuresAsCompleted(KodeAgent):
    """The audit says that all went well."""

    def keep(self, record: CallRecord) -> None:
        snapshot = {**record.snapshot(), "state": "COMPLETED", "error": None}
        self.host.audit_event("ToolCallRecord", call=snapshot)


@wrong(
    "hides-it-from-the-user",
    "Tells the user nothing of a tool error",
    fails="failures.told-user",
    shown_by="tool-throws",
)
class _HidesItFromTheUser(KodeAgent):
    """The user waits for something that has failed long ago."""

    def fail(self, record: CallRecord, call: Call, outcome: Outcome) -> None:
        host, self.host = self.host, _Mute(self.host)
        super().fail(record, call, outcome)
        self.host = host


class _Mute:
    """A host without a screen."""

    def __init__(self, host: Any) -> None:
        self._host = host

    def __getattr__(self, name: str) -> Any:
        return getattr(self._host, name)

    def show_user(self, message: str) -> None:
        """Show nothing."""


@wrong(
    "starts-the-second-tool",
    "Starts the next tool when one is interrupted",
    fails="ordering.interrupted-turn-acts-no-more",
    shown_by="second-tool-after-an-interrupt",
    origin="microsoft/agent-framework-go#1076",
)
class _StartsTheSecondTool(KodeAgent):
    """microsoft/agent-framework-go#1076: its context is over before it begins."""

    async def use_tools(self, turn: Turn, reply: Reply) -> None:
        others = proposed(reply, self.world.tools)[1:]
        try:
            await super().use_tools(turn, replace(reply, tool_calls=reply.tool_calls[:1]))
        except asyncio.CancelledError:
            for call in others:
                self.left = asyncio.ensure_future(execute_once(call))
                await asyncio.sleep(0)
            raise


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


@wrong(
    "waits-beyond-the-timeout",
    "Waits longer for a tool than it may take",
    fails="tools.deadline",
    shown_by="tool-times-out",
    origin="harbor-framework/harbor#1223",
)
class _WaitsBeyondTheTimeout(KodeAgent):
    """harbor-framework/harbor#1223: the timeout is caught by a wrapper, which waits again."""

    async def execute(self, call: Call) -> Outcome:
        assert call.tool is not None
        return await execute_once(call, timeout_s=call.tool.contract.timeout_s * 2)


@wrong(
    "leaves-tools-running",
    "Turns away from a tool that is too slow, and lets it run",
    fails="ordering.ends-when-its-execution-does",
    shown_by="tool-times-out",
)
class _LeavesToolsRunning(KodeAgent):
    """Nobody waits for it, and nobody stops it."""

    async def execute(self, call: Call) -> Outcome:
        assert call.tool is not None
        task = asyncio.ensure_future(execute_once(call, timeout_s=1e9))
        done, _ = await asyncio.wait({task}, timeout=call.tool.contract.timeout_s)
        return task.result() if done else Outcome(kind="timeout", message="it took too long")
