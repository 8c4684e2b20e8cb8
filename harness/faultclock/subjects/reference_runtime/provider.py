"""Asking the model: one request of the loop, with the transport's own retries below it.

A request is sent in SEND_REQUEST and its answer read in STREAM_RESPONSE; where an attempt fails,
the same request is sent again on a fresh connection, after the wait that the class of the failure
asks for. That is transport redo. Whether a stage is done again is the state machine's affair, and
nothing of it is here.
"""

from __future__ import annotations

import asyncio
from typing import Any

from faultclock.subjects.chat_exchange import ChatExchange
from faultclock.subjects.ports import ProviderRequest, Reply, Surroundings, Tool
from faultclock.subjects.reference_runtime.session import Message, Session
from faultclock.subjects.reference_runtime.tool_call import whole_calls
from faultclock.subjects.stud import AttemptError, StudCall

_READ_BYTES = 65_536


class TurnExchange(ChatExchange):
    """A chat-completions exchange that asks a stream to count its tokens."""

    def content(self, request: ProviderRequest) -> dict[str, Any]:
        """Return the body of the request, before it is JSON."""
        content = super().content(request)
        if request.stream:
            content["stream_options"] = {"include_usage": True}
        return content


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
    exchange_type: type[ChatExchange] = TurnExchange
    retries_type: type[StudCall] = TransportRetries

    def __init__(
        self, session: Session, messages: list[Message], tools: tuple[Tool, ...] = ()
    ) -> None:
        self.session = session
        self.request = self.make_request(session.surroundings, messages, tools)
        self.retries = self.retries_type(self.request)
        self._exchange: ChatExchange | None = None
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._give_up_at = 0.0

    def make_request(
        self, surroundings: Surroundings, messages: list[Message], tools: tuple[Tool, ...]
    ) -> ProviderRequest:
        """Compose the request; nothing of settings or environment enters it."""
        return ProviderRequest(
            host=surroundings.host,
            model=surroundings.model,
            messages=messages,
            stream=self.stream,
            tools=[_definition(tool) for tool in tools],
            timeout_s=surroundings.timeout_s,
            base_url=surroundings.base_url,
            api_key=surroundings.api_key,
        )

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
        self._exchange = exchange = self.exchange_type(self.request)
        self._give_up_at = asyncio.get_running_loop().time() + self.request.timeout_s
        try:
            async with asyncio.timeout_at(self._give_up_at):
                self._reader, self._writer = await asyncio.open_connection(
                    exchange.host, exchange.port, ssl=_tls() if exchange.secure else None
                )
                self._writer.write(exchange.request_bytes)
        except TimeoutError as error:
            raise AttemptError("deadline", "the provider did not answer in time") from error
        except OSError as error:
            raise AttemptError("network", "the connection to the provider failed") from error

    async def read(self) -> Reply:
        """Read the answer of this attempt to its end.

        Raises:
            AttemptError: it failed.
        """
        exchange, reader = self._exchange, self._reader
        assert exchange is not None
        assert reader is not None
        try:
            async with asyncio.timeout_at(self._give_up_at):
                while exchange.reply is None:
                    exchange.feed(await reader.read(_READ_BYTES))
        except TimeoutError as error:
            raise AttemptError("deadline", "the provider did not answer in time") from error
        except OSError as error:
            raise AttemptError("network", "the connection to the provider failed") from error
        self.drop()
        return exchange.reply

    def drop(self) -> None:
        """Let the connection go, if there is one; an unfinished exchange is broken off."""
        writer, self._writer = self._writer, None
        if writer is None:
            return
        if self._exchange is not None and self._exchange.at_end:
            writer.close()
        else:
            writer.transport.abort()


def _definition(tool: Tool) -> dict[str, Any]:
    contract = tool.contract
    function = {
        "name": contract.name,
        "description": contract.description,
        "parameters": dict(contract.input_schema),
    }
    return {"type": "function", "function": function}


def _tls() -> Any:
    # Imported here, so that only a call to an https host pays for it.
    from faultclock.subjects.trust import CONTEXT

    return CONTEXT
