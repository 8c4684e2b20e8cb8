"""Asking the model: one request of the loop, with the transport's own retries below it.

A request is sent in SEND_REQUEST and its answer read in STREAM_RESPONSE; where an attempt fails,
the same request is sent again on a fresh connection, after the wait that the class of the failure
asks for. That is transport redo. Whether a stage is done again is the state machine's affair, and
nothing of it is here.
"""

from __future__ import annotations

import asyncio

from faultclock.subjects.chat_exchange import ChatExchange
from faultclock.subjects.connection import Attempt
from faultclock.subjects.ports import ProviderRequest, ProviderTarget, Reply, Surroundings, Tool
from faultclock.subjects.reference_agents.wire import CountedExchange, request_to
from faultclock.subjects.reference_runtime.session import Message, Session
from faultclock.subjects.reference_runtime.tool_call import whole_calls
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
    """One request of the loop, and its attempts.

    Attributes:
        stream: whether the answer is read as it is made.
    """

    stream = True
    exchange_type: type[ChatExchange] = CountedExchange
    retries_type: type[StudCall] = TransportRetries

    def __init__(
        self, session: Session, messages: list[Message], tools: tuple[Tool, ...] = ()
    ) -> None:
        self.session = session
        self.request = self.make_request(session.surroundings, messages, tools)
        self.retries = self.retries_type(self.request)
        self._attempt: Attempt | None = None

    def make_request(
        self, surroundings: Surroundings, messages: list[Message], tools: tuple[Tool, ...]
    ) -> ProviderRequest:
        """Compose the request; nothing of settings or environment enters it."""
        target = ProviderTarget(id="", base_url=surroundings.base_url, model=surroundings.model)
        return request_to(surroundings, target, messages, tools, stream=self.stream)

    async def send(self) -> None:
        """Send the request; again, for as long as the failure's class allows.

        Raises:
            TypedError: the last failure, with its class and code.
            Exception: a failure for which the document has no class.
        """
        while True:
            try:
                await self.connect()
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
            try:
                return whole_calls(await self.read())
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

    # One attempt.

    async def connect(self) -> None:
        """Open a connection and send the request on it.

        Raises:
            AttemptError: it failed.
        """
        self._attempt = Attempt(self.exchange_type(self.request), self.request.timeout_s)
        await self._attempt.send()

    async def read(self) -> Reply:
        """Read the answer of this attempt to its end.

        Raises:
            AttemptError: it failed.
        """
        assert self._attempt is not None, "the request was sent"
        reply = await self._attempt.receive()
        self.drop()
        return reply

    def drop(self) -> None:
        """Let the connection go, if there is one."""
        if self._attempt is not None:
            self._attempt.drop()
