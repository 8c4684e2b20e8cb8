"""The Ollama SDK exactly as it is: no retries, no deadline of its own, and no mapping.

What it does (ollama 0.6.3, _client.py): it asks once over httpx. A refused connection is Python's
`ConnectionError`, any error status a `ResponseError`, an `error` line within a stream a
`ResponseError` of status -1; everything else of httpx and of the JSON parser comes through as it
is. A stream that ends without `done` is a stream that ended.

What a user has to choose: the deadline, as without one it waits for ever, and the key of the
cloud, which the README has in a header.
"""

from __future__ import annotations

from typing import Any

import ollama

from faultclock.subjects.asking import arguments, streamed, streamed_async
from faultclock.subjects.binding import provider_adapter
from faultclock.subjects.ports import ProviderRequest
from faultclock.subjects.reading import reply_of

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
async def ollama_async(request: ProviderRequest, client: ollama.AsyncClient) -> Any:
    """Ask once through the SDK."""
    if not request.stream:
        return reply_of(await client.chat(**arguments(request)))
    return await streamed_async(await client.chat(**arguments(request), stream=True))


@provider_adapter(
    id="ollama-sync",
    title="Ollama SDK as it is, blocking",
    open=_sync_client,
    warm_in_place=True,
    dialect="ollama",
    distributions=_DISTRIBUTIONS,
)
def ollama_sync(request: ProviderRequest, client: ollama.Client) -> Any:
    """Ask once through the SDK."""
    if not request.stream:
        return reply_of(client.chat(**arguments(request)))
    return streamed(client.chat(**arguments(request), stream=True))
