"""Wrong KODE SDK agents that are code: tools, permissions and hooks."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from faultclock.mutants.by_hand.kode_sdk import Edited, Fields
from faultclock.mutants.by_hand.table import ByHand
from faultclock.subjects.ports import Hook, HookSlot, InteractionAnswer, Reply
from faultclock.subjects.reference_agents.calls import Call, Outcome, execute_once
from faultclock.subjects.reference_agents.core import Ended, Next, Pair, Turn
from faultclock.subjects.reference_agents.kode import KodeAgent
from faultclock.subjects.reference_agents.kode_events import CallRecord, CallState
from faultclock.subjects.reference_agents.person import approval_request

wrong = ByHand("kode-sdk")


# Tool calls, their events, and how often they are executed.


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


# Permissions and hooks.


# Permissions.


@wrong(
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
