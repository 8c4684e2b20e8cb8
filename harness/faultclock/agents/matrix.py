"""The reference runtime of the Error Handling Matrix: stages that programs carry out.

    intake -> plan -> build -> review -> test -> (iterate -> build ...)* -> finalize

A stage whose provider was cut off is done again, three times in all, 1 s and 2 s apart; one whose
time was up only if it may be done twice. An answer that does not fit its schema is asked for once
more. A failed test goes back to the coder. What fails for good is told to the operator and
kept in files, with its own class and code: a broken provider is never called a schema failure.

A discussion is plain text. What fails in it is one message, and the thread goes on. Without a
workflow a turn is a plain conversation over HTTP, with the same classes.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

from faultclock.agents.calls import Call, Outcome, misfit
from faultclock.agents.core import Agent, reference
from faultclock.agents.matrix_errors import (
    CANCELED,
    DENIED,
    REVIEW_SCHEMA,
    TEST_FAILED,
    TESTER_SCHEMA,
    TIMEOUT,
    Failure,
    Notice,
    notice_of,
    wire_pair,
)
from faultclock.agents.matrix_programs import (
    ProgramRun,
    ProgramRunner,
    Trouble,
    answer_of,
    trouble_of,
)
from faultclock.agents.turn import Ended, FailedAttempt, Next, Pair, Turn, code_of
from faultclock.agents.waits import wait_s
from faultclock.subjects.ports import (
    CancelScope,
    Node,
    ProviderTarget,
    RunResult,
    Surroundings,
    TypedError,
    Workflow,
)
from faultclock.subjects.stud import AttemptError

_SCHEMA = {"reviewer": REVIEW_SCHEMA, "tester": TESTER_SCHEMA}
_STATES = {"coder": "build", "reviewer": "review", "tester": "test"}
_REGENERATE = "Answer again, with nothing but one JSON object that fits the schema."


class StageFailed(Exception):  # noqa: N818 - it is an outcome of a stage
    """A stage has failed for good."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.stage)
        self.failure = failure


class MatrixAgent(Agent):
    """A runtime of the matrix, for one life of the process.

    Attributes:
        attempts_max: code to attempts in all; what is not there is not done again.
        first_wait_s, longest_wait_s: of a doubling schedule.
        jitter: half width around a wait, as a fraction of it.
        denials_max: denials of permission in a row after which to stop, if nothing else is said.
        log: the events of the task so far.
        failures: code to the failures of the stage, or of the request, so far.
    """

    has_chain = False  # another provider is the operator's choice
    attempts_max: Mapping[str, int] = {"provider_network_error": 3, "provider_timeout": 3}
    first_wait_s = 1.0
    longest_wait_s = 4.0
    jitter = 0.2
    denials_max = 3
    runner_type: type[ProgramRunner] = ProgramRunner

    def __init__(self, surroundings: Surroundings) -> None:
        super().__init__(surroundings)
        self.log: list[dict[str, Any]] = []
        self.state, self.round = "intake", 1
        self.node: Node | None = None
        self.failures: Counter[str] = Counter()
        self.is_canceled = False
        self.is_over = False
        self.denials_limit = surroundings.denials_max or self.denials_max
        self.runner = self.runner_type(self.emit, self.denials_limit)

    def emit(self, name: str, **fields: Any) -> None:
        """Emit an event, and keep it for the stage's own log."""
        fields["ts"] = round(time.monotonic(), 6)
        self.log.append({"event": name, **fields})
        self.host.event(name, **fields)

    def show(self, notice: Notice) -> None:
        """Show the operator a notice."""
        self.host.show_operator(notice.message, actions=notice.actions, pill=notice.pill)

    # ------------------------------------------------------------------ turns and their ends

    async def run_turn(self, text: str) -> RunResult:
        """Carry out one task.

        Raises:
            TypedError: run/canceled: the operator has cancelled it.
        """
        if self.is_over:
            raise TypedError(*CANCELED, "the session was canceled")
        self.is_canceled = False
        try:
            result = await super().run_turn(text)
        except asyncio.CancelledError:
            if not self.is_canceled:
                raise
            result = RunResult(state="cancelled")
        if result.state == "cancelled":
            raise TypedError(*CANCELED, "the operator has canceled the task") from None
        return result

    def cancel(self, scope: CancelScope, target: str | None) -> None:
        self.is_over = self.is_over or scope == "session"
        if not self.is_canceled:
            self.is_canceled = True
            super().cancel(scope, target)

    def turn_started(self, turn: Turn) -> None:
        self.log = []
        self.state, self.round, self.node = "intake", 1, None

    def cancelled(self, turn: Turn) -> Ended:
        self.host.audit_event("Cancellation", scope="run", code=CANCELED[1], turn=turn.number)
        return Ended("cancelled", CANCELED, "canceled")

    def unexpected(self, turn: Turn, error: Exception) -> Ended:
        context = {"target": "run", "message": type(error).__name__, "turn": turn.number}
        self.put_on_record(None, context)
        return Ended("failed", None, "internal error")

    def at_limit(self, turn: Turn, limit: str) -> Ended:
        """Return the end of a task at a limit, of which the document says nothing."""
        self.put_on_record(None, {"target": "run", "limit": limit})
        return Ended("failed", None, f"the limit {limit} is used up")

    async def turn_over(self, turn: Turn, end: Ended) -> None:
        workflow = self.world.workflow
        if end.state == "cancelled":
            self.show(notice_of(Failure(pair=CANCELED, stage="run")))
        elif end.state == "failed":
            if workflow is None:
                said = "" if end.pair else str(end)
                self.show(notice_of(Failure(pair=end.pair, stage="turn", said=said)))
            self.host.show_user("The task could not be finished. The operator has been told why.")
        if workflow is not None:
            self.transition("finalize", code_of(end.pair) or end.state)

    # ------------------------------------------------------------------ the workflow

    async def work(self, turn: Turn) -> str:
        """Carry out the workflow, or hold a conversation where there is none."""
        if self.world.workflow is None:
            return await super().work(turn)
        self.transition("plan", "accepted")
        return await self.carry_out(turn, self.world.workflow)

    def transition(self, to: str, reason: str) -> None:
        """Go to another state of the task."""
        if self.state != to:
            fields = {"from": self.state, "to": to, "reason": reason, "round": self.round}
            self.emit("fsm.transition", **fields)
            self.state = to

    async def carry_out(self, turn: Turn, workflow: Workflow) -> str:
        """Do the stages in their order; a failed test goes back to the coder.

        Raises:
            Ended: a stage has failed for good.
        """
        nodes, index, text = workflow.nodes, 0, ""
        while index < len(nodes):
            node = self.node = nodes[index]
            self.enter(node)
            try:
                text = await self.stage(turn, node)
            except StageFailed as failed:
                await self.stage_failed(node, failed.failure)
                following = self.after_stage(workflow, index, failed.failure)
                if following is None:
                    pair = failed.failure.pair
                    raise Ended("failed", pair, failed.failure.stage) from failed
                index = following
            else:
                index += 1
        return text

    def enter(self, node: Node) -> None:
        """Go to the state that a stage stands for; a discussion is part of the plan."""
        state = "test" if node.do == "command" else _STATES.get(node.role)
        if state is not None:
            self.transition(state, node.id)

    def after_stage(self, workflow: Workflow, index: int, failure: Failure) -> int | None:
        """Return which stage comes after one that has failed, None if the task ends by it."""
        if failure.discussion:
            return index + 1
        coder = next((i for i, node in enumerate(workflow.nodes) if node.role == "coder"), None)
        if failure.pair != TEST_FAILED or coder is None or self.round >= workflow.iterations_max:
            return None
        self.transition("iterate", TEST_FAILED[1])
        self.round += 1
        return coder

    async def stage(self, turn: Turn, node: Node) -> str:
        """Do one stage and return its text.

        Raises:
            StageFailed: it has failed for good.
        """
        if node.do == "program":
            return await self.program_stage(node)
        if node.do == "command":
            return await self.command_stage(node)
        if node.do == "agent":
            return await self.agent_stage(turn, node)
        raise Ended("failed", None, f"the document has no stage that is a {node.do}")

    async def program_stage(self, node: Node) -> str:
        """Let a program do a stage, again where the document has it so."""
        self.failures.clear()
        attempt = 0
        while True:
            attempt += 1
            run = await self.runner.run(node, attempt)
            trouble = self.read(node, run)
            if trouble is None:
                return "\n".join(run.stdout)
            self.audit_run(node, trouble.pair, attempt, run)
            wait_s = self.again_after_s(node, trouble.pair)
            failure = self.failure(node, trouble.pair, run)
            if wait_s is None:
                raise StageFailed(failure)
            await self.note_retry(node, failure, attempt, wait_s)
            await asyncio.sleep(wait_s)

    def read(self, node: Node, run: ProgramRun) -> Trouble | None:
        """Return what is wrong with a run: with its end first, and only then with its answer."""
        trouble = trouble_of(run)
        if trouble is not None or not self.is_gated(node):
            return trouble
        _, why = answer_of(run, node.output_schema)
        return None if why is None else Trouble(_SCHEMA.get(node.role))

    def is_gated(self, node: Node) -> bool:
        """Return whether an answer must fit a schema; a discussion is plain text."""
        return node.output_schema is not None and node.strict and node.role != "discussion"

    def again_after_s(self, node: Node, pair: Pair | None) -> float | None:
        """Count a failure; return after how many seconds to try again, None for not at all."""
        code = self.counted(pair)
        if pair in _SCHEMA.values():
            return 0.0 if self.failures[code] == 1 else None
        return None if pair == TIMEOUT and not node.idempotent else self.scheduled_s(code)

    def counted(self, pair: Pair | None) -> str:
        """Count a failure, and return its code."""
        code = code_of(pair) or ""
        self.failures[code] += 1
        return code

    def scheduled_s(self, code: str) -> float | None:
        """Return the wait after the latest failure with `code`, None if it was the last one."""
        count = self.failures[code]
        if count >= self.attempts_max.get(code, 1):
            return None
        nominal_s = wait_s("exponential", self.first_wait_s, count, cap_s=self.longest_wait_s)
        return nominal_s * random.uniform(1 - self.jitter, 1 + self.jitter)

    def failure(self, node: Node, pair: Pair | None, run: ProgramRun) -> Failure:
        """Return the failure of a stage, as it is told and kept."""
        return Failure(
            pair=pair,
            stage=node.id,
            discussion=node.role == "discussion",
            argv=node.argv,
            said=run.said,
            raw=run.raw,
            retries=max(0, self.failures[code_of(pair) or ""] - 1),
        )

    async def command_stage(self, node: Node) -> str:
        """Run a command; one that fails is not run again by itself."""
        self.failures.clear()
        run = await self.runner.run(node, 1)
        if run.status == 0:
            return "\n".join(run.stdout)
        missing = trouble_of(run) if run.status is None else None
        pair = TEST_FAILED if missing is None else missing.pair
        self.audit_run(node, pair, 1, run)
        raise StageFailed(self.failure(node, pair, run))

    async def agent_stage(self, turn: Turn, node: Node) -> str:
        """Let a model over HTTP do a stage, in a conversation of its own."""
        own = Turn(number=turn.number, text=node.prompt)
        pair = _SCHEMA.get(node.role)
        for attempt, prompt in enumerate((node.prompt, _REGENERATE), start=1):
            try:
                text = await self.converse(own, prompt)
            except Ended as ended:
                failure = Failure(
                    pair=ended.pair,
                    stage=node.id,
                    discussion=node.role == "discussion",
                    said=str(ended),
                    retries=max(0, self.failures.total() - 1),
                )
                raise StageFailed(failure) from ended
            if self.failures:
                failure = Failure(pair=None, stage=node.id, retries=self.failures.total())
                await self.save_meta(node, failure, "completed", "none", "")
            if not self.is_gated(node) or _fits(text, node.output_schema or {}):
                return text
            self.put_on_record(pair, {"target": node.id, "stage": node.id}, attempt)
        raise StageFailed(Failure(pair=pair, stage=node.id, raw=text, retries=1))

    # ------------------------------------------------------------------ what is noted and kept

    def audit_run(self, node: Node, pair: Pair | None, attempt: int, run: ProgramRun) -> None:
        """Put one failed run of a program on record."""
        context = {"target": node.id, "program": node.argv[0], "status": run.status}
        self.put_on_record(pair, context, attempt)

    async def note_retry(self, node: Node, failure: Failure, attempt: int, wait_s: float) -> None:
        """Note a retry as an event of the task and in the metadata of the round."""
        code = code_of(failure.pair)
        self.emit("task.retry", stage=node.id, code=code, attempt=attempt, wait_s=wait_s)
        await self.save_meta(node, failure, "retrying", f"retry in {wait_s:.3f} s", "")

    async def stage_failed(self, node: Node, failure: Failure) -> None:
        """Tell the operator of a stage that failed for good, and keep what there is of it."""
        notice, name = notice_of(failure), self.file_name(node)
        class_name, code = failure.pair or (None, None)
        self.emit("task.stage_failed", **{"stage": node.id, "class": class_name, "code": code})
        self.show(notice)
        lines = (json.dumps(item, ensure_ascii=False, sort_keys=True) for item in self.log)
        await self.save(f"{name}_raw.md", failure.raw)
        await self.save(f"{name}.events.jsonl", "\n".join(lines))
        await self.save_meta(node, failure, "failed", notice.next_action, notice.message)

    async def save_meta(
        self, node: Node, failure: Failure, status: str, next_action: str, message: str
    ) -> None:
        """Keep the metadata of a stage in this round."""
        meta = {
            "stage": node.id,
            "round": self.round,
            "status": status,
            "error_class": code_of(failure.pair),
            "retry_count": failure.retries + (status == "retrying"),
            "next_action": next_action,
            "operator_message": message,
        }
        text = json.dumps(meta, ensure_ascii=False, indent=2)
        await self.save(f"{self.file_name(node)}_meta.json", text)

    def file_name(self, node: Node) -> str:
        """Return how the files of a stage begin."""
        return f"round{self.round}_{node.id}"

    async def save(self, name: str, text: str) -> None:
        """Keep a file, where there is an archive."""
        if self.world.archive is not None:
            await self.world.archive.save(name, text)

    # ------------------------------------------------------------------ requests and tools

    def asking(self, turn: Turn, target: ProviderTarget, attempt: int) -> None:
        """Begin to count anew with each request."""
        if attempt == 1:
            self.failures.clear()

    def classify(self, failed: AttemptError) -> Pair | None:
        return wire_pair(failed)

    def after_failure(self, turn: Turn, attempt: FailedAttempt) -> Next:
        """Ask again where the failure passes by itself."""
        delay_s = self.scheduled_s(self.counted(attempt.pair))
        return Next(act="end") if delay_s is None else Next(act="again", wait_s=delay_s)

    def attempt_failed(self, turn: Turn, attempt: FailedAttempt, step: Next) -> None:
        """Put the failure on record, and note the retry that follows it."""
        stage, number = "turn" if self.node is None else self.node.id, attempt.number
        self.put_on_record(attempt.pair, {"target": stage, "signal": attempt.error.kind}, number)
        if step.act == "again":
            fields = {"code": code_of(attempt.pair), "attempt": number, "wait_s": step.wait_s}
            self.emit("task.retry", stage=stage, **fields)

    def classify_tool(self, call: Call, outcome: Outcome) -> Pair | None:
        """Return class and code of a refused call: only a loop of denials has a row."""
        return DENIED if outcome.kind.startswith(("denied", "approval")) else None

    def after_tool(self, turn: Turn, call: Call, attempt: int, outcome: Outcome) -> Next:
        """Tell the model, unless it is denied again and again."""
        return Next(act="end" if turn.denials >= self.denials_limit else "tell")

    def call_over(
        self, turn: Turn, call: Call, attempt: int, outcome: Outcome, step: Next | None
    ) -> None:
        if step is not None:
            pair = DENIED if outcome.is_refusal and step.act == "end" else None
            why = {"message": outcome.message} if outcome.is_refusal else {"kind": outcome.kind}
            self.put_on_record(pair, {"target": call.id, "tool": call.name, **why}, 1)

    def content(self, call: Call, outcome: Outcome) -> Mapping[str, Any]:
        if outcome.ok:
            return {"value": outcome.value}
        if outcome.kind == "partial":
            items = [{"item": item.item, "code": item.code} for item in outcome.errors]
            return {"value": outcome.value, "errors": items}
        return {"error": outcome.kind, "message": f"{call.name} did not succeed."}


def _fits(text: str, schema: Mapping[str, Any]) -> bool:
    try:
        value = json.loads(text)
    except ValueError:
        return False
    return misfit(value, schema) is None


reference_matrix = reference("error-matrix", "Error Handling Matrix")(MatrixAgent)
