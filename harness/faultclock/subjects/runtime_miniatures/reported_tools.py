"""Miniatures with bugs that were reported of other runtimes: tools, their effects and results."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from faultclock.subjects.ports import ToolProblem, ToolResult, TypedError
from faultclock.subjects.reference_runtime.approvals import Verdict
from faultclock.subjects.reference_runtime.cancellation import is_cancellation
from faultclock.subjects.reference_runtime.loop import MessageLoop
from faultclock.subjects.reference_runtime.session import Turn
from faultclock.subjects.reference_runtime.tool_call import ProposedCall
from faultclock.subjects.reference_runtime.tools import ToolRunner
from faultclock.subjects.runtime_miniatures.table import wrong

__all__: list[str] = []

# Once more?


# What the model is told.


@wrong(
    "failed-call-has-no-id",
    "Answers a failed call without its id",
    fails="tools.paired",
    origin="smallest-inc/smallest-python-sdk#118",
)
class _FailedCallHasNoId(MessageLoop):
    """A parallel call that failed was answered with an empty tool_call_id."""

    async def call_tools(self, reply: Any) -> None:
        await super().call_tools(reply)
        failed = {id_ for id_, content in self.turn.results.items() if "error" in content}
        self.turn.messages = [
            {**item, "tool_call_id": ""} if item.get("tool_call_id") in failed else item
            for item in self.turn.messages
        ]


@wrong(
    "recovered-child-has-failed",
    "Marks a subagent as failed that has recovered",
    fails="tools.told",
    origin="nicobailon/pi-subagents#156",
)
class _RecoveredChildHasFailed(ToolRunner):
    """An error that the child had overcome marked the whole of its good work."""

    async def run(self, call: ProposedCall, turn: Turn) -> dict[str, Any]:
        self.seen: ToolProblem | None = None
        return await super().run(call, turn)

    async def attempt(self, call: ProposedCall) -> ToolResult:
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
class _SiblingsOutliveTheTurn(ToolRunner):
    """The tasks of the other tools outlived the invocation that was cancelled."""

    first: str | None = None

    async def attempt(self, call: ProposedCall) -> ToolResult:
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
class _GoesOnAfterACancelledTool(MessageLoop):
    """A cancel that leaked out of a tool was swallowed, and the loop went on."""

    async def settle_all(
        self, calls: Sequence[ProposedCall], verdicts: Sequence[Verdict | dict[str, Any]]
    ) -> None:
        try:
            await super().settle_all(calls, verdicts)
        except asyncio.CancelledError:
            for call in calls:
                content = self.session.telling.shape("Cancellation", "ToolCancelled", "Cancelled.")
                self.turn.results.setdefault(call.id, content)


@wrong(
    "next-tool-starts-cancelled",
    "Starts the next tool of a turn that is cancelled",
    fails="ordering.cancelled-turn-acts-no-more",
    origin="microsoft/agent-framework-go#1076",
)
class _NextToolStartsCancelled(MessageLoop):
    """The second tool was started with a context that was cancelled already."""

    async def consider(self, call: ProposedCall) -> Verdict | dict[str, Any]:
        try:
            return await super().consider(call)
        except TypedError as error:
            if not is_cancellation(error):
                raise
            self.first = error
            return Verdict(approved=not call.contract.gated)

    async def settle(self, call: ProposedCall, verdict: Verdict | dict[str, Any]) -> None:
        if call.scope.error is None:
            await super().settle(call, verdict)
            return
        if isinstance(verdict, Verdict) and verdict.approved and call.tool is not None:
            self.tools.event("ToolInvocationStarted", call, 1)
            work = call.tool.execute(call.arguments, call_id=call.id)
            self.left = asyncio.ensure_future(work)
            await asyncio.sleep(0)
            self.tools.event("ToolInvocationCancelled", call, 1)
        raise self.first
