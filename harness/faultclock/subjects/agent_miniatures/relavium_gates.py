"""Miniatures of Relavium runtimes that treat a person, a limit or a cancel wrongly."""

from __future__ import annotations

import asyncio
from typing import Any

from faultclock.subjects.agent_miniatures.relavium_table import relavium
from faultclock.subjects.ports import Reply, RunResult
from faultclock.subjects.reference_agents.calls import Call, Outcome
from faultclock.subjects.reference_agents.core import Turn
from faultclock.subjects.reference_agents.relavium import RelaviumAgent
from faultclock.subjects.reference_agents.relavium_errors import RunError

__all__: list[str] = []

# Approvals.


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


# Gates.


# Limits.


# Cancels.


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
