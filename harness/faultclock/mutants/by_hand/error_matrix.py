"""Wrong runtimes of the Error Handling Matrix that are code."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from asyncio.subprocess import Process
from contextlib import suppress
from dataclasses import replace

from faultclock.mutants.by_hand.table import ByHand
from faultclock.subjects.ports import Node, RunResult, TypedError, Workflow
from faultclock.subjects.reference_agents.matrix import MatrixAgent
from faultclock.subjects.reference_agents.matrix_conversation import REVIEW_SCHEMA, RUNTIME, Failure
from faultclock.subjects.reference_agents.matrix_programs import (
    ProgramRun,
    ProgramRunner,
    Trouble,
    answer_of,
    trouble_of,
)
from faultclock.subjects.reference_agents.turn import Pair

wrong = ByHand("error-matrix")


class AsksOnly(ProgramRunner):
    """Takes SIGTERM for the end of a process."""

    async def stop(self, process: Process, name: str, reason: str) -> None:
        """Say that it has to stop, and go on as if it had."""
        self.emit("run.terminating", run=name, reason=reason)
        process.terminate()
        await asyncio.sleep(self.grace_s)

    def completed(self, process: Process, run: ProgramRun, name: str) -> None:
        """Note an end that never was."""
        if process.returncode is None:
            self.emit("run.completed", run=name, signal="SIGTERM")
        else:
            super().completed(process, run, name)


# Done again, or not.


@wrong(
    "regenerates-for-ever",
    "Asks a reviewer for JSON until it gets some",
    fails="failures.redone",
    shown_by="reviewer-fields-missing",
)
class _RegeneratesForEver(MatrixAgent):
    def again_after_s(self, node: Node, pair: Pair | None) -> float | None:
        """Give five more chances, where one is allowed."""
        wait_s = super().again_after_s(node, pair)
        return 0.0 if pair == REVIEW_SCHEMA and self.failures[REVIEW_SCHEMA[1]] < 6 else wait_s


@wrong(
    "retries-what-was-canceled",
    "Takes a cancel for a failure and tries again, like harbor-framework/harbor#1223",
    fails="ordering.canceled-starts-nothing",
    shown_by="canceled-in-a-backoff",
    origin="harbor-framework/harbor#1223",
)
class _RetriesWhatWasCanceled(MatrixAgent):
    async def note_retry(self, node: Node, failure: Failure, attempt: int, wait_s: float) -> None:
        """Wait here, and let nothing disturb the wait."""
        await super().note_retry(node, failure, attempt, wait_s)
        with suppress(BaseException):
            await asyncio.sleep(wait_s)


# What a run of a program was.


@wrong(
    "reads-error-output-only",
    "Does not see a disconnect in the standard output, like danshapiro/kilroy#20",
    fails="failures.classified",
    shown_by="disconnect-in-stdout-only",
    origin="danshapiro/kilroy#20",
)
class _ReadsErrorOutputOnly(MatrixAgent):
    def read(self, node: Node, run: ProgramRun) -> Trouble | None:
        """Look at the exit status and the error output, and nowhere else."""
        if run.status == 0:
            return super().read(node, run)
        return trouble_of(replace(run, stdout=[]))


@wrong(
    "answer-first",
    "Looks at the answer before it looks at how the program ended",
    fails="failures.classified",
    shown_by="reviewer-disconnects-for-ever",
)
class _AnswerFirst(MatrixAgent):
    def read(self, node: Node, run: ProgramRun) -> Trouble | None:
        """Call half an answer a schema failure, whatever broke it off."""
        if self.is_gated(node) and answer_of(run, node.output_schema)[1] is not None:
            return Trouble(REVIEW_SCHEMA)
        return super().read(node, run)


@wrong(
    "never-kills",
    "Sends SIGTERM and takes that for the end of the process",
    fails="ordering.stopped-means-ended",
    shown_by="permission-loop-in-ndjson",
)
class _NeverKills(MatrixAgent):
    runner_type = AsksOnly


class _PatientRunner(ProgramRunner):
    """Starts the clock again with each line."""

    async def follow(self, process: Process, run: ProgramRun, name: str, node: Node) -> None:
        """Give a program its time from the last line that it wrote."""
        following = asyncio.ensure_future(
            super().follow(process, run, name, replace(node, timeout_s=1e6))
        )
        seen = -1
        while seen != len(run.stdout):
            seen = len(run.stdout)
            done, _ = await asyncio.wait({following}, timeout=node.timeout_s)
            if done:
                return following.result()
        following.cancel()
        raise TimeoutError


@wrong(
    "pings-keep-it-alive",
    "Lets each line set the timeout back, like multica-ai/multica PR#5712",
    fails="ordering.call-ends-once",
    shown_by="coder-pings-for-ever",
    origin="multica-ai/multica PR#5712",
)
class _PingsKeepItAlive(MatrixAgent):
    runner_type = _PatientRunner


# The runs of programs.


class _LateLines(ProgramRunner):
    """Notes the lines of a run when it is over."""

    async def run(self, node: Node, attempt: int) -> ProgramRun:
        """Run, and note a last line afterwards."""
        run = await super().run(node, attempt)
        self.emit("run.stdout.line", run=f"{node.id}-{self.runs}", line=(run.stdout or [""])[-1])
        return run


@wrong(
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


@wrong(
    "exit-is-run-failed",
    "Emits run.failed for a program that ended with a status",
    fails="ordering.run-failed-is-no-exit",
    shown_by="coder-prompt-too-long",
)
class _ExitIsRunFailed(MatrixAgent):
    runner_type = _ExitIsFailed


# The state machine of a task.


@wrong(
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


@wrong(
    "tests-before-it-reviews",
    "Says test where it reviews, and review where it tests",
    fails="ordering.fsm-order-of-a-round",
    shown_by="good-iteration",
)
class _TestsBeforeItReviews(MatrixAgent):
    def transition(self, to: str, reason: str) -> None:
        """Mix up two states."""
        super().transition({"review": "test", "test": "review"}.get(to, to), reason)


# Cancels and ends.


@wrong(
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


# How a task ends.


@wrong(
    "holds-a-discussion-to-a-schema",
    "Wants JSON from a discussion",
    fails="failures.outcome",
    shown_by="discussion-is-plain-text",
)
class _HoldsADiscussionToASchema(MatrixAgent):
    def is_gated(self, node: Node) -> bool:
        """Gate whatever has a schema."""
        return node.output_schema is not None

    def read(self, node: Node, run: ProgramRun) -> Trouble | None:
        """Call it what a review would be."""
        trouble = super().read(node, run)
        return Trouble(REVIEW_SCHEMA) if trouble is not None and trouble.pair is None else trouble

    def again_after_s(self, node: Node, pair: Pair | None) -> float | None:
        """Give no second chance."""
        return None if pair == REVIEW_SCHEMA else super().again_after_s(node, pair)

    def after_stage(self, workflow: Workflow, index: int, failure: Failure) -> int | None:
        """End the thread by it."""
        return None


@wrong(
    "iterates-for-ever",
    "Goes back to the coder without a bound, like ambient-code/agentready#104",
    fails="failures.outcome",
    shown_by="tests-fail-for-ever",
    origin="ambient-code/agentready#104",
)
class _IteratesForEver(MatrixAgent):
    def after_stage(self, workflow: Workflow, index: int, failure: Failure) -> int | None:
        """Count no further than the first round; ten stand for no end."""
        following = super().after_stage(workflow, index, failure)
        if following is None and self.iterations < 10:
            self.iterations += 1
            self.transition("iterate", "test_failed")
            return 0
        return following

    iterations = 0


@wrong(
    "cancel-is-a-failure",
    "Ends a cancelled task as one that failed",
    fails="cancel.outcome",
    shown_by="canceled-stubborn-program",
)
class _CancelIsAFailure(MatrixAgent):
    async def run_turn(self, text: str) -> RunResult:
        """Carry out one task, and know no cancels."""
        with suppress(TypedError):
            return await super().run_turn(text)
        raise TypedError(*RUNTIME, "the task was interrupted")


@wrong(
    "cancel-leaves-the-program",
    "Cancels the task and leaves its program running, like google/adk-python#7172",
    fails="ordering.stopped-means-ended",
    shown_by="canceled-stubborn-program",
    origin="google/adk-python#7172",
)
class _CancelLeavesTheProgram(MatrixAgent):
    runner_type = AsksOnly


class _KillsAtOnceRunner(ProgramRunner):
    """Asks nobody to stop."""

    async def stop(self, process: Process, name: str, reason: str) -> None:
        if process.returncode is None:
            self.emit("run.terminating", run=name, reason=reason)
            process.kill()
            await process.wait()


@wrong(
    "kills-at-once",
    "Kills a program that it could have told to stop",
    fails="ordering.told-before-it-is-killed",
    shown_by="coder-times-out-once",
)
class _KillsAtOnce(MatrixAgent):
    """What it had open stays half written."""

    runner_type = _KillsAtOnceRunner


@wrong(
    "iterates-for-a-schema",
    "Goes back to the coder when the reviewer's answer does not fit",
    fails="failures.outcome",
    shown_by="schema-is-no-reason-to-iterate",
)
class _IteratesForASchema(MatrixAgent):
    """Whatever fails is the coder's to mend."""

    def after_stage(self, workflow: Workflow, index: int, failure: Failure) -> int | None:
        if failure.pair == REVIEW_SCHEMA and self.round < workflow.iterations_max:
            self.transition("iterate", REVIEW_SCHEMA[1])
            self.round += 1
            return 0
        return super().after_stage(workflow, index, failure)


class _Keeps(MatrixAgent):
    """A runtime that keeps less than there is."""

    async def save(self, name: str, text: str) -> None:
        """Keep what `cut` leaves of a file."""
        await super().save(name, self.cut(name, text))

    @abstractmethod
    def cut(self, name: str, text: str) -> str:
        """Return what is kept of a file."""


@wrong(
    "keeps-the-first-line",
    "Keeps the first line alone of what the provider has written",
    fails="failures.kept",
    shown_by="schema-is-no-reason-to-iterate",
)
class _KeepsTheFirstLine(_Keeps):
    """Enough to see that there was something."""

    def cut(self, name: str, text: str) -> str:
        return text.partition("\n")[0] if name.endswith("_raw.md") else text
