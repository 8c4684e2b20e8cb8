"""The official OpenAI SDK with its client for Azure, exactly as it is.

Deadline, key and address are the request's. The version of the API is the one that the SDK's own
examples name (openai 3.52, README.md, "Microsoft Azure OpenAI"): the client demands one.
"""

from __future__ import annotations

from typing import Any

import openai

from faultclock.subjects.asking import asked, asked_async
from faultclock.subjects.binding import provider_adapter
from faultclock.subjects.ports import ProviderRequest

_DISTRIBUTIONS = ("openai", "httpx2")
_API_VERSION = "2023-07-01-preview"


def _async_client(request: ProviderRequest) -> openai.AsyncAzureOpenAI:
    return openai.AsyncAzureOpenAI(
        api_key=request.api_key,
        azure_endpoint=request.base_url,
        api_version=_API_VERSION,
        timeout=request.timeout_s,
    )


def _sync_client(request: ProviderRequest) -> openai.AzureOpenAI:
    return openai.AzureOpenAI(
        api_key=request.api_key,
        azure_endpoint=request.base_url,
        api_version=_API_VERSION,
        timeout=request.timeout_s,
    )


@provider_adapter(
    id="azure-openai",
    title="OpenAI SDK for Azure as it is, async",
    open=_async_client,
    warm_in_place=True,
    distributions=_DISTRIBUTIONS,
    dialect="azure-openai",
)
async def azure_openai(request: ProviderRequest, client: openai.AsyncAzureOpenAI) -> Any:
    """Ask once through the SDK; it retries as it likes."""
    return await asked_async(request, client)


@provider_adapter(
    id="azure-openai-sync",
    title="OpenAI SDK for Azure as it is, blocking",
    open=_sync_client,
    warm_in_place=True,
    distributions=_DISTRIBUTIONS,
    dialect="azure-openai",
)
def azure_openai_sync(request: ProviderRequest, client: openai.AzureOpenAI) -> Any:
    """Ask once through the SDK; it retries as it likes."""
    return asked(request, client)
