"""Runtimes of the Error Handling Matrix with defects that stood between two rules.

Each of them had once been green.
"""

from __future__ import annotations

from asyncio.subprocess import Process
from dataclasses import replace

from harness.subjects.agent_miniatures.matrix_table import matrix
from harness.subjects.ports import Node, Workflow
from harness.subjects.reference_agents.matrix import MatrixAgent
from harness.subjects.reference_agents.matrix_programs import ProgramRunner
from harness.subjects.reference_agents.matrix_reading import (
    REVIEW_SCHEMA,
    TIMEOUT,
    ProgramRun,
    Trouble,
)
from harness.subjects.reference_agents.matrix_words import Failure, Notice

__all__: list[str] = []


class _KillsAtOnceRunner(ProgramRunner):
    """Asks nobody to stop."""

    async def stop(self, process: Process, name: str, reason: str) -> None:
        if process.returncode is None:
            self.emit("run.terminating", run=name, reason=reason)
            process.kill()
            await process.wait()


@matrix(
    "kills-at-once",
    "Kills a program that it could have told to stop",
    fails="ordering.told-before-it-is-killed",
    shown_by="coder-times-out-once",
)
class _KillsAtOnce(MatrixAgent):
    """What it had open stays half written."""

    runner_type = _KillsAtOnceRunner


@matrix(
    "every-pill-is-schema",
    "Shows schema invalid for whatever has no pill of its own",
    fails="ordering.no-schema-pill-on-a-broken-provider",
    shown_by="coder-times-out-for-ever",
)
class _EveryPillIsSchema(MatrixAgent):
    """The first entry of the list is the default."""

    def show(self, notice: Notice) -> None:
        super().show(replace(notice, pill=notice.pill or "schema invalid"))


@matrix(
    "time-up-is-no-answer",
    "Takes a tester whose time is up for one with a bad answer",
    fails="failures.classified",
    shown_by="tester-times-out",
)
class _TimeUpIsNoAnswer(MatrixAgent):
    """There is no JSON, so the schema must be to blame."""

    def read(self, node: Node, run: ProgramRun) -> Trouble | None:
        trouble = super().read(node, run)
        if trouble is not None and trouble.pair == TIMEOUT and node.role == "tester":
            return Trouble(("stage", "tester_schema_invalid"))
        return trouble


@matrix(
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

    def cut(self, name: str, text: str) -> str:
        """Return what is kept of a file."""
        raise NotImplementedError


@matrix(
    "keeps-an-empty-file",
    "Keeps a file without what the provider has written",
    fails="failures.kept",
    shown_by="reviewer-fields-missing",
)
class _KeepsAnEmptyFile(_Keeps):
    """It was opened, and never written."""

    def cut(self, name: str, text: str) -> str:
        return "" if name.endswith("_raw.md") else text


@matrix(
    "keeps-the-first-line",
    "Keeps the first line alone of what the provider has written",
    fails="failures.kept",
    shown_by="schema-is-no-reason-to-iterate",
)
class _KeepsTheFirstLine(_Keeps):
    """Enough to see that there was something."""

    def cut(self, name: str, text: str) -> str:
        return text.partition("\n")[0] if name.endswith("_raw.md") else text


@matrix(
    "keeps-words-for-events",
    "Keeps prose in the file of events",
    fails="failures.kept",
    shown_by="reviewer-fields-missing",
)
class _KeepsWordsForEvents(_Keeps):
    """A person can read it, and no program."""

    def cut(self, name: str, text: str) -> str:
        return "started, then failed" if name.endswith(".events.jsonl") else text
