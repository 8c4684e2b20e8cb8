"""What the openai SDK does with chat completions, whoever provides them.

Providers that took over OpenAI's API tell their users to take this SDK with another `base_url`;
`OpenAIChatSdk` is the driver of all of them. What it is expected to do was read in the SDK's
documentation and source, and stands here as a table.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import replace
from types import MappingProxyType
from typing import Any, cast

import openai
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from faultclock.fakes.wire.answer import Answer
from faultclock.fakes.wire.event_stream import read_events
from faultclock.model.scenario.payload import ErrorPayload
from tests.fakes.dialects.driver import Ask, Expected, Place, Reply, Way, unknown_members

KEY = "sk-not-a-key"
MESSAGES: Any = [{"role": "user", "content": "Say hello."}]
TOOL = {
    "name": "weather",
    "description": "The weather of a city.",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "unit": {"type": "string"}},
        "required": ["city", "unit"],
        "additionalProperties": False,
    },
}
#: openai 3.54, README.md, "Handling errors": the table of status codes and error types.
CLASSES = {
    400: "openai.BadRequestError",
    401: "openai.AuthenticationError",
    403: "openai.PermissionDeniedError",
    404: "openai.NotFoundError",
    409: "openai.ConflictError",
    422: "openai.UnprocessableEntityError",
    429: "openai.RateLimitError",
}
_README = "openai 3.54, README.md, Handling errors"


#: The text of the exception has the message of an error object, and of nothing else.
_BARE = "openai 3.54, _base_client.py: an error that is no object does not get into the text"


def class_of(status: int) -> Expected:
    """Return what is raised for an answer of `status`."""
    if status in CLASSES:
        return Expected(error=CLASSES[status], because=_README)
    if status >= 500:
        return Expected(error="openai.InternalServerError", because=f"{_README}: >=500")
    because = "openai 3.54, _exceptions.py: APIStatusError is for the statuses without a class"
    return Expected(error="openai.APIStatusError", because=because)


def in_stream() -> Expected:
    """Return what is raised for an error object in the data of a stream's event."""
    because = "openai 3.54, _streaming.py: an event whose data has `error` raises APIError"
    differs = "an error inside a stream has no class of its own and no status"
    return Expected(error="openai.APIError", because=because, differs=differs)


class OpenAIChatSdk:
    """The openai SDK on a provider of chat completions. See `driver.Sdk`."""

    distribution = "openai"
    client_name = "OpenAI"
    ways: tuple[Way, ...] = ("async", "sync")
    places: tuple[Place, ...] = ("answer", "stream")
    finish_words: Mapping[str, str] = MappingProxyType(
        {name: name for name in ("stop", "tool_calls", "length", "content_filter")}
    )
    remarks: tuple[str, ...] = ()
    #: Members that a provider adds to OpenAI's, by its own documentation.
    added: frozenset[str] = frozenset()

    def __init__(self, dialect: str) -> None:
        self.dialect = dialect

    def client(self, base_url: str) -> AbstractContextManager[Any]:
        """Return a client without retries."""
        return openai.OpenAI(api_key=KEY, base_url=base_url, max_retries=0)

    def async_client(self, base_url: str) -> AbstractAsyncContextManager[Any]:
        """Return an async client without retries."""
        return openai.AsyncOpenAI(api_key=KEY, base_url=base_url, max_retries=0)

    def ask(self, client: Any, ask: Ask) -> Reply:
        """Ask, blocking."""
        answer = client.chat.completions.create(**self._asked(ask))
        return reply_of_chunks(list(answer)) if ask.stream else reply_of(answer)

    async def ask_async(self, client: Any, ask: Ask) -> Reply:
        """Ask."""
        answer = await client.chat.completions.create(**self._asked(ask))
        if ask.stream:
            return reply_of_chunks([chunk async for chunk in answer])
        return reply_of(answer)

    def _asked(self, ask: Ask) -> dict[str, Any]:
        tools = {"tools": [{"type": "function", "function": TOOL}]} if ask.tools else {}
        options = {"stream_options": {"include_usage": True}} if ask.stream else {}
        return {"model": ask.model, "messages": MESSAGES, "stream": ask.stream, **tools, **options}

    def expected(self, name: str, payload: ErrorPayload, place: Place) -> Expected:
        """Return what the tables say."""
        expected = in_stream() if place == "stream" else class_of(payload.status)
        if payload.body is None or isinstance(payload.body.get("error"), dict):
            return expected
        return replace(expected, mute=_BARE) if "error" in payload.body else expected

    def status_told(self, error: BaseException) -> int | None:
        """Return the exception's `status_code`."""
        return cast("int | None", getattr(error, "status_code", None))

    def problems(self, answer: Answer, ask: Ask) -> list[str]:
        """Return what the types of completions and chunks object to.

        A provider's own word for an answer that failed is none of OpenAI's.
        """
        word = f'"finish_reason":"{self.finish_words.get("error")}"'.encode()
        chunks = [chunk.replace(word, b'"finish_reason":"stop"') for chunk in answer.chunks]
        if ask.stream:
            return self.problems_of(*chunks, answer.end_marker)
        body = b"".join(chunks)
        return self._unknown([ChatCompletion.model_validate_json(body, strict=True)])

    def problems_of(self, *pieces: bytes) -> list[str]:
        """Return what the type of a chunk objects to in a stream."""
        texts = [event.data for event in read_events(b"".join(pieces))]
        ended = [] if texts[-1] == "[DONE]" else ["the stream does not end with [DONE]"]
        chunks = [ChatCompletionChunk.model_validate_json(text, strict=True) for text in texts[:-1]]
        return ended + self._unknown(chunks)

    def _unknown(self, values: Iterable[Any]) -> list[str]:
        names = {name for value in values for name in unknown_members(value)}
        return [f"unknown member {name}" for name in sorted(names - self.added)]


def reply_of(completion: Any) -> Reply:
    """Return what a completion says; nothing where it has no choices."""
    if not completion.choices:
        return Reply()
    choice = completion.choices[0]
    return Reply(
        text=choice.message.content or "",
        tool_calls=tuple(
            (call.function.name, json.loads(call.function.arguments))
            for call in choice.message.tool_calls or ()
        ),
        finish_reason=choice.finish_reason,
        refusal=choice.message.refusal or "",
    )


def reply_of_chunks(chunks: list[Any]) -> Reply:
    """Return what the chunks of a stream say together."""
    choices = [choice for chunk in chunks for choice in chunk.choices or ()]
    calls: dict[int, list[str]] = {}
    for call in (call for choice in choices for call in choice.delta.tool_calls or ()):
        told = calls.setdefault(call.index, ["", ""])
        told[0] += call.function.name or ""
        told[1] += call.function.arguments or ""
    return Reply(
        text="".join(choice.delta.content or "" for choice in choices),
        tool_calls=tuple((name, json.loads(arguments)) for name, arguments in calls.values()),
        finish_reason=next((c.finish_reason for c in choices if c.finish_reason), None),
        refusal="".join(choice.delta.refusal or "" for choice in choices),
    )
