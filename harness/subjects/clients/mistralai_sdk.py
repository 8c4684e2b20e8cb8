"""The Mistral SDK exactly as it is: no retries unless they are asked for, and no mapping.

What it does by default (mistralai 3.7): it asks once over httpx2, as no `retry_config` is given
(client/chat.py), and gives up a read after httpx2's own five seconds unless it is told otherwise.
Every error status but 422 is an `SDKError`; a failure of the network comes through as httpx2's. A
stream that fails ends with the finish reason "error", which raises nothing, and one that is cut
off by a proper end of the answer just ends.

What a user has to choose: the deadline of each read, in milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mistralai.client import Mistral

from harness.subjects.binding import provider_adapter
from harness.subjects.ports import ProviderRequest, Reply, ToolCall

__all__ = ["mistralai_async", "mistralai_sync"]

_DISTRIBUTIONS = ("mistralai", "httpx2")


def _client(request: ProviderRequest) -> Mistral:
    return Mistral(
        api_key=request.api_key,
        server_url=request.base_url,
        timeout_ms=round(request.timeout_s * 1_000),
    )


@provider_adapter(
    id="mistralai",
    title="Mistral SDK as it is, async",
    open=_client,
    warm_in_place=True,
    dialect="mistral",
    distributions=_DISTRIBUTIONS,
)
async def mistralai_async(request: ProviderRequest, client: Mistral) -> Reply:
    """Ask once through the SDK."""
    async with client:
        if not request.stream:
            answer = await client.chat.complete_async(**_given(request))
            return _reply_of([answer.choices[0].message])
        stream = await client.chat.stream_async(**_given(request))
        return _reply_of([event.data.choices[0].delta async for event in stream])


@provider_adapter(
    id="mistralai-sync",
    title="Mistral SDK as it is, blocking",
    open=_client,
    warm_in_place=True,
    dialect="mistral",
    distributions=_DISTRIBUTIONS,
)
def mistralai_sync(request: ProviderRequest, client: Mistral) -> Reply:
    """Ask once through the SDK."""
    with client:
        if not request.stream:
            return _reply_of([client.chat.complete(**_given(request)).choices[0].message])
        stream = client.chat.stream(**_given(request))
        return _reply_of(event.data.choices[0].delta for event in stream)


def _given(request: ProviderRequest) -> dict[str, Any]:
    given: dict[str, Any] = {"model": request.model, "messages": request.messages}
    if request.tools:
        given["tools"] = request.tools
    return given


def _reply_of(parts: Iterable[Any]) -> Reply:
    """Return what a message says, or the deltas of one, read as most programs read them.

    Tool calls come whole. Nobody asks for the finish reason.
    """
    texts, calls = list[str](), list[ToolCall]()
    for part in parts:
        texts.append(part.content or "")
        for call in part.tool_calls or ():
            calls.append(ToolCall(call.function.name, call.function.arguments))
    return Reply("".join(texts), tuple(calls))
