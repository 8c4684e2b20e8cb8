"""The official Anthropic SDK exactly as it is: its own retries, its own errors, no mapping.

Defaults, left as they are (anthropic 2.12.0, _constants.py and _base_client.py): 2 retries, of
408, 409, 429, every status from 500 on, and of transport failures before the headers; waits of
min(8 s, 0.5 s * 2**n) less up to a quarter; `retry-after-ms` and `retry-after` (seconds or a date)
are honored whatever they ask for, up to 4,294,967 s; `x-should-retry` overrules the status. What
breaks after the headers of a stream is never retried.

What a user has to choose: the deadline (the default is 10 minutes), which counts for each connect,
read and write by itself; and `max_tokens`, which the API demands. Streams are read with the SDK's
own helper, `messages.stream`, whose final message is what has arrived when the stream ends.
"""

from __future__ import annotations

from typing import Any

import anthropic

from faultclock.subjects.binding import provider_adapter
from faultclock.subjects.ports import ProviderRequest
from faultclock.subjects.reading import reply_of

_DISTRIBUTIONS = ("anthropic", "httpx2")
_TOKENS_MAX = 1024


def _async_client(request: ProviderRequest) -> anthropic.AsyncAnthropic:
    return anthropic.AsyncAnthropic(
        api_key=request.api_key, base_url=request.base_url, timeout=request.timeout_s
    )


def _sync_client(request: ProviderRequest) -> anthropic.Anthropic:
    return anthropic.Anthropic(
        api_key=request.api_key, base_url=request.base_url, timeout=request.timeout_s
    )


@provider_adapter(
    id="anthropic",
    title="Anthropic SDK as it is, async",
    dialect="anthropic-messages",
    open=_async_client,
    warm_in_place=True,
    distributions=_DISTRIBUTIONS,
)
async def anthropic_async(request: ProviderRequest, client: anthropic.AsyncAnthropic) -> Any:
    """Ask once through the SDK; it retries as it likes."""
    if not request.stream:
        return reply_of(await client.messages.create(**_arguments(request)))
    async with client.messages.stream(**_arguments(request)) as stream:
        return reply_of(await stream.get_final_message())


@provider_adapter(
    id="anthropic-sync",
    title="Anthropic SDK as it is, blocking",
    dialect="anthropic-messages",
    open=_sync_client,
    warm_in_place=True,
    distributions=_DISTRIBUTIONS,
)
def anthropic_sync(request: ProviderRequest, client: anthropic.Anthropic) -> Any:
    """Ask once through the SDK; it retries as it likes."""
    if not request.stream:
        return reply_of(client.messages.create(**_arguments(request)))
    with client.messages.stream(**_arguments(request)) as stream:
        return reply_of(stream.get_final_message())


def _arguments(request: ProviderRequest) -> dict[str, Any]:
    """Return what the SDK is given; plain messages of the user are alike in both APIs."""
    given: dict[str, Any] = {
        "model": request.model,
        "max_tokens": _TOKENS_MAX,
        "messages": request.messages,
    }
    if request.tools:
        given["tools"] = [
            {
                "name": tool["function"]["name"],
                "description": tool["function"].get("description", ""),
                "input_schema": tool["function"].get("parameters", {"type": "object"}),
            }
            for tool in request.tools
        ]
    return given
