"""The Cohere SDK exactly as it is, its clients of API version 2, with no mapping.

What it does by default (cohere 7.3, core/http_client.py): it asks up to three times, after 408,
409, 429 and every 5xx, and after a connection that failed or broke the protocol; it waits what
Retry-After says but at most 60 s, or until the second in x-ratelimit-reset, or 1 s, doubled each
time, give or take a tenth. `retry-after-ms` it reads and never heeds: a text is compared with a
number there, and the error is passed over. A deadline that passes, and any stream, is tried once.

What a user has to choose: the deadline of each read, which is five minutes by default.
"""

from __future__ import annotations

from typing import Any

import cohere

from faultclock.subjects.asking import arguments, streamed, streamed_async
from faultclock.subjects.binding import provider_adapter
from faultclock.subjects.ports import ProviderRequest
from faultclock.subjects.reading import reply_of

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
async def cohere_async(request: ProviderRequest, client: cohere.AsyncClientV2) -> Any:
    """Ask through the SDK; it retries as it likes."""
    async with client:
        return await asked_async(request, client)


@provider_adapter(
    id="cohere-sync",
    title="Cohere SDK as it is, blocking",
    open=_sync_client,
    warm_in_place=True,
    dialect="cohere",
    distributions=_DISTRIBUTIONS,
)
def cohere_sync(request: ProviderRequest, client: cohere.ClientV2) -> Any:
    """Ask through the SDK; it retries as it likes."""
    with client:
        return asked(request, client)


async def asked_async(request: ProviderRequest, client: cohere.AsyncClientV2) -> Any:
    """Ask through the SDK, and leave its client open."""
    if not request.stream:
        return reply_of(await client.chat(**arguments(request)))
    return await streamed_async(client.chat_stream(**arguments(request)))


def asked(request: ProviderRequest, client: cohere.ClientV2) -> Any:
    """Ask through the SDK, and leave its client open."""
    if not request.stream:
        return reply_of(client.chat(**arguments(request)))
    return streamed(client.chat_stream(**arguments(request)))
