"""The openai SDK on OpenAI's responses API."""

from __future__ import annotations

import json
from typing import Any

from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

from faultclock.fakes.wire.answer import Answer
from faultclock.fakes.wire.event_stream import read_events
from faultclock.model.scenario.payload import ErrorPayload
from tests.fakes.dialects.driver import Ask, Expected, Place, Reply, unknown_members
from tests.fakes.dialects.openai_clients import TOOL, OpenAIChatSdk, in_stream

_EVENT: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)


class _ResponsesSdk(OpenAIChatSdk):
    """The method `responses.create`; clients and classes are those of chat completions."""

    client_name = "OpenAI.responses"
    finish_words = {  # noqa: RUF012 - never changed
        "stop": "completed",
        "tool_calls": "completed",
        "length": "incomplete",
        "content_filter": "incomplete",
        "error": "failed",
    }

    def ask(self, client: Any, ask: Ask) -> Reply:
        """Ask, blocking."""
        answer = client.responses.create(**_asked(ask))
        return _reply_of_events(list(answer)) if ask.stream else _reply_of(answer)

    async def ask_async(self, client: Any, ask: Ask) -> Reply:
        """Ask."""
        answer = await client.responses.create(**_asked(ask))
        if ask.stream:
            return _reply_of_events([event async for event in answer])
        return _reply_of(answer)

    def expected(self, name: str, payload: ErrorPayload, place: Place) -> Expected:
        """Return what the tables say; an event that is an error is an event like any other."""
        if place != "stream":
            return super().expected(name, payload, place)
        if (payload.body or {}).get("type") == "error":
            return in_stream()
        return Expected(
            error=None,
            because="openai 3.54, types/responses/response_stream_event.py: errors are events",
            differs="an error inside a stream raises nothing: the caller has to look for "
            "`error`, `response.failed` and `response.incomplete`",
        )

    def problems(self, answer: Answer, ask: Ask) -> list[str]:
        """Return what the types of a response and of its events object to."""
        body = b"".join(answer.chunks)
        if not ask.stream:
            return self._unknown([Response.model_validate_json(body, strict=True)])
        events = list(read_events(body))
        wrong = [
            f"the event {event.name} is numbered wrongly"
            for number, event in enumerate(events)
            if (json.loads(event.data)["type"], json.loads(event.data)["sequence_number"])
            != (event.name, number)
        ]
        values = [_EVENT.validate_json(event.data, strict=True) for event in events]
        return wrong + [f"unknown member {name}" for name in unknown_members(values)]


def _asked(ask: Ask) -> dict[str, Any]:
    tools = {"tools": [{"type": "function", "strict": True, **TOOL}]} if ask.tools else {}
    return {"model": ask.model, "input": "Say hello.", "stream": ask.stream, **tools}


def _reply_of(response: Any) -> Reply:
    return Reply(
        text=response.output_text,
        tool_calls=_calls(item for item in response.output if item.type == "function_call"),
        finish_reason=response.status,
        refusal="".join(
            part.refusal
            for item in response.output
            if item.type == "message"
            for part in item.content
            if part.type == "refusal"
        ),
    )


def _reply_of_events(events: list[Any]) -> Reply:
    """Return what the events say one by one, and how the last one ends it."""
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    done = [event.item for event in events if event.type == "response.output_item.done"]
    last = events[-1]
    return Reply(
        text=text,
        tool_calls=_calls(item for item in done if item.type == "function_call"),
        finish_reason=last.response.status if hasattr(last, "response") else last.type,
        refusal="".join(event.delta for event in events if event.type == "response.refusal.delta"),
    )


def _calls(items: Any) -> tuple[tuple[str, Any], ...]:
    return tuple((item.name, json.loads(item.arguments)) for item in items)


SDKS = (_ResponsesSdk("openai-responses"),)
