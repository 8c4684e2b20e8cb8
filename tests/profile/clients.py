"""Real SDKs with more attempts than they have by default, so that factor and cap show."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import anthropic
import openai
from google import genai
from google.genai import types
from mistralai.client import Mistral
from mistralai.client.utils.retries import BackoffStrategy, RetryConfig
from tenacity import AsyncRetrying, stop_after_attempt, wait_exponential

from faultclock.subjects.clients.anthropic_sdk import anthropic_async
from faultclock.subjects.clients.cohere_sdk import cohere_async
from faultclock.subjects.clients.google_genai_sdk import google_genai
from faultclock.subjects.clients.mistralai_sdk import mistralai_async
from faultclock.subjects.clients.openai_sdk import openai_async
from faultclock.subjects.ports import ProviderRequest, Reply

#: Enough for 0.5 s to reach 8 s by doubling, and to stay there.
_RETRIES = 7


def _openai(request: ProviderRequest) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(
        api_key=request.api_key,
        base_url=request.base_url,
        timeout=request.timeout_s,
        max_retries=_RETRIES,
    )


def _anthropic(request: ProviderRequest) -> anthropic.AsyncAnthropic:
    return anthropic.AsyncAnthropic(
        api_key=request.api_key,
        base_url=request.base_url,
        timeout=request.timeout_s,
        max_retries=_RETRIES,
    )


def _genai(request: ProviderRequest) -> genai.Client:
    options = types.HttpOptions(
        base_url=request.base_url,
        timeout=round(request.timeout_s * 1_000),
        retry_options=types.HttpRetryOptions(attempts=9),
    )
    return genai.Client(api_key=request.api_key, http_options=options)


def _mistral(request: ProviderRequest) -> Mistral:
    backoff = BackoffStrategy(500, 10_000, 1.5, 100_000)
    return Mistral(
        api_key=request.api_key,
        server_url=request.base_url,
        timeout_ms=round(request.timeout_s * 1_000),
        retry_config=RetryConfig("backoff", backoff, retry_connection_errors=True),
    )


class _PatientCohere:
    """A client whose calls ask for more retries."""

    def __init__(self, client: Any) -> None:
        self._client = client

    async def __aenter__(self) -> _PatientCohere:
        await self._client.__aenter__()
        return self

    async def __aexit__(self, *left: Any) -> None:
        await self._client.__aexit__(*left)

    async def chat(self, **given: Any) -> Any:
        return await self._client.chat(**given, request_options={"max_retries": _RETRIES})

    def chat_stream(self, **given: Any) -> Any:
        return self._client.chat_stream(**given, request_options={"max_retries": _RETRIES})


async def _in_tenacity(request: ProviderRequest, client: openai.AsyncOpenAI) -> Reply:
    retrying = AsyncRetrying(
        stop=stop_after_attempt(5), wait=wait_exponential(multiplier=4), reraise=True
    )
    return await retrying(openai_async.function, request, client)


openai_patient = replace(openai_async, id="openai-patient", open=_openai)
anthropic_patient = replace(anthropic_async, id="anthropic-patient", open=_anthropic)
genai_retrying = replace(google_genai, id="genai-retrying", open=_genai)
mistral_retrying = replace(mistralai_async, id="mistral-retrying", open=_mistral)
cohere_patient = replace(
    cohere_async,
    id="cohere-patient",
    open=lambda request: _PatientCohere(cohere_async.open(request)),
)
openai_in_tenacity = replace(openai_async, id="openai-in-tenacity", function=_in_tenacity)
