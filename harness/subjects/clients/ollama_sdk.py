"""The Ollama SDK exactly as it is: no retries, no deadline of its own, and no mapping.

What it does (ollama 0.6.3, _client.py): it asks once over httpx. A refused connection is Python's
`ConnectionError`, any error status a `ResponseError`, an `error` line within a stream a
`ResponseError` of status -1; everything else of httpx and of the JSON parser comes through as it
is. A stream that ends without `done` is a stream that ended.

What a user has to choose: the deadline, as without one it waits for ever, and the key of the
cloud, which the README has in a header.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import ollama

from harness.subjects.binding import provider_adapter
from harness.subjects.ports import ProviderRequest, Reply, ToolCall

__all__ = ["ollama_async", "ollama_sync"]

_DISTRIBUTIONS = ("ollama", "httpx")


def _options(request: ProviderRequest) -> dict[str, Any]:
    return {
        "host": request.base_url,
        "timeout": request.timeout_s,
        "headers": {"Authorization": f"Bearer {request.api_key}"},
    }


def _async_client(request: ProviderRequest) -> ollama.AsyncClient:
    return ollama.AsyncClient(**_options(request))


def _sync_client(request: ProviderRequest) -> ollama.Client:
    return ollama.Client(**_options(request))


@provider_adapter(
    id="ollama",
    title="Ollama SDK as it is, async",
    open=_async_client,
    warm_in_place=True,
    dialect="ollama",
    distributions=_DISTRIBUTIONS,
)
async def ollama_async(request: ProviderRequest, client: ollama.AsyncClient) -> Reply:
    """Ask once through the SDK."""
    if not request.stream:
        return _reply_of([await client.chat(**_given(request))])
    stream = await client.chat(**_given(request), stream=True)
    return _reply_of([part async for part in stream])


@provider_adapter(
    id="ollama-sync",
    title="Ollama SDK as it is, blocking",
    open=_sync_client,
    warm_in_place=True,
    dialect="ollama",
    distributions=_DISTRIBUTIONS,
)
def ollama_sync(request: ProviderRequest, client: ollama.Client) -> Reply:
    """Ask once through the SDK."""
    if not request.stream:
        return _reply_of([client.chat(**_given(request))])
    return _reply_of(client.chat(**_given(request), stream=True))


def _given(request: ProviderRequest) -> dict[str, Any]:
    given: dict[str, Any] = {"model": request.model, "messages": request.messages}
    if request.tools:
        given["tools"] = request.tools
    return given


def _reply_of(parts: Iterable[ollama.ChatResponse]) -> Reply:
    """Return what an answer says, or the parts of one, read as most programs read them.

    Nobody asks whether the last part is there.
    """
    texts, calls = list[str](), list[ToolCall]()
    for part in parts:
        texts.append(part.message.content or "")
        for call in part.message.tool_calls or ():
            calls.append(ToolCall(call.function.name, json.dumps(dict(call.function.arguments))))
    return Reply("".join(texts), tuple(calls))
