"""Wrong Relavium runtimes that are code."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from faultclock.mutants.by_hand.table import ByHand
from faultclock.subjects.ports import Node, ProviderTarget, Reply, RunResult
from faultclock.subjects.reference_agents.calls import Call, Outcome
from faultclock.subjects.reference_agents.relavium import RelaviumAgent
from faultclock.subjects.reference_agents.relavium_telling import Run, RunError
from faultclock.subjects.reference_agents.turn import Ended, FailedAttempt, Next, Turn

wrong = ByHand("relavium")


# The chain.


@wrong(
    "starts-the-chain-over",
    "Begins to count anew once the chain is used up (google-gemini/gemini-cli#28339)",
    fails="chain.advances",
    shown_by="entry-used-up-then-next",
    origin="google-gemini/gemini-cli#28339",
)
class _StartsTheChainOver(RelaviumAgent):
    def available(self, turn: Turn) -> tuple[ProviderTarget, ...]:
        found = super().available(turn)
        return (*found, *found, *found)


# The envelope.


@wrong(
    "forgets-the-time",
    "Emits events without a timestamp",
    fails="ordering.envelope-is-whole",
    shown_by="healthy-run",
)
class _ForgetsTheTime(RelaviumAgent):
    class run_type(Run):  # noqa: N801 - it takes the place of an attribute
        def emit(self, name: str, **fields: Any) -> None:
            number, self.seq = self.seq, self.seq + 1
            self.host.event(name, runId=self.id, sequenceNumber=number, **fields)


# Runs.


@wrong(
    "starts-late",
    "Says that a run has started when its first node is done",
    fails="ordering.run-starts-first",
    shown_by="healthy-run",
)
class _StartsLate(RelaviumAgent):
    def turn_started(self, turn: Turn) -> None:
        self.run = self.new_run(turn.number)

    async def whole_node(self, turn: Turn, node: Node) -> str:
        text = await super().whole_node(turn, node)
        if not self.run.outputs:
            self.run.emit("run:started")
        return text


# Nodes.


@wrong(
    "fails-what-never-began",
    "Fails the nodes that cannot be reached, in place of skipping them",
    fails="ordering.node-started-first",
    shown_by="handler-throws",
)
class _FailsWhatNeverBegan(RelaviumAgent):
    class run_type(Run):  # noqa: N801 - it takes the place of an attribute
        def emit(self, name: str, **fields: Any) -> None:
            if name == "node:skipped":
                name = "node:failed"
                fields["error"] = {"code": "internal", "message": "no", "retryable": False}
                fields["correlationId"] = self.correlation_id
            super().emit(name, **fields)


@wrong(
    "announces-and-gives-up",
    "Announces a retry that never comes",
    fails="ordering.retry-starts-again",
    shown_by="tool-fails-for-good",
)
class _AnnouncesAndGivesUp(RelaviumAgent):
    def node_failed(self, node: Node, error: RunError, nodes: tuple[Node, ...]) -> None:
        shown = self.shown(error)
        self.node_event("node:retrying", node, attemptNumber=2, error=shown, delayMs=0)
        super().node_failed(node, error, nodes)


@wrong(
    "executes-what-it-skips",
    "Executes a node that it has skipped",
    fails="ordering.skipped-never-acts",
    shown_by="handler-throws",
)
class _ExecutesWhatItSkips(RelaviumAgent):
    async def work(self, turn: Turn) -> str:
        try:
            return await super().work(turn)
        except Ended:
            workflow = self.world.workflow
            assert workflow is not None
            await workflow.handle(workflow.nodes[-1].id)
            raise


@wrong(
    "correlates-by-the-key",
    "Makes the correlation id of the API key",
    fails="ordering.correlation-holds-no-secret",
    shown_by="handler-throws",
)
class _CorrelatesByTheKey(RelaviumAgent):
    def new_run(self, number: int) -> Run:
        key = self.world.api_key

        class Keyed(Run):
            @property
            def correlation_id(self) -> str:
                return f"corr-{key}"

        return Keyed(self.host, f"run-{number}", 0)


@wrong(
    "shows-the-expression",
    "Tells what stands in the expression that failed",
    fails="ordering.sandbox-message-is-generic",
    shown_by="expression-names-what-is-not-there",
)
class _ShowsTheExpression(RelaviumAgent):
    def tell_user(self, error: RunError) -> None:
        said = str(error.cause.get("message") or "").replace("ReferenceError", "problem")
        self.host.show_user(f"An expression could not be evaluated: {said}")


# The person.


@wrong(
    "shows-the-payload",
    "Shows the person the provider's own words",
    fails="ordering.user-sees-no-payload",
    shown_by="wrong-key",
)
class _ShowsThePayload(RelaviumAgent):
    payload = ""

    def attempt_failed(self, turn: Turn, attempt: FailedAttempt, step: Next) -> None:
        super().attempt_failed(turn, attempt, step)
        self.payload = f'{{"error": {{"type": "{attempt.error.provider_type}"}}}}'

    def tell_user(self, error: RunError) -> None:
        self.host.show_user(f"Check the key in Settings: {self.payload}")


@wrong(
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


@wrong(
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


# Approvals.


# Cancels.


@wrong(
    "abort-is-a-tool-failure",
    "Records a tool that the run's abort has stopped as tool_failed",
    fails="ordering.cancel-beats-a-failure",
    shown_by="cancel-beats-a-failing-tool",
)
class _AbortIsAToolFailure(RelaviumAgent):
    async def tool(self, turn: Turn, call: Call) -> Outcome:
        try:
            return await super().tool(turn, call)
        except asyncio.CancelledError:
            self.log(RunError("tool_failed", "aborted", target=call.id))
            raise


@wrong(
    "tells-of-a-failover-after-the-abort",
    "Asks the next provider after the user's abort (zirkelc/ai-retry#39)",
    fails="ordering.cancel-disarms-the-retry",
    shown_by="cancel-at-the-entry",
    origin="zirkelc/ai-retry#39",
)
class _TellsOfAFailoverAfterTheAbort(RelaviumAgent):
    async def ask_chain(self, turn: Turn, messages: Any) -> Reply:
        try:
            return await super().ask_chain(turn, messages)
        except asyncio.CancelledError:
            self.parked[""] = float("inf")
            return await super().ask_chain(turn, messages)


# Resumes.


@wrong(
    "never-comes-back",
    "Waits for ever after an engine fault",
    fails="ordering.call-ends-once",
    shown_by="handler-throws",
)
class _NeverComesBack(RelaviumAgent):
    async def run_turn(self, text: str) -> RunResult:
        result = await super().run_turn(text)
        if result.code == "internal":
            await asyncio.Event().wait()
        return result


# Once they were green.


class _Announces(RelaviumAgent):
    """Announces another wait than the one that follows."""

    @abstractmethod
    def announced_s(self, node: Node, attempt: int) -> float:
        """Return the wait that it tells, in seconds."""

    async def before_retry(self, node: Node, attempt: int, error: RunError) -> None:
        self.node_event(
            "node:retrying",
            node,
            attemptNumber=attempt,
            error=self.shown(error),
            delayMs=round(self.announced_s(node, attempt) * 1000),
        )
        await asyncio.sleep(self.node_wait_s(node, attempt))


@wrong(
    "announces-the-first-wait",
    "Announces the same wait before each retry, although they grow",
    fails="ordering.announced-in-a-second",
    shown_by="node-waits-grow",
)
class _AnnouncesTheFirstWait(_Announces):
    def announced_s(self, node: Node, attempt: int) -> float:
        return self.node_wait_s(node, 1)


@wrong(
    "announces-a-line",
    "Announces waits in a line, and doubles them",
    fails="ordering.announced-in-three-seconds",
    shown_by="node-waits-grow",
)
class _AnnouncesALine(_Announces):
    def announced_s(self, node: Node, attempt: int) -> float:
        rule = node.retry
        is_growing = rule is not None and rule.backoff == "exponential"
        return (
            self.node_wait_s(node, 1) * attempt if is_growing else self.node_wait_s(node, attempt)
        )


@wrong(
    "waits-in-a-line",
    "Adds a second to a wait that is to be doubled",
    fails="failures.wait",
    shown_by="node-waits-grow",
)
class _WaitsInALine(RelaviumAgent):
    """After two failures nobody sees the difference."""

    def node_wait_s(self, node: Node, attempt: int) -> float:
        rule = node.retry
        if rule is None or rule.backoff != "exponential":
            return super().node_wait_s(node, attempt)
        return rule.base_s * attempt


@wrong(
    "doubles-a-line",
    "Doubles a wait that is to grow in a line",
    fails="failures.wait",
    shown_by="node-waits-grow",
)
class _DoublesALine(RelaviumAgent):
    """The third wait is a second too long."""

    def node_wait_s(self, node: Node, attempt: int) -> float:
        rule = node.retry
        if rule is None or rule.backoff != "linear":
            return super().node_wait_s(node, attempt)
        return float(rule.base_s * 2 ** (attempt - 1))
