"""Miniatures of the approval stack: who decides, what a decision is good for, what is written."""

# ruff: noqa: ARG002 - an override takes what the step takes, needed or not

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from faultclock.subjects.ports import Stage
from faultclock.subjects.reference_runtime.approvals import Approvals, Verdict
from faultclock.subjects.reference_runtime.loop import MessageLoop
from faultclock.subjects.reference_runtime.runtime import ReferenceRuntime
from faultclock.subjects.reference_runtime.session import Turn
from faultclock.subjects.reference_runtime.tool_call import ProposedCall
from faultclock.subjects.reference_runtime.tools import ToolRunner
from faultclock.subjects.runtime_miniatures.table import wrong

__all__: list[str] = []

# What a decision is good for.


@wrong(
    "one-yes-for-all",
    "Takes one yes for all calls of a tool",
    fails="approvals.respected",
    origin="openai/codex#11162",
)
class _OneYesForAll(Approvals):
    """openai/codex#11162: approving one of several parallel calls approved all of them."""

    def key(self, call: ProposedCall) -> tuple[str, str]:
        return call.name, ""


@wrong("stage-is-advice", "Runs what its state machine denies", fails="approvals.respected")
class _StageIsAdvice(Approvals):
    """The mode `yolo` is asked before the state machine, not after it."""

    async def judge(self, call: ProposedCall, stage: Stage | None) -> Verdict:
        return await super().judge(call, None if self.session.mode == "yolo" else stage)


@wrong("allowlist-by-prefix", "Takes a name on the list for a prefix", fails="approvals.respected")
class _AllowlistByPrefix(Approvals):
    """A list with one entry opens the door for all."""

    def look_up(self, call: ProposedCall) -> Verdict:
        first = self.session.surroundings.allowlist[:1]
        return Verdict(approved=bool(first), source="allowlist")


@wrong(
    "asks-for-danger-only",
    "Asks only for what destroys something",
    fails="ordering.approval-before-execution",
)
class _AsksForDangerOnly(Approvals):
    """A gated tool that is not destructive runs unasked."""

    async def ask_user(self, call: ProposedCall) -> Verdict:
        if call.contract.destructive:
            return await super().ask_user(call)
        return Verdict(approved=True, source="user")


@wrong(
    "timeout-is-yes",
    "Goes on when nobody answers",
    fails="ordering.denied-never-executed",
    origin="NousResearch/hermes-agent#54110",
)
class _TimeoutIsYes(Approvals):
    """NousResearch/hermes-agent#54110: after the approval timed out, the agent went on."""

    def nobody_answered(self) -> Verdict:
        return Verdict(approved=True, source="modeGate")


@wrong("asks-until-yes", "Asks again after a no", fails="ordering.denied-never-executed")
class _AsksUntilYes(Approvals):
    """A no is a no, and not a reason to ask once more."""

    async def ask_user(self, call: ProposedCall) -> Verdict:
        first = await super().ask_user(call)
        return first if first.approved else await super().ask_user(call)


@wrong("asks-after-timeout", "Asks once more after a timeout", fails="ordering.timeout-denies")
class _AsksAfterTimeout(Approvals):
    """Two deadlines in a row are twice the deadline."""

    async def ask_user(self, call: ProposedCall) -> Verdict:
        first = await super().ask_user(call)
        return await super().ask_user(call) if first.reason == "timeout" else first


@wrong(
    "timeout-is-a-no",
    "Calls a timeout the user's no",
    fails="tools.told",
    origin="use-agent-os/agent-os#1564",
)
class _TimeoutIsANo(Approvals):
    """use-agent-os/agent-os#1564: the expiry of the wait was recorded as a human's rejection."""

    def nobody_answered(self) -> Verdict:
        reason = "the user said no"
        return Verdict(approved=False, source="user", decider="user", reason=reason)


@wrong("nobody-is-a-no", "Goes on after it halted", fails="ordering.headless-halt-ends-turn")
class _NobodyIsANo(Approvals):
    """A headless run that needs a person tells the model so, instead of the pipeline."""

    async def decide(self, call: ProposedCall, stage: Stage | None) -> Verdict:
        if not (self.session.surroundings.headless and self.session.mode == "ask"):
            return await super().decide(call, stage)
        self.audit(call, "halt", None)
        return Verdict(approved=False, decider="modeGate", reason="nobody is there")


# In which order.


@wrong("asks-last-first", "Asks for the last call first", fails="approvals.order")
class _AsksLastFirst(MessageLoop):
    """A stack where there should be a queue."""

    async def consider_all(
        self, calls: Sequence[ProposedCall]
    ) -> Sequence[Verdict | dict[str, Any]]:
        return (await super().consider_all(calls[::-1]))[::-1]


# What is told of it.


@wrong("denies-in-silence", "Emits no denial at a timeout", fails="ordering.timeout-denies")
class _DeniesInSilence(Approvals):
    """The model is told, and nobody else."""

    def denied(self, call: ProposedCall, verdict: Verdict) -> None:
        if verdict.reason != "timeout":
            super().denied(call, verdict)


@wrong("audits-a-yes-only", "Audits no denial", fails="ordering.denial-audited")
class _AuditsAYesOnly(Approvals):
    """The trail has what was done, and nothing of what was not."""

    def audit(self, call: ProposedCall, decision: str, source: str | None) -> None:
        if decision != "deny":
            super().audit(call, decision, source)


@wrong("audits-twice", "Audits a decision twice", fails="ordering.approval-audited-once")
class _AuditsTwice(Approvals):
    """Whoever takes the answer writes it down, and whoever decides does so again."""

    def audit(self, call: ProposedCall, decision: str, source: str | None) -> None:
        super().audit(call, decision, source)
        if source == "user":
            super().audit(call, decision, source)


class _AuditsNoYes(Approvals):
    def audit(self, call: ProposedCall, decision: str, source: str | None) -> None:
        if decision != "approve":
            super().audit(call, decision, source)


class _AuditsYesAfterwards(ToolRunner):
    async def run(self, call: ProposedCall, turn: Turn) -> dict[str, Any]:
        content = await super().run(call, turn)
        if call.contract.gated:
            self.session.host.audit_event(
                "Approval", decision="approve", source="user", tool=call.name, tool_call=call.id
            )
        return content


@wrong(
    "acts-then-audits",
    "Writes an approval down when the tool is done",
    fails="ordering.approval-audited-before-execution",
)
class _ActsThenAudits(ReferenceRuntime):
    """A crash in between leaves an act that nobody seems to have allowed."""

    approvals_type = _AuditsNoYes
    tools_type = _AuditsYesAfterwards
