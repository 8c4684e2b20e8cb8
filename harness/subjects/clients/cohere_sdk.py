"""The Cohere SDK exactly as it is, its clients of API version 2, with no mapping.

What it does by default (cohere 7.3, core/http_client.py): it asks up to three times, after 408,
409, 429 and every 5xx, and after a connection that failed or broke the protocol; it waits what
Retry-After says but at most 60 s, or until the second in x-ratelimit-reset, or 1 s, doubled each
time, give or take a tenth. `retry-after-ms` it reads and never heeds: a text is compared with a
number there, and the error is passed over. A deadline that passes, and any stream, is tried once.

What a user has to choose: the deadline of each read, which is five minutes by default.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import Any

import cohere

from harness.subjects.binding import provider_adapter
from harness.subjects.ports import ProviderRequest, Reply, ToolCall

__all__ = ["cohere_async", "cohere_sync"]

_DISTRIBUTIONS = ("cohere", "httpx")


def _async_client(request: ProviderRequest) -> cohere.AsyncClientV2:
    return cohere.AsyncClientV2(
        request.api_key, base_url=request.base_url, timeout=request.timeout_s
    )


def _sync_client(request: ProviderRequest) -> cohere.ClientV2:
    return cohere.ClientV2(request.api_key, base_url=request.base_url, timeout=request.timeout_s)


@provider_adapter(
    id="cohere",
    title="Cohere SDK as it is, async",
    open=_async_client,
    warm_in_place=True,
    dialect="cohere",
    distributions=_DISTRIBUTIONS,
)
async def cohere_async(request: ProviderRequest, client: cohere.AsyncClientV2) -> Reply:
    """Ask through the SDK; it retries as it likes."""
    async with client:
        if not request.stream:
            return _reply_of(await client.chat(**_given(request)))
        return _reply_of_events(await _all(client.chat_stream(**_given(request))))


@provider_adapter(
    id="cohere-sync",
    title="Cohere SDK as it is, blocking",
    open=_sync_client,
    warm_in_place=True,
    dialect="cohere",
    distributions=_DISTRIBUTIONS,
)
def cohere_sync(request: ProviderRequest, client: cohere.ClientV2) -> Reply:
    """Ask through the SDK; it retries as it likes."""
    with client:
        if not request.stream:
            return _reply_of(client.chat(**_given(request)))
        return _reply_of_events(client.chat_stream(**_given(request)))


def _given(request: ProviderRequest) -> dict[str, Any]:
    given: dict[str, Any] = {"model": request.model, "messages": request.messages}
    if request.tools:
        given["tools"] = request.tools
    return given


async def _all(events: AsyncIterator[Any]) -> list[Any]:
    return [event async for event in events]


def _reply_of(answer: Any) -> Reply:
    """Return what an answer says, read as most programs read it: without a look at the rest."""
    calls = tuple(
        ToolCall(call.function.name, call.function.arguments)
        for call in answer.message.tool_calls or ()
    )
    return Reply("".join(item.text for item in answer.message.content or ()), calls)


def _reply_of_events(events: Iterable[Any]) -> Reply:
    """Return what the events of a stream say together, as the README puts them together.

    What the last of them says, or that it is missing, nobody asks there.
    """
    texts, calls = list[str](), list[list[str]]()
    for event in events:
        if event.type == "content-delta":
            texts.append(event.delta.message.content.text)
        elif event.type == "tool-call-start":
            calls.append([event.delta.message.tool_calls.function.name, ""])
        elif event.type == "tool-call-delta":
            calls[-1][1] += event.delta.message.tool_calls.function.arguments
    return Reply("".join(texts), tuple(ToolCall(*call) for call in calls))
