"""Google's Gen AI SDK exactly as it is, on the Gemini API: no retries of its own, and no mapping.

What it does by default (google-genai 3.4, _api_client.py): no answer is tried again unless
`retry_options` are given. Async, it goes over aiohttp where that is installed, and then a
connection that fails is tried once more after 1 to 10 whole seconds, drawn at random; blocking, it
goes over httpx2 and tries nothing twice. A RetryInfo in an error is never read.

What a user has to choose: the deadline, which it takes in milliseconds. Without one it waits for
ever; with one, over httpx2 it is of each read, and over aiohttp of the whole answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from google import genai
from google.genai import types

from faultclock.subjects.asking import streamed, streamed_async
from faultclock.subjects.binding import provider_adapter
from faultclock.subjects.ports import ProviderRequest
from faultclock.subjects.reading import reply_of

_DIALECT = "gemini-generate-content"
_ROLES = {"assistant": "model"}


def _client(request: ProviderRequest) -> genai.Client:
    options = types.HttpOptions(base_url=request.base_url, timeout=round(request.timeout_s * 1_000))
    return genai.Client(api_key=request.api_key, http_options=options)


@provider_adapter(
    id="google-genai",
    title="Google Gen AI SDK as it is, async",
    open=_client,
    warm_in_place=True,
    dialect=_DIALECT,
    distributions=("google-genai", "aiohttp"),
)
async def google_genai(request: ProviderRequest, client: genai.Client) -> Any:
    """Ask once through the SDK."""
    async with client.aio as asking:
        if not request.stream:
            return reply_of(await asking.models.generate_content(**_given(request)))
        return await streamed_async(await asking.models.generate_content_stream(**_given(request)))


@provider_adapter(
    id="google-genai-sync",
    title="Google Gen AI SDK as it is, blocking",
    open=_client,
    warm_in_place=True,
    dialect=_DIALECT,
    distributions=("google-genai", "httpx2"),
)
def google_genai_sync(request: ProviderRequest, client: genai.Client) -> Any:
    """Ask once through the SDK."""
    if not request.stream:
        return reply_of(client.models.generate_content(**_given(request)))
    return streamed(client.models.generate_content_stream(**_given(request)))


def _given(request: ProviderRequest) -> dict[str, Any]:
    """Return what the SDK is asked with."""
    system = [message["content"] for message in request.messages if message["role"] == "system"]
    config = types.GenerateContentConfig(
        system_instruction=system or None, tools=list(_tools(request.tools)) or None
    )
    contents = [
        types.Content(
            role=_ROLES.get(message["role"], "user"), parts=[types.Part(text=message["content"])]
        )
        for message in request.messages
        if message["role"] != "system"
    ]
    return {"model": request.model, "contents": contents, "config": config}


def _tools(tools: Iterable[Any]) -> Iterator[types.Tool]:
    for tool in tools:
        told = tool["function"]
        yield types.Tool(
            function_declarations=[
                types.FunctionDeclaration(
                    name=told["name"],
                    description=told.get("description"),
                    parameters_json_schema=told.get("parameters"),
                )
            ]
        )
