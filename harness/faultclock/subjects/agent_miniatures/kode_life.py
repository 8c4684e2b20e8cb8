"""Miniatures of KODE SDK agents: interrupts, crashes, storage, the timeline."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from faultclock.subjects.agent_miniatures.kode_table import kode
from faultclock.subjects.ports import Reply
from faultclock.subjects.reference_agents.calls import Outcome, execute_once, proposed
from faultclock.subjects.reference_agents.core import Ended, Turn
from faultclock.subjects.reference_agents.kode import KodeAgent

__all__: list[str] = []

# Interrupts.


@kode(
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


@kode(
    "siblings-outlive-the-turn",
    "Tools outlive the turn that was interrupted",
    fails="ordering.interrupt-stops-what-runs",
    shown_by="interrupted-with-siblings",
    origin="google/adk-python#7172",
)
class _SiblingsOutliveTheTurn(KodeAgent):
    """google/adk-python#7172: the turn is over, and its tools work on."""

    async def execute(self, call: Any) -> Outcome:
        return await asyncio.shield(asyncio.ensure_future(execute_once(call)))


@kode(
    "orphans-after-an-interrupt",
    "Leaves tool calls without a result when the user interrupts",
    fails="tools.paired",
    shown_by="interrupted-mid-tool",
    origin="anomalyco/opencode#21326",
)
class _OrphansAfterAnInterrupt(KodeAgent):
    """anomalyco/opencode#21326: each later request is refused by the provider."""

    def remember(self, turn: Turn, end: Ended) -> None:
        for record in self.records.values():
            if not record.over:
                self.seal(record)
        self.history += turn.messages


# After a crash.


@kode(
    "orphans-after-a-crash",
    "Resumes with a tool call that has no result",
    fails="tools.paired",
    shown_by="crash-mid-tool",
    origin="anthropics/claude-code#3003",
)
class _OrphansAfterACrash(KodeAgent):
    """anthropics/claude-code#3003: the call is sealed in the log, not in the conversation."""

    def remember(self, turn: Turn, end: Ended) -> None:
        self.forget_what_is_sealed()
        super().remember(turn, end)

    async def work(self, turn: Turn) -> str:
        self.forget_what_is_sealed()
        return await super().work(turn)

    def forget_what_is_sealed(self) -> None:
        self.history = [item for item in self.history if "missing" not in str(item.get("content"))]


@kode(
    "executes-again-after-a-crash",
    "Executes an open call again when it resumes",
    fails="ordering.resume-never-executes-again",
    shown_by="crash-mid-tool",
)
class _ExecutesAgainAfterACrash(KodeAgent):
    """Nobody knows how far the first one came."""

    async def resume(self) -> None:
        await super().resume()
        for item in self.history:
            for asked in item.get("tool_calls") or ():
                tool = next(
                    tool
                    for tool in self.world.tools
                    if tool.contract.name == asked["function"]["name"]
                )
                await tool.execute({"to": "ada@example.com"}, call_id=asked["id"])


# Storage, and the timeline.
