"""Tool calls that the model proposes, and asking the person about them.

A call is read, checked and executed once, and never raises here: all that happens becomes an
Outcome. What an outcome means is for each model to say.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, Literal

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from msgspec import Struct, field

from faultclock.subjects.ports import (
    CancelSignal,
    InteractionAnswer,
    InteractionRequest,
    Reply,
    Surroundings,
    Tool,
    ToolContract,
    ToolProblem,
    ToolResult,
)

Decision = Literal["approved", "denied", "timeout", "dismissed"]
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
#: What policy, person or clock refuse.
DENIALS: tuple[Kind, ...] = ("denied_by_policy", "denied_by_user", "approval_timed_out")


class Call(Struct, frozen=True, kw_only=True):
    """A call on its way.

    Attributes:
        tool: None where there is no tool of that name.
        misfit: why the arguments cannot be used; None if they can.
        scope: what a cancel of this call alone goes to, where there is such a cancel.
    """

    id: str
    name: str
    tool: Tool | None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    misfit: str | None = None
    scope: Any = None

    @property
    def contract(self) -> ToolContract:
        """What its tool declares; asked only of a call that has one."""
        assert self.tool is not None, "a call without a tool is not executed"
        return self.tool.contract

    @property
    def named(self) -> dict[str, Any]:
        """Its tool and its id, as what is said of it names them."""
        return {"tool": self.name, "tool_call": self.id}

    @property
    def is_agent(self) -> bool:
        """Whether it goes to a subagent."""
        return self.tool is not None and self.tool.contract.agent


class Outcome(Struct, frozen=True, kw_only=True):
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

    @property
    def is_refusal(self) -> bool:
        """Whether the call was not executed at all."""
        return self.kind in ("input_invalid", "unknown", *DENIALS)


def proposed(reply: Reply, tools: tuple[Tool, ...]) -> tuple[Call, ...]:
    """Return the calls of an answer, in its order, each read and checked."""
    return tuple(
        read_call(item.id or f"call-{number}", item.name, item.arguments, tools)
        for number, item in enumerate(reply.tool_calls, start=1)
    )


def read_call(id_: str, name: str, text: str, tools: tuple[Tool, ...]) -> Call:
    """Return a call, read and checked."""
    tool = next((tool for tool in tools if tool.contract.name == name), None)
    arguments, why = _arguments(text)
    if why is None and tool is not None:
        why = misfit(arguments, tool.contract.input_schema)
    return Call(id=id_, name=name, tool=tool, arguments=arguments, misfit=why)


def _arguments(text: str) -> tuple[dict[str, Any], str | None]:
    try:
        value = json.loads(text.strip() or "{}")
    except ValueError:
        return {}, "the arguments are no JSON"
    return (value, None) if isinstance(value, dict) else ({}, "the arguments are no JSON object")


def misfit(value: Any, schema: Mapping[str, Any]) -> str | None:
    """Return in words why `value` does not fit a JSON Schema, None if it does."""
    if not schema:
        return None
    errors = Draft202012Validator(dict(schema)).iter_errors(value)
    first: ValidationError | None = min(errors, key=lambda error: error.json_path, default=None)
    return None if first is None else f"{first.json_path}: {first.message}"


async def execute_once(call: Call, *, timeout_s: float | None = None) -> Outcome:
    """Execute the tool once, for no longer than its contract allows.

    Raises:
        asyncio.CancelledError: the turn was cancelled; the tool was told to stop.
    """
    assert call.tool is not None, "a call without a tool is not executed"
    limit_s = call.contract.timeout_s if timeout_s is None else timeout_s
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
    why = misfit(result.value, call.contract.output_schema)
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


async def until(
    event: asyncio.Event, work: Coroutine[Any, Any, Outcome], otherwise: Outcome
) -> Outcome:
    """Await `work`; stop it when `event` is set first, and return `otherwise`."""
    task, over = asyncio.ensure_future(work), asyncio.ensure_future(event.wait())
    try:
        await asyncio.wait({task, over}, return_when=asyncio.FIRST_COMPLETED)
        return task.result() if task.done() else otherwise
    finally:
        for item in (task, over):
            item.cancel()
        await asyncio.gather(task, over, return_exceptions=True)


# The person.


async def first_answer(
    surroundings: Surroundings, request: InteractionRequest
) -> InteractionAnswer | None:
    """Show a request to everyone who can show it, and return the first answer, or `timeout`.

    What is still on a screen afterwards is taken off it; an answer that comes later changes
    nothing.

    Returns:
        None where no screen could show it.
    """
    first: asyncio.Future[InteractionAnswer] = asyncio.get_running_loop().create_future()

    def answer(given: InteractionAnswer) -> None:
        if not first.done():
            first.set_result(given)

    shown = []
    for interactor in () if surroundings.headless else surroundings.interactors:
        if request.kind in interactor.kinds:
            try:
                interactor.show(request, answer)
            except Exception:  # noqa: BLE001, S112 - a broken screen is one that does not answer
                continue
            shown.append(interactor)
    if not shown:
        return None
    try:
        async with asyncio.timeout(request.deadline_s):
            return await first
    except TimeoutError:
        return InteractionAnswer(status="timeout")
    finally:
        for interactor in shown:
            interactor.dismiss(request.id)


def approval_request(call: Call, *, deadline_s: float) -> InteractionRequest:
    """Return the question whether a tool may be executed; it stays open for `deadline_s`."""
    return InteractionRequest(
        id=f"approve-{call.id}",
        kind="Approve",
        prompt=f"Allow {call.name}?",
        deadline_s=deadline_s,
        tool=call.name,
        tool_call=call.id,
        arguments=call.arguments,
    )


async def approval_of(surroundings: Surroundings, call: Call, *, deadline_s: float) -> Decision:
    """Return what the person decides about a call. Where no person can be asked, none approves.

    Args:
        deadline_s: how long the question stays open, unless the scenario's own deadline says
            otherwise.
    """
    deadline_s = surroundings.deadlines_s.get("Approve", deadline_s)
    given = await first_answer(surroundings, approval_request(call, deadline_s=deadline_s))
    if given is None:
        return "denied"
    decisions: dict[str, Decision] = {
        "accepted": "approved",
        "rejected": "denied",
        "timeout": "timeout",
    }
    return decisions.get(given.status, "dismissed")
