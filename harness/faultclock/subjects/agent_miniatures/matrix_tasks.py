"""Runtimes of the Error Handling Matrix that are wrong in one way: how a task ends, and what of it
is told to the operator and kept.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from faultclock.subjects.agent_miniatures.matrix_table import AsksOnly, matrix
from faultclock.subjects.ports import Node, RunResult, TypedError, Workflow
from faultclock.subjects.reference_agents.core import Ended, Pair, Turn
from faultclock.subjects.reference_agents.matrix import MatrixAgent
from faultclock.subjects.reference_agents.matrix_reading import (
    NETWORK,
    REVIEW_SCHEMA,
    RUNTIME,
    ProgramRun,
    Trouble,
)
from faultclock.subjects.reference_agents.matrix_words import Failure, Notice

__all__: list[str] = []


# --- How a task ends ---------------------------------------------------------------------------


@matrix(
    "goes-on-behind-the-gate",
    "Lets the tester begin behind a review that failed",
    fails="ordering.gate-holds",
    shown_by="reviewer-fields-missing",
)
class _GoesOnBehindTheGate(MatrixAgent):
    def after_stage(self, workflow: Workflow, index: int, failure: Failure) -> int | None:
        """Take a review that cannot be read for one that approves."""
        following = super().after_stage(workflow, index, failure)
        return index + 1 if failure.pair == REVIEW_SCHEMA else following


@matrix(
    "fails-the-thread",
    "Ends the whole discussion when one speaker's provider fails",
    fails="failures.outcome",
    shown_by="discussion-without-a-token",
)
class _FailsTheThread(MatrixAgent):
    def after_stage(self, workflow: Workflow, index: int, failure: Failure) -> int | None:
        """Treat a message of a discussion like a stage."""
        return super().after_stage(workflow, index, replace(failure, discussion=False))


@matrix(
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


@matrix(
    "a-failed-speaker-is-a-success",
    "Reports a failed child as a success, like vercel/eve#412",
    fails="failures.outcome",
    shown_by="tester-token-invalid",
    origin="vercel/eve#412",
)
class _AFailedChildIsASuccess(MatrixAgent):
    def after_stage(self, workflow: Workflow, index: int, failure: Failure) -> int | None:
        """Go on, whatever failed."""
        following = super().after_stage(workflow, index, failure)
        return index + 1 if following is None else following


@matrix(
    "gives-up-on-a-red-test",
    "Ends the task when the tests fail once",
    fails="failures.outcome",
    shown_by="tests-fail-then-pass",
)
class _GivesUpOnARedTest(MatrixAgent):
    def after_stage(self, workflow: Workflow, index: int, failure: Failure) -> int | None:
        """Never go back to the coder."""
        return index + 1 if failure.discussion else None


@matrix(
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


@matrix(
    "another-class-at-the-end",
    "Calls whatever ended a task a runtime error",
    fails="failures.outcome",
    shown_by="reviewer-token-expired",
)
class _AnotherClassAtTheEnd(MatrixAgent):
    def result(self, turn: Turn, end: Ended) -> RunResult:
        """Carry one class for everything."""
        result = super().result(turn, end)
        return result if end.pair is None else replace(result, code=RUNTIME[1])


@matrix(
    "another-class-over-http",
    "Calls a token that was refused a network error",
    fails="classification.declared",
    shown_by="model-refuses-the-token",
)
class _AnotherClassOverHttp(MatrixAgent):
    def result(self, turn: Turn, end: Ended) -> RunResult:
        """Carry one class for everything that a connection does."""
        result = super().result(turn, end)
        return result if end.pair is None else replace(result, code=NETWORK[1])


@matrix(
    "says-sorry",
    "Returns an apology as if it were the model's answer",
    fails="swallow.silent",
    shown_by="model-is-overloaded-for-ever",
)
class _SaysSorry(MatrixAgent):
    def result(self, turn: Turn, end: Ended) -> RunResult:
        """Say something, whatever happened."""
        result = super().result(turn, end)
        return result if result.state == "completed" else RunResult(text="Sorry, not now.")


@matrix(
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


@matrix(
    "cancel-leaves-the-program",
    "Cancels the task and leaves its program running, like google/adk-python#7172",
    fails="ordering.stopped-means-ended",
    shown_by="canceled-stubborn-program",
    origin="google/adk-python#7172",
)
class _CancelLeavesTheProgram(MatrixAgent):
    runner_type = AsksOnly


# --- What is told and kept ----------------------------------------------------------------------


@matrix(
    "tells-nobody",
    "Shows the operator nothing of a failed stage",
    fails="failures.told-operator",
    shown_by="coder-is-not-installed",
)
class _TellsNobody(MatrixAgent):
    def show(self, notice: Notice) -> None:
        """Show nothing."""


@matrix(
    "one-text-for-all",
    "Tells the operator of each failure in the same words",
    fails="failures.told-operator",
    shown_by="tests-fail-for-ever",
)
class _OneTextForAll(MatrixAgent):
    def show(self, notice: Notice) -> None:
        """Say that something went wrong."""
        super().show(replace(notice, message="Something went wrong."))


@matrix(
    "offers-no-action",
    "Shows a failed stage without a way to go on",
    fails="failures.told-operator",
    shown_by="coder-times-out-for-ever",
)
class _OffersNoAction(MatrixAgent):
    def show(self, notice: Notice) -> None:
        """Offer nothing."""
        super().show(replace(notice, actions=()))


@matrix(
    "one-pill-for-all",
    "Shows every failed stage with the same status",
    fails="failures.told-operator",
    shown_by="tester-not-json",
)
class _OnePillForAll(MatrixAgent):
    def show(self, notice: Notice) -> None:
        """Say `error`."""
        super().show(replace(notice, pill="error"))


@matrix(
    "keeps-no-raw-output",
    "Throws away what a failed stage had written",
    fails="failures.kept",
    shown_by="coder-prompt-too-long",
)
class _KeepsNoRawOutput(MatrixAgent):
    async def save(self, name: str, text: str) -> None:
        """Keep the metadata only."""
        if name.endswith("_meta.json"):
            await super().save(name, text)


@matrix(
    "counts-no-retries",
    "Keeps the metadata of a failed stage without its retries",
    fails="failures.kept",
    shown_by="reviewer-disconnects-for-ever",
)
class _CountsNoRetries(MatrixAgent):
    async def save_meta(
        self, node: Node, failure: Failure, status: str, next_action: str, message: str
    ) -> None:
        """Say that it was tried once."""
        await super().save_meta(node, replace(failure, retries=0), status, next_action, message)
