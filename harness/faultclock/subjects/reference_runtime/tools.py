"""Executing tools: their own deadline, their own retries, and a typed result in any case.

    Started -> execute, at most as long as the contract says -> check the output
    -> Succeeded | Failed -> again, where the contract calls that code retryable -> ...

The deadline begins with the execution: the time in which a person thinks about the approval does
not count. What happens to one call is nothing to its siblings.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from faultclock.subjects.ports import CancelSignal, ToolProblem, ToolResult, TypedError
from faultclock.subjects.reference_agents.calls import misfit
from faultclock.subjects.reference_runtime.cancellation import within
from faultclock.subjects.reference_runtime.persistence import Persistence
from faultclock.subjects.reference_runtime.retries import wait_s
from faultclock.subjects.reference_runtime.session import Session, Turn
from faultclock.subjects.reference_runtime.telling import pair_of
from faultclock.subjects.reference_runtime.tool_call import ProposedCall

_MALFORMED = ("ToolTerminal", "OutputMalformed")
_OUT_OF_SHAPE = "The tool did not answer in its declared shape."


class ToolRunner:
    """Executes approved calls."""

    def __init__(self, session: Session, persistence: Persistence) -> None:
        self.session = session
        self.persistence = persistence

    async def run(self, call: ProposedCall, turn: Turn) -> dict[str, Any]:
        """Execute an approved call, and return what the model is to know of it.

        Raises:
            TypedError: a limit of the turn, or the session store; never a failure of the tool.
        """
        attempt = 0
        while True:
            attempt += 1
            await self.begin(call, turn, attempt)
            result = await self.attempt(call)
            again = self.is_worth_another(call, result, attempt)
            self.tell(call, result, attempt)
            content = None if again else self.content(result)
            if content is not None:
                # From here on there is a result, and nothing left of the call to cancel.
                turn.results[call.id] = content
                call.scope.close()
            await self.end(call, attempt, content)
            if content is not None:
                return content
            await self.wait(call, attempt)

    async def begin(self, call: ProposedCall, turn: Turn, attempt: int) -> None:
        """Count and note the execution before it happens."""
        limit = self.session.surroundings.limits.tool_calls_max
        if limit is not None and turn.executions >= limit:
            raise TypedError(
                "ExtensionHost",
                "LoopBoundExceeded",
                f"the turn may execute {limit} tools",
                {"limit": "tool_calls_max", "tool": call.name, "tool_call": call.id},
            )
        turn.executions += 1
        await self.persistence.note(
            "tool_started",
            tool=call.name,
            tool_call=call.id,
            attempt=attempt,
            arguments=call.arguments,
        )
        turn.started.add(call.id)
        turn.results.pop(call.id, None)
        self.event("ToolInvocationStarted", call, attempt)

    async def end(self, call: ProposedCall, attempt: int, content: dict[str, Any] | None) -> None:
        """Note the end of the execution; `content` is None where another one follows."""
        await self.persistence.note(
            "tool_ended", tool=call.name, tool_call=call.id, attempt=attempt, content=content
        )

    # One execution.

    async def attempt(self, call: ProposedCall) -> ToolResult:
        """Execute once; whatever the tool does becomes a typed result."""
        signal = CancelSignal()
        try:
            value = await within(self.deadline_s(call), self.execute(call, signal))
        except asyncio.CancelledError:
            signal.cancel()
            raise
        except TimeoutError:
            signal.cancel()
            problem = ToolProblem(
                error_class="ToolTransient",
                code="ExecutionTimeout",
                message="The tool did not finish in time.",
            )
            return ToolResult(problem=problem)
        except Exception as error:  # noqa: BLE001 - a tool may raise anything; it is typed here
            call.scope.check()
            return self.broken(call, error)
        return self.checked(call, value)

    async def execute(self, call: ProposedCall, signal: CancelSignal) -> Any:
        """Let the tool do its work, unless the call was cancelled at this very instant."""
        assert call.tool is not None
        call.scope.check()
        return await call.tool.execute(call.arguments, call_id=call.id, signal=signal)

    def deadline_s(self, call: ProposedCall) -> float:
        """Return how long one execution may take, in seconds from its start."""
        return call.contract.timeout_s

    def broken(self, call: ProposedCall, error: Exception) -> ToolResult:
        """Return the typed result of an exception, whose text is for operators only."""
        error_class, code = pair_of(error)
        if error_class is None or code is None:
            error_class, code = _MALFORMED
        self.session.host.audit_event(
            "ToolException",
            tool=call.name,
            tool_call=call.id,
            type=type(error).__name__,
            message=str(error),
        )
        message = "The tool failed without an answer."
        return ToolResult(problem=ToolProblem(error_class=error_class, code=code, message=message))

    def checked(self, call: ProposedCall, result: Any) -> ToolResult:
        """Return `result` if it is what the contract says, a typed failure otherwise."""
        fault: str | None = _OUT_OF_SHAPE
        if isinstance(result, ToolResult):
            if not result.ok:
                return result
            fault = self.output_misfit(call, result.value)
        if fault is None:
            assert isinstance(result, ToolResult)
            return result
        error_class, code = _MALFORMED
        problem = ToolProblem(error_class=error_class, code=code, message=_OUT_OF_SHAPE)
        return ToolResult(problem=problem)

    def output_misfit(self, call: ProposedCall, value: Any) -> str | None:
        """Return why an output does not fit the contract, None if it does."""
        try:
            json.dumps(value)
        except (TypeError, ValueError):
            return _OUT_OF_SHAPE
        return misfit(value, call.contract.output_schema)

    # Another attempt?

    def is_worth_another(self, call: ProposedCall, result: ToolResult, attempt: int) -> bool:
        """Return whether the contract asks for another execution after this one."""
        rule = call.contract.retry
        if rule is None or result.problem is None or attempt >= rule.attempts_max:
            return False
        return result.problem.code in rule.retryable

    async def wait(self, call: ProposedCall, failures: int) -> None:
        """Wait as the contract says after the `failures`-th failure (1-based)."""
        rule = call.contract.retry
        assert rule is not None
        await asyncio.sleep(
            wait_s(
                rule.backoff,
                rule.base_s,
                failures,
                factor=rule.factor,
                cap_s=rule.cap_s,
                jitter_percent=rule.jitter_percent,
            )
        )

    # What is told.

    def tell(self, call: ProposedCall, result: ToolResult, attempt: int) -> None:
        """Put the execution into the audit trail and onto the event bus."""
        self.audit_attempt(call, result, attempt)
        self.session.host.audit_event(
            "ToolInvocation",
            tool=call.name,
            tool_call=call.id,
            attempt=attempt,
            ok=result.ok and not result.errors,
        )
        name = "ToolInvocationSucceeded" if result.ok else "ToolInvocationFailed"
        self.event(name, call, attempt)

    def audit_attempt(self, call: ProposedCall, result: ToolResult, attempt: int) -> None:
        """Audit what failed, with the number of the attempt; each item of a partial result too."""
        failures = result.errors if result.problem is None else (result.problem,)
        for failure in failures:
            context = {"tool": call.name, "tool_call": call.id, "message": failure.message}
            if failure.item is not None:
                context["item"] = failure.item
            self.session.host.audit(
                error_class=failure.error_class,
                code=failure.code,
                context=context,
                attempt=attempt,
            )

    def event(self, name: str, call: ProposedCall, attempt: int) -> None:
        """Emit an event about an execution."""
        self.session.host.event(name, tool=call.name, tool_call=call.id, attempt=attempt)

    def content(self, result: ToolResult) -> dict[str, Any]:
        """Return the content of the tool message: a value, a partial one, or a typed error."""
        telling = self.session.telling
        problem = result.problem
        if problem is not None:
            return telling.shape(problem.error_class, problem.code, problem.message)
        if not result.errors:
            return {"value": result.value}
        errors = [
            {
                "item": failure.item,
                "class": failure.error_class,
                "code": failure.code,
                "message": telling.for_the_model(failure.message),
            }
            for failure in result.errors
        ]
        return {"value": result.value, "errors": errors}
