"""The approval stack: who decides whether a tool call is executed.

    a tool that is not gated      nobody is asked
    a state machine is attached   its stage's allowed tools, else its grant; the mode is not asked
    otherwise the mode            ask (a cache, then the person) · allowlist · yolo

Each decision is one Approval record in the audit trail, written before the act that it allows. A
trail that cannot be written to blocks the act, and nothing is remembered that was not audited.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any, Literal

from faultclock.subjects.ports import InteractionAnswer, Stage, TypedError
from faultclock.subjects.reference_agents.calls import Call
from faultclock.subjects.reference_runtime.interaction import Interactions
from faultclock.subjects.reference_runtime.session import Halted, Session


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What was decided about one call.

    Attributes:
        source: where an approval comes from; None where nothing was needed.
        decider: who denied it: `modeGate`, `user` or `sm`.
        reason: why it was denied.
        remember: whether the same call needs no second approval in this session.
    """

    approved: bool
    source: str | None = None
    decider: str | None = None
    reason: str = ""
    remember: bool = False


class Dismissed(Exception):  # noqa: N818 - the user's decision, not an error
    """The person closed the dialog: the turn is to be cancelled."""


class Approvals:
    """Decides about proposed calls, one after the other."""

    def __init__(self, session: Session, interactions: Interactions) -> None:
        self.session = session
        self.interactions = interactions
        self._approved: set[tuple[str, str]] = set()

    async def decide(self, call: Call, stage: Stage | None) -> Verdict:
        """Return the verdict on a call, audited.

        Raises:
            Halted: it needs a person, and nobody is there.
            TypedError: Cancellation: the user closed the dialog; or nobody can be asked.
        """
        if not self.is_gated(call):
            return Verdict(approved=True)
        try:
            verdict = await self.judge(call, stage)
        except Halted:
            self.audit(call, "halt", None)
            raise
        except (asyncio.CancelledError, Dismissed, TypedError):
            self.audit(call, "cancelled", None)
            raise
        self.audit(call, "approve" if verdict.approved else "deny", verdict.source)
        if verdict.remember:
            self.remember(call)
        if not verdict.approved:
            self.denied(call, verdict)
        return verdict

    def is_gated(self, call: Call) -> bool:
        """Return whether a call needs an approval."""
        return call.contract.gated

    async def judge(self, call: Call, stage: Stage | None) -> Verdict:
        """Walk the stack."""
        if stage is not None:
            return self.ask_state_machine(call, stage)
        match self.session.mode:
            case "yolo":
                return Verdict(approved=True, source="yolo")
            case "allowlist":
                return self.look_up(call)
            case _:
                return await self.ask_user(call)

    # The deciders.

    def ask_state_machine(self, call: Call, stage: Stage) -> Verdict:
        """Let the stage decide: what it does not allow needs its grant, and defer is no grant."""
        if call.name in stage.allowed_tools:
            return Verdict(approved=True, source="sm")
        machine = self.session.world.state_machine
        answer = "deny"
        if machine is not None:
            answer = machine.grant_tool(stage.id, call.name, call.arguments)
        if answer == "approve":
            return Verdict(approved=True, source="sm")
        return Verdict(approved=False, source="sm", decider="sm", reason=answer)

    def look_up(self, call: Call) -> Verdict:
        """Approve what the allowlist names; only `*` is special in it."""
        patterns = self.session.world.allowlist
        if any(_matches(pattern, call.name) for pattern in patterns):
            return Verdict(approved=True, source="allowlist")
        return Verdict(
            approved=False, source="allowlist", decider="modeGate", reason="NotOnAllowlist"
        )

    async def ask_user(self, call: Call) -> Verdict:
        """Approve what was approved before; otherwise ask the person.

        Raises:
            Dismissed: the dialog was closed.
        """
        if self.key(call) in self._approved:
            return Verdict(approved=True, source="cache")
        answer = await self.interactions.ask(
            self.kind(call),
            f"Let the agent call {call.name}?",
            tool=call.name,
            tool_call=call.id,
            arguments=call.arguments,
        )
        return self.read(answer)

    def kind(self, call: Call) -> Literal["Approve", "Confirm"]:
        """Return how the person is asked: a destructive call is to be confirmed."""
        return "Confirm" if call.contract.destructive else "Approve"

    def read(self, answer: InteractionAnswer) -> Verdict:
        """Return what an answer means; whatever is not a clear yes is a no.

        Raises:
            Dismissed: the dialog was closed.
        """
        if answer.status == "dismissed":
            raise Dismissed
        if answer.status == "timeout":
            return self.nobody_answered()
        if answer.status == "accepted" and answer.value is True:
            return Verdict(approved=True, source="user", remember=True)
        reason = answer.reason or "the user said no"
        return Verdict(approved=False, source="user", decider="user", reason=reason)

    def nobody_answered(self) -> Verdict:
        """Return the verdict at the deadline: deny by default."""
        return Verdict(approved=False, source="modeGate", decider="modeGate", reason="timeout")

    # The cache.

    def key(self, call: Call) -> tuple[str, str]:
        """Return what an approval is good for: this tool with exactly these arguments."""
        text = json.dumps(call.arguments, sort_keys=True, separators=(",", ":"))
        return call.name, hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def remember(self, call: Call) -> None:
        """Note an approval for the rest of this process; never a denial."""
        self._approved.add(self.key(call))

    # What is told.

    def audit(self, call: Call, decision: str, source: str | None) -> None:
        """Write the one Approval record of a call."""
        self.session.host.audit_event(
            "Approval", decision=decision, source=source, tool=call.name, tool_call=call.id
        )

    def denied(self, call: Call, verdict: Verdict) -> None:
        """Emit that a call is denied, by whom, and why."""
        self.session.host.event(
            "ToolCallDenied",
            tool=call.name,
            tool_call=call.id,
            decider=verdict.decider,
            reason=verdict.reason,
        )

    def content(self, verdict: Verdict) -> dict[str, Any]:
        """Return the typed result that the model gets for a denied call."""
        return self.session.telling.shape(
            "ToolTerminal",
            "ApprovalDenied",
            "The call was not approved and was not executed.",
            decider=verdict.decider,
            reason=verdict.reason,
        )


def _matches(pattern: str, name: str) -> bool:
    parts = (re.escape(part) for part in pattern.split("*"))
    return re.fullmatch(".*".join(parts), name) is not None
