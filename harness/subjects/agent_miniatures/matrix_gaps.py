"""Runtimes of the Error Handling Matrix with defects that stood between two rules.

Each of them had once been green.
"""

from __future__ import annotations

from asyncio.subprocess import Process
from dataclasses import replace

from harness.subjects.agent_miniatures.matrix_table import matrix
from harness.subjects.ports import Node
from harness.subjects.reference_agents.matrix import MatrixAgent
from harness.subjects.reference_agents.matrix_programs import ProgramRunner
from harness.subjects.reference_agents.matrix_reading import TIMEOUT, ProgramRun, Trouble
from harness.subjects.reference_agents.matrix_words import Notice

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
