"""The reference tool that acts: it places an order at a web service, and never places it twice.

    arguments  {"item": 17}
    value      {"order": "…"}

The service takes no idempotency key. An answer that is lost therefore ends the execution, with an
error that says that the outcome is unknown: what to do about it is for whoever can look.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from faultclock.agents.json_exchange import ServiceError, ask
from faultclock.subjects.bind_tool import tool
from faultclock.subjects.ports import ToolProblem, ToolRequest, ToolResult, TypedError

#: The one attempt may take this long, which leaves time to say so.
ATTEMPT_S = 20.0
CONTRACT: dict[str, Any] = {
    "name": "place_order",
    "input_schema": {
        "type": "object",
        "properties": {"item": {"type": "integer", "minimum": 1}},
        "required": ["item"],
        "additionalProperties": False,
    },
    "output_schema": {
        "type": "object",
        "properties": {"order": {"type": "string"}},
        "required": ["order"],
        "additionalProperties": False,
    },
    "timeout_s": 30.0,
    "fixtures": {"valid": {"item": 17}, "invalid": {"item": "seventeen"}, "batch": {"item": 17}},
}


class Order:
    """One execution: what is refused, how often the order is sent, what a failure is."""

    attempts_max = 1
    attempt_s = ATTEMPT_S

    def __init__(self, call: ToolRequest) -> None:
        self.call = call

    def refused(self, arguments: Mapping[str, Any]) -> ToolProblem | None:
        """Return why the arguments cannot be used; None: they can."""
        item = arguments.get("item")
        # True is an int for Python, and no number for JSON.
        if set(arguments) == {"item"} and type(item) is int and item >= 1:
            return None
        return _problem("ToolTerminal", "InputInvalid", "give `item`: a whole number from 1")

    def problem(self, failure: ServiceError) -> ToolProblem:
        """Return what a failed order means for whoever called the tool."""
        status = failure.status or 0
        if failure.kind == "status" and status in (401, 403):
            return _problem("ToolTerminal", "Forbidden", "the service does not allow this")
        if failure.kind == "status" and status in (429, 503):
            return _problem(
                "ToolTransient", "ResourceBusy", "the service took no order: it is busy"
            )
        if failure.kind == "status" and status < 500:
            return _problem("ToolTerminal", "InputInvalid", "the service refuses this order")
        unknown = (
            "the answer was lost: the order may have been placed, so look before you repeat it"
        )
        return _problem("ToolTransient", "ExecutionTimeout", unknown)


@tool(
    id="reference-acting-tool",
    title="Correct tool that changes something at a web service, async",
    declares=("errors",),
    inline=True,
    **CONTRACT,
)
async def reference_acting_tool(call: ToolRequest) -> ToolResult:
    """Place an order."""
    return await place_order(call, Order(call))


async def place_order(call: ToolRequest, steps: Order) -> ToolResult:
    """Execute once, in the steps that `steps` takes.

    Raises:
        TypedError: Cancellation/ToolCancelled.
    """
    refusal = steps.refused(call.arguments)
    if refusal is not None:
        return ToolResult(problem=refusal)
    body = {"item": call.arguments["item"]}
    problem = refusal
    try:
        for _ in range(steps.attempts_max):
            try:
                answer = await ask(f"{call.base_url}/orders", call.api_key, steps.attempt_s, body)
            except ServiceError as failure:
                problem = steps.problem(failure)
                continue
            text = answer.get("text") if isinstance(answer, dict) else None
            if isinstance(text, str):
                return ToolResult(value={"order": text})
            problem = steps.problem(ServiceError("malformed"))
    except asyncio.CancelledError:
        if not call.signal.cancelled:
            raise
        raise TypedError("Cancellation", "ToolCancelled", "the execution was cancelled") from None
    return ToolResult(problem=problem)


def _problem(error_class: str, code: str, message: str) -> ToolProblem:
    return ToolProblem(error_class=error_class, code=code, message=message)
