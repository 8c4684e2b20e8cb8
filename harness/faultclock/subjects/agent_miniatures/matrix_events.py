"""Runtimes of the Error Handling Matrix that are wrong in one way: what they say in events."""

from __future__ import annotations

import asyncio
from asyncio.subprocess import Process

from faultclock.subjects.agent_miniatures.matrix_table import matrix
from faultclock.subjects.ports import Node, RunResult
from faultclock.subjects.reference_agents.matrix import MatrixAgent
from faultclock.subjects.reference_agents.matrix_programs import ProgramRunner
from faultclock.subjects.reference_agents.matrix_reading import ProgramRun

__all__: list[str] = []


# --- The retries of a stage ----------------------------------------------------------------------


# --- The runs of programs -------------------------------------------------------------------------


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


# --- Cancels and ends -----------------------------------------------------------------------------


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
