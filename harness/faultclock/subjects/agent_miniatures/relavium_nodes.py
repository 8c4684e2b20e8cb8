"""Miniatures of Relavium runtimes whose nodes do too much or too little again."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from faultclock.subjects.agent_miniatures.relavium_table import relavium
from faultclock.subjects.ports import Node, SandboxError
from faultclock.subjects.reference_agents.calls import Call, Outcome
from faultclock.subjects.reference_agents.core import Next, Pair, Turn
from faultclock.subjects.reference_agents.relavium import RelaviumAgent
from faultclock.subjects.reference_agents.relavium_errors import RunError

__all__: list[str] = []


@relavium(
    "retries-what-is-fatal",
    "Does a fatal node again because its author gave it attempts",
    fails="ordering.retrying-is-retryable",
    shown_by="output-is-not-json",
)
class _RetriesWhatIsFatal(RelaviumAgent):
    def is_redone(self, node: Node, attempt: int, error: RunError) -> bool:
        return node.retry is not None and attempt < node.retry.attempts_max


@relavium(
    "asks-the-model-until-it-is-json",
    "Asks the model again in a loop of its own until it answers JSON",
    fails="failures.redone",
    shown_by="output-is-not-json",
)
class _AsksUntilItIsJson(RelaviumAgent):
    async def agent_node(self, turn: Turn, node: Node) -> str:
        try:
            return await super().agent_node(turn, node)
        except RunError as error:
            if error.code != "validation":
                raise
        return await super().agent_node(turn, node)


@relavium(
    "sandbox-is-always-worth-a-retry",
    "Evaluates an expression again that can only fail again",
    fails="failures.redone",
    shown_by="expression-names-what-is-not-there",
)
class _SandboxIsAlwaysWorthARetry(RelaviumAgent):
    def sandbox_error(self, node: Node, error: SandboxError) -> RunError:
        found = super().sandbox_error(node, error)
        found.retryable = True
        return found


@relavium(
    "sandbox-is-never-worth-a-retry",
    "Gives up an expression that ran out of time",
    fails="failures.redone",
    shown_by="sandbox-ran-out-of-time",
)
class _SandboxIsNeverWorthARetry(RelaviumAgent):
    def sandbox_error(self, node: Node, error: SandboxError) -> RunError:
        found = super().sandbox_error(node, error)
        found.retryable = False
        return found


@relavium(
    "ignores-retry-on",
    "Does a node again for a code that its author did not list",
    fails="failures.redone",
    shown_by="retry-on-names-other-codes",
)
class _IgnoresRetryOn(RelaviumAgent):
    def is_redone(self, node: Node, attempt: int, error: RunError) -> bool:
        rule = node.retry
        return rule is not None and attempt < rule.attempts_max and error.retryable


@relavium(
    "looks-again-for-the-absent",
    "Tries a tool again whose capability the host lacks",
    fails="failures.redone",
    shown_by="capability-is-absent",
)
class _LooksAgainForTheAbsent(RelaviumAgent):
    def is_redone(self, node: Node, attempt: int, error: RunError) -> bool:
        return attempt < 2


@relavium(
    "blames-the-model-for-the-host",
    "Records an absent capability as a failed tool",
    fails="failures.classified",
    shown_by="capability-is-absent",
)
class _BlamesTheModelForTheHost(RelaviumAgent):
    def classify_tool(self, call: Call, outcome: Outcome) -> Pair | None:
        if outcome.kind == "unavailable":
            return ("run", "tool_failed")
        return super().classify_tool(call, outcome)


@relavium(
    "doubles-the-effect",
    "Executes a tool again that nobody gave a second attempt (crewAIInc/crewAI#5802)",
    fails="failures.redone",
    shown_by="effect-is-not-doubled",
    origin="crewAIInc/crewAI#5802",
)
class _DoublesTheEffect(RelaviumAgent):
    def after_tool(self, turn: Turn, call: Call, attempt: int, outcome: Outcome) -> Next:
        if outcome.kind == "exception" and attempt < 2:
            return Next(act="again", wait_s=1.0)
        return super().after_tool(turn, call, attempt, outcome)


@relavium(
    "takes-attempts-back",
    "Takes an attempt back each time that a node fails (ambient-code/agentready#104)",
    fails="failures.redone",
    shown_by="tool-fails-for-good",
    origin="ambient-code/agentready#104",
)
class _TakesAttemptsBack(RelaviumAgent):
    def is_redone(self, node: Node, attempt: int, error: RunError) -> bool:
        return super().is_redone(node, max(1, attempt - 3), error)


@relavium(
    "waits-milliseconds",
    "Waits milliseconds for the seconds that a node declares",
    fails="failures.wait",
    shown_by="tool-fails-within-its-budget",
)
class _WaitsMilliseconds(RelaviumAgent):
    def node_wait_s(self, node: Node, attempt: int) -> float:
        return super().node_wait_s(node, attempt) / 1000


@relavium(
    "throw-is-worth-a-retry",
    "Calls a handler again that threw",
    fails="failures.redone",
    shown_by="handler-throws",
)
class _ThrowIsWorthARetry(RelaviumAgent):
    def handler_error(self, node: Node, error: Exception) -> RunError:
        found = super().handler_error(node, error)
        found.retryable = True
        return found


@relavium(
    "throw-is-nothing",
    "Goes on when a handler threw, as if nothing had happened",
    fails="failures.outcome",
    shown_by="handler-throws",
)
class _ThrowIsNothing(RelaviumAgent):
    async def code_node(self, node: Node) -> str:
        try:
            return await super().code_node(node)
        except RunError:
            return "null"


@relavium(
    "is-stricter-than-the-document",
    "Rejects JSON that does not fit its schema",
    fails="failures.outcome",
    shown_by="output-is-off-its-schema",
)
class _IsStricterThanTheDocument(RelaviumAgent):
    def check_output(self, node: Node, text: str) -> None:
        super().check_output(node, text)
        schema: Mapping[str, Any] = node.output_schema or {}
        if any(f'"{name}"' not in text for name in schema.get("required", ())):
            raise RunError("validation", "off the schema", target=node.id, field="output")


@relavium(
    "lets-siblings-run-on",
    "Lets the other tools of an answer run on after the run (google/adk-python#7172)",
    fails="ordering.nothing-after-the-end",
    shown_by="one-tool-of-three-fails",
    origin="google/adk-python#7172",
)
class _LetsSiblingsRunOn(RelaviumAgent):
    async def tool(self, turn: Turn, call: Call) -> Outcome:
        if call.name == "slower" and call.tool is not None:
            asyncio.get_running_loop().call_later(5.0, self.later, call)
        return await super().tool(turn, call)

    def later(self, call: Call) -> None:
        assert call.tool is not None
        self.floating = asyncio.ensure_future(call.tool.execute({}, call_id=call.id))
