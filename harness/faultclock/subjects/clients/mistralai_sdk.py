"""The Mistral SDK exactly as it is: no retries unless they are asked for, and no mapping.

What it does by default (mistralai 3.7): it asks once over httpx2, as no `retry_config` is given
(client/chat.py), and gives up a read after httpx2's own five seconds unless it is told otherwise.
Every error status but 422 is an `SDKError`; a failure of the network comes through as httpx2's. A
stream that fails ends with the finish reason "error", which raises nothing, and one that is cut
off by a proper end of the answer just ends.

What a user has to choose: the deadline of each read, in milliseconds.
"""

from __future__ import annotations

from typing import Any

from mistralai.client import Mistral

from faultclock.subjects.asking import arguments, streamed, streamed_async
from faultclock.subjects.binding import provider_adapter
from faultclock.subjects.ports import ProviderRequest
from faultclock.subjects.reading import reply_of

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
async def mistralai_async(request: ProviderRequest, client: Mistral) -> Any:
    """Ask once through the SDK."""
    async with client:
        if not request.stream:
            return reply_of(await client.chat.complete_async(**arguments(request)))
        return await streamed_async(await client.chat.stream_async(**arguments(request)))


@provider_adapter(
    id="mistralai-sync",
    title="Mistral SDK as it is, blocking",
    open=_client,
    warm_in_place=True,
    dialect="mistral",
    distributions=_DISTRIBUTIONS,
)
def mistralai_sync(request: ProviderRequest, client: Mistral) -> Any:
    """Ask once through the SDK."""
    with client:
        return asked(request, client)


def asked(request: ProviderRequest, client: Mistral) -> Any:
    """Ask once through the SDK, and leave its client open."""
    if not request.stream:
        return reply_of(client.chat.complete(**arguments(request)))
    return streamed(client.chat.stream(**arguments(request)))
