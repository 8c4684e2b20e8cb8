"""The official OpenAI SDK exactly as it is: its own retries, its own errors, no mapping.

What these subjects do is the SDK's behaviour; where it differs from an error model, the report
says so. One client per call, made with the request's key and deadline.
"""

from __future__ import annotations

from typing import Any

import openai

from faultclock.subjects.asking import asked, asked_async, streamed_async
from faultclock.subjects.binding import provider_adapter
from faultclock.subjects.ports import OPENAI_ALIKE, ProviderRequest
from faultclock.subjects.reading import reply_of

_DISTRIBUTIONS = ("openai", "httpx2")


def _async_client(request: ProviderRequest) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(
        api_key=request.api_key, base_url=request.base_url, timeout=request.timeout_s
    )


def _sync_client(request: ProviderRequest) -> openai.OpenAI:
    return openai.OpenAI(
        api_key=request.api_key, base_url=request.base_url, timeout=request.timeout_s
    )


@provider_adapter(
    id="openai-async",
    title="OpenAI SDK as it is, async",
    open=_async_client,
    warm_in_place=True,
    distributions=_DISTRIBUTIONS,
    dialect=OPENAI_ALIKE,
)
async def openai_async(request: ProviderRequest, client: openai.AsyncOpenAI) -> Any:
    """Ask once through the SDK; it retries as it likes."""
    return await asked_async(request, client)


@provider_adapter(
    id="openai-sync",
    title="OpenAI SDK as it is, blocking",
    open=_sync_client,
    warm_in_place=True,
    distributions=_DISTRIBUTIONS,
    dialect=OPENAI_ALIKE,
)
def openai_sync(request: ProviderRequest, client: openai.OpenAI) -> Any:
    """Ask once through the SDK; it retries as it likes."""
    return asked(request, client)


@provider_adapter(
    id="openai-responses-async",
    title="OpenAI SDK as it is, async, on the Responses API",
    open=_async_client,
    warm_in_place=True,
    distributions=_DISTRIBUTIONS,
    dialect="openai-responses",
)
async def openai_responses(request: ProviderRequest, client: openai.AsyncOpenAI) -> Any:
    """Ask once through the SDK; other people's code that asks this way is warmed by it."""
    given: Any = request.messages
    if not request.stream:
        return reply_of(await client.responses.create(model=request.model, input=given))
    events = await client.responses.create(model=request.model, input=given, stream=True)
    return await streamed_async(events)
