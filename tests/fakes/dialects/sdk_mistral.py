"""The mistralai SDK on Mistral."""

from __future__ import annotations

import json
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Any, cast

from mistralai.client import Mistral
from mistralai.client.models import ChatCompletionResponse, CompletionChunk

from faultclock.fakes.wire.answer import Answer
from faultclock.fakes.wire.event_stream import read_events
from faultclock.model.scenario.payload import ErrorPayload
from tests.fakes.dialects.driver import Ask, Expected, Place, Reply, Way, lost_members
from tests.fakes.dialects.openai_clients import KEY, MESSAGES, TOOL

_README = "mistralai 3.7, README.md, Error Handling"


class _MistralSdk:
    """The client `Mistral`; it retries nothing unless it is told to. See `driver.Sdk`."""

    dialect = "mistral"
    distribution = "mistralai"
    client_name = "Mistral"
    ways: tuple[Way, ...] = ("async", "sync")
    places: tuple[Place, ...] = ("answer", "stream")
    finish_words = {  # noqa: RUF012 - never changed
        name: name for name in ("stop", "tool_calls", "length", "error")
    }
    remarks: tuple[str, ...] = ()

    def client(self, base_url: str) -> AbstractContextManager[Any]:
        """Return a client."""
        return Mistral(api_key=KEY, server_url=base_url)

    def async_client(self, base_url: str) -> AbstractAsyncContextManager[Any]:
        """Return the same client: it is both."""
        return Mistral(api_key=KEY, server_url=base_url)

    def ask(self, client: Any, ask: Ask) -> Reply:
        """Ask, blocking."""
        if not ask.stream:
            return _reply_of([client.chat.complete(**_asked(ask)).choices[0]], "message")
        events = list(client.chat.stream(**_asked(ask)))
        return _reply_of([event.data.choices[0] for event in events], "delta")

    async def ask_async(self, client: Any, ask: Ask) -> Reply:
        """Ask."""
        if not ask.stream:
            answer = await client.chat.complete_async(**_asked(ask))
            return _reply_of([answer.choices[0]], "message")
        events = [event async for event in await client.chat.stream_async(**_asked(ask))]
        return _reply_of([event.data.choices[0] for event in events], "delta")

    def expected(self, name: str, payload: ErrorPayload, place: Place) -> Expected:
        """Return what the README says; inside a stream, what the types say."""
        if place == "stream":
            return Expected(
                error=None,
                because="mistralai 3.7, models/completionresponsestreamchoice.py: a finish reason",
                differs="an error inside a stream raises nothing: the finish reason is 'error'",
            )
        if payload.status == 422:
            because = f"{_README}: HTTPValidationError, status code 422"
            return Expected(error="mistralai.HTTPValidationError", because=because)
        return Expected(
            error="mistralai.SDKError",
            because="mistralai 3.7, errors/sdkerror.py: where no more specific class matches",
            differs="every status but 422 raises one class, which tells them by `status_code`",
        )

    def status_told(self, error: BaseException) -> int | None:
        """Return the exception's `status_code`."""
        return cast("int | None", getattr(error, "status_code", None))

    def problems(self, answer: Answer, ask: Ask) -> list[str]:
        """Return what the types object to, or do not take in."""
        body = b"".join(answer.chunks) + answer.end_marker
        if not ask.stream:
            return _lost(ChatCompletionResponse, body)
        *texts, last = [event.data for event in read_events(body)]
        ended = [] if last == "[DONE]" else ["the stream does not end with [DONE]"]
        return ended + [lost for text in texts for lost in _lost(CompletionChunk, text)]


def _asked(ask: Ask) -> dict[str, Any]:
    tools = {"tools": [{"type": "function", "function": TOOL}]} if ask.tools else {}
    return {"model": ask.model, "messages": MESSAGES, **tools}


def _reply_of(choices: list[Any], member: str) -> Reply:
    parts = [getattr(choice, member) for choice in choices]
    return Reply(
        text="".join(part.content or "" for part in parts),
        tool_calls=tuple(
            (call.function.name, json.loads(call.function.arguments))
            for part in parts
            for call in part.tool_calls or ()
        ),
        finish_reason=next((c.finish_reason for c in choices if c.finish_reason), None),
    )


def _lost(kind: Any, text: bytes | str) -> list[str]:
    understood = kind.model_validate_json(text, strict=True).model_dump(by_alias=True)
    return [f"unknown member {name}" for name in lost_members(json.loads(text), understood)]


SDKS = (_MistralSdk(),)
