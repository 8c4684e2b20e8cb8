"""Asking the person, and the approval stack: who decides whether a tool call is executed.

    InteractionRaised -> shown to every interactor of that kind -> answered, timed out or cut off
    -> InteractionAnswered -> taken off all other screens -> InteractionExchange in the audit trail

One prompt at a time, and the first answer wins. Not to answer in time is to deny. An answer that
comes later is refused, and changes nothing. A broken interactor is as one that does not answer.

    a tool that is not gated      no person is asked
    a state machine is attached   its stage's allowed tools, else its grant; the mode is not asked
    otherwise the mode            ask (a cache, then the person) · allowlist · yolo

Each decision is one Approval record in the audit trail, written before the act that it allows. A
trail that cannot be written to blocks the act, and nothing is remembered that was not audited.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args

from msgspec import Struct, field

from faultclock.agents.calls import Call
from faultclock.agents.stud_cli.session import Halted, Session
from faultclock.subjects.ports import (
    InteractionAnswer,
    InteractionKind,
    InteractionRequest,
    Interactor,
    Stage,
    TypedError,
)


class Exchange(Struct, kw_only=True):
    """One request on its way to an answer.

    Attributes:
        shown: the interactors that have it on their screens.
        settled: becomes the answer and who gave it; the first one counts.
    """

    request: InteractionRequest
    shown: list[Interactor] = field(default_factory=list)
    settled: asyncio.Future[tuple[InteractionAnswer, Interactor | None]]


class Interactions:
    """The protocol between this runtime and the person.

    Attributes:
        deadlines_s: the default deadline of each kind, in seconds; a device code has none, since
            its provider says how long it is good for.
    """

    deadlines_s: Mapping[str, float] = {
        "Approve": 120.0,
        "Confirm": 60.0,
        "Ask": 120.0,
        "Select": 120.0,
        "Auth.Password": 120.0,
    }

    def __init__(self, session: Session) -> None:
        self.session = session
        # Prompts are strictly first in, first out: asyncio wakes those who wait in their order.
        self.queue = asyncio.Lock()

    async def ask(
        self,
        kind: InteractionKind,
        prompt: str,
        *,
        options: tuple[str, ...] = (),
        deadline_s: float | None = None,
        tool: str | None = None,
        tool_call: str | None = None,
        arguments: Mapping[str, Any] | None = None,
    ) -> InteractionAnswer:
        """Ask, and return the answer; `timeout` where none came in time.

        Raises:
            TypedError: the request is not valid, or there is no interactor for it.
            Halted: there is no person to ask.
        """
        request = InteractionRequest(
            id=self.session.new_id("ix"),
            kind=kind,
            prompt=prompt,
            options=options,
            deadline_s=self.deadline_s(kind, deadline_s),
            tool=tool,
            tool_call=tool_call,
            arguments=dict(arguments or {}),
        )
        if self.session.world.headless:
            return self.without_a_person(request)
        interactors = [item for item in self.session.world.interactors if kind in item.kinds]
        if not interactors:
            raise TypedError("Session", "NoInteractorAttached", f"nobody can be asked: {kind}")
        async with self.queue:
            return await self.exchange(request, interactors)

    def deadline_s(self, kind: InteractionKind, asked_s: float | None) -> float:
        """Return the deadline of a request: every one has one, and it is finite.

        Raises:
            TypedError: Validation, where it has not.
        """
        if kind not in get_args(InteractionKind):
            raise TypedError("Validation", "InteractionKindUnknown", f"unknown kind: {kind}")
        limit_s = asked_s
        if limit_s is None:
            limit_s = self.session.world.deadlines_s.get(kind, self.deadlines_s.get(kind))
        if limit_s is None or not math.isfinite(limit_s) or limit_s <= 0:
            raise TypedError(
                "Validation", "TimeoutMsInvalid", f"{kind} needs a finite deadline, not {limit_s}"
            )
        return limit_s

    # One exchange.

    async def exchange(
        self, request: InteractionRequest, interactors: list[Interactor]
    ) -> InteractionAnswer:
        """Show `request` to all `interactors` and wait for the first answer, or the deadline."""
        loop = asyncio.get_running_loop()
        exchange = Exchange(request=request, settled=loop.create_future())
        self.raised(request)
        self.show(exchange, interactors)
        timer = loop.call_later(request.deadline_s, self.expire, exchange)
        try:
            answer, winner = await exchange.settled
        except asyncio.CancelledError:
            self.conclude(exchange, "cancelled", None)
            raise
        finally:
            timer.cancel()
        if answer.status == "timeout":
            self.timed_out(request)
        self.conclude(exchange, answer.status, winner)
        return answer

    def show(self, exchange: Exchange, interactors: list[Interactor]) -> None:
        """Put the request on every screen."""
        for interactor in interactors:
            if exchange.settled.done():
                return
            exchange.shown.append(interactor)
            try:
                interactor.show(exchange.request, self.answer_of(exchange, interactor))
            except Exception as error:  # noqa: BLE001 - a broken user interface may raise anything
                exchange.shown.remove(interactor)
                reason = f"the interactor {interactor.id} could not show the request"
                self.session.telling.swallowed(reason, error)

    def answer_of(
        self, exchange: Exchange, interactor: Interactor
    ) -> Callable[[InteractionAnswer], None]:
        """Return what this interactor calls with its answer."""
        return lambda answer: self.take(exchange, answer, interactor)

    def take(
        self, exchange: Exchange, answer: InteractionAnswer, interactor: Interactor | None
    ) -> None:
        """Accept the first answer.

        Raises:
            TypedError: Session/InteractionAlreadyAnswered: this one comes too late.
        """
        if exchange.settled.done():
            message = f"the request {exchange.request.id} has been settled"
            raise TypedError("Session", "InteractionAlreadyAnswered", message)
        exchange.settled.set_result((answer, interactor))

    def expire(self, exchange: Exchange) -> None:
        """Settle a request that has no answer at its deadline."""
        if not exchange.settled.done():
            exchange.settled.set_result((InteractionAnswer(status="timeout"), None))

    def conclude(self, exchange: Exchange, status: str, winner: Interactor | None) -> None:
        """Say what became of the request, then take it off the screens that still show it."""
        self.answered(exchange.request, status)
        for interactor in exchange.shown:
            if interactor is not winner:
                interactor.dismiss(exchange.request.id)
        self.audit(exchange.request, status)

    # What is said of it.

    def raised(self, request: InteractionRequest) -> None:
        """Emit that a request goes out, before it is on a screen."""
        self.session.host.event("InteractionRaised", **_named(request))

    def answered(self, request: InteractionRequest, status: str) -> None:
        """Emit what became of it; a screen that still shows it takes it off."""
        self.session.host.event("InteractionAnswered", **_named(request), status=status)

    def timed_out(self, request: InteractionRequest) -> None:
        """Audit that no answer came in time, before the denial that follows from it."""
        self.session.host.audit_event("InteractionTimedOut", **_named(request))

    def audit(self, request: InteractionRequest, status: str) -> None:
        """Audit the exchange."""
        self.session.host.audit_event("InteractionExchange", **_named(request), status=status)

    # No person there.

    def without_a_person(self, request: InteractionRequest) -> InteractionAnswer:
        """Answer for the absent person in mode `yolo`, and halt the turn in any other.

        Raises:
            Halted: always, unless everything was allowed beforehand.
        """
        if self.session.mode == "yolo":
            self.audit(request, "accepted")
            return InteractionAnswer(status="accepted", value=_yolo_value(request))
        self.session.host.event(
            "permission-required",
            request=request.id,
            kind=request.kind,
            tool=request.tool,
            tool_call=request.tool_call,
            hint="run with a person present, or allow it beforehand",
        )
        self.session.host.show_user(
            "permission-required: the agent needs a person for this step, and nobody is there."
        )
        self.audit(request, "halt")
        raise Halted


def _named(request: InteractionRequest) -> dict[str, Any]:
    return {"request": request.id, "kind": request.kind, "tool_call": request.tool_call}


def _yolo_value(request: InteractionRequest) -> Any:
    if request.kind == "Select":
        return request.options[0] if request.options else None
    return {"Approve": True, "Confirm": True, "Ask": ""}.get(request.kind)


class Verdict(Struct, frozen=True, kw_only=True):
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
            Halted: it needs a person, and none is there.
            TypedError: Cancellation: the user closed the dialog; or no person can be asked.
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
        """Return what an answer means; all but a clear yes is a no.

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
        record = {"decision": decision, "source": source, **call.named}
        self.session.host.audit_event("Approval", **record)

    def denied(self, call: Call, verdict: Verdict) -> None:
        """Emit that a call is denied, by whom, and why."""
        why = {"decider": verdict.decider, "reason": verdict.reason}
        self.session.host.event("ToolCallDenied", **call.named, **why)

    def content(self, verdict: Verdict) -> dict[str, Any]:
        """Return the typed result that the model gets for a denied call."""
        message = "The call was not approved and was not executed."
        why = {"decider": verdict.decider, "reason": verdict.reason}
        return self.session.telling.shape("ToolTerminal", "ApprovalDenied", message, **why)


def _matches(pattern: str, name: str) -> bool:
    parts = (re.escape(part) for part in pattern.split("*"))
    return re.fullmatch(".*".join(parts), name) is not None
