"""The official OpenAI SDK exactly as it is: its own retries, its own errors, no mapping.

What these subjects do is the SDK's behaviour; where it differs from an error model, the report
says so. One client per call, made with the request's key and deadline.
"""

from __future__ import annotations

from typing import Any

import openai

from harness.subjects.binding import provider_adapter
from harness.subjects.ports import OPENAI_ALIKE, ProviderRequest, Reply, ToolCall

__all__ = ["StreamedReply", "asked", "asked_async", "openai_async", "openai_sync", "reply_of"]

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
async def openai_async(request: ProviderRequest, client: openai.AsyncOpenAI) -> Reply:
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
def openai_sync(request: ProviderRequest, client: openai.OpenAI) -> Reply:
    """Ask once through the SDK; it retries as it likes."""
    return asked(request, client)


async def asked_async(request: ProviderRequest, client: openai.AsyncOpenAI) -> Reply:
    """Ask through the SDK, whichever provider its client is for."""
    if not request.stream:
        return reply_of(await client.chat.completions.create(**arguments(request)))
    streamed = StreamedReply()
    async for chunk in await client.chat.completions.create(**arguments(request), stream=True):
        streamed.add(chunk)
    return streamed.reply()


def asked(request: ProviderRequest, client: openai.OpenAI) -> Reply:
    """Ask through the SDK, whichever provider its client is for."""
    if not request.stream:
        return reply_of(client.chat.completions.create(**arguments(request)))
    streamed = StreamedReply()
    for chunk in client.chat.completions.create(**arguments(request), stream=True):
        streamed.add(chunk)
    return streamed.reply()


def arguments(request: ProviderRequest) -> dict[str, Any]:
    """Return what the SDK's `create` is given."""
    given: dict[str, Any] = {"model": request.model, "messages": request.messages}
    if request.tools:
        given["tools"] = request.tools
    return given


def reply_of(completion: Any) -> Reply:
    """Return the answer in an SDK completion, read as most programs read it."""
    message = completion.choices[0].message
    calls = tuple(
        ToolCall(call.function.name, call.function.arguments) for call in message.tool_calls or ()
    )
    return Reply(message.content or "", calls)


class StreamedReply:
    """Chunks of one answer, put together as most programs do it.

    Attributes:
        finish_reason: why the provider ended the answer; None while it has not.
    """

    def __init__(self) -> None:
        self.finish_reason: str | None = None
        self._text: list[str] = []
        self._tool_calls: dict[int, list[str]] = {}

    def add(self, chunk: Any) -> None:
        """Take the next chunk."""
        for choice in chunk.choices:
            self._text.append(choice.delta.content or "")
            self.finish_reason = choice.finish_reason or self.finish_reason
            for call in choice.delta.tool_calls or ():
                parts = self._tool_calls.setdefault(call.index, ["", ""])
                parts[0] += call.function.name or ""
                parts[1] += call.function.arguments or ""

    def reply(self) -> Reply:
        """Return what has arrived."""
        calls = tuple(ToolCall(*self._tool_calls[index]) for index in sorted(self._tool_calls))
        return Reply("".join(self._text), calls)
