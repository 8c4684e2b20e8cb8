"""The reference runtime of the Error Handling Matrix: stages that programs carry out.

    intake -> plan -> build -> review -> test -> (iterate -> build ...)* -> finalize

A stage whose provider was cut off is done again, three times in all, 1 s and 2 s apart; one whose
time was up only if it may be done twice. An answer that does not fit its schema is asked for once
more. A failed test goes back to the coder. Whatever fails for good is told to the operator and
kept in files, with its own class and code: a broken provider is never called a schema failure.

A discussion is plain text. What fails in it is one message, and the thread goes on. Without a
workflow a turn is a plain conversation over HTTP, with the same classes. The words are in
`matrix_words`, the programs in `matrix_programs`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from faultclock.agents.calls import misfit
from faultclock.agents.core import reference
from faultclock.agents.matrix_conversation import (
    REVIEW_SCHEMA,
    TEST_FAILED,
    TESTER_SCHEMA,
    TIMEOUT,
    Failure,
    MatrixConversation,
    notice_of,
)
from faultclock.agents.matrix_programs import (
    ProgramRun,
    ProgramRunner,
    Trouble,
    answer_of,
    trouble_of,
)
from faultclock.agents.turn import Ended, Pair, Turn
from faultclock.subjects.ports import Node, Surroundings, Workflow

_SCHEMA = {"reviewer": REVIEW_SCHEMA, "tester": TESTER_SCHEMA}
_STATES = {"coder": "build", "reviewer": "review", "tester": "test"}
_REGENERATE = "Answer again, with nothing but one JSON object that fits the schema."


class StageFailed(Exception):  # noqa: N818 - it is an outcome of a stage
    """A stage has failed for good."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.stage)
        self.failure = failure


class MatrixAgent(MatrixConversation):
    """A runtime of the matrix, for one life of the process."""

    runner_type: type[ProgramRunner] = ProgramRunner

    def __init__(self, surroundings: Surroundings) -> None:
        super().__init__(surroundings)
        limit = surroundings.denials_max or self.denials_max
        self.runner = self.runner_type(self.emit, limit)

    async def work(self, turn: Turn) -> str:
        """Carry out the workflow, or hold a conversation where there is none."""
        if self.world.workflow is None:
            return await super().work(turn)
        self.transition("plan", "accepted")
        return await self.carry_out(turn, self.world.workflow)

    # ------------------------------------------------------------------ the workflow

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

    # Programs.

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
        code = "" if pair is None else pair[1]
        self.failures[code] += 1
        if pair in _SCHEMA.values():
            return 0.0 if self.failures[code] == 1 else None
        if pair == TIMEOUT and not node.idempotent:
            return None
        return self.scheduled_s(code)

    def failure(self, node: Node, pair: Pair | None, run: ProgramRun) -> Failure:
        """Return the failure of a stage, as it is told and kept."""
        code = "" if pair is None else pair[1]
        return Failure(
            pair=pair,
            stage=node.id,
            discussion=node.role == "discussion",
            argv=node.argv,
            said=run.said,
            raw=run.raw,
            retries=max(0, self.failures[code] - 1),
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

    # Models over HTTP.

    async def agent_stage(self, turn: Turn, node: Node) -> str:
        """Let a model do a stage, in a conversation of its own."""
        own = Turn(number=turn.number, text=node.prompt)
        pair, discussion = _SCHEMA.get(node.role), node.role == "discussion"
        for attempt, prompt in enumerate((node.prompt, _REGENERATE), start=1):
            try:
                text = await self.converse(own, prompt)
            except Ended as ended:
                failure = Failure(
                    pair=ended.pair,
                    stage=node.id,
                    discussion=discussion,
                    said=str(ended),
                    retries=max(0, sum(self.failures.values()) - 1),
                )
                raise StageFailed(failure) from ended
            if self.failures:
                failure = Failure(pair=None, stage=node.id, retries=sum(self.failures.values()))
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
        code = None if failure.pair is None else failure.pair[1]
        self.emit("task.retry", stage=node.id, code=code, attempt=attempt, wait_s=wait_s)
        await self.save_meta(node, failure, "retrying", f"retry in {wait_s:.3f} s", "")

    async def stage_failed(self, node: Node, failure: Failure) -> None:
        """Tell the operator of a stage that failed for good, and keep what there is of it."""
        notice = notice_of(failure)
        class_name, code = failure.pair or (None, None)
        self.emit("task.stage_failed", **{"stage": node.id, "class": class_name, "code": code})
        self.show(notice)
        name = self.file_name(node)
        await self.save(f"{name}_raw.md", failure.raw)
        await self.save(f"{name}.events.jsonl", "\n".join(map(_line, self.log)))
        await self.save_meta(node, failure, "failed", notice.next_action, notice.message)

    async def save_meta(
        self, node: Node, failure: Failure, status: str, next_action: str, message: str
    ) -> None:
        """Keep the metadata of a stage in this round."""
        meta = {
            "stage": node.id,
            "round": self.round,
            "status": status,
            "error_class": None if failure.pair is None else failure.pair[1],
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


def _line(event: Mapping[str, Any]) -> str:
    return json.dumps(event, ensure_ascii=False, sort_keys=True)


def _fits(text: str, schema: Mapping[str, Any]) -> bool:
    try:
        value = json.loads(text)
    except ValueError:
        return False
    return misfit(value, schema) is None


reference_matrix = reference("error-matrix", "Error Handling Matrix")(MatrixAgent)
