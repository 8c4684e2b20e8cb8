"""Wrong tools that are code."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from faultclock.mutants.by_hand.table import BY_HAND, ByHand
from faultclock.subjects.bind_tool import tool
from faultclock.subjects.json_exchange import ServiceError
from faultclock.subjects.miniature import Miniature
from faultclock.subjects.ports import ToolProblem, ToolRequest, ToolResult, TypedError
from faultclock.subjects.reference_acting_tool import CONTRACT as ACTING
from faultclock.subjects.reference_acting_tool import Order, place_order
from faultclock.subjects.reference_tool import Lookup, look_up

wrong = ByHand("tools")


# What it says of failures.


@wrong.run("raises", "Lets an exception of its own out", fails="tool.typed-reply")
async def _raises(call: ToolRequest) -> ToolResult:
    result = await look_up(call, Lookup(call))
    if result.problem is not None:
        raise RuntimeError(result.problem.message)
    return result


@wrong.run("untyped-item", "Lists items that failed without a code", fails="tool.typed-reply")
async def _untyped_item(call: ToolRequest) -> ToolResult:
    result = await look_up(call, Lookup(call))
    errors = tuple(ToolProblem(error_class="", code="", item=item.item) for item in result.errors)
    return replace(result, errors=errors)


@wrong.run("error-in-value", "Puts its error into the value", fails="tool.upstream")
async def _error_in_value(call: ToolRequest) -> ToolResult:
    result = await look_up(call, Lookup(call))
    if result.problem is not None and result.problem.code != "InputInvalid":
        return ToolResult(value={"items": [{"id": 0, "text": result.problem.message}]})
    return result


@wrong("stack-in-message", "Tells the model where it failed", fails="tool.leaks")
class _StackInMessage(Lookup):
    def problem(self, failure: ServiceError) -> ToolProblem:
        frames = traceback.extract_tb(failure.__traceback__)
        # File names without folders: a trace is the same on every machine.
        lines = [f'  File "{Path(f.filename).name}", line {f.lineno}, in {f.name}' for f in frames]
        return replace(super().problem(failure), message="\n".join(lines))


# What it replies.


@wrong("asks-first", "Checks its arguments after the first request", fails="tool.input")
class _AsksFirst(Lookup):
    def refused(self, arguments: Mapping[str, Any]) -> ToolProblem | None:
        problem = super().refused(arguments)
        self.late = problem
        return None

    def result(self, outcomes: Sequence[dict[str, Any] | ToolProblem]) -> ToolResult:
        return super().result(outcomes) if self.late is None else ToolResult(problem=self.late)


@wrong("one-error-for-all", "Lists one error for all failed items", fails="tool.partial")
class _OneErrorForAll(Lookup):
    def result(self, outcomes: Sequence[dict[str, Any] | ToolProblem]) -> ToolResult:
        result = super().result(outcomes)
        return replace(result, errors=result.errors[:1])


# How often it tries, and when it ends.


@wrong.run("no-deadline", "Lets the deadlines of its attempts add up", fails="tool.deadline")
async def _no_deadline(call: ToolRequest) -> ToolResult:
    steps = Lookup(call)
    steps.attempt_s = 20.0
    # As if the limit of the whole execution had been forgotten.
    return await look_up(replace(call, timeout_s=1_000.0), steps)


@wrong.run("deaf-to-cancel", "Finishes its work after a cancel", fails="tool.cancel")
async def _deaf(call: ToolRequest) -> ToolResult:
    work = asyncio.ensure_future(look_up(replace(call, signal=type(call.signal)()), Lookup(call)))
    while True:
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            if work.done():
                raise


@wrong.run("cancelled-is-failed", "Calls a cancel a timeout", fails="tool.cancel")
async def _cancelled_is_failed(call: ToolRequest) -> ToolResult:
    try:
        return await look_up(call, Lookup(call))
    except TypedError:
        problem = ToolProblem(error_class="ToolTransient", code="ExecutionTimeout", message="late")
        return ToolResult(problem=problem)


# What it does to its service.


class _TwiceOrder(Order):
    attempts_max = 2
    attempt_s = 10.0


async def _sends_twice(call: ToolRequest) -> ToolResult:
    return await place_order(call, _TwiceOrder(call))


BY_HAND["mini-tool-sends-twice"] = Miniature(
    binding=tool(
        id="mini-tool-sends-twice",
        title="Places an order again when the answer was lost",
        declares=("errors",),
        inline=True,
        **ACTING,
    )(_sends_twice),
    fails="tool.repeats",
    model="common",
    shown_by="tool-contract/silent-service",
)
