"""TOOL_CALL: deciding on the calls of an answer, executing them, and a typed result in any case.

The approvals are strictly first in, first out; then the approved calls run at the same time; their
results go to the model in the order in which it asked.

    Proposed -> refused, or decided on -> Started -> execute, at most as long as the contract says
    -> check the output -> Succeeded | Failed -> again, where the contract calls that retryable

The deadline begins with the execution: the time in which a person thinks about the approval does
not count. What happens to one call is nothing to its siblings.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from faultclock.agents.calls import Call, misfit, read_call
from faultclock.agents.stud_cli.cancellation import within
from faultclock.agents.stud_cli.persistence import Persistence, tool_message
from faultclock.agents.stud_cli.person import Approvals, Dismissed, Interactions, Verdict
from faultclock.agents.stud_cli.session import Session, StudTurn, pair_of
from faultclock.agents.waits import rule_wait_s
from faultclock.subjects.ports import (
    CancelSignal,
    Reply,
    Surroundings,
    ToolProblem,
    ToolResult,
    TypedError,
)

_MALFORMED = ("ToolTerminal", "OutputMalformed")
_OUT_OF_SHAPE = "The tool did not answer in its declared shape."


class ToolCalls(Session):
    """Carries out the tool calls of the model."""

    persistence_type: type[Persistence] = Persistence
    interactions_type: type[Interactions] = Interactions
    approvals_type: type[Approvals] = Approvals

    def __init__(self, surroundings: Surroundings) -> None:
        super().__init__(surroundings)
        self.persistence = self.persistence_type(self)
        self.interactions = self.interactions_type(self)
        self.approvals = self.approvals_type(self, self.interactions)

    async def use_tools(self, turn: StudTurn, reply: Reply) -> None:
        with self.stage(turn, "TOOL_CALL"):
            await self.call_tools(turn, reply)

    async def call_tools(self, turn: StudTurn, reply: Reply) -> None:
        """Decide on all calls of one answer, execute those approved, add all results."""
        calls = [
            self.propose(turn, call.id, call.name, call.arguments) for call in reply.tool_calls
        ]
        try:
            await self.persistence.note("tools_proposed", message=turn.messages[-1])
            await self.settle_all(turn, calls, await self.consider_all(turn, calls))
        finally:
            for call in calls:
                self.leave(call)
        turn.messages += [
            tool_message(call.id, turn.results[call.id]) for call in self.in_order(turn, calls)
        ]

    def in_order(self, turn: StudTurn, calls: Sequence[Call]) -> Sequence[Call]:
        """Return calls in the order in which the model gets their results: that of its asking."""
        return calls

    def propose(self, turn: StudTurn, call_id: str, name: str, arguments: str) -> Call:
        """Return a call as the model proposes it, with a scope of its own."""
        self.proposed(call_id, name)
        scope = (turn.stage_scope or turn.scope).child("tool", name, call_id)
        return replace(read_call(call_id, name, arguments, self.world.tools), scope=scope)

    def proposed(self, call_id: str, name: str) -> None:
        """Emit that the model asks for a tool."""
        self.host.event("ToolInvocationProposed", tool=name, tool_call=call_id)

    async def consider_all(
        self, turn: StudTurn, calls: Sequence[Call]
    ) -> Sequence[Verdict | dict[str, Any]]:
        """Return what `consider` says of each call; the person is asked strictly in their order."""
        return [await self.consider(turn, call) for call in calls]

    async def consider(self, turn: StudTurn, call: Call) -> Verdict | dict[str, Any]:
        """Return the verdict on a call, or the content of its answer if it cannot be run.

        Raises:
            TypedError: Cancellation/TurnCancelled: the user closed the dialog.
        """
        refusal = self.refusal(call)
        if refusal is not None:
            return refusal
        try:
            verdict: Verdict = await call.scope.run(self.approvals.decide(call, turn.stage))
        except Dismissed:
            turn.scope.cancel("user")
            turn.scope.check()
            raise
        except TypedError as error:
            return self.call_cancelled(call, error)
        return verdict if verdict.approved else self.approvals.content(verdict)

    def refusal(self, call: Call) -> dict[str, Any] | None:
        """Return the typed error of a call that no tool can take, None if one can."""
        if call.tool is None:
            pair, message = ("ToolTerminal", "NotFound"), f"There is no tool {call.name}."
        elif call.misfit is not None:
            pair, message = ("ToolTerminal", "InputInvalid"), call.misfit
        else:
            return None
        self.put_on_record(pair, {**call.named, "message": message}, 1)
        self.host.event("ToolInvocationFailed", **call.named)
        return self.telling.shape(*pair, message)

    async def settle_all(
        self, turn: StudTurn, calls: Sequence[Call], verdicts: Sequence[Verdict | dict[str, Any]]
    ) -> None:
        """Run all approved calls at the same time, and wait for each of them."""
        work = [self.settle(turn, *pair) for pair in zip(calls, verdicts, strict=True)]
        ends = await asyncio.gather(*work, return_exceptions=True)
        for end in ends:
            if isinstance(end, BaseException):
                raise end

    async def settle(self, turn: StudTurn, call: Call, verdict: Verdict | dict[str, Any]) -> None:
        """Bring one call to its result; a failure of a tool is a result."""
        if isinstance(verdict, Verdict):
            try:
                content: dict[str, Any] = await call.scope.run(self.tool(turn, call))
            except TypedError as error:
                content = self.call_cancelled(call, error)
                await self.note_end(call, 0, content)
        else:
            content = verdict
        turn.results[call.id] = content
        self.telling.tool_failed(content)

    def call_cancelled(self, call: Call, error: TypedError) -> dict[str, Any]:
        """Return the content of a call that was cancelled alone.

        Raises:
            TypedError: anything else is the end of the whole turn.
        """
        if error is not call.scope.error:
            raise error
        return self.telling.shape(
            error.error_class, error.code, "The call was cancelled. Its outcome is unknown."
        )

    def leave(self, call: Call) -> None:
        """Be done with a call, however it ended."""
        if call.scope.error is not None:
            self.host.event("ToolInvocationCancelled", **call.named)
        call.scope.close()

    # ------------------------------------------------------------------ executions

    async def tool(self, turn: StudTurn, call: Call) -> dict[str, Any]:
        """Execute an approved call, and return what the model is to know of it.

        Raises:
            TypedError: a limit of the turn, or the session store; never a failure of the tool.
        """
        attempt = 0
        while True:
            attempt += 1
            await self.begin(turn, call, attempt)
            result = await self.attempt(call)
            again = self.is_worth_another(call, result, attempt)
            self.tell(call, result, attempt)
            content = None if again else self.content(result)
            if content is not None:
                # From here on there is a result, and nothing left of the call to cancel.
                turn.results[call.id] = content
                call.scope.close()
            await self.note_end(call, attempt, content)
            if content is not None:
                return content
            await self.wait(call, attempt)

    async def begin(self, turn: StudTurn, call: Call, attempt: int) -> None:
        """Count and note the execution before it happens."""
        limit = self.world.limits.tool_calls_max
        if limit is not None and turn.executions >= limit:
            message = f"the turn may execute {limit} tools"
            context = {"limit": "tool_calls_max", **call.named}
            raise TypedError("ExtensionHost", "LoopBoundExceeded", message, context)
        turn.executions += 1
        await self.persistence.note(
            "tool_started", **call.named, attempt=attempt, arguments=call.arguments
        )
        turn.executed.add(call.id)
        turn.results.pop(call.id, None)
        self.tool_event("ToolInvocationStarted", call, attempt)

    async def note_end(self, call: Call, attempt: int, content: dict[str, Any] | None) -> None:
        """Note the end of the execution; `content` is None where another one follows."""
        await self.persistence.note("tool_ended", **call.named, attempt=attempt, content=content)

    async def attempt(self, call: Call) -> ToolResult:
        """Execute once; all that the tool does becomes a typed result."""
        signal = CancelSignal()
        try:
            value = await within(self.deadline_s(call), self.execute(call, signal))
        except asyncio.CancelledError:
            signal.cancel()
            raise
        except TimeoutError:
            signal.cancel()
            pair = ("ToolTransient", "ExecutionTimeout")
            return _failed(pair, "The tool did not finish in time.")
        except Exception as error:  # noqa: BLE001 - a tool may raise anything; it is typed here
            call.scope.check()
            return self.broken(call, error)
        return self.checked(call, value)

    async def execute(self, call: Call, signal: CancelSignal) -> Any:
        """Let the tool do its work, unless the call was cancelled at this very instant."""
        assert call.tool is not None
        call.scope.check()
        return await call.tool.execute(call.arguments, call_id=call.id, signal=signal)

    def deadline_s(self, call: Call) -> float:
        """Return how long one execution may take, in seconds from its start."""
        return call.contract.timeout_s

    def broken(self, call: Call, error: Exception) -> ToolResult:
        """Return the typed result of an exception, whose text is for operators only."""
        error_class, code = pair_of(error)
        what = {"type": type(error).__name__, "message": str(error)}
        self.host.audit_event("ToolException", **call.named, **what)
        pair = _MALFORMED if error_class is None or code is None else (error_class, code)
        return _failed(pair, "The tool failed without an answer.")

    def checked(self, call: Call, result: Any) -> ToolResult:
        """Return `result` if it is what the contract says, a typed failure otherwise."""
        if isinstance(result, ToolResult):
            fault = None if not result.ok else self.output_misfit(call, result.value)
            if fault is None:
                return result
        return _failed(_MALFORMED, _OUT_OF_SHAPE)

    def output_misfit(self, call: Call, value: Any) -> str | None:
        """Return why an output does not fit the contract, None if it does."""
        try:
            json.dumps(value)
        except (TypeError, ValueError):
            return _OUT_OF_SHAPE
        return misfit(value, call.contract.output_schema)

    def is_worth_another(self, call: Call, result: ToolResult, attempt: int) -> bool:
        """Return whether the contract asks for another execution after this one."""
        rule = call.contract.retry
        if rule is None or result.problem is None or attempt >= rule.attempts_max:
            return False
        return result.problem.code in rule.retryable

    async def wait(self, call: Call, failures: int) -> None:
        """Wait as the contract says after the `failures`-th failure (1-based)."""
        assert call.contract.retry is not None
        await asyncio.sleep(rule_wait_s(call.contract.retry, failures))

    # ------------------------------------------------------------------ what is said of them

    def tell(self, call: Call, result: ToolResult, attempt: int) -> None:
        """Put the execution into the audit trail and onto the event bus."""
        self.audit_attempt(call, result, attempt)
        good = result.ok and not result.errors
        self.host.audit_event("ToolInvocation", **call.named, attempt=attempt, ok=good)
        name = "ToolInvocationSucceeded" if result.ok else "ToolInvocationFailed"
        self.tool_event(name, call, attempt)

    def audit_attempt(self, call: Call, result: ToolResult, attempt: int) -> None:
        """Audit what failed, with the number of the attempt; each item of a partial result too."""
        failures = result.errors if result.problem is None else (result.problem,)
        for failure in failures:
            context = {**call.named, "message": failure.message}
            if failure.item is not None:
                context["item"] = failure.item
            self.put_on_record((failure.error_class, failure.code), context, attempt)

    def tool_event(self, name: str, call: Call, attempt: int) -> None:
        """Emit an event about an execution."""
        self.host.event(name, **call.named, attempt=attempt)

    def content(self, result: ToolResult) -> dict[str, Any]:
        """Return the content of the tool message: a value, a partial one, or a typed error."""
        problem = result.problem
        if problem is not None:
            return self.telling.shape(problem.error_class, problem.code, problem.message)
        if not result.errors:
            return {"value": result.value}
        errors = [
            {
                "item": failure.item,
                "class": failure.error_class,
                "code": failure.code,
                "message": self.telling.for_the_model(failure.message),
            }
            for failure in result.errors
        ]
        return {"value": result.value, "errors": errors}


def _failed(pair: tuple[str, str], message: str) -> ToolResult:
    error_class, code = pair
    return ToolResult(problem=ToolProblem(error_class=error_class, code=code, message=message))
