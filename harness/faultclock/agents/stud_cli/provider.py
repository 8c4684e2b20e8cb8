"""Asking the model: one request of the loop, with the transport's own retries below it.

A request is sent in SEND_REQUEST and its answer read in STREAM_RESPONSE; where an attempt fails,
the same request is sent again on a fresh connection, after the wait that the class of the failure
asks for. That is transport redo. Whether a stage is done again is the state machine's affair, and
nothing of it is here.
"""

from __future__ import annotations

import asyncio
import json

from faultclock.agents.chat_exchange import ChatExchange
from faultclock.agents.connection import Attempt
from faultclock.agents.stud_cli.session import Session
from faultclock.agents.turn import Message
from faultclock.agents.wire import CountedExchange, request_to
from faultclock.subjects.ports import ProviderTarget, Reply, Tool, TypedError
from faultclock.subjects.stud import AttemptError, StudCall


class TransportRetries(StudCall):
    """The class-level retries; of the end, only the audit trail is told here.

    The user and the model are told by the turn, once it is known that the turn ends with it.
    """

    def tell_everyone(
        self, error_class: str | None, code: str | None, failure: AttemptError
    ) -> None:
        """Audit the failure that ends the call."""
        self.audit_end(error_class, code, failure)


class ProviderCall:
    """One request of the loop, and its attempts. Nothing of settings or environment enters it."""

    exchange_type: type[ChatExchange] = CountedExchange
    retries_type: type[StudCall] = TransportRetries

    def __init__(
        self, session: Session, messages: list[Message], tools: tuple[Tool, ...] = ()
    ) -> None:
        self.session = session
        world = session.world
        target = ProviderTarget(id="", base_url=world.base_url, model=world.model)
        self.request = request_to(world, target, messages, tools)
        self.retries = self.retries_type(self.request)
        self._attempt: Attempt[Reply] | None = None

    async def send(self) -> None:
        """Send the request; again, for as long as the failure's class allows.

        Raises:
            TypedError: the last failure, with its class and code.
            Exception: a failure for which the document has no class.
        """
        while True:
            self._attempt = Attempt(self.exchange_type(self.request), self.request.timeout_s)
            try:
                await self._attempt.send()
                return
            except AttemptError as failure:
                await self.wait_after(failure)

    async def receive(self) -> Reply:
        """Read the answer; where that fails, send the request again.

        Raises:
            TypedError: the last failure; or ProviderCapability/OutputMalformed, for an answer
                whose tool calls are not whole.
        """
        while True:
            assert self._attempt is not None, "the request was sent"
            try:
                reply = await self._attempt.receive()
                self.drop()
                return whole_calls(reply)
            except AttemptError as failure:
                await self.wait_after(failure)
            await self.send()

    async def wait_after(self, failure: AttemptError) -> None:
        """Wait before the next attempt, with no connection left open.

        Raises:
            TypedError: there is none.
        """
        self.drop()
        try:
            wait_s = self.retries.next_wait_s(failure)
        except Exception as error:
            self.session.telling.is_audited(error)
            raise
        await asyncio.sleep(wait_s)

    def drop(self) -> None:
        """Let the connection go, if there is one."""
        if self._attempt is not None:
            self._attempt.drop()


def whole_calls(reply: Reply) -> Reply:
    """Return `reply` if each of its calls is whole.

    Raises:
        TypedError: ProviderCapability/OutputMalformed: a call has no name, its arguments are no
            JSON, two have the same id, or the answer was cut at its length.
    """
    if not reply.tool_calls:
        return reply
    ids = [call.id for call in reply.tool_calls if call.id]
    if len(set(ids)) != len(ids):
        raise _malformed("two tool calls have the same id")
    if reply.finish_reason == "length":
        raise _malformed("the answer was cut off within its tool calls")
    for call in reply.tool_calls:
        if not call.name:
            raise _malformed("a tool call has no name")
        try:
            json.loads(call.arguments.strip() or "{}")
        except ValueError as error:
            raise _malformed(f"the arguments of {call.name} are no JSON") from error
    return reply


def _malformed(message: str) -> TypedError:
    return TypedError("ProviderCapability", "OutputMalformed", message, {"signal": "tool_calls"})
