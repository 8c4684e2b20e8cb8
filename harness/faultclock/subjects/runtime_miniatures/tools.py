"""Miniatures of the execution of tools: deadlines, retries, effects, results."""

# ruff: noqa: ARG002 - an override takes what the step takes, needed or not

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from faultclock.subjects.ports import ToolProblem, ToolResult
from faultclock.subjects.reference_runtime.approvals import Verdict
from faultclock.subjects.reference_runtime.loop import MessageLoop
from faultclock.subjects.reference_runtime.tool_call import ProposedCall
from faultclock.subjects.reference_runtime.tools import ToolRunner
from faultclock.subjects.runtime_miniatures.table import wrong

__all__: list[str] = []

# With what?


# Once more?


@wrong("retries-terminal-codes", "Tries again what is forbidden", fails="tools.disposition")
class _RetriesTerminalCodes(ToolRunner):
    """The contract's list of codes is not read."""

    def is_worth_another(self, call: ProposedCall, result: ToolResult, attempt: int) -> bool:
        rule = call.contract.retry
        return rule is not None and result.problem is not None and attempt < rule.attempts_max


# How long.


@wrong(
    "timer-starts-early",
    "Starts a tool's time with its proposal",
    fails="tools.deadline",
    origin="1ay1/agentty#40",
)
class _TimerStartsEarly(MessageLoop):
    """1ay1/agentty#40: approved after six minutes, the tool failed at once as "too long"."""

    def propose(self, call_id: str, name: str, arguments: str) -> ProposedCall:
        call = super().propose(call_id, name, arguments)
        if call.tool is None:
            return call
        return replace(call, tool=_Impatient(call.tool))


class _Impatient:
    """A tool whose time runs from the moment at which it is made."""

    def __init__(self, tool: Any) -> None:
        self.execute = tool.execute
        self._contract = tool.contract
        self._proposed_s = asyncio.get_running_loop().time()

    @property
    def contract(self) -> Any:
        waited_s = asyncio.get_running_loop().time() - self._proposed_s
        left_s = max(0.0, self._contract.timeout_s - waited_s)
        return replace(self._contract, timeout_s=left_s)


@wrong("one-by-one", "Runs tools one after the other", fails="tools.concurrent")
class _OneByOne(MessageLoop):
    """Three calls that were approved together take as long as their sum."""

    async def settle_all(
        self, calls: Sequence[ProposedCall], verdicts: Sequence[Verdict | dict[str, Any]]
    ) -> None:
        for call, verdict in zip(calls, verdicts, strict=True):
            await self.settle(call, verdict)


# What may reach a tool, and leave it.


# What the model is told.


@wrong("results-as-they-come", "Returns results as tools end", fails="tools.paired")
class _ResultsAsTheyCome(MessageLoop):
    """The slowest was asked for first, and its result comes last."""

    def in_order(self, calls: Sequence[ProposedCall]) -> Sequence[ProposedCall]:
        ended = list(self.turn.results)
        return sorted(calls, key=lambda call: ended.index(call.id))


@wrong(
    "one-failure-fails-all",
    "Drops what ran beside a failed tool",
    fails="tools.told",
    origin="openai/openai-agents-python#2584",
)
class _OneFailureFailsAll(MessageLoop):
    """openai/openai-agents-python#2584: one failing parallel call threw its siblings away."""

    def in_order(self, calls: Sequence[ProposedCall]) -> Sequence[ProposedCall]:
        failed = [call for call in calls if "error" in self.turn.results[call.id]]
        for call in calls if failed else ():
            self.turn.results[call.id] = self.turn.results[failed[0].id]
        return calls


@wrong(
    "exception-to-model",
    "Hands a tool's exception to the model",
    fails="tools.told",
    origin="modelcontextprotocol/typescript-sdk#1651",
)
class _ExceptionToModel(ToolRunner):
    """modelcontextprotocol/typescript-sdk#1651: the raw text of an exception was sent on."""

    def broken(self, call: ProposedCall, error: Exception) -> ToolResult:
        text = "".join(traceback.format_exception_only(error))
        problem = ToolProblem(error_class="ToolTerminal", code="OutputMalformed", message=text)
        return ToolResult(problem=problem)

    def content(self, result: ToolResult) -> dict[str, Any]:
        if result.problem is None:
            return super().content(result)
        problem = result.problem
        shape = {"class": problem.error_class, "code": problem.code, "message": problem.message}
        return {"error": shape}


# What is told on the event bus.


@wrong(
    "proposes-when-allowed",
    "Announces a call when it is allowed",
    fails="ordering.tool-proposed-first",
)
class _ProposesWhenAllowed(MessageLoop):
    """A call that is denied was never proposed."""

    def proposed(self, call_id: str, name: str) -> None:
        return

    async def settle(self, call: ProposedCall, verdict: Verdict | dict[str, Any]) -> None:
        if isinstance(verdict, Verdict):
            super().proposed(call.id, call.name)
        await super().settle(call, verdict)
