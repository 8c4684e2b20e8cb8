"""The reference tools: one looks items up at a web service, one places an order there.

`look_up` keeps its contract when the service fails:

    arguments  {"ids": [1, 2, 3]}
    value      {"items": [{"id": 1, "text": "…"}, …]}

Items are looked up together (async) or one after the other (blocking). Each has its own attempts;
an item that fails for good is an entry of `errors`, never a hole in a good-looking value. Where
all fail, the tool fails. What can go wrong is decided by `Lookup`, one step a method, so that a
miniature can get exactly one of them wrong.

`place_order` never places an order twice:

    arguments  {"item": 17}
    value      {"order": "…"}

The service takes no idempotency key. An answer that is lost therefore ends the execution, with an
error that says that the outcome is unknown: what to do about it is for the caller, who can look.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from faultclock.agents.json_exchange import ServiceError, ask, ask_blocking, stopping
from faultclock.agents.waits import rule_wait_s
from faultclock.subjects.bind_tool import tool
from faultclock.subjects.ports import (
    ToolProblem,
    ToolRequest,
    ToolResult,
    ToolRetryRule,
    TypedError,
)

#: A single attempt may take this long: short enough that all three fit into the execution.
ATTEMPT_S = 5.0
_ITEM = {
    "type": "object",
    "properties": {"id": {"type": "integer"}, "text": {"type": "string"}},
    "required": ["id", "text"],
}
CONTRACT: dict[str, Any] = {
    "input_schema": {
        "type": "object",
        "properties": {
            "ids": {"type": "array", "items": {"type": "integer", "minimum": 1}, "minItems": 1}
        },
        "required": ["ids"],
        "additionalProperties": False,
    },
    "output_schema": {
        "type": "object",
        "properties": {"items": {"type": "array", "items": _ITEM}},
        "required": ["items"],
        "additionalProperties": False,
    },
    "retry": ToolRetryRule(
        attempts_max=3, backoff="exponential", base_s=1.0, factor=2, jitter_percent=20
    ),
    "timeout_s": 30.0,
    "fixtures": {
        "valid": {"ids": [1]},
        "invalid": {"ids": ["one"]},
        "batch": {"ids": [1, 2, 3, 4, 5]},
    },
}
#: The one attempt at an order may take this long, which leaves time to say so.
_ORDER_S = 20.0
ACTING_CONTRACT: dict[str, Any] = {
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
_TIMEOUT = ("ToolTransient", "ExecutionTimeout")
_BUSY = ("ToolTransient", "ResourceBusy")
_MALFORMED = ("ToolTerminal", "OutputMalformed")
_REFUSED = ("ToolTerminal", "InputInvalid")
_FORBIDDEN = ("ToolTerminal", "Forbidden")
#: Status to what it means for the caller of the tool. Of the others, a client's mistake is one of
#: the arguments, and a server's is a service that cannot work now.
_BY_STATUS = {
    401: _FORBIDDEN,
    403: _FORBIDDEN,
    404: ("ToolTerminal", "NotFound"),
    410: ("ToolTerminal", "NotFound"),
    429: _BUSY,
    503: _BUSY,
    504: _TIMEOUT,
}
#: For the model. Nothing of the service's own text: it may hold anything.
_WORDS = {
    "ExecutionTimeout": "the service did not answer in time",
    "ResourceBusy": "the service is busy at the moment",
    "Forbidden": "the service does not allow this",
    "NotFound": "there is no such item",
    "OutputMalformed": "the service answered with something that is no item",
    "InputInvalid": "the service does not accept this",
}


class Lookup:
    """One execution: what to ask, what a failure is, when to try again, what to reply."""

    attempt_s = ATTEMPT_S

    def __init__(self, call: ToolRequest) -> None:
        self.call = call

    def refused(self, arguments: Mapping[str, Any]) -> ToolProblem | None:
        """Return why the arguments cannot be used; None: they can."""
        ids = arguments.get("ids")
        good = isinstance(ids, list) and ids and set(arguments) == {"ids"}
        # True is an int for Python, and no number for JSON.
        if good and all(type(item) is int and item >= 1 for item in ids or ()):
            return None
        message = "give `ids`: a list of one or more whole numbers from 1"
        return _problem(_REFUSED, message)

    def url(self, item: int) -> str:
        """Return where an item is."""
        return f"{self.call.base_url}/items/{item}"

    def problem(self, failure: ServiceError) -> ToolProblem:
        """Return what a failed attempt means for the caller of the tool."""
        if failure.kind == "status":
            status = failure.status or 0
            pair = _BY_STATUS.get(status, _BUSY if status >= 500 else _REFUSED)
        else:
            pair = _MALFORMED if failure.kind == "malformed" else _TIMEOUT
        return _problem(pair, _WORDS[pair[1]])

    def wait_s(self, problem: ToolProblem, attempt: int) -> float | None:
        """Return the wait after a failed attempt (1-based), None where it was the last one."""
        rule: ToolRetryRule = CONTRACT["retry"]
        if problem.code not in rule.retryable or attempt >= rule.attempts_max:
            return None
        return rule_wait_s(rule, attempt)

    def item(self, item: int, answer: Any) -> dict[str, Any]:
        """Return the item that an answer holds.

        Raises:
            ServiceError: it holds none.
        """
        text = answer.get("text") if isinstance(answer, dict) else None
        if not isinstance(text, str):
            raise ServiceError("malformed")
        return {"id": item, "text": text}

    def result(self, outcomes: Sequence[dict[str, Any] | ToolProblem]) -> ToolResult:
        """Return the reply: whole, partial or failed."""
        items = [outcome for outcome in outcomes if isinstance(outcome, dict)]
        problems = tuple(outcome for outcome in outcomes if isinstance(outcome, ToolProblem))
        if problems and not items:
            first = problems[0]
            return ToolResult(problem=_problem((first.error_class, first.code), first.message))
        return ToolResult(value={"items": items}, errors=problems)

    def too_long(self) -> ToolResult:
        """Return the reply of an execution that took as long as it may."""
        return ToolResult(problem=_problem(_TIMEOUT, "the tool took longer than it may"))

    def stopped(self) -> TypedError:
        """Return the error of an execution that was told to stop."""
        return TypedError("Cancellation", "ToolCancelled", "the execution was cancelled")


@tool(
    id="reference-tool",
    title="Correct tool that asks a web service, async",
    name="look_up",
    declares=("errors",),
    inline=True,
    **CONTRACT,
)
async def reference_tool(call: ToolRequest) -> ToolResult:
    """Look items up."""
    return await look_up(call, Lookup(call))


async def look_up(call: ToolRequest, steps: Lookup) -> ToolResult:
    """Execute once, in the steps that `steps` takes.

    Raises:
        TypedError: Cancellation/ToolCancelled.
    """
    refusal = steps.refused(call.arguments)
    if refusal is not None:
        return ToolResult(problem=refusal)
    try:
        with stopping(call.signal, steps.stopped()):
            async with asyncio.timeout(call.timeout_s):
                work = (_one(call, steps, item) for item in call.arguments["ids"])
                return steps.result(await asyncio.gather(*work))
    except TimeoutError:
        return steps.too_long()


async def _one(call: ToolRequest, steps: Lookup, item: int) -> dict[str, Any] | ToolProblem:
    attempt = 0
    while True:
        attempt += 1
        try:
            return steps.item(item, await ask(steps.url(item), call.api_key, steps.attempt_s))
        except ServiceError as failure:
            problem = steps.problem(failure)
        wait_s = steps.wait_s(problem, attempt)
        if wait_s is None:
            return _problem((problem.error_class, problem.code), problem.message, str(item))
        await asyncio.sleep(wait_s)


@tool(
    id="reference-tool-sync",
    title="Correct tool that asks a web service, blocking",
    name="look_up",
    declares=("errors",),
    inline=True,
    **CONTRACT,
)
def reference_tool_sync(call: ToolRequest) -> ToolResult:
    """Look items up."""
    steps = Lookup(call)
    refusal = steps.refused(call.arguments)
    if refusal is not None:
        return ToolResult(problem=refusal)
    stop = threading.Event()
    call.signal.on_cancel(stop.set)
    give_up_at = time.monotonic() + call.timeout_s
    try:
        return steps.result(
            [_one_blocking(call, steps, item, give_up_at, stop) for item in call.arguments["ids"]]
        )
    except TimeoutError:
        return steps.too_long()


def _one_blocking(
    call: ToolRequest, steps: Lookup, item: int, give_up_at: float, stop: threading.Event
) -> dict[str, Any] | ToolProblem:
    attempt = 0
    while True:
        attempt += 1
        left_s = give_up_at - time.monotonic()
        if left_s <= 0:
            raise TimeoutError("the deadline has passed")
        if stop.is_set():
            raise steps.stopped()
        try:
            deadline_s = min(left_s, steps.attempt_s)
            answer = ask_blocking(steps.url(item), call.api_key, deadline_s, stop.is_set)
            return steps.item(item, answer)
        except ServiceError as failure:
            if failure.kind == "stopped":
                raise steps.stopped() from None
            problem = steps.problem(failure)
        wait_s = steps.wait_s(problem, attempt)
        if wait_s is None:
            return _problem((problem.error_class, problem.code), problem.message, str(item))
        # A wait that the cancel ends; the loop's head says what becomes of it.
        stop.wait(min(wait_s, max(0.0, give_up_at - time.monotonic())))


class Order:
    """One execution: what is refused, how often the order is sent, what a failure is."""

    attempts_max = 1
    attempt_s = _ORDER_S

    def __init__(self, call: ToolRequest) -> None:
        self.call = call

    def refused(self, arguments: Mapping[str, Any]) -> ToolProblem | None:
        """Return why the arguments cannot be used; None: they can."""
        item = arguments.get("item")
        # True is an int for Python, and no number for JSON.
        if set(arguments) == {"item"} and type(item) is int and item >= 1:
            return None
        return _problem(_REFUSED, "give `item`: a whole number from 1")

    def problem(self, failure: ServiceError) -> ToolProblem:
        """Return what a failed order means for the caller of the tool."""
        status = failure.status or 0
        if failure.kind == "status" and status in (401, 403):
            return _problem(_FORBIDDEN, "the service does not allow this")
        if failure.kind == "status" and status in (429, 503):
            return _problem(_BUSY, "the service took no order: it is busy")
        if failure.kind == "status" and status < 500:
            return _problem(_REFUSED, "the service refuses this order")
        unknown = (
            "the answer was lost: the order may have been placed, so look before you repeat it"
        )
        return _problem(_TIMEOUT, unknown)


@tool(
    id="reference-acting-tool",
    title="Correct tool that changes something at a web service, async",
    declares=("errors",),
    inline=True,
    **ACTING_CONTRACT,
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
    stopped = TypedError("Cancellation", "ToolCancelled", "the execution was cancelled")
    with stopping(call.signal, stopped):
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
    return ToolResult(problem=problem)


def _problem(pair: tuple[str, str], message: str, item: str | None = None) -> ToolProblem:
    return ToolProblem(error_class=pair[0], code=pair[1], message=message, item=item)
