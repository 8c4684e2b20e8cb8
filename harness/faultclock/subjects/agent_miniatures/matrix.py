"""Runtimes of the Error Handling Matrix that are wrong in one way: what they do.

What becomes of a task, and what is told and kept of it, is in `matrix_tasks`; what they say in
events is in `matrix_events`.
"""

from __future__ import annotations

import asyncio
from asyncio.subprocess import Process
from contextlib import suppress
from dataclasses import replace

from faultclock.subjects.agent_miniatures.matrix_table import AsksOnly, matrix
from faultclock.subjects.ports import Node
from faultclock.subjects.reference_agents.core import Pair
from faultclock.subjects.reference_agents.matrix import MatrixAgent
from faultclock.subjects.reference_agents.matrix_programs import ProgramRunner
from faultclock.subjects.reference_agents.matrix_reading import (
    REVIEW_SCHEMA,
    ProgramRun,
    Trouble,
    answer_of,
    trouble_of,
)
from faultclock.subjects.reference_agents.matrix_words import Failure

__all__: list[str] = []


# --- Done again, or not --------------------------------------------------------------------------


@matrix(
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


@matrix(
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


# --- What a run of a program was -----------------------------------------------------------------


@matrix(
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


@matrix(
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


@matrix(
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


@matrix(
    "pings-keep-it-alive",
    "Lets each line set the timeout back, like multica-ai/multica PR#5712",
    fails="ordering.call-ends-once",
    shown_by="coder-pings-for-ever",
    origin="multica-ai/multica PR#5712",
)
class _PingsKeepItAlive(MatrixAgent):
    runner_type = _PatientRunner


# --- Requests over HTTP ---------------------------------------------------------------------------
