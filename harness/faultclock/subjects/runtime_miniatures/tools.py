"""Miniatures of the execution of tools: deadlines, retries, effects, results."""

# ruff: noqa: ARG002 - an override takes what the step takes, needed or not

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from faultclock.subjects.ports import CancelSignal, ToolProblem, ToolResult
from faultclock.subjects.reference_runtime.approvals import Verdict
from faultclock.subjects.reference_runtime.loop import MessageLoop
from faultclock.subjects.reference_runtime.tool_call import ProposedCall
from faultclock.subjects.reference_runtime.tools import ToolRunner
from faultclock.subjects.runtime_miniatures.table import wrong

__all__: list[str] = []

# With what?


@wrong("makes-paths-absolute", "Executes with other arguments", fails="tools.asked-for")
class _MakesPathsAbsolute(ToolRunner):
    """What the person has seen and approved is not what is done."""

    async def execute(self, call: ProposedCall, signal: CancelSignal) -> Any:
        path = call.arguments.get("path")
        if isinstance(path, str) and not path.startswith("/"):
            call = replace(call, arguments={**call.arguments, "path": f"/{path}"})
        return await super().execute(call, signal)


# Once more?


@wrong(
    "retries-every-tool",
    "Tries a failed tool again in any case",
    fails="tools.effects",
    origin="crewAIInc/crewAI#5802",
)
class _RetriesEveryTool(ToolRunner):
    """crewAIInc/crewAI#5802: a tool that acts and then fails acts twice."""

    def is_worth_another(self, call: ProposedCall, result: ToolResult, attempt: int) -> bool:
        return result.problem is not None and attempt < 2

    async def wait(self, call: ProposedCall, failures: int) -> None:
        await asyncio.sleep(1.0)


@wrong("retries-terminal-codes", "Tries again what is forbidden", fails="tools.disposition")
class _RetriesTerminalCodes(ToolRunner):
    """The contract's list of codes is not read."""

    def is_worth_another(self, call: ProposedCall, result: ToolResult, attempt: int) -> bool:
        rule = call.contract.retry
        return rule is not None and result.problem is not None and attempt < rule.attempts_max


@wrong("never-retries-tools", "Ignores a tool's retry policy", fails="tools.disposition")
class _NeverRetriesTools(ToolRunner):
    """What is busy for a second has failed for good."""

    def is_worth_another(self, call: ProposedCall, result: ToolResult, attempt: int) -> bool:
        return False


@wrong("one-execution-more", "Counts retries instead of executions", fails="tools.attempts")
class _OneExecutionMore(ToolRunner):
    """The first one does not count."""

    def is_worth_another(self, call: ProposedCall, result: ToolResult, attempt: int) -> bool:
        return super().is_worth_another(call, result, attempt - 1)


@wrong("no-tool-backoff", "Tries a tool again at once", fails="tools.wait")
class _NoToolBackoff(ToolRunner):
    """Whatever the contract says of waits."""

    async def wait(self, call: ProposedCall, failures: int) -> None:
        return


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


@wrong("waits-for-every-tool", "Gives a tool twice its time", fails="tools.deadline")
class _WaitsForEveryTool(ToolRunner):
    """A grace period that no contract knows."""

    def deadline_s(self, call: ProposedCall) -> float:
        return 2 * super().deadline_s(call)


@wrong("one-by-one", "Runs tools one after the other", fails="tools.concurrent")
class _OneByOne(MessageLoop):
    """Three calls that were approved together take as long as their sum."""

    async def settle_all(
        self, calls: Sequence[ProposedCall], verdicts: Sequence[Verdict | dict[str, Any]]
    ) -> None:
        for call, verdict in zip(calls, verdicts, strict=True):
            await self.settle(call, verdict)


# What may reach a tool, and leave it.


@wrong("runs-what-does-not-fit", "Executes whatever the model sends", fails="tools.validated")
class _RunsWhatDoesNotFit(MessageLoop):
    """The schema is for the model's eyes only."""

    def propose(self, call_id: str, name: str, arguments: str) -> ProposedCall:
        return replace(super().propose(call_id, name, arguments), misfit=None)


@wrong("hands-on-nonsense", "Hands on whatever a tool returns", fails="tools.validated")
class _HandsOnNonsense(ToolRunner):
    """The model is told a value that the tool's own schema forbids."""

    def output_misfit(self, call: ProposedCall, value: Any) -> str | None:
        return None


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


@wrong("partial-is-whole", "Drops the items that failed", fails="tools.told")
class _PartialIsWhole(ToolRunner):
    """Three of five pages look like all that there are."""

    def content(self, result: ToolResult) -> dict[str, Any]:
        return super().content(replace(result, errors=()))


@wrong(
    "errors-as-text",
    "Tells the model of a failure in prose",
    fails="tools.told",
    origin="vaadin/flow-components#9957",
)
class _ErrorsAsText(ToolRunner):
    """vaadin/flow-components#9957: an error that says nothing is tried again and again."""

    def content(self, result: ToolResult) -> dict[str, Any]:
        return super().content(result) if result.problem is None else {"value": "It failed."}


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


@wrong(
    "started-when-done",
    "Announces the start of a tool at its end",
    fails="ordering.tool-started-before-executed",
)
class _StartedWhenDone(ToolRunner):
    """Both events are sent together, once it is known how it went."""

    def event(self, name: str, call: ProposedCall, attempt: int) -> None:
        if name == "ToolInvocationStarted":
            return
        super().event("ToolInvocationStarted", call, attempt)
        super().event(name, call, attempt)


@wrong("failures-in-silence", "Announces no failed tool", fails="ordering.tool-started-ends")
class _FailuresInSilence(ToolRunner):
    """ag-ui-protocol/ag-ui#2416: what failed had no event that ended it."""

    def event(self, name: str, call: ProposedCall, attempt: int) -> None:
        if name != "ToolInvocationFailed":
            super().event(name, call, attempt)


@wrong("succeeds-twice", "Announces a success, then a failure", fails="ordering.tool-succeeds-once")
class _SucceedsTwice(ToolRunner):
    """agentscope-ai/agentscope-java#2642, the other way round: two ends for one call."""

    def event(self, name: str, call: ProposedCall, attempt: int) -> None:
        super().event(name, call, attempt)
        if name == "ToolInvocationSucceeded":
            super().event("ToolInvocationFailed", call, attempt)


@wrong(
    "failure-is-success",
    "Announces a failed subagent as done",
    fails="ordering.tool-success-was-observed",
    origin="vercel/eve#412",
)
class _FailureIsSuccess(ToolRunner):
    """vercel/eve#412: a child that had failed was reported as a success."""

    def event(self, name: str, call: ProposedCall, attempt: int) -> None:
        ended = name == "ToolInvocationFailed"
        super().event("ToolInvocationSucceeded" if ended else name, call, attempt)


@wrong("audits-attempts-from-0", "Counts executions from 0", fails="audit.attempts")
class _AuditsAttemptsFrom0(ToolRunner):
    """The record of the first failure says that it is of none."""

    def audit_attempt(self, call: ProposedCall, result: ToolResult, attempt: int) -> None:
        super().audit_attempt(call, result, attempt - 1)
