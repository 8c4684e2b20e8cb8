"""The shapes of a provider's API: a request with its tools, and an answer in a conversation."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from faultclock.subjects.chat_exchange import ChatExchange
from faultclock.subjects.ports import ProviderRequest, ProviderTarget, Reply, Surroundings, Tool


class CountedExchange(ChatExchange):
    """An exchange whose stream counts its tokens."""

    def content(self, request: ProviderRequest) -> dict[str, Any]:
        """Return the body of the request, before it is JSON."""
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
