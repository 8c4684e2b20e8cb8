"""Wrong KODE SDK agents that are code: tool calls and their results."""

from __future__ import annotations

import asyncio
from typing import Any

from faultclock.mutants.by_hand.kode_sdk import Edited, Fields
from faultclock.mutants.by_hand.table import ByHand
from faultclock.subjects.ports import Reply
from faultclock.subjects.reference_agents.calls import Call, Outcome, execute_once
from faultclock.subjects.reference_agents.kode import KodeAgent
from faultclock.subjects.reference_agents.kode_telling import CallRecord, CallState
from faultclock.subjects.reference_agents.turn import Ended, Next, Turn

wrong = ByHand("kode-sdk")


# The events of a call.


@wrong(
    "starts-unseen",
    "Emits tool:start when the tool has ended",
    fails="ordering.tool-start-first",
    shown_by="good-turn-with-two-tools",
)
class _StartsUnseen(KodeAgent):
    """A tool that takes a minute shows nothing for a minute."""

    def call_proposed(self, turn: Turn, call: Call) -> None:
        record = self.records[call.id] = CallRecord(id=call.id, name=call.name)
        record.trail.append(record.state)

    def end(self, record: CallRecord, state: CallState) -> None:
        self.timeline.progress("tool:start", call=record.snapshot())
        super().end(record, state)


@wrong(
    "invalid-never-ends",
    "A call whose arguments do not fit has no end",
    fails="ordering.tool-ends-once",
    shown_by="invalid-beside-a-good-one",
)
class _InvalidNeverEnds(KodeAgent):
    """The schema check of the agent returns early, past every event."""

    def call_refused(self, turn: Turn, call: Call, outcome: Outcome, step: Next) -> None:
        if outcome.kind != "input_invalid":
            super().call_refused(turn, call, outcome, step)
            return
        record = self.records[call.id]
        self.fail(record, call, outcome)
        record.over = True


@wrong(
    "executed-after-its-end",
    "Emits tool_executed after tool:end",
    fails="ordering.tool-events-in-order",
    shown_by="good-turn-with-two-tools",
)
class _ExecutedAfterItsEnd(KodeAgent):
    """Whoever counts at the end has not counted this one."""

    def executed(self, record: CallRecord, outcome: Outcome) -> None:
        record.content = self.good_content(outcome)

    def end(self, record: CallRecord, state: CallState) -> None:
        super().end(record, state)
        if state == "COMPLETED":
            self.timeline.monitor("tool_executed", call=record.snapshot())


@wrong(
    "once-failed-always-failed",
    "Ends a call as FAILED because an earlier one did",
    fails="ordering.good-result-completes",
    shown_by="subagent-recovers",
    origin="nicobailon/pi-subagents#156",
)
class _OnceFailedAlwaysFailed(KodeAgent):
    """nicobailon/pi-subagents#156: an error that is over marks a good child as failed."""

    def __init__(self, surroundings: Any) -> None:
        super().__init__(surroundings)
        self.failed: set[str] = set()

    def end(self, record: CallRecord, state: CallState) -> None:
        if state == "FAILED":
            self.failed.add(record.name)
        elif record.name in self.failed:
            record.error = "it failed before"
            state = "FAILED"
        super().end(record, state)


@wrong(
    "no-post-tool-after-a-failure",
    "Passes POST_TOOL only where the tool was good",
    fails="ordering.post-tool-follows",
    shown_by="tool-throws",
)
class _NoPostToolAfterAFailure(Edited):
    """After a failure the agent stands at TOOL_EXECUTING for ever."""

    broken = False

    def edit(self, type_: str, fields: Fields) -> Fields | None:
        self.broken = self.broken or type_ == "tool:error"
        return None if self.broken and fields.get("current") == "POST_TOOL" else fields


# How often, with what, for how long.


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
    "first-error-cancels-the-others",
    "Stops all tools of an answer when one of them throws",
    fails="tools.deadline",
    shown_by="failing-beside-a-slow-one",
    origin="openai/openai-agents-python#2584",
)
class _FirstErrorCancelsTheOthers(KodeAgent):
    """openai/openai-agents-python#2584: a gather ends with the first error."""

    async def execute(self, call: Call) -> Outcome:
        outcome = await super().execute(call)
        if outcome.kind == "exception":
            for _, task in self.executing.values():
                task.cancel()
        return outcome


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


# What becomes of the results.


@wrong(
    "results-without-their-ids",
    "Answers failed calls with an empty id",
    fails="tools.paired",
    shown_by="two-fail-at-once",
    origin="smallest-inc/smallest-python-sdk#118",
)
class _ResultsWithoutTheirIds(KodeAgent):
    """smallest-inc/smallest-python-sdk#118: the error path has no id at hand."""

    async def use_tools(self, turn: Turn, reply: Reply) -> None:
        await super().use_tools(turn, reply)
        for message in turn.messages:
            if message.get("role") == "tool" and '"ok": false' in message["content"]:
                message["tool_call_id"] = ""


@wrong(
    "an-abort-orphans-the-siblings",
    "Forgets the results of all calls when one was aborted",
    fails="tools.paired",
    shown_by="user-aborts-one-tool",
    origin="bytedance/deer-flow#2339",
)
class _AnAbortOrphansTheSiblings(KodeAgent):
    """bytedance/deer-flow#2339: the cancel travels through the gather."""

    async def use_tools(self, turn: Turn, reply: Reply) -> None:
        await super().use_tools(turn, reply)
        if any("aborted" in str(record.content) for record in self.records.values()):
            aborted = [id_ for id_, item in self.records.items() if "aborted" in str(item.content)]
            turn.messages = [
                message
                for message in turn.messages
                if message.get("role") != "tool" or message["tool_call_id"] in aborted
            ]


@wrong(
    "an-exception-ends-the-turn",
    "Ends the turn when a tool throws",
    fails="turns.go-on",
    shown_by="tool-throws",
)
class _AnExceptionEndsTheTurn(KodeAgent):
    """A single tool error crashes the agent."""

    async def use_tools(self, turn: Turn, reply: Reply) -> None:
        await super().use_tools(turn, reply)
        if any("runtime" in str(record.content) for record in self.records.values()):
            raise Ended("failed", ("tool", "runtime"), "a tool threw")
