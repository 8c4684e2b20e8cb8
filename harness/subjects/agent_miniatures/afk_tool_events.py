"""Miniatures of AFK runtimes: the events of tools, subagents, approvals and the memory backend."""

# ruff: noqa: ARG002 - an override takes what the step takes, needed or not

from __future__ import annotations

import asyncio
from typing import Any, Literal

from harness.subjects.agent_miniatures.table import wrong
from harness.subjects.ports import Reply
from harness.subjects.reference_agents.afk import AfkAgent
from harness.subjects.reference_agents.afk_kinds import MEMORY
from harness.subjects.reference_agents.calls import Call, Outcome
from harness.subjects.reference_agents.core import Next, Pair, Turn
from harness.subjects.reference_agents.person import Decision

__all__: list[str] = []

# Tools and subagents.


@wrong(
    "no-batch",
    "Announces no batch of tools",
    fails="ordering.batch-before-execution",
    model="afk",
    shown_by="afk/good-run-with-tools",
)
class _NoBatch(AfkAgent):
    """Who watches learns of a tool when it is done."""

    def batch_started(self, reply: Reply) -> None:
        return


@wrong(
    "keeps-decisions-to-itself",
    "Announces no decision of the policy engine",
    fails="ordering.policy-decision-told",
    model="afk",
    shown_by="afk/policy-denies",
)
class _KeepsDecisionsToItself(AfkAgent):
    """A denial looks like a tool that does not work."""

    def policy_decided(self, call: Call, decision: Literal["allow", "deny"]) -> None:
        return


@wrong(
    "decides-by-itself",
    "Announces a decision before the policy engine has made one",
    fails="ordering.policy-decision-was-made",
    model="afk",
    shown_by="afk/good-run-with-tools",
)
class _DecidesByItself(AfkAgent):
    """It will be allowed anyway."""

    def call_proposed(self, turn: Turn, call: Call) -> None:
        super().call_proposed(turn, call)
        self.policy_decided(call, "allow")


@wrong(
    "denies-in-silence",
    "Warns of no denial",
    fails="ordering.denial-warned",
    model="afk",
    shown_by="afk/policy-denies",
)
class _DeniesInSilence(AfkAgent):
    """Continue, and log nothing."""

    def warn(self, pair: Pair | None) -> None:
        if pair is None or pair[1] != "PolicyDenial":
            super().warn(pair)


@wrong(
    "failures-do-not-complete",
    "Announces the end of good tools alone",
    fails="ordering.tool-completed-after-reply",
    model="afk",
    shown_by="afk/tool-raises-and-continues",
)
class _FailuresDoNotComplete(AfkAgent):
    """The card of the tool spins for ever."""

    def emit(self, name: str, **fields: Any) -> None:
        if name != "tool_completed" or fields.get("success"):
            super().emit(name, **fields)


@wrong(
    "completes-twice",
    "Announces the end of a tool twice",
    fails="ordering.tool-completed-once",
    model="afk",
    shown_by="afk/good-run-with-tools",
)
class _CompletesTwice(AfkAgent):
    """Once by the tool and once by the batch."""

    def emit(self, name: str, **fields: Any) -> None:
        super().emit(name, **fields)
        if name == "tool_completed":
            super().emit(name, **fields)


@wrong(
    "failure-looks-good",
    "Announces a tool that failed as a success",
    fails="ordering.tool-success-was-observed",
    model="afk",
    shown_by="afk/tool-raises-and-continues",
)
class _FailureLooksGood(AfkAgent):
    """It has ended, has it not?"""

    def emit(self, name: str, **fields: Any) -> None:
        if name == "tool_completed":
            fields["success"] = True
        super().emit(name, **fields)


@wrong(
    "one-failure-fails-all",
    "openai-agents-python#2584: one failing call threw its siblings away",
    fails="ordering.tool-failure-was-observed",
    model="afk",
    shown_by="afk/one-of-two-tools-fails",
    origin="openai/openai-agents-python#2584",
)
class _OneFailureFailsAll(AfkAgent):
    """What was done beside it is told as failed, too."""

    def emit(self, name: str, **fields: Any) -> None:
        if name == "tool_completed" and self.batch.bad:
            fields["success"] = False
        super().emit(name, **fields)


@wrong(
    "starts-when-at-work",
    "Announces the start of a subagent that is at work already",
    fails="ordering.subagent-started-before-dispatch",
    model="afk",
    shown_by="afk/subagents-succeed",
)
class _StartsWhenAtWork(AfkAgent):
    """As soon as somebody has time for it."""

    def call_started(self, turn: Turn, call: Call, attempt: int) -> None:
        later = super().call_started
        asyncio.get_running_loop().call_later(0.5, later, turn, call, attempt)


@wrong(
    "children-vanish",
    "Announces no end of a subagent that failed",
    fails="ordering.subagent-completed-once",
    model="afk",
    shown_by="afk/optional-subagent-fails",
)
class _ChildrenVanish(AfkAgent):
    """It was started, and never heard of again."""

    def subagent_completed(self, call: Call, *, success: bool, error: str | None = None) -> None:
        if success:
            super().subagent_completed(call, success=success, error=error)


@wrong(
    "children-from-nowhere",
    "Announces no start of a subagent",
    fails="ordering.subagent-completed-has-start",
    model="afk",
    shown_by="afk/subagents-succeed",
)
class _ChildrenFromNowhere(AfkAgent):
    """It ends and never began."""

    def call_started(self, turn: Turn, call: Call, attempt: int) -> None:
        return


@wrong(
    "failed-child-looks-good",
    "eve#412: a failed child was reported as a success",
    fails="ordering.subagent-success-was-observed",
    model="afk",
    shown_by="afk/required-subagent-fails",
    origin="vercel/eve#412",
)
class _FailedChildLooksGood(AfkAgent):
    """It came to its end, and that is taken for success."""

    def subagent_completed(self, call: Call, *, success: bool, error: str | None = None) -> None:
        super().subagent_completed(call, success=True)


@wrong(
    "good-child-looks-failed",
    "pi-subagents#156: a good child was marked as failed",
    fails="ordering.subagent-failure-was-observed",
    model="afk",
    shown_by="afk/subagents-succeed",
    origin="nicobailon/pi-subagents#156",
)
class _GoodChildLooksFailed(AfkAgent):
    """Something on its way was not good, and was put right."""

    def subagent_completed(self, call: Call, *, success: bool, error: str | None = None) -> None:
        super().subagent_completed(call, success=False, error="something went wrong")


# Approvals and memory.


@wrong(
    "asks-without-a-pause",
    "Asks a person without a word that it waits",
    fails="ordering.paused-before-asking",
    model="afk",
    shown_by="afk/approval-is-given",
)
class _AsksWithoutAPause(AfkAgent):
    """It looks as if it hung."""

    def approval_asked(self, call: Call) -> None:
        return


@wrong(
    "goes-on-unresumed",
    "hermes-agent#54110: when nobody answered, the agent went on with later steps",
    fails="ordering.paused-then-resumed",
    model="afk",
    shown_by="afk/approval-is-not-given",
    origin="NousResearch/hermes-agent#54110",
)
class _GoesOnUnresumed(AfkAgent):
    """Paused it was, and resumed by nobody."""

    def approval_decided(self, call: Call, decision: Decision) -> None:
        if decision != "timeout":
            super().approval_decided(call, decision)


@wrong(
    "resumes-when-done",
    "Executes the tool before the run is resumed",
    fails="ordering.paused-does-nothing",
    model="afk",
    shown_by="afk/approval-is-given",
)
class _ResumesWhenDone(AfkAgent):
    """The pause ends when there is something to show for it."""

    def approval_decided(self, call: Call, decision: Decision) -> None:
        return

    def call_ended(
        self, turn: Turn, call: Call, attempt: int, outcome: Outcome, step: Next | None
    ) -> None:
        super().approval_decided(call, "approved")
        super().call_ended(turn, call, attempt, outcome, step)


@wrong(
    "loses-history-in-silence",
    "PraisonAI#3597: a write that failed was looked at by nobody",
    fails="ordering.memory-failure-warned",
    model="afk",
    shown_by="afk/memory-is-down",
    origin="MervinPraison/PraisonAI#3597",
)
class _LosesHistoryInSilence(AfkAgent):
    """The run is good, and nothing of it is kept."""

    def warn(self, pair: Pair | None) -> None:
        if pair != MEMORY:
            super().warn(pair)
