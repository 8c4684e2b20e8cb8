"""Wrong stud-cli runtimes that are code: what they execute, and what the model is told of it."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from faultclock.mutants.by_hand.table import ByHand
from faultclock.subjects.ports import (
    CancelSignal,
    ToolProblem,
    ToolResult,
    TypedError,
)
from faultclock.subjects.reference_agents.calls import Call
from faultclock.subjects.reference_runtime.cancellation import is_cancellation
from faultclock.subjects.reference_runtime.person import Verdict
from faultclock.subjects.reference_runtime.runtime import ReferenceRuntime
from faultclock.subjects.reference_runtime.session import StudTurn

wrong = ByHand("stud-cli")


# Once more?


# How long.


@wrong(
    "timer-starts-early",
    "Starts a tool's time with its proposal",
    fails="tools.deadline",
    origin="1ay1/agentty#40",
)
class _TimerStartsEarly(ReferenceRuntime):
    """1ay1/agentty#40: approved after six minutes, the tool failed at once as "too long"."""

    def propose(self, turn: StudTurn, call_id: str, name: str, arguments: str) -> Call:
        call = super().propose(turn, call_id, name, arguments)
        if call.tool is None:
            return call
        return replace(call, tool=_Impatient(call.tool))


class _Impatient:
    """A tool whose time runs from the moment at which it is made."""

    def __init__(self, tool: Any) -> None:
        self.execute = tool.execute
        self._contract = tool.contract
        self._proposed_s = asyncio.get_running_loop().time()

    @property
    def contract(self) -> Any:
        waited_s = asyncio.get_running_loop().time() - self._proposed_s
        left_s = max(0.0, self._contract.timeout_s - waited_s)
        return replace(self._contract, timeout_s=left_s)


@wrong("one-by-one", "Runs tools one after the other", fails="tools.concurrent")
class _OneByOne(ReferenceRuntime):
    """Three calls that were approved together take as long as their sum."""

    async def settle_all(
        self, turn: StudTurn, calls: Sequence[Call], verdicts: Sequence[Verdict | dict[str, Any]]
    ) -> None:
        for call, verdict in zip(calls, verdicts, strict=True):
            await self.settle(turn, call, verdict)


# What the model is told.


@wrong("results-as-they-come", "Returns results as tools end", fails="tools.paired")
class _ResultsAsTheyCome(ReferenceRuntime):
    """The slowest was asked for first, and its result comes last."""

    def in_order(self, turn: StudTurn, calls: Sequence[Call]) -> Sequence[Call]:
        ended = list(turn.results)
        return sorted(calls, key=lambda call: ended.index(call.id))


@wrong(
    "one-failure-fails-all",
    "Drops what ran beside a failed tool",
    fails="tools.told",
    origin="openai/openai-agents-python#2584",
)
class _OneFailureFailsAll(ReferenceRuntime):
    """openai/openai-agents-python#2584: one failing parallel call threw its siblings away."""

    def in_order(self, turn: StudTurn, calls: Sequence[Call]) -> Sequence[Call]:
        failed = [call for call in calls if "error" in turn.results[call.id]]
        for call in calls if failed else ():
            turn.results[call.id] = turn.results[failed[0].id]
        return calls


@wrong(
    "exception-to-model",
    "Hands a tool's exception to the model",
    fails="tools.told",
    origin="modelcontextprotocol/typescript-sdk#1651",
)
class _ExceptionToModel(ReferenceRuntime):
    """modelcontextprotocol/typescript-sdk#1651: the raw text of an exception was sent on."""

    def broken(self, call: Call, error: Exception) -> ToolResult:
        text = "".join(traceback.format_exception_only(error))
        problem = ToolProblem(error_class="ToolTerminal", code="OutputMalformed", message=text)
        return ToolResult(problem=problem)

    def content(self, result: ToolResult) -> dict[str, Any]:
        if result.problem is None:
            return super().content(result)
        problem = result.problem
        shape = {"class": problem.error_class, "code": problem.code, "message": problem.message}
        return {"error": shape}


# What is told on the event bus.


@wrong(
    "proposes-when-allowed",
    "Announces a call when it is allowed",
    fails="ordering.tool-proposed-first",
)
class _ProposesWhenAllowed(ReferenceRuntime):
    """A call that is denied was never proposed."""

    def proposed(self, call_id: str, name: str) -> None:
        return

    async def settle(self, turn: StudTurn, call: Call, verdict: Verdict | dict[str, Any]) -> None:
        if isinstance(verdict, Verdict):
            super().proposed(call.id, call.name)
        await super().settle(turn, call, verdict)


# What the model is told.


@wrong(
    "failed-call-has-no-id",
    "Answers a failed call without its id",
    fails="tools.paired",
    origin="smallest-inc/smallest-python-sdk#118",
)
class _FailedCallHasNoId(ReferenceRuntime):
    """A parallel call that failed was answered with an empty tool_call_id."""

    async def call_tools(self, turn: StudTurn, reply: Any) -> None:
        await super().call_tools(turn, reply)
        failed = {id_ for id_, content in turn.results.items() if "error" in content}
        turn.messages = [
            {**item, "tool_call_id": ""} if item.get("tool_call_id") in failed else item
            for item in turn.messages
        ]


@wrong(
    "recovered-child-has-failed",
    "Marks a subagent as failed that has recovered",
    fails="tools.told",
    origin="nicobailon/pi-subagents#156",
)
class _RecoveredChildHasFailed(ReferenceRuntime):
    """An error that the child had overcome marked the whole of its good work."""

    async def tool(self, turn: StudTurn, call: Call) -> dict[str, Any]:
        self.seen: ToolProblem | None = None
        return await super().tool(turn, call)

    async def attempt(self, call: Call) -> ToolResult:
        result = await super().attempt(call)
        self.seen = result.problem or self.seen
        return result

    def content(self, result: ToolResult) -> dict[str, Any]:
        return super().content(ToolResult(problem=self.seen) if self.seen else result)


# After a cancel.


@wrong(
    "siblings-outlive-the-turn",
    "Stops one tool of a cancelled turn, and not the others",
    fails="cancel.outcome",
    origin="google/adk-python#7172",
)
class _SiblingsOutliveTheTurn(ReferenceRuntime):
    """The tasks of the other tools outlived the invocation that was cancelled."""

    first: str | None = None

    async def attempt(self, call: Call) -> ToolResult:
        self.first = self.first or call.id
        if call.id == self.first:
            return await super().attempt(call)
        work = asyncio.ensure_future(super().attempt(call))
        return await asyncio.shield(work)


@wrong(
    "goes-on-after-a-cancelled-tool",
    "Takes a cancel for the result of a tool, and goes on",
    fails="ordering.cancelled-turn-acts-no-more",
    origin="HKUDS/nanobot#4814",
)
class _GoesOnAfterACancelledTool(ReferenceRuntime):
    """A cancel that leaked out of a tool was swallowed, and the loop went on."""

    async def settle_all(
        self, turn: StudTurn, calls: Sequence[Call], verdicts: Sequence[Verdict | dict[str, Any]]
    ) -> None:
        try:
            await super().settle_all(turn, calls, verdicts)
        except asyncio.CancelledError:
            for call in calls:
                content = self.telling.shape("Cancellation", "ToolCancelled", "Cancelled.")
                turn.results.setdefault(call.id, content)


@wrong(
    "next-tool-starts-cancelled",
    "Starts the next tool of a turn that is cancelled",
    fails="ordering.cancelled-turn-acts-no-more",
    origin="microsoft/agent-framework-go#1076",
)
class _NextToolStartsCancelled(ReferenceRuntime):
    """The second tool was started with a context that was cancelled already."""

    async def consider(self, turn: StudTurn, call: Call) -> Verdict | dict[str, Any]:
        try:
            return await super().consider(turn, call)
        except TypedError as error:
            if not is_cancellation(error):
                raise
            self.first = error
            return Verdict(approved=not call.contract.gated)

    async def settle(self, turn: StudTurn, call: Call, verdict: Verdict | dict[str, Any]) -> None:
        if call.scope.error is None:
            await super().settle(turn, call, verdict)
            return
        if isinstance(verdict, Verdict) and verdict.approved and call.tool is not None:
            self.tool_event("ToolInvocationStarted", call, 1)
            work = call.tool.execute(call.arguments, call_id=call.id)
            self.left = asyncio.ensure_future(work)
            await asyncio.sleep(0)
            self.tool_event("ToolInvocationCancelled", call, 1)
        raise self.first


_wrong = partial(wrong, model="common")


# Ends.


@_wrong(
    "waits-for-a-tool-for-ever",
    "Gives its tools no deadline",
    fails="calls.end",
    shown_by="tools/hangs-for-ever",
)
class _WaitsForAToolForEver(ReferenceRuntime):
    """The deadline of the tool's contract is not read."""

    async def attempt(self, call: Call) -> ToolResult:
        return self.checked(call, await self.execute(call, CancelSignal()))


@_wrong(
    "tries-again-in-the-background",
    "Executes a tool again after the turn has ended",
    fails="ordering.nothing-executed-after-the-end",
    shown_by="tools/busy-without-a-policy",
)
class _TriesAgainInTheBackground(ReferenceRuntime):
    """The model was told that it failed; the second execution succeeds behind its back."""

    def checked(self, call: Call, result: Any) -> ToolResult:
        if isinstance(result, ToolResult) and not result.ok:
            self.later = asyncio.ensure_future(self.again(call))
        return super().checked(call, result)

    async def again(self, call: Call) -> None:
        """Execute the tool once more, a few seconds later."""
        await asyncio.sleep(5.0)
        assert call.tool is not None
        await call.tool.execute(call.arguments, call_id=call.id)


# What the model is told.


@_wrong(
    "one-failure-hides-the-rest",
    "Gives all calls of an answer the error of one",
    fails="tools.result-kept",
    shown_by="tools/one-of-three-fails",
    origin="openai/openai-agents-python#2584",
)
class _OneFailureHidesTheRest(ReferenceRuntime):
    """What the other tools returned is lost."""

    def in_order(self, turn: StudTurn, calls: Sequence[Call]) -> Sequence[Call]:
        failed = [call for call in calls if "error" in turn.results[call.id]]
        for call in calls if failed else ():
            turn.results[call.id] = turn.results[failed[0].id]
        return calls


@_wrong(
    "tells-the-exception",
    "Gives the model the text of a tool's exception",
    fails="tools.secrets",
    shown_by="tools/exception-with-a-path-and-a-key",
    origin="modelcontextprotocol/typescript-sdk#1651",
)
class _TellsTheException(ReferenceRuntime):
    """The key in that text is sent to the provider."""

    def broken(self, call: Call, error: Exception) -> ToolResult:
        problem = ToolProblem(error_class="ToolTerminal", code="Failed", message=str(error))
        return ToolResult(problem=problem)

    def content(self, result: ToolResult) -> dict[str, Any]:
        if result.problem is None:
            return super().content(result)
        return {"error": {"code": result.problem.code, "message": result.problem.message}}
