"""The message loop: from the history to the model's last word.

    COMPOSE_REQUEST -> SEND_REQUEST -> STREAM_RESPONSE -> TOOL_CALL -> COMPOSE_REQUEST ...
                                                       -> (done)

RECEIVE_INPUT and RENDER happen once in a turn and stand in `runtime`. In TOOL_CALL the approvals
are strictly first in, first out; then the approved calls run at the same time; their results go
to the model in the order in which it asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from faultclock.subjects.ports import Reply, Stage, Tool, TypedError
from faultclock.subjects.reference_agents.calls import misfit
from faultclock.subjects.reference_runtime.approvals import Approvals, Dismissed, Verdict
from faultclock.subjects.reference_runtime.cancellation import Scope
from faultclock.subjects.reference_runtime.history import assistant, tool_message
from faultclock.subjects.reference_runtime.persistence import Persistence
from faultclock.subjects.reference_runtime.provider import ProviderCall
from faultclock.subjects.reference_runtime.session import Message, Session, Turn
from faultclock.subjects.reference_runtime.tool_call import ProposedCall, read_arguments
from faultclock.subjects.reference_runtime.tools import ToolRunner


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopEnd:
    """How the loop ended: with the model's text, or because the stage's cap was reached."""

    text: str
    cap_hit: bool = False


class MessageLoop:
    """One run of the loop: a whole turn, or one attempt of a stage.

    Attributes:
        bound: iterations after which a conversation that does not end is given up.
    """

    bound = 12
    provider_type: type[ProviderCall] = ProviderCall

    def __init__(
        self,
        session: Session,
        persistence: Persistence,
        approvals: Approvals,
        tools: ToolRunner,
        turn: Turn,
        stage: Stage | None = None,
        scope: Scope | None = None,
    ) -> None:
        self.session = session
        self.persistence = persistence
        self.approvals = approvals
        self.tools = tools
        self.turn = turn
        self.stage = stage
        self.scope = scope or turn.scope

    async def run(self) -> LoopEnd:
        """Go on until the model asks for no more tools.

        Raises:
            TypedError: ExtensionHost/LoopBoundExceeded, or what the provider or the store failed
                with; never the failure of a tool.
        """
        iteration = 0
        while True:
            if self.is_capped(iteration):
                return LoopEnd(text="", cap_hit=True)
            self.check_limits(iteration)
            iteration += 1
            reply = await self.ask_model()
            self.turn.steps += 1
            self.turn.tokens += reply.tokens
            self.turn.messages.append(assistant(reply))
            if not reply.tool_calls:
                return LoopEnd(text=reply.text)
            with self.session.stage(self.turn, "TOOL_CALL"):
                await self.call_tools(reply)

    async def ask_model(self) -> Reply:
        """Ask the model once, through the three stages of a request."""
        with self.session.stage(self.turn, "COMPOSE_REQUEST"):
            call = self.compose()
        try:
            with self.session.stage(self.turn, "SEND_REQUEST"):
                await call.send()
            with self.session.stage(self.turn, "STREAM_RESPONSE"):
                return self.identified(await call.receive())
        finally:
            call.drop()

    def compose(self) -> ProviderCall:
        """Compose the next request from the history and this turn."""
        return self.provider_type(self.session, self.messages(), self.offered())

    def messages(self) -> list[Message]:
        """Return what the model is to know: in a stage, its body first."""
        system = [] if self.stage is None else [{"role": "system", "content": self.stage.body}]
        return [*system, *self.session.messages, *self.turn.messages]

    def offered(self) -> tuple[Tool, ...]:
        """Return the tools that the model is offered; a stage narrows them."""
        tools = self.session.surroundings.tools
        if self.stage is None or not self.stage.allowed_tools:
            return tools
        return tuple(tool for tool in tools if tool.contract.name in self.stage.allowed_tools)

    def identified(self, reply: Reply) -> Reply:
        """Return `reply` with an id on each call, where the provider gave none."""
        calls = tuple(
            call if call.id else type(call)(call.name, call.arguments, self.session.new_id("call"))
            for call in reply.tool_calls
        )
        return Reply(reply.text, calls, reply.finish_reason, reply.tokens)

    # Limits.

    def is_capped(self, iteration: int) -> bool:
        """Return whether a stage is at its cap: a normal end of Act, looked at before each request.

        For a stage the bound of the loop is a cap too.
        """
        if self.stage is None:
            return False
        cap = self.bound if self.stage.turn_cap is None else min(self.stage.turn_cap, self.bound)
        return iteration >= cap

    def check_limits(self, iteration: int) -> None:
        """Check that the turn may ask the model once more.

        Raises:
            TypedError: ExtensionHost/LoopBoundExceeded.
        """
        limits = self.session.surroundings.limits
        for name, used, limit in (
            ("bound", iteration, self.bound),
            ("steps_max", self.turn.steps, limits.steps_max),
            ("tokens_max", self.turn.tokens, limits.tokens_max),
        ):
            if limit is not None and used >= limit:
                message = f"the turn has reached its limit: {name} is {limit}"
                context = {"limit": name, "used": used}
                raise TypedError("ExtensionHost", "LoopBoundExceeded", message, context)

    # TOOL_CALL.

    async def call_tools(self, reply: Reply) -> None:
        """Decide on all calls of one answer, execute those approved, add all results."""
        calls = [self.propose(call.id, call.name, call.arguments) for call in reply.tool_calls]
        try:
            await self.persistence.note("tools_proposed", message=self.turn.messages[-1])
            await self.settle_all(calls, await self.consider_all(calls))
        finally:
            for call in calls:
                self.leave(call)
        results = self.turn.results
        self.turn.messages += [
            tool_message(call.id, results[call.id]) for call in self.in_order(calls)
        ]

    def in_order(self, calls: Sequence[ProposedCall]) -> Sequence[ProposedCall]:
        """Return calls in the order in which the model gets their results: that of its asking."""
        return calls

    def propose(self, call_id: str, name: str, arguments: str) -> ProposedCall:
        """Return a call as the model proposes it, with a scope of its own."""
        self.proposed(call_id, name)
        known = {tool.contract.name: tool for tool in self.session.surroundings.tools}
        tool = known.get(name)
        values, fault = read_arguments(arguments)
        if tool is not None and fault is None:
            fault = misfit(values, tool.contract.input_schema)
        return ProposedCall(
            id=call_id,
            name=name,
            tool=tool,
            arguments=values,
            misfit=fault,
            scope=self.scope.child("tool", name, call_id),
        )

    def proposed(self, call_id: str, name: str) -> None:
        """Emit that the model asks for a tool."""
        self.session.host.event("ToolInvocationProposed", tool=name, tool_call=call_id)

    async def consider_all(
        self, calls: Sequence[ProposedCall]
    ) -> Sequence[Verdict | dict[str, Any]]:
        """Return what `consider` says of each call; the person is asked strictly in their order."""
        return [await self.consider(call) for call in calls]

    async def consider(self, call: ProposedCall) -> Verdict | dict[str, Any]:
        """Return the verdict on a call, or the content of its answer if it cannot be run.

        Raises:
            TypedError: Cancellation/TurnCancelled: the user closed the dialog.
        """
        refusal = self.refusal(call)
        if refusal is not None:
            return refusal
        try:
            verdict = await call.scope.run(self.approvals.decide(call, self.stage))
        except Dismissed:
            self.turn.scope.cancel("user")
            self.turn.scope.check()
            raise
        except TypedError as error:
            return self.cancelled(call, error)
        return verdict if verdict.approved else self.approvals.content(verdict)

    def refusal(self, call: ProposedCall) -> dict[str, Any] | None:
        """Return the typed error of a call that no tool can take, None if one can."""
        if call.tool is None:
            pair, message = ("ToolTerminal", "NotFound"), f"There is no tool {call.name}."
        elif call.misfit is not None:
            pair, message = ("ToolTerminal", "InputInvalid"), call.misfit
        else:
            return None
        context = {"tool": call.name, "tool_call": call.id, "message": message}
        self.session.host.audit(error_class=pair[0], code=pair[1], context=context, attempt=1)
        self.session.host.event("ToolInvocationFailed", tool=call.name, tool_call=call.id)
        return self.session.telling.shape(*pair, message)

    async def settle_all(
        self, calls: Sequence[ProposedCall], verdicts: Sequence[Verdict | dict[str, Any]]
    ) -> None:
        """Run all approved calls at the same time, and wait for each of them."""
        work = [self.settle(call, verdict) for call, verdict in zip(calls, verdicts, strict=True)]
        ends = await asyncio.gather(*work, return_exceptions=True)
        for end in ends:
            if isinstance(end, BaseException):
                raise end

    async def settle(self, call: ProposedCall, verdict: Verdict | dict[str, Any]) -> None:
        """Bring one call to its result; a failure of a tool is a result."""
        if isinstance(verdict, Verdict):
            try:
                content = await call.scope.run(self.tools.run(call, self.turn))
            except TypedError as error:
                content = self.cancelled(call, error)
                await self.tools.end(call, 0, content)
        else:
            content = verdict
        self.turn.results[call.id] = content
        self.session.telling.tool_failed(content)

    def cancelled(self, call: ProposedCall, error: TypedError) -> dict[str, Any]:
        """Return the content of a call that was cancelled alone.

        Raises:
            TypedError: whatever else it was: the end of the whole turn.
        """
        if error is not call.scope.error:
            raise error
        return self.session.telling.shape(
            error.error_class, error.code, "The call was cancelled. Its outcome is unknown."
        )

    def leave(self, call: ProposedCall) -> None:
        """Be done with a call, whatever became of it."""
        if call.scope.error is not None:
            self.session.host.event("ToolInvocationCancelled", tool=call.name, tool_call=call.id)
        call.scope.close()
