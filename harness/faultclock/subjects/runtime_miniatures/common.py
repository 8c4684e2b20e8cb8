"""Miniatures for the checks that the model `common` alone asks for: ends, consent, results."""

# ruff: noqa: ARG002 - an override takes what the step takes, needed or not

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any

from faultclock.subjects.ports import CancelSignal, ToolProblem, ToolResult
from faultclock.subjects.reference_runtime.loop import MessageLoop
from faultclock.subjects.reference_runtime.tool_call import ProposedCall
from faultclock.subjects.reference_runtime.tools import ToolRunner
from faultclock.subjects.runtime_miniatures.table import wrong

__all__: list[str] = []

_wrong = partial(wrong, model="common")

# Ends.


@_wrong(
    "waits-for-a-tool-for-ever",
    "Gives its tools no deadline",
    fails="calls.end",
    shown_by="tools/hangs-for-ever",
)
class _WaitsForAToolForEver(ToolRunner):
    """The deadline of the tool's contract is not read."""

    async def attempt(self, call: ProposedCall) -> ToolResult:
        return self.checked(call, await self.execute(call, CancelSignal()))


@_wrong(
    "tries-again-in-the-background",
    "Executes a tool again after the turn has ended",
    fails="ordering.nothing-executed-after-the-end",
    shown_by="tools/busy-without-a-policy",
)
class _TriesAgainInTheBackground(ToolRunner):
    """The model was told that it failed; the second execution succeeds behind its back."""

    def checked(self, call: ProposedCall, result: Any) -> ToolResult:
        if isinstance(result, ToolResult) and not result.ok:
            self.later = asyncio.ensure_future(self.again(call))
        return super().checked(call, result)

    async def again(self, call: ProposedCall) -> None:
        """Execute the tool once more, a few seconds later."""
        await asyncio.sleep(5.0)
        assert call.tool is not None
        await call.tool.execute(call.arguments, call_id=call.id)


# Consent.


# What the model is told.


@_wrong(
    "one-failure-hides-the-rest",
    "Gives all calls of an answer the error of one",
    fails="tools.result-kept",
    shown_by="tools/one-of-three-fails",
    origin="openai/openai-agents-python#2584",
)
class _OneFailureHidesTheRest(MessageLoop):
    """What the other tools returned is lost."""

    def in_order(self, calls: Sequence[ProposedCall]) -> Sequence[ProposedCall]:
        failed = [call for call in calls if "error" in self.turn.results[call.id]]
        for call in calls if failed else ():
            self.turn.results[call.id] = self.turn.results[failed[0].id]
        return calls


@_wrong(
    "tells-the-exception",
    "Gives the model the text of a tool's exception",
    fails="tools.secrets",
    shown_by="tools/exception-with-a-path-and-a-key",
    origin="modelcontextprotocol/typescript-sdk#1651",
)
class _TellsTheException(ToolRunner):
    """The key in that text is sent to the provider."""

    def broken(self, call: ProposedCall, error: Exception) -> ToolResult:
        problem = ToolProblem(error_class="ToolTerminal", code="Failed", message=str(error))
        return ToolResult(problem=problem)

    def content(self, result: ToolResult) -> dict[str, Any]:
        if result.problem is None:
            return super().content(result)
        return {"error": {"code": result.problem.code, "message": result.problem.message}}
