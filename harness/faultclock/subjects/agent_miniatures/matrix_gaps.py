"""Runtimes of the Error Handling Matrix with defects that stood between two rules.

Each of them had once been green.
"""

from __future__ import annotations

from abc import abstractmethod
from asyncio.subprocess import Process

from faultclock.subjects.agent_miniatures.matrix_table import matrix
from faultclock.subjects.ports import Workflow
from faultclock.subjects.reference_agents.matrix import MatrixAgent
from faultclock.subjects.reference_agents.matrix_programs import ProgramRunner
from faultclock.subjects.reference_agents.matrix_reading import (
    REVIEW_SCHEMA,
)
from faultclock.subjects.reference_agents.matrix_words import Failure

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
