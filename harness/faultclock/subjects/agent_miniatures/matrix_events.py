"""Runtimes of the Error Handling Matrix that are wrong in one way: what they say in events."""

from __future__ import annotations

import asyncio
from asyncio.subprocess import Process
from collections.abc import Mapping
from typing import Any

from faultclock.subjects.agent_miniatures.matrix_table import matrix
from faultclock.subjects.ports import Node, RunResult, Workflow
from faultclock.subjects.reference_agents.core import Ended, Pair, Turn
from faultclock.subjects.reference_agents.matrix import MatrixAgent
from faultclock.subjects.reference_agents.matrix_programs import ProgramRunner
from faultclock.subjects.reference_agents.matrix_reading import RUNTIME, ProgramRun
from faultclock.subjects.reference_agents.matrix_words import Failure

__all__: list[str] = []


class _Muted(MatrixAgent):
    """Leaves out the events of one name."""

    muted = ""

    def emit(self, name: str, **fields: Any) -> None:
        """Emit every other event."""
        if name != self.muted:
            super().emit(name, **fields)


# --- The retries of a stage ----------------------------------------------------------------------


@matrix(
    "retries-in-silence",
    "Retries a stage without an event of the task",
    fails="ordering.retry-is-a-task-event",
    shown_by="coder-disconnects-once",
)
class _RetriesInSilence(_Muted):
    muted = "task.retry"


@matrix(
    "retry-not-in-metadata",
    "Retries a stage and does not count it in the metadata of the round",
    fails="ordering.retry-in-metadata",
    shown_by="tester-loses-its-host",
)
class _RetryNotInMetadata(MatrixAgent):
    async def save_meta(
        self, node: Node, failure: Failure, status: str, next_action: str, message: str
    ) -> None:
        """Keep metadata of what failed for good, and of nothing else."""
        if status == "failed":
            await super().save_meta(node, failure, status, next_action, message)


@matrix(
    "unaudited-retry",
    "Asks a provider again and does not write down which attempt failed",
    fails="ordering.retry-audited",
    shown_by="model-says-so-in-the-stream",
)
class _UnauditedRetry(MatrixAgent):
    def put_on_record(
        self, pair: Pair | None, context: Mapping[str, Any], attempt: int | None = None
    ) -> None:
        """Put a failure on record without its number."""
        super().put_on_record(pair, context)


# --- The runs of programs -------------------------------------------------------------------------


@matrix(
    "spawned-before-started",
    "Notes that a run was spawned before it says that one begins",
    fails="ordering.run-begins-with-started",
    shown_by="good-iteration",
)
class _SpawnedBeforeStarted(_Muted):
    muted = "run.started"


class _LateLines(ProgramRunner):
    """Notes the lines of a run when it is over."""

    async def run(self, node: Node, attempt: int) -> ProgramRun:
        """Run, and note a last line afterwards."""
        run = await super().run(node, attempt)
        self.emit("run.stdout.line", run=f"{node.id}-{self.runs}", line=(run.stdout or [""])[-1])
        return run


@matrix(
    "lines-after-the-end",
    "Flushes the last line of a program after its run has ended",
    fails="ordering.run-order",
    shown_by="good-iteration",
)
class _LinesAfterTheEnd(MatrixAgent):
    runner_type = _LateLines


@matrix(
    "run-never-ends",
    "Leaves out the end of a run that ended well",
    fails="ordering.run-ends-once",
    shown_by="good-iteration",
)
class _RunNeverEnds(_Muted):
    muted = "run.completed"


class _ExitIsFailed(ProgramRunner):
    def completed(self, process: Process, run: ProgramRun, name: str) -> None:
        """Call an exit that is not zero a run that failed."""
        run.status = process.returncode
        if run.status:
            self.emit("run.failed", run=name, error=f"exit status {run.status}")
        else:
            super().completed(process, run, name)


@matrix(
    "exit-is-run-failed",
    "Emits run.failed for a program that ended with a status",
    fails="ordering.run-failed-is-no-exit",
    shown_by="coder-prompt-too-long",
)
class _ExitIsRunFailed(MatrixAgent):
    runner_type = _ExitIsFailed


class _SilentEnd(ProgramRunner):
    def completed(self, process: Process, run: ProgramRun, name: str) -> None:
        """Note that it ended, and not how."""
        run.status = process.returncode
        self.emit("run.completed", run=name)


@matrix(
    "run-completed-without-code",
    "Notes the end of a run without its status or signal",
    fails="ordering.run-completed-tells-how",
    shown_by="good-iteration",
)
class _RunCompletedWithoutCode(MatrixAgent):
    runner_type = _SilentEnd


# --- The state machine of a task ------------------------------------------------------------------


@matrix(
    "builds-before-it-plans",
    "Goes to plan when the first stage is over",
    fails="ordering.fsm-begins-with-intake",
    shown_by="coder-disconnects-once",
)
class _BuildsBeforeItPlans(MatrixAgent):
    def transition(self, to: str, reason: str) -> None:
        """Plan after build."""
        if to == "plan":
            return
        super().transition(to, reason)
        if to == "build":
            self.state = "intake"
            super().transition("plan", "late")


@matrix(
    "tests-before-it-reviews",
    "Says test where it reviews, and review where it tests",
    fails="ordering.fsm-order-of-a-round",
    shown_by="good-iteration",
)
class _TestsBeforeItReviews(MatrixAgent):
    def transition(self, to: str, reason: str) -> None:
        """Mix up two states."""
        super().transition({"review": "test", "test": "review"}.get(to, to), reason)


@matrix(
    "stays-in-iterate",
    "Builds again and never says that it left iterate",
    fails="ordering.fsm-iterates-to-build",
    shown_by="tests-fail-then-pass",
)
class _StaysInIterate(MatrixAgent):
    def transition(self, to: str, reason: str) -> None:
        """Leave iterate as if it were test."""
        if self.state == "iterate":
            self.state = "test"
        super().transition(to, reason)


@matrix(
    "iterates-unsaid",
    "Goes back to the coder without the transition to iterate",
    fails="ordering.failed-test-iterates",
    shown_by="tests-fail-then-pass",
)
class _IteratesUnsaid(MatrixAgent):
    def transition(self, to: str, reason: str) -> None:
        """Leave one state out."""
        if to != "iterate":
            super().transition(to, reason)


@matrix(
    "no-finalize-on-failure",
    "Ends a failed task without a terminal event, like ag-ui-protocol/ag-ui#2416",
    fails="ordering.fsm-finalizes-once",
    shown_by="tester-not-json",
    origin="ag-ui-protocol/ag-ui#2416",
)
class _NoFinalizeOnFailure(MatrixAgent):
    def transition(self, to: str, reason: str) -> None:
        """Finalize what went well."""
        if to != "finalize" or reason == "completed":
            super().transition(to, reason)


@matrix(
    "finalizes-twice",
    "Finalizes a task as failed, then as finished, like agentscope-ai/agentscope-java#2642",
    fails="ordering.fsm-finalizes-once",
    shown_by="reviewer-token-expired",
    origin="agentscope-ai/agentscope-java#2642",
)
class _FinalizesTwice(MatrixAgent):
    def transition(self, to: str, reason: str) -> None:
        """Say the end once more."""
        super().transition(to, reason)
        if to == "finalize":
            self.state = "test"
            super().transition(to, "finished")


@matrix(
    "works-after-finalize",
    "Finalizes before the last stage",
    fails="ordering.fsm-finalize-is-last",
    shown_by="coder-disconnects-once",
)
class _WorksAfterFinalize(MatrixAgent):
    async def carry_out(self, turn: Turn, workflow: Workflow) -> str:
        """Say the end first."""
        self.transition("finalize", "completed")
        self.state = "finalize"
        return await super().carry_out(turn, workflow)

    def enter(self, node: Node) -> None:
        """Stay in the last state."""


@matrix(
    "transition-without-reason",
    "Logs transitions without why they happened",
    fails="ordering.fsm-says-why",
    shown_by="good-iteration",
)
class _TransitionWithoutReason(MatrixAgent):
    def emit(self, name: str, **fields: Any) -> None:
        """Leave out the reason."""
        fields.pop("reason", None)
        super().emit(name, **fields)


# --- Cancels and ends -----------------------------------------------------------------------------


@matrix(
    "cancel-audited-as-error",
    "Audits a cancel as one more failure",
    fails="cancel.audited",
    shown_by="canceled-in-a-backoff",
)
class _CancelAuditedAsError(MatrixAgent):
    def cancelled(self, turn: Turn) -> Ended:
        """Write an error record of it."""
        self.put_on_record(RUNTIME, {"target": "run"}, 1)
        return super().cancelled(turn)


@matrix(
    "works-after-the-end",
    "Starts a program after the task has ended",
    fails="ordering.nothing-after-the-end",
    shown_by="reviewer-token-expired",
)
class _WorksAfterTheEnd(MatrixAgent):
    async def run_turn(self, text: str) -> RunResult:
        """Look once more whether the provider has recovered."""
        result = await super().run_turn(text)
        if result.state == "failed" and self.node is not None:
            self.later = asyncio.ensure_future(self.look_again(self.node))
        return result

    async def look_again(self, node: Node) -> None:
        """Run the stage again, when nobody waits for it any more."""
        await asyncio.sleep(0.1)
        process = await asyncio.create_subprocess_exec(*node.argv)
        await process.wait()
