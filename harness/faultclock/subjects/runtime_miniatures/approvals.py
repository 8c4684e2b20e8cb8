"""Miniatures of the approval stack: who decides, what a decision is good for, what is written."""

from __future__ import annotations

from typing import Any

from faultclock.subjects.ports import Stage
from faultclock.subjects.reference_runtime.approvals import Approvals, Verdict
from faultclock.subjects.reference_runtime.runtime import ReferenceRuntime
from faultclock.subjects.reference_runtime.session import Turn
from faultclock.subjects.reference_runtime.tool_call import ProposedCall
from faultclock.subjects.reference_runtime.tools import ToolRunner
from faultclock.subjects.runtime_miniatures.table import wrong

__all__: list[str] = []

# What a decision is good for.


@wrong("nobody-is-a-no", "Goes on after it halted", fails="ordering.headless-halt-ends-turn")
class _NobodyIsANo(Approvals):
    """A headless run that needs a person tells the model so, instead of the pipeline."""

    async def decide(self, call: ProposedCall, stage: Stage | None) -> Verdict:
        if not (self.session.surroundings.headless and self.session.mode == "ask"):
            return await super().decide(call, stage)
        self.audit(call, "halt", None)
        return Verdict(approved=False, decider="modeGate", reason="nobody is there")


# In which order.


# What is told of it.


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
