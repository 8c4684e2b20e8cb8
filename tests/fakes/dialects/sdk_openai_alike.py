"""The openai SDK on the providers that tell their users to take it: its `base_url` is theirs.

What each adds to OpenAI's answers, which the SDK's types do not know, is named here one by one.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, AbstractContextManager
from types import MappingProxyType
from typing import Any

import openai
from openai.types.chat import ChatCompletionChunk

from faultclock.fakes.wire.answer import Answer
from faultclock.fakes.wire.event_stream import json_object, read_events, write_event
from faultclock.model.scenario.payload import ErrorPayload
from tests.fakes.dialects.driver import Ask, Expected, Place
from tests.fakes.dialects.openai_clients import KEY, OpenAIChatSdk


class _AzureClients(OpenAIChatSdk):
    """The client that the SDK has for Azure: a deployment in the path, and an API version."""

    client_name = "AzureOpenAI"
    added = frozenset({"prompt_filter_results", "content_filter_results"})
    remarks = (
        "the first chunk of a stream has no choices and says object '', where the type says "
        "'chat.completion.chunk' [learn.microsoft.com, Azure OpenAI, content streaming]",
    )

    def __init__(self) -> None:
        super().__init__("azure-openai")

    def client(self, base_url: str) -> AbstractContextManager[Any]:
        """Return a client without retries."""
        return openai.AzureOpenAI(
            api_key=KEY, azure_endpoint=base_url, api_version="2024-10-21", max_retries=0
        )

    def async_client(self, base_url: str) -> AbstractAsyncContextManager[Any]:
        """Return an async client without retries."""
        return openai.AsyncAzureOpenAI(
            api_key=KEY, azure_endpoint=base_url, api_version="2024-10-21", max_retries=0
        )

    def problems(self, answer: Answer, ask: Ask) -> list[str]:
        """Return what the types object to, the first chunk's `object` put right."""
        if not ask.stream:
            return super().problems(answer, ask)
        first = json_object(next(read_events(answer.chunks[0])).data) or {}
        wrong = [] if first["object"] == "" else ["the first chunk is not as Azure's"]
        first["object"] = "chat.completion.chunk"
        ChatCompletionChunk.model_validate(first, strict=True)
        return wrong + self.problems_of(write_event(first), *answer.chunks[1:], answer.end_marker)


class _AzureV1(_AzureClients):
    """The ordinary client on Azure's newer path, as Microsoft's pages show it."""

    client_name = "OpenAI at /openai/v1"

    def client(self, base_url: str) -> AbstractContextManager[Any]:
        """Return a client without retries."""
        return OpenAIChatSdk.client(self, f"{base_url}/openai/v1")

    def async_client(self, base_url: str) -> AbstractAsyncContextManager[Any]:
        """Return an async client without retries."""
        return OpenAIChatSdk.async_client(self, f"{base_url}/openai/v1")


class _OpenRouter(OpenAIChatSdk):
    """The ordinary client; OpenRouter also puts errors into bodies of status 200."""

    places = ("answer", "stream", "ok_body")
    added = frozenset({"provider", "native_finish_reason", "reasoning", "cost", "is_byok", "error"})
    finish_words = MappingProxyType({**OpenAIChatSdk.finish_words, "error": "error"})
    #: An error beside the choices of a chunk ends the stream: openai 3.54, _streaming.py.
    raises = MappingProxyType({"good:stream:failed": "openai.APIError"})

    def expected(self, name: str, payload: ErrorPayload, place: Place) -> Expected:
        """Return what the tables say; an error in a good answer is not seen."""
        if place != "ok_body":
            return super().expected(name, payload, place)
        return Expected(
            error=None,
            because="openai 3.54, _models.py: a body is made into a completion without validation",
            differs="an error in a body of status 200 raises nothing: `choices` is None",
        )


class _DeepSeek(OpenAIChatSdk):
    """The ordinary client."""

    added = frozenset({"prompt_cache_hit_tokens", "prompt_cache_miss_tokens"})
    finish_words = MappingProxyType(
        {**OpenAIChatSdk.finish_words, "error": "insufficient_system_resource"}
    )


class _Compatible(OpenAIChatSdk):
    """The ordinary client."""

    def expected(self, name: str, payload: ErrorPayload, place: Place) -> Expected:
        """Return what the tables say; a bare error object in a stream is not seen."""
        if place == "stream" and (payload.body or {}).get("object") == "error":
            return Expected(
                error=None,
                because="openai 3.54, _streaming.py: only an event whose data has `error` raises",
                differs="an error object that is the event itself raises nothing: text is lost",
            )
        return super().expected(name, payload, place)


SDKS = (
    _AzureClients(),
    _AzureV1(),
    _OpenRouter("openrouter"),
    _DeepSeek("deepseek"),
    _Compatible("openai-compatible"),
)
