"""One request to a provider: bytes out, Reply or AttemptFailed in. Nothing is tried again here.

The shapes of its API are here too: tools as a request has them, an answer as the next one has it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

from faultclock.subjects.chat_exchange import ChatExchange
from faultclock.subjects.ports import ProviderRequest, ProviderTarget, Reply, Surroundings, Tool
from faultclock.subjects.stud import AttemptError

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


def assistant_message(reply: Reply) -> dict[str, Any]:
    """Return an answer as the conversation that is sent next has it."""
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
    if reply.tool_calls:
        message["tool_calls"] = [
            {
                "id": call.id or f"call-{number}",
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for number, call in enumerate(reply.tool_calls, start=1)
        ]
    return message


def tool_message(id_: str, content: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the model is told of a tool call, as the conversation has it."""
    text = json.dumps(content, ensure_ascii=False)
    return {"role": "tool", "tool_call_id": id_, "content": text}


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
    from faultclock.subjects.trust import CONTEXT

    return CONTEXT
