"""Wrong runtimes of the Error Handling Matrix that are code."""

from __future__ import annotations

import asyncio
from asyncio.subprocess import Process
from contextlib import suppress
from dataclasses import replace

from faultclock.agents.matrix import MatrixAgent
from faultclock.agents.matrix_errors import Failure
from faultclock.agents.matrix_programs import ProgramRun, ProgramRunner
from faultclock.mutants.by_hand.table import ByHand
from faultclock.subjects.ports import Node, RunResult

wrong = ByHand("error-matrix")


@wrong(
    "cancel-leaves-the-program",
    "Cancels the task and leaves its program running, like google/adk-python#7172",
    fails="ordering.stopped-means-ended",
    shown_by="canceled-stubborn-program",
    origin="google/adk-python#7172",
)
@wrong(
    "never-kills",
    "Sends SIGTERM and takes that for the end of the process",
    fails="ordering.stopped-means-ended",
    shown_by="permission-loop-in-ndjson",
)
class _AsksOnly(ProgramRunner):
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


@wrong(
    "pings-keep-it-alive",
    "Lets each line set the timeout back, like multica-ai/multica PR#5712",
    fails="ordering.call-ends-once",
    shown_by="coder-pings-for-ever",
    origin="multica-ai/multica PR#5712",
)
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


@wrong(
    "kills-at-once",
    "Kills a program that it could have told to stop",
    fails="ordering.told-before-it-is-killed",
    shown_by="coder-times-out-once",
)
class _KillsAtOnceRunner(ProgramRunner):
    """What the program had open stays half written."""

    async def stop(self, process: Process, name: str, reason: str) -> None:
        if process.returncode is None:
            self.emit("run.terminating", run=name, reason=reason)
            process.kill()
            await process.wait()
