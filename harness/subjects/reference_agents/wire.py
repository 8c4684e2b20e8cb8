"""One request to a provider: bytes out, Reply or AttemptFailed in. Nothing is tried again here."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from harness.subjects.chat_exchange import ChatExchange
from harness.subjects.ports import ProviderRequest, ProviderTarget, Reply, Surroundings, Tool
from harness.subjects.stud import AttemptError

__all__ = ["AttemptFailed", "ask_once", "definitions", "request_to"]

_READ_BYTES = 65_536


class AttemptFailed(Exception):  # noqa: N818 - it is an outcome, and errors are made of it
    """One attempt failed.

    Attributes:
        seen: what could be seen of it.
        after_content: whether some of the answer's text had arrived by then.
    """

    def __init__(self, seen: AttemptError, *, after_content: bool) -> None:
        super().__init__(str(seen))
        self.seen = seen
        self.after_content = after_content


class _Exchange(ChatExchange):
    """An exchange whose stream counts its tokens."""

    def content(self, request: ProviderRequest) -> dict[str, Any]:
        content = super().content(request)
        if request.stream:
            content["stream_options"] = {"include_usage": True}
        return content


def request_to(
    surroundings: Surroundings,
    target: ProviderTarget,
    messages: Sequence[Any],
    tools: Sequence[Tool],
    *,
    stream: bool = True,
) -> ProviderRequest:
    """Return the request that asks `target` to go on with a conversation."""
    return ProviderRequest(
        host=surroundings.host,
        model=target.model,
        messages=list(messages),
        stream=stream,
        tools=definitions(tools),
        timeout_s=surroundings.timeout_s,
        base_url=target.base_url,
        api_key=surroundings.api_key,
    )


def definitions(tools: Sequence[Tool]) -> list[Any]:
    """Return tools as the provider's API takes them."""
    return [
        {
            "type": "function",
            "function": {
                "name": tool.contract.name,
                "description": tool.contract.description,
                "parameters": dict(tool.contract.input_schema),
            },
        }
        for tool in tools
    ]


async def ask_once(request: ProviderRequest) -> Reply:
    """Send `request` on a connection of its own and return the whole answer.

    Raises:
        AttemptFailed: whatever went wrong on the way. A cancelled task leaves no connection open.
    """
    exchange = _Exchange(request)
    writer: asyncio.StreamWriter | None = None
    try:
        async with asyncio.timeout(request.timeout_s):
            reader, writer = await asyncio.open_connection(
                exchange.host, exchange.port, ssl=_tls() if exchange.secure else None
            )
            writer.write(exchange.request_bytes)
            while exchange.reply is None:
                exchange.feed(await reader.read(_READ_BYTES))
        return exchange.reply
    except AttemptError as error:
        raise AttemptFailed(error, after_content=bool(exchange.received_text)) from error
    except TimeoutError as error:
        seen = AttemptError("deadline", "the provider did not answer in time")
        raise AttemptFailed(seen, after_content=bool(exchange.received_text)) from error
    except OSError as error:
        seen = AttemptError("network", "the connection to the provider failed")
        raise AttemptFailed(seen, after_content=bool(exchange.received_text)) from error
    finally:
        if writer is not None and exchange.at_end:
            writer.close()
        elif writer is not None:
            writer.transport.abort()


def _tls() -> Any:
    # Imported here, so that only a call to an https host pays for it.
    from harness.subjects.trust import CONTEXT

    return CONTEXT
