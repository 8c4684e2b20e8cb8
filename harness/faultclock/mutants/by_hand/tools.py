"""Wrong tools that are code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from faultclock.agents.tool import ACTING_CONTRACT, Order, place_order
from faultclock.mutants.by_hand.table import BY_HAND, ByHand
from faultclock.mutants.talks import WholeLookup
from faultclock.subjects.bind_tool import tool
from faultclock.subjects.miniature import Miniature
from faultclock.subjects.ports import ToolProblem, ToolRequest, ToolResult

wrong = ByHand("tools")


@wrong(
    "untyped-item",
    "Lists items that failed without a code",
    fails="tool.typed-reply",
    shown_by="tool-contract/some-items-fail",
)
class _UntypedItem(WholeLookup):
    def result(self, outcomes: Sequence[dict[str, Any] | ToolProblem]) -> ToolResult:
        result = super().result(outcomes)
        items = (item.item for item in result.errors)
        errors = tuple(ToolProblem(error_class="", code="", item=item) for item in items)
        return replace(result, errors=errors)


@wrong(
    "asks-first",
    "Checks its arguments after the first request",
    fails="tool.input",
    shown_by="tool-contract/invalid-input",
)
class _AsksFirst(WholeLookup):
    def refused(self, arguments: Mapping[str, Any]) -> ToolProblem | None:
        problem = super().refused(arguments)
        self.late = problem
        return None

    def result(self, outcomes: Sequence[dict[str, Any] | ToolProblem]) -> ToolResult:
        return super().result(outcomes) if self.late is None else ToolResult(problem=self.late)


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
        **ACTING_CONTRACT,
    )(_sends_twice),
    fails="tool.repeats",
    model="common",
    shown_by="tool-contract/silent-service",
)
