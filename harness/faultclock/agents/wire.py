"""The shapes of a provider's API: a request with its tools, and an answer in a conversation."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from faultclock.agents.chat_exchange import ChatExchange
from faultclock.model.secrets import without_secrets
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
) -> ProviderRequest:
    """Return the request that asks `target` to go on with a conversation."""
    return ProviderRequest(
        host=surroundings.host,
        model=target.model,
        messages=list(messages),
        stream=True,
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


def one_line(message: str) -> str:
    """Return a message as one line, without its stack and its secrets."""
    text = without_secrets(message.partition("Traceback (most recent call last)")[0])
    # The mark that stands for a secret says that there was one.
    return " ".join(text.replace("<secret>", "…").split())


def assistant_message(reply: Reply) -> dict[str, Any]:
    """Return an answer as the conversation that is sent next has it."""
    if not reply.tool_calls:
        return {"role": "assistant", "content": reply.text}
    calls = [
        called(call.id or f"call-{number}", call.name, call.arguments)
        for number, call in enumerate(reply.tool_calls, start=1)
    ]
    return {"role": "assistant", "content": reply.text or None, "tool_calls": calls}


def called(id_: str, name: str, arguments: str) -> dict[str, Any]:
    """Return a tool call as the message of the model has it."""
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}


def tool_message(
    id_: str, content: Mapping[str, Any], *, sort_keys: bool = False
) -> dict[str, Any]:
    """Return what the model is told of a tool call, as the conversation has it."""
    text = json.dumps(content, ensure_ascii=False, sort_keys=sort_keys)
    return {"role": "tool", "tool_call_id": id_, "content": text}
