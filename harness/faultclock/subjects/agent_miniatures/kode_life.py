"""Miniatures of KODE SDK agents: interrupts, crashes, storage, the timeline."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from faultclock.subjects.agent_miniatures.kode_table import Edited, Fields, Muted, kode
from faultclock.subjects.ports import CancelScope, Reply
from faultclock.subjects.reference_agents.calls import Outcome, execute_once, proposed
from faultclock.subjects.reference_agents.core import Ended, Turn
from faultclock.subjects.reference_agents.kode import KodeAgent
from faultclock.subjects.reference_agents.kode_events import CallRecord, Timeline
from faultclock.subjects.reference_agents.kode_memory import Left, Memory

__all__: list[str] = []

# Interrupts.


@kode(
    "cannot-be-interrupted",
    "An interrupt waits for the model",
    fails="ordering.interrupt-is-prompt",
    shown_by="interrupted-at-the-model",
    origin="earendil-works/pi#8331",
)
class _CannotBeInterrupted(KodeAgent):
    """earendil-works/pi#8331: an open stream sends nothing, and Escape does nothing."""

    def cancel(self, scope: CancelScope, target: str | None) -> None:
        pass


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
    "seals-nothing",
    "Emits no end of a call that a crash cut off",
    fails="ordering.open-call-is-sealed",
    shown_by="crash-mid-tool",
)
class _SealsNothing(Edited):
    """The spinner of the call goes on in the next process."""

    def edit(self, type_: str, fields: Fields) -> Fields | None:
        sealed = type_ == "tool:end" and fields["call"]["state"] == "SEALED"
        return None if sealed else fields


@kode(
    "resumes-unseen",
    "Works on after a crash without a word",
    fails="ordering.resumed-first",
    shown_by="crash-mid-tool",
)
class _ResumesUnseen(Muted):
    """Nobody who looks at the events knows that there was a crash."""

    muted = ("type", "agent_resumed")


@kode(
    "seals-after-it-resumed",
    "Seals open calls only when it has resumed",
    fails="ordering.sealed-before-resumed",
    shown_by="crash-mid-tool",
)
class _SealsAfterItResumed(KodeAgent):
    """agent_resumed tells of calls that are not sealed yet."""

    async def resume(self) -> None:
        self.waiting: list[CallRecord] = []
        await super().resume()
        for record in self.waiting:
            super().seal(record)

    def seal(self, record: CallRecord) -> None:
        self.waiting.append(record)


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


@kode(
    "silent-about-the-store",
    "Emits no error when the store fails",
    fails="ordering.storage-failure-is-monitored",
    shown_by="store-is-down",
)
class _SilentAboutTheStore(Edited):
    """The day that a crash comes, there is nothing to resume."""

    def edit(self, type_: str, fields: Fields) -> Fields | None:
        hidden = type_ == "error" and "storage" in (fields.get("detail") or {})
        return None if hidden else fields


@kode(
    "no-bookmarks",
    "Emits events without a place in the timeline",
    fails="ordering.event-has-a-bookmark",
    shown_by="good-turn-with-two-tools",
)
class _NoBookmarks(Edited):
    """Who was away for a moment cannot ask for what came since."""

    def edit(self, type_: str, fields: Fields) -> Fields | None:
        return {name: value for name, value in fields.items() if name != "bookmark"}


class _Forgetful(Memory):
    async def restore(self) -> Left:
        left = await super().restore()
        left.epoch = 1
        return left


@kode(
    "bookmarks-begin-again",
    "Counts its bookmarks from the beginning after a restart",
    fails="ordering.bookmarks-increase",
    shown_by="closed-and-resumed",
)
class _BookmarksBeginAgain(KodeAgent):
    """Two events are at the same place, and one of them is never seen."""

    memory_type = _Forgetful

    def make_timeline(self, epoch: int = 1) -> Timeline:
        return Timeline(self.host)
