"""Miniatures of AFK runtimes: the events of tools, subagents, approvals and the memory backend."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

from faultclock.subjects.agent_miniatures.afk_table import afk
from faultclock.subjects.ports import Reply
from faultclock.subjects.reference_agents.afk import AfkAgent
from faultclock.subjects.reference_agents.afk_kinds import MEMORY
from faultclock.subjects.reference_agents.calls import Call, Outcome
from faultclock.subjects.reference_agents.core import Next, Pair, Turn
from faultclock.subjects.reference_agents.person import Decision

__all__: list[str] = []

# Tools and subagents.


@afk(
    "no-batch",
    "Announces no batch of tools",
    fails="ordering.batch-before-execution",
    shown_by="good-run-with-tools",
)
class _NoBatch(AfkAgent):
    """Who watches learns of a tool when it is done."""

    def batch_started(self, reply: Reply) -> None:
        return


@afk(
    "keeps-decisions-to-itself",
    "Announces no decision of the policy engine",
    fails="ordering.policy-decision-told",
    shown_by="policy-denies",
)
class _KeepsDecisionsToItself(AfkAgent):
    """A denial looks like a tool that does not work."""

    def policy_decided(self, call: Call, decision: Literal["allow", "deny"]) -> None:
        return


@afk(
    "decides-by-itself",
    "Announces a decision before the policy engine has made one",
    fails="ordering.policy-decision-was-made",
    shown_by="good-run-with-tools",
)
class _DecidesByItself(AfkAgent):
    """It will be allowed anyway."""

    def call_proposed(self, turn: Turn, call: Call) -> None:
        super().call_proposed(turn, call)
        self.policy_decided(call, "allow")


@afk(
    "denies-in-silence",
    "Warns of no denial",
    fails="ordering.denial-warned",
    shown_by="policy-denies",
)
class _DeniesInSilence(AfkAgent):
    """Continue, and log nothing."""

    def warn(self, pair: Pair | None) -> None:
        if pair is None or pair[1] != "PolicyDenial":
            super().warn(pair)


@afk(
    "failures-do-not-complete",
    "Announces the end of good tools alone",
    fails="ordering.tool-completed-after-reply",
    shown_by="tool-raises-and-continues",
)
class _FailuresDoNotComplete(AfkAgent):
    """The card of the tool spins for ever."""

    def emit(self, name: str, **fields: Any) -> None:
        if name != "tool_completed" or fields.get("success"):
            super().emit(name, **fields)


@afk(
    "completes-twice",
    "Announces the end of a tool twice",
    fails="ordering.tool-completed-once",
    shown_by="good-run-with-tools",
)
class _CompletesTwice(AfkAgent):
    """Once by the tool and once by the batch."""

    def emit(self, name: str, **fields: Any) -> None:
        super().emit(name, **fields)
        if name == "tool_completed":
            super().emit(name, **fields)


@afk(
    "failure-looks-good",
    "Announces a tool that failed as a success",
    fails="ordering.tool-success-was-observed",
    shown_by="tool-raises-and-continues",
)
class _FailureLooksGood(AfkAgent):
    """It has ended, has it not?"""

    def emit(self, name: str, **fields: Any) -> None:
        if name == "tool_completed":
            fields["success"] = True
        super().emit(name, **fields)


@afk(
    "one-failure-fails-all",
    "openai-agents-python#2584: one failing call threw its siblings away",
    fails="ordering.tool-failure-was-observed",
    shown_by="one-of-two-tools-fails",
    origin="openai/openai-agents-python#2584",
)
class _OneFailureFailsAll(AfkAgent):
    """What was done beside it is told as failed, too."""

    def emit(self, name: str, **fields: Any) -> None:
        if name == "tool_completed" and self.batch.bad:
            fields["success"] = False
        super().emit(name, **fields)


@afk(
    "starts-when-at-work",
    "Announces the start of a subagent that is at work already",
    fails="ordering.subagent-started-before-dispatch",
    shown_by="subagents-succeed",
)
class _StartsWhenAtWork(AfkAgent):
    """As soon as somebody has time for it."""

    def call_started(self, turn: Turn, call: Call, attempt: int) -> None:
        later = super().call_started
        asyncio.get_running_loop().call_later(0.5, later, turn, call, attempt)


@afk(
    "children-vanish",
    "Announces no end of a subagent that failed",
    fails="ordering.subagent-completed-once",
    shown_by="optional-subagent-fails",
)
class _ChildrenVanish(AfkAgent):
    """It was started, and never heard of again."""

    def subagent_completed(self, call: Call, *, success: bool, error: str | None = None) -> None:
        if success:
            super().subagent_completed(call, success=success, error=error)


@afk(
    "children-from-nowhere",
    "Announces no start of a subagent",
    fails="ordering.subagent-completed-has-start",
    shown_by="subagents-succeed",
)
class _ChildrenFromNowhere(AfkAgent):
    """It ends and never began."""

    def call_started(self, turn: Turn, call: Call, attempt: int) -> None:
        return


@afk(
    "failed-child-looks-good",
    "eve#412: a failed child was reported as a success",
    fails="ordering.subagent-success-was-observed",
    shown_by="required-subagent-fails",
    origin="vercel/eve#412",
)
class _FailedChildLooksGood(AfkAgent):
    """It came to its end, and that is taken for success."""

    def subagent_completed(self, call: Call, *, success: bool, error: str | None = None) -> None:
        super().subagent_completed(call, success=True)


@afk(
    "good-child-looks-failed",
    "pi-subagents#156: a good child was marked as failed",
    fails="ordering.subagent-failure-was-observed",
    shown_by="subagents-succeed",
    origin="nicobailon/pi-subagents#156",
)
class _GoodChildLooksFailed(AfkAgent):
    """Something on its way was not good, and was put right."""

    def subagent_completed(self, call: Call, *, success: bool, error: str | None = None) -> None:
        super().subagent_completed(call, success=False, error="something went wrong")


# Approvals and memory.


@afk(
    "asks-without-a-pause",
    "Asks a person without a word that it waits",
    fails="ordering.paused-before-asking",
    shown_by="approval-is-given",
)
class _AsksWithoutAPause(AfkAgent):
    """It looks as if it hung."""

    def approval_asked(self, call: Call) -> None:
        return


@afk(
    "goes-on-unresumed",
    "hermes-agent#54110: when nobody answered, the agent went on with later steps",
    fails="ordering.paused-then-resumed",
    shown_by="approval-is-not-given",
    origin="NousResearch/hermes-agent#54110",
)
class _GoesOnUnresumed(AfkAgent):
    """Paused it was, and resumed by nobody."""

    def approval_decided(self, call: Call, decision: Decision) -> None:
        if decision != "timeout":
            super().approval_decided(call, decision)


@afk(
    "resumes-when-done",
    "Executes the tool before the run is resumed",
    fails="ordering.paused-does-nothing",
    shown_by="approval-is-given",
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


@afk(
    "loses-history-in-silence",
    "PraisonAI#3597: a write that failed was looked at by nobody",
    fails="ordering.memory-failure-warned",
    shown_by="memory-is-down",
    origin="MervinPraison/PraisonAI#3597",
)
class _LosesHistoryInSilence(AfkAgent):
    """The run is good, and nothing of it is kept."""

    def warn(self, pair: Pair | None) -> None:
        if pair != MEMORY:
            super().warn(pair)
