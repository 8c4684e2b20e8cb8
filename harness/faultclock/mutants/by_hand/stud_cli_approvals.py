"""Wrong stud-cli runtimes that are code: approvals, dialogs, and what is said to whom."""

from __future__ import annotations

import asyncio
from typing import Any

from faultclock.mutants.by_hand.shared import OpenLock
from faultclock.mutants.by_hand.table import ByHand
from faultclock.subjects.ports import (
    InteractionAnswer,
    InteractionRequest,
    Interactor,
    Stage,
)
from faultclock.subjects.reference_agents.calls import Call
from faultclock.subjects.reference_runtime.person import Approvals, Exchange, Interactions, Verdict
from faultclock.subjects.reference_runtime.runtime import ReferenceRuntime
from faultclock.subjects.reference_runtime.session import StudTurn

wrong = ByHand("stud-cli")


# What a decision is good for.


@wrong("nobody-is-a-no", "Goes on after it halted", fails="ordering.headless-halt-ends-turn")
class _NobodyIsANo(Approvals):
    """A headless run that needs a person tells the model so, instead of the pipeline."""

    async def decide(self, call: Call, stage: Stage | None) -> Verdict:
        if not (self.session.world.headless and self.session.mode == "ask"):
            return await super().decide(call, stage)
        self.audit(call, "halt", None)
        return Verdict(approved=False, decider="modeGate", reason="nobody is there")


# What is told of it.


class _AuditsNoYes(Approvals):
    def audit(self, call: Call, decision: str, source: str | None) -> None:
        if decision != "approve":
            super().audit(call, decision, source)


@wrong(
    "acts-then-audits",
    "Writes an approval down when the tool is done",
    fails="ordering.approval-audited-before-execution",
)
class _ActsThenAudits(ReferenceRuntime):
    """A crash in between leaves an act that nobody seems to have allowed."""

    approvals_type = _AuditsNoYes

    async def tool(self, turn: StudTurn, call: Call) -> dict[str, Any]:
        content = await super().tool(turn, call)
        if call.contract.gated:
            self.host.audit_event(
                "Approval", decision="approve", source="user", tool=call.name, tool_call=call.id
            )
        return content


# How long.


@wrong("default-deadline", "Ignores a configured deadline", fails="approvals.deadline")
class _DefaultDeadline(Interactions):
    """The default is applied behind the configuration's back."""

    def deadline_s(self, kind: Any, asked_s: float | None) -> float:
        return super().deadline_s(kind, asked_s or self.deadlines_s.get(kind))


# Which answer.


@wrong(
    "late-yes-runs-it",
    "Runs a tool that is approved too late",
    fails="ordering.denied-never-executed",
    origin="rmusser01/tldw_chatbook#1713",
)
class _LateYesRunsIt(Interactions):
    """rmusser01/tldw_chatbook#1713: a late approval ran the tool behind everybody's back."""

    def take(
        self, exchange: Exchange, answer: InteractionAnswer, interactor: Interactor | None
    ) -> None:
        if not exchange.settled.done():
            super().take(exchange, answer, interactor)
        elif answer.value is True:
            self.late = asyncio.ensure_future(self.run(exchange.request))

    async def run(self, request: InteractionRequest) -> None:
        for tool in self.session.world.tools:
            if tool.contract.name == request.tool:
                await tool.execute(request.arguments, call_id=str(request.tool_call))


@wrong("refuses-untyped", "Refuses a second answer without a name", fails="approvals.once")
class _RefusesUntyped(Interactions):
    """What raises is the future, and it knows nothing of class and code."""

    def take(
        self, exchange: Exchange, answer: InteractionAnswer, interactor: Interactor | None
    ) -> None:
        exchange.settled.set_result((answer, interactor))


@wrong("leaves-dialogs-open", "Leaves the other dialog on its screen", fails="approvals.once")
class _LeavesDialogsOpen(Interactions):
    """Whoever sits at the other screen answers a question that nobody asks any more."""

    def conclude(self, exchange: Exchange, status: str, winner: Interactor | None) -> None:
        if winner is not None:
            exchange.shown = [winner]
        super().conclude(exchange, status, winner)


# One after the other.


@wrong(
    "asks-side-by-side",
    "Puts two questions on one screen",
    fails="ordering.interaction-one-at-a-time",
)
class _AsksSideBySide(Interactions):
    """A question of an extension does not wait for the approval that is open."""

    def __init__(self, session: Any) -> None:
        super().__init__(session)
        self.queue = OpenLock()


# What is told of it.


@wrong(
    "answered-for-others-only",
    "Announces an answer only to other screens",
    fails="ordering.interaction-settled",
)
class _AnsweredForOthersOnly(Interactions):
    """With one screen there is nobody to dismiss, and so the event is left out."""

    def conclude(self, exchange: Exchange, status: str, winner: Interactor | None) -> None:
        self.alone = exchange.shown == [winner]
        super().conclude(exchange, status, winner)

    def answered(self, request: InteractionRequest, status: str) -> None:
        if not self.alone:
            super().answered(request, status)


@wrong(
    "answered-per-screen",
    "Announces an answer once for each screen",
    fails="ordering.interaction-answered-once",
)
class _AnsweredPerScreen(Interactions):
    """Whoever counts answers counts screens."""

    def conclude(self, exchange: Exchange, status: str, winner: Interactor | None) -> None:
        for _ in exchange.shown[1:]:
            self.answered(exchange.request, status)
        super().conclude(exchange, status, winner)


@wrong(
    "dismisses-first",
    "Takes a question off before it is answered",
    fails="ordering.interaction-dismissed-after-answer",
)
class _DismissesFirst(Interactions):
    """For a moment nobody shows it, and nobody has answered it."""

    def conclude(self, exchange: Exchange, status: str, winner: Interactor | None) -> None:
        for interactor in exchange.shown:
            if interactor is not winner:
                interactor.dismiss(exchange.request.id)
        super().conclude(exchange, status, winner)


# The audit trail, the user, the model.
