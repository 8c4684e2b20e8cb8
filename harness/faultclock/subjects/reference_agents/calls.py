"""One tool call that the model proposes: read it, check it, execute it once, and say what it was.

A call never raises here. Whatever happens becomes an Outcome; what an outcome means is for each
model to say. `together` is how the calls of one answer run beside each other.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from faultclock.subjects.ports import CancelSignal, Reply, Tool, ToolProblem, ToolResult
from faultclock.subjects.reference_runtime.tool_call import misfit

Kind = Literal[
    "ok",
    "partial",
    "input_invalid",
    "unknown",
    "denied_by_policy",
    "denied_by_user",
    "approval_timed_out",
    "exception",
    "timeout",
    "failed",
    "unavailable",
    "output_malformed",
    "cancelled",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call on its way.

    Attributes:
        tool: None where there is no tool of that name.
        misfit: why the arguments cannot be used; None if they can.
    """

    id: str
    name: str
    tool: Tool | None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    misfit: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a call.

    Attributes:
        value: of a good or partial result, and of one that does not fit its schema.
        message: why it is not good; for operators, it may hold internals.
        code: the code that the tool gave, where it gave one.
        error: what left the tool, for `exception`.
        errors: the items of a partial result that failed.
    """

    kind: Kind
    value: Any = None
    message: str = ""
    code: str | None = None
    error: BaseException | None = None
    errors: tuple[ToolProblem, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether there is nothing to complain of."""
        return self.kind == "ok"


def proposed(reply: Reply, tools: tuple[Tool, ...]) -> tuple[Call, ...]:
    """Return the calls of an answer, in its order, each read and checked."""
    by_name = {tool.contract.name: tool for tool in tools}
    calls = []
    for number, item in enumerate(reply.tool_calls, start=1):
        tool = by_name.get(item.name)
        arguments, why = _arguments(item.arguments)
        if why is None and tool is not None:
            why = misfit(arguments, tool.contract.input_schema)
        calls.append(
            Call(
                id=item.id or f"call-{number}",
                name=item.name,
                tool=tool,
                arguments=arguments,
                misfit=why,
            )
        )
    return tuple(calls)


def _arguments(text: str) -> tuple[dict[str, Any], str | None]:
    try:
        value = json.loads(text.strip() or "{}")
    except ValueError:
        return {}, "the arguments are no JSON"
    return (value, None) if isinstance(value, dict) else ({}, "the arguments are no JSON object")


async def execute_once(call: Call, *, timeout_s: float | None = None) -> Outcome:
    """Execute the tool once, for no longer than its contract allows.

    Raises:
        asyncio.CancelledError: the turn was cancelled; the tool was told to stop.
    """
    assert call.tool is not None, "a call without a tool is not executed"
    contract = call.tool.contract
    limit_s = contract.timeout_s if timeout_s is None else timeout_s
    signal = CancelSignal()
    try:
        async with asyncio.timeout(limit_s):
            result = await call.tool.execute(call.arguments, call_id=call.id, signal=signal)
    except asyncio.CancelledError:
        signal.cancel()
        raise
    except TimeoutError:
        signal.cancel()
        return Outcome(kind="timeout", message=f"{call.name} did not finish within {limit_s:g} s")
    except Exception as error:  # noqa: BLE001 - a tool may raise anything
        return Outcome(kind="exception", message=str(error), error=error)
    return _read(call, result)


def _read(call: Call, result: Any) -> Outcome:
    if not isinstance(result, ToolResult):
        return Outcome(kind="output_malformed", message="the tool did not answer in its shape")
    problem = result.problem
    if problem is not None:
        kind: Kind = "failed"
        if problem.code == "ExecutionTimeout":
            kind = "timeout"
        elif problem.code == "CapabilityAbsent":
            kind = "unavailable"
        return Outcome(kind=kind, message=problem.message, code=problem.code)
    assert call.tool is not None
    why = misfit(result.value, call.tool.contract.output_schema)
    if why is not None:
        return Outcome(kind="output_malformed", value=result.value, message=why)
    if result.errors:
        return Outcome(kind="partial", value=result.value, errors=result.errors)
    return Outcome(kind="ok", value=result.value)


async def together(work: Sequence[Coroutine[Any, Any, Outcome]]) -> list[Outcome]:
    """Await all; when one ends the turn, the others are told to stop, and are waited for."""
    tasks = [asyncio.ensure_future(item) for item in work]
    try:
        return list(await asyncio.gather(*tasks))
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
