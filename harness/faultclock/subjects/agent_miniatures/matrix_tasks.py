"""Runtimes of the Error Handling Matrix that are wrong in one way: how a task ends, and what of it
is told to the operator and kept.
"""

from __future__ import annotations

from contextlib import suppress

from faultclock.subjects.agent_miniatures.matrix_table import AsksOnly, matrix
from faultclock.subjects.ports import Node, RunResult, TypedError, Workflow
from faultclock.subjects.reference_agents.core import Pair
from faultclock.subjects.reference_agents.matrix import MatrixAgent
from faultclock.subjects.reference_agents.matrix_reading import (
    REVIEW_SCHEMA,
    RUNTIME,
    ProgramRun,
    Trouble,
)
from faultclock.subjects.reference_agents.matrix_words import Failure

__all__: list[str] = []


# --- How a task ends ---------------------------------------------------------------------------


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
