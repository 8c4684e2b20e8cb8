"""Google's own SDK on the Gemini API: `httpx` where it blocks, `aiohttp` where it does not.

It retries nothing unless it is told to (google-genai 3.4, _api_client.py, `retry_args`).
"""

from __future__ import annotations

import warnings
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, cast

from google import genai
from google.genai import types

from faultclock.fakes.wire.answer import Answer
from faultclock.model.scenario.payload import ErrorPayload
from tests.fakes.dialects.driver import Ask, Expected, Place, Reply, Way, unknown_members

_KEY = "AIza-not-a-key"
_PROMPT = "Say hello."
_WEATHER = types.Tool(
    function_declarations=[
        types.FunctionDeclaration(
            name="weather",
            description="The weather of a city.",
            parameters=types.Schema(
                type=types.Type.OBJECT,
                properties={
                    "city": types.Schema(type=types.Type.STRING),
                    "unit": types.Schema(type=types.Type.STRING),
                },
                required=["city", "unit"],
            ),
        )
    ]
)
_BY_CLASS = "google-genai 3.4, errors.py, `APIError.raise_error`: 4xx and 5xx, a class each"
_IN_STREAM = (
    "google-genai 3.4, _api_client.py, `request_streamed`: a chunk that begins with an error "
    "object raises by its `code`"
)
_IN_BODY = "google-genai 3.4, models.py: a body of status 200 is read as an answer, whatever it is"


class GeminiSdk:
    """The driver of google-genai."""

    dialect = "gemini-generate-content"
    distribution = "google-genai"
    client_name = "genai.Client"
    ways: tuple[Way, ...] = ("async", "sync")
    places: tuple[Place, ...] = ("answer", "stream", "ok_body")
    finish_words = {  # noqa: RUF012 - never changed
        "stop": "STOP",
        "tool_calls": "STOP",
        "length": "MAX_TOKENS",
        "content_filter": "SAFETY",
        "error": "OTHER",
    }

    @contextmanager
    def client(self, base_url: str) -> Iterator[Any]:
        """Return a client that tries once."""
        with _made(base_url) as client:
            yield client

    @asynccontextmanager
    async def async_client(self, base_url: str) -> AsyncIterator[Any]:
        """Return a client that tries once."""
        with warnings.catch_warnings():
            # Its session is a subclass of aiohttp's, at which aiohttp warns.
            warnings.filterwarnings("ignore", "Inheritance class", DeprecationWarning)
            async with _made(base_url).aio as client:
                yield client

    def ask(self, client: Any, ask: Ask) -> Reply:
        """Ask, blocking."""
        given = _given(ask)
        if not ask.stream:
            return _reply_of([client.models.generate_content(**given)])
        return _reply_of(list(client.models.generate_content_stream(**given)))

    async def ask_async(self, client: Any, ask: Ask) -> Reply:
        """Ask."""
        given = _given(ask)
        if not ask.stream:
            return _reply_of([await client.models.generate_content(**given)])
        stream = await client.models.generate_content_stream(**given)
        return _reply_of([chunk async for chunk in stream])

    def expected(self, name: str, payload: ErrorPayload, place: Place) -> Expected:
        """Return what its source says."""
        if place == "ok_body":
            return Expected(
                error=None,
                because=_IN_BODY,
                differs="an error object in an answer of status 200 is an answer without text",
            )
        kind = "ClientError" if payload.status < 500 else "ServerError"
        because = _BY_CLASS if place == "answer" else _IN_STREAM
        return Expected(error=f"google.{kind}", because=because)

    def status_told(self, error: BaseException) -> int | None:
        """Return the member of its exceptions that has it."""
        return cast("int | None", getattr(error, "code", None))

    def problems(self, answer: Answer, ask: Ask) -> list[str]:
        """Return what its types object to, or do not know."""
        body = b"".join(answer.chunks) + answer.end_marker
        texts = [body]
        if ask.stream:
            *events, rest = body.split(b"\r\n\r\n")
            if rest or not all(event.startswith(b"data: ") for event in events):
                return [f"not a stream of events: {body!r}"]
            texts = [event.removeprefix(b"data: ") for event in events]
        # Unknown members are forbidden by the types themselves.
        read = [types.GenerateContentResponse.model_validate_json(t, strict=True) for t in texts]
        return [f"unknown member {name}" for name in unknown_members(read)]


def _made(base_url: str) -> genai.Client:
    return genai.Client(api_key=_KEY, http_options=types.HttpOptions(base_url=base_url))


def _given(ask: Ask) -> dict[str, Any]:
    config = types.GenerateContentConfig(tools=[_WEATHER]) if ask.tools else None
    return {"model": ask.model, "contents": _PROMPT, "config": config}


def _reply_of(answers: list[Any]) -> Reply:
    """Return what an answer says, or the chunks of one together."""
    candidates = [candidate for answer in answers for candidate in answer.candidates or ()]
    contents = [item.content for item in candidates if item.content is not None]
    parts = [part for content in contents for part in content.parts or ()]
    calls = [part.function_call for part in parts if part.function_call is not None]
    reasons = [item.finish_reason for item in candidates if item.finish_reason is not None]
    return Reply(
        text="".join(part.text or "" for part in parts),
        tool_calls=tuple((call.name, call.args) for call in calls),
        finish_reason=reasons[-1].value if reasons else None,
    )


SDKS = (GeminiSdk(),)
