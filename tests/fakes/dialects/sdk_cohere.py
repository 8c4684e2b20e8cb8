"""Cohere's own SDK, its clients of version 2.

Errors within a stream are no exceptions there: they are the last event.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, cast

import cohere
from cohere.v2.types.v2chat_response import V2ChatResponse
from cohere.v2.types.v2chat_stream_response import V2ChatStreamResponse
from pydantic import TypeAdapter

from faultclock.fakes.wire.answer import Answer
from faultclock.fakes.wire.event_stream import read_events
from faultclock.model.scenario.payload import ErrorPayload
from tests.fakes.dialects.driver import Ask, Expected, Place, Reply, Way, unknown_members

_KEY = "co-not-a-key"
_MESSAGES: Any = [{"role": "user", "content": "Say hello."}]
_WEATHER: Any = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather of a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "unit": {"type": "string"}},
            "required": ["city", "unit"],
        },
    },
}
#: cohere 7.3, errors/*.py: each class has its status.
_CLASSES = {
    400: "BadRequestError",
    401: "UnauthorizedError",
    403: "ForbiddenError",
    404: "NotFoundError",
    422: "UnprocessableEntityError",
    429: "TooManyRequestsError",
    498: "InvalidTokenError",
    500: "InternalServerError",
    503: "ServiceUnavailableError",
    504: "GatewayTimeoutError",
}
_BY_STATUS = "cohere 7.3, errors/*.py: a class for each status, else core/api_error.py, ApiError"
_NO_JSON = (
    "cohere 7.3, v2/raw_client.py: a body that is no JSON is an ApiError, whatever its status"
)
_IN_STREAM = "cohere 7.3, types/chat_message_end_event_delta.py: the last event has the error"
_IN_BODY = (
    "cohere 7.3, core/unchecked_base_model.py, `construct_type`: a body of status 200 is an "
    "answer, and its `message` is unpacked as an object"
)
#: What the wire has and the types of the SDK have not: an empty message, in the first event.
_OF_MESSAGE_START = {"content", "tool_plan", "tool_calls", "citations"}
_EVENT: TypeAdapter[Any] = TypeAdapter(V2ChatStreamResponse)


class CohereSdk:
    """The driver of cohere."""

    dialect = "cohere"
    distribution = "cohere"
    client_name = "cohere.ClientV2"
    ways: tuple[Way, ...] = ("async", "sync")
    places: tuple[Place, ...] = ("answer", "stream", "ok_body")
    finish_words = {  # noqa: RUF012 - never changed
        "stop": "COMPLETE",
        "tool_calls": "TOOL_CALL",
        "length": "MAX_TOKENS",
        "error": "ERROR",
    }
    remarks = (
        "the message of the first event has empty members of which the types do not know "
        "[events recorded in github.com/M-Lai-ai/LLM-Provider-reference, Cohere/streaming.md]",
    )

    @contextmanager
    def client(self, base_url: str) -> Iterator[Any]:
        """Return a client that tries once."""
        with cohere.ClientV2(_KEY, base_url=base_url, max_retries=0) as client:
            yield client

    @asynccontextmanager
    async def async_client(self, base_url: str) -> AsyncIterator[Any]:
        """Return a client that tries once."""
        async with cohere.AsyncClientV2(_KEY, base_url=base_url, max_retries=0) as client:
            yield client

    def ask(self, client: Any, ask: Ask) -> Reply:
        """Ask, blocking."""
        if not ask.stream:
            return _reply_of(client.chat(**_given(ask)))
        return _reply_of_events(list(client.chat_stream(**_given(ask))))

    async def ask_async(self, client: Any, ask: Ask) -> Reply:
        """Ask."""
        if not ask.stream:
            return _reply_of(await client.chat(**_given(ask)))
        return _reply_of_events([event async for event in client.chat_stream(**_given(ask))])

    def expected(self, name: str, payload: ErrorPayload, place: Place) -> Expected:
        """Return what its source says."""
        if place == "stream":
            return Expected(
                error=None,
                because=_IN_STREAM,
                differs="an error within a stream is an event with finish_reason ERROR; nothing "
                "is raised",
            )
        if place == "ok_body":
            return Expected(
                error="builtins.TypeError",
                because=_IN_BODY,
                differs="an error in an answer of status 200 is a TypeError of the SDK's own code",
                mute="it tells only what cannot be unpacked",
            )
        if payload.body is None:
            return Expected(error="cohere.ApiError", because=_NO_JSON)
        kind = _CLASSES.get(payload.status, "ApiError")
        return Expected(error=f"cohere.{kind}", because=_BY_STATUS)

    def status_told(self, error: BaseException) -> int | None:
        """Return the member of its exceptions that has it."""
        return cast("int | None", getattr(error, "status_code", None))

    def problems(self, answer: Answer, ask: Ask) -> list[str]:
        """Return what its types object to, or do not know."""
        body = b"".join(answer.chunks) + answer.end_marker
        if not ask.stream:
            read: list[Any] = [V2ChatResponse.model_validate_json(body, strict=True)]
            return [f"unknown member {name}" for name in unknown_members(read)]
        *events, last = read_events(body)
        found = [] if last.data == "[DONE]" else ["the stream does not end with [DONE]"]
        for number, event in enumerate(events):
            value = _EVENT.validate_json(event.data, strict=True)
            known = set() if number else _OF_MESSAGE_START
            names = [name for name in unknown_members(value) if name not in known]
            found += [f"{value.type}: unknown member {name}" for name in names]
            if event.name != value.type:
                found.append(f"the event {event.name} says that it is {value.type}")
        return found


def _given(ask: Ask) -> dict[str, Any]:
    tools = {"tools": [_WEATHER]} if ask.tools else {}
    return {"model": ask.model, "messages": _MESSAGES, **tools}


def _reply_of(answer: Any) -> Reply:
    calls = [call.function for call in answer.message.tool_calls or ()]
    return Reply(
        text="".join(item.text for item in answer.message.content or ()),
        tool_calls=tuple((call.name, json.loads(call.arguments)) for call in calls),
        finish_reason=answer.finish_reason,
    )


def _reply_of_events(events: list[Any]) -> Reply:
    texts, calls, reason = list[str](), list[list[str]](), None
    for event in events:
        if event.type == "content-delta":
            texts.append(event.delta.message.content.text)
        elif event.type == "tool-call-start":
            calls.append([event.delta.message.tool_calls.function.name])
        elif event.type == "tool-call-delta":
            calls[-1].append(event.delta.message.tool_calls.function.arguments)
        elif event.type == "message-end":
            reason = event.delta.finish_reason
    return Reply(
        text="".join(texts),
        tool_calls=tuple((name, json.loads("".join(pieces))) for name, *pieces in calls),
        finish_reason=reason,
    )


SDKS = (CohereSdk(),)
