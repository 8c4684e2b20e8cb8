"""Runtimes of the Error Handling Matrix with defects that stood between two rules.

Each of them had once been green.
"""

from __future__ import annotations

from abc import abstractmethod
from asyncio.subprocess import Process
from dataclasses import replace

from faultclock.subjects.agent_miniatures.matrix_table import matrix
from faultclock.subjects.ports import Node, RunResult, Workflow
from faultclock.subjects.reference_agents.core import Ended, Pair, Turn
from faultclock.subjects.reference_agents.matrix import MatrixAgent
from faultclock.subjects.reference_agents.matrix_conversation import CANCELED
from faultclock.subjects.reference_agents.matrix_programs import ProgramRunner
from faultclock.subjects.reference_agents.matrix_reading import (
    NETWORK,
    REVIEW_SCHEMA,
    RUNTIME,
    TEST_FAILED,
    TIMEOUT,
    ProgramRun,
    Trouble,
)
from faultclock.subjects.reference_agents.matrix_words import Failure, Notice

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

    @abstractmethod
    def cut(self, name: str, text: str) -> str:
        """Return what is kept of a file."""


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


class _NotesOtherwise(MatrixAgent):
    """A runtime whose metadata of a stage are not what they should be."""

    async def save_meta(
        self, node: Node, failure: Failure, status: str, next_action: str, message: str
    ) -> None:
        """Keep what `noted` makes of three of the fields."""
        await super().save_meta(node, failure, *self.noted(node, status, next_action, message))

    @abstractmethod
    def noted(
        self, node: Node, status: str, next_action: str, message: str
    ) -> tuple[str, str, str]:
        """Return status, next action and message as they are kept."""


@matrix(
    "keeps-another-message",
    "Keeps a message for the operator that the operator was never shown",
    fails="failures.kept",
    shown_by="coder-prompt-too-long",
)
class _KeepsAnotherMessage(_NotesOtherwise):
    """Two texts for one thing drift apart."""

    def noted(
        self, node: Node, status: str, next_action: str, message: str
    ) -> tuple[str, str, str]:
        return status, next_action, f"stage {node.id} did not succeed"


@matrix(
    "knows-no-next-action",
    "Notes that there is nothing to be done about a token that was refused",
    fails="failures.kept",
    shown_by="reviewer-token-expired",
)
class _KnowsNoNextAction(_NotesOtherwise):
    """The buttons are elsewhere."""

    def noted(
        self, node: Node, status: str, next_action: str, message: str
    ) -> tuple[str, str, str]:
        return status, "None", message


@matrix(
    "failed-message-is-done",
    "Marks a message of a discussion as done that could not be written",
    fails="failures.kept",
    shown_by="discussion-loses-a-speaker",
)
class _FailedMessageIsDone(_NotesOtherwise):
    """The thread goes on, so it cannot have failed."""

    def noted(
        self, node: Node, status: str, next_action: str, message: str
    ) -> tuple[str, str, str]:
        return "done" if node.role == "discussion" else status, next_action, message


@matrix(
    "one-file-for-all",
    "Keeps what is left of each failed stage under the same name",
    fails="failures.kept",
    shown_by="discussion-loses-two-speakers",
)
class _OneFileForAll(MatrixAgent):
    """The last one wins."""

    def file_name(self, node: Node) -> str:
        return f"round{self.round}"


@matrix(
    "network-asks-for-idempotence",
    "Gives up a stage that must not be done twice when its stream is cut off",
    fails="failures.redone",
    shown_by="coder-disconnects-not-idempotent",
)
class _NetworkAsksForIdempotence(MatrixAgent):
    """The condition of one row is taken for that of all."""

    def again_after_s(self, node: Node, pair: Pair | None) -> float | None:
        wait_s = super().again_after_s(node, pair)
        return None if pair == NETWORK and not node.idempotent else wait_s


@matrix(
    "audits-no-cancel",
    "Ends a cancelled task as canceled and puts nothing of it on record",
    fails="ordering.canceled-on-record",
    shown_by="canceled-in-a-backoff",
)
class _AuditsNoCancel(MatrixAgent):
    """What was asked for is not worth a line."""

    def cancelled(self, turn: Turn) -> Ended:
        return Ended("cancelled", CANCELED, "canceled")


@matrix(
    "shows-no-command",
    "Shows what a failed test wrote, and not which command it was",
    fails="failures.told-operator",
    shown_by="tests-fail-for-ever",
)
class _ShowsNoCommand(MatrixAgent):
    """There is only one, so everybody knows it."""

    async def stage_failed(self, node: Node, failure: Failure) -> None:
        await super().stage_failed(node, replace(failure, argv=()))


class _EndsOtherwise(MatrixAgent):
    """A runtime whose task ends by another pair than what failed."""

    swapped: tuple[Pair, Pair]

    def result(self, turn: Turn, end: Ended) -> RunResult:
        """Carry the second of the two where it was the first."""
        result, (real, other) = super().result(turn, end), self.swapped
        return replace(result, code=other[1]) if end.pair == real else result


@matrix(
    "crash-is-a-disconnect",
    "Ends a task by a network error where the program has refused the prompt",
    fails="failures.outcome",
    shown_by="coder-prompt-too-long",
)
class _CrashIsADisconnect(_EndsOtherwise):
    """Whatever a provider does is the network's fault."""

    swapped = (RUNTIME, NETWORK)


@matrix(
    "red-test-is-a-bad-review",
    "Ends a task by the review's schema where the tests have failed to the last",
    fails="failures.outcome",
    shown_by="tests-fail-for-ever",
)
class _RedTestIsABadReview(_EndsOtherwise):
    """A stage has failed, and this is what stages fail by."""

    swapped = (TEST_FAILED, REVIEW_SCHEMA)
