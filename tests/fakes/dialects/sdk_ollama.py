"""Ollama's own SDK: it retries nothing, and has one exception for all that the server refuses."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, cast

import ollama

from faultclock.fakes.wire.answer import Answer
from faultclock.model.scenario.payload import ErrorPayload
from tests.fakes.dialects.driver import Ask, Expected, Place, Reply, Way, unknown_members

_MESSAGES = [{"role": "user", "content": "Say hello."}]
_WEATHER = {
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
_BY_STATUS = "ollama 0.6.3, _client.py, `_request`: any error status is a ResponseError"
_IN_STREAM = "ollama 0.6.3, _client.py, `_request`: a line with `error` is a ResponseError"
#: As much of a body does pydantic show in its errors.
_SHOWN_CHARS = 50
_IN_BODY = "ollama 0.6.3, _client.py, `_request`: a body of status 200 must be a ChatResponse"


class OllamaSdk:
    """The driver of ollama."""

    dialect = "ollama"
    distribution = "ollama"
    client_name = "ollama.Client"
    ways: tuple[Way, ...] = ("async", "sync")
    places: tuple[Place, ...] = ("answer", "stream", "ok_body")
    finish_words = {  # noqa: RUF012 - never changed
        "stop": "stop",
        "tool_calls": "stop",
        "length": "length",
    }
    remarks = (
        "tool calls have an `id` and a function an `index`, of which the types do not know "
        "[github.com/ollama/ollama, server/routes.go, `toolCallId`]",
    )

    @contextmanager
    def client(self, base_url: str) -> Iterator[Any]:
        """Return a client that tries once."""
        client: Any = ollama.Client(host=base_url)
        yield client
        client.close()

    @asynccontextmanager
    async def async_client(self, base_url: str) -> AsyncIterator[Any]:
        """Return a client that tries once."""
        client: Any = ollama.AsyncClient(host=base_url)
        yield client
        await client.close()

    def ask(self, client: Any, ask: Ask) -> Reply:
        """Ask, blocking."""
        if not ask.stream:
            return _reply_of([client.chat(**_given(ask))])
        return _reply_of(list(client.chat(**_given(ask), stream=True)))

    async def ask_async(self, client: Any, ask: Ask) -> Reply:
        """Ask."""
        if not ask.stream:
            return _reply_of([await client.chat(**_given(ask))])
        stream = await client.chat(**_given(ask), stream=True)
        return _reply_of([part async for part in stream])

    def expected(self, name: str, payload: ErrorPayload, place: Place) -> Expected:
        """Return what its source says."""
        if place == "ok_body":
            cut = len(str({"error": (payload.body or {}).get("error")})) > _SHOWN_CHARS
            return Expected(
                error="pydantic_core.ValidationError",
                because=_IN_BODY,
                differs="an error in an answer of status 200 is a ValidationError of pydantic's",
                mute="pydantic shows the first and last characters of the body" if cut else "",
            )
        if place == "stream":
            return Expected(
                error="ollama.ResponseError",
                because=_IN_STREAM,
                differs="the status of an error within a stream is -1",
            )
        return Expected(error="ollama.ResponseError", because=_BY_STATUS)

    def status_told(self, error: BaseException) -> int | None:
        """Return the member of its exceptions that has it."""
        return cast("int | None", getattr(error, "status_code", None))

    def problems(self, answer: Answer, ask: Ask) -> list[str]:
        """Return what its types object to, or do not know."""
        body = b"".join(answer.chunks) + answer.end_marker
        lines = [body]
        if ask.stream:
            *lines, rest = body.split(b"\n")
            if rest:
                return [f"the last line has no end: {rest!r}"]
        # The types allow any member and drop it, so that they are told to keep it first.
        read = [_Kept.model_validate_json(line, strict=True) for line in lines]
        # Both are the server's, of later than the SDK (server/routes.go of ollama/ollama).
        known = {"id", "index"}
        return [f"unknown member {name}" for name in unknown_members(read) if name not in known]


class _KeptFunction(ollama.Message.ToolCall.Function, extra="allow"):
    pass


class _KeptToolCall(ollama.Message.ToolCall, extra="allow"):
    function: _KeptFunction


class _KeptMessage(ollama.Message, extra="allow"):
    tool_calls: list[_KeptToolCall] | None = None


class _Kept(ollama.ChatResponse, extra="allow"):
    """An answer that remembers the members that its type does not know."""

    message: _KeptMessage


def _given(ask: Ask) -> dict[str, Any]:
    tools = {"tools": [_WEATHER]} if ask.tools else {}
    return {"model": ask.model, "messages": _MESSAGES, **tools}


def _reply_of(parts: list[Any]) -> Reply:
    """Return what an answer says, or the lines of one together."""
    calls = [call.function for part in parts for call in part.message.tool_calls or ()]
    return Reply(
        text="".join(part.message.content or "" for part in parts),
        tool_calls=tuple((call.name, dict(call.arguments)) for call in calls),
        finish_reason=parts[-1].done_reason,
    )


SDKS = (OllamaSdk(),)
