"""The anthropic SDK on the Messages API."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Any, cast

import anthropic
from anthropic.types import Message, RawMessageStreamEvent
from pydantic import TypeAdapter

from faultclock.fakes.wire.answer import Answer
from faultclock.fakes.wire.event_stream import read_events
from faultclock.model.scenario.payload import ErrorPayload
from tests.fakes.dialects.driver import Ask, Expected, Place, Reply, Way, unknown_members

TOOL = {
    "name": "weather",
    "description": "The weather of a city.",
    "input_schema": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "unit": {"type": "string"}},
        "required": ["city", "unit"],
    },
}
_EVENTS: TypeAdapter[Any] = TypeAdapter(RawMessageStreamEvent)
_EXCEPTIONS = "anthropic 2.12.0, _exceptions.py: the status of each class"
#: anthropic 2.12.0, _exceptions.py.
_CLASSES = {
    400: "BadRequestError",
    401: "AuthenticationError",
    402: "PaymentRequiredError",
    403: "PermissionDeniedError",
    404: "NotFoundError",
    408: "RequestTimeoutError",
    409: "ConflictError",
    413: "ContentTooLargeError",
    422: "UnprocessableEntityError",
    429: "RateLimitError",
    503: "ServiceUnavailableError",
    504: "GatewayTimeoutError",
    529: "OverloadedError",
}
#: anthropic 2.12.0, types/shared: a class for a code in the error's details.
_CLASSES_OF_CODES = {
    "ramp_limit_exceeded": "RampLimitExceededError",
    "insufficient_quota": "EnforcedSpendLimitReachedError",
    "billing_hard_limit_reached": "ContractSpendLimitReachedError",
}


class AnthropicSdk:
    """The anthropic SDK. See `driver.Sdk`."""

    dialect = "anthropic-messages"
    distribution = "anthropic"
    client_name = "Anthropic"
    ways: tuple[Way, ...] = ("async", "sync")
    places: tuple[Place, ...] = ("answer", "stream")
    finish_words = {  # noqa: RUF012 - never changed
        "stop": "end_turn",
        "tool_calls": "tool_use",
        "length": "max_tokens",
        "content_filter": "refusal",
        "pause_turn": "pause_turn",
    }

    def client(self, base_url: str) -> AbstractContextManager[Any]:
        """Return a blocking client with retries off."""
        return anthropic.Anthropic(api_key="not-a-key", base_url=base_url, max_retries=0)

    def async_client(self, base_url: str) -> AbstractAsyncContextManager[Any]:
        """Return an async client with retries off."""
        return anthropic.AsyncAnthropic(api_key="not-a-key", base_url=base_url, max_retries=0)

    def ask(self, client: Any, ask: Ask) -> Reply:
        """Ask; a stream is read with the SDK's helper."""
        if not ask.stream:
            return _reply(client.messages.create(**_asked(ask)))
        with client.messages.stream(**_asked(ask)) as stream:
            return _reply(stream.get_final_message())

    async def ask_async(self, client: Any, ask: Ask) -> Reply:
        """Ask; a stream is read with the SDK's helper."""
        if not ask.stream:
            return _reply(await client.messages.create(**_asked(ask)))
        async with client.messages.stream(**_asked(ask)) as stream:
            return _reply(await stream.get_final_message())

    def expected(self, name: str, payload: ErrorPayload, place: Place) -> Expected:
        """Return what the SDK is to raise."""
        if place == "stream":
            return Expected(
                error="anthropic.APIStatusError",
                because="anthropic 2.12.0, _streaming.py and _error_classes.py: the class is that "
                "of the response's status, and no class has 200",
                differs="an error inside a stream has no class of its own, and tells status 200",
            )
        if name in _CLASSES_OF_CODES:
            because = "anthropic 2.12.0, types/shared and _error_classes.py: by details.error_code"
            return Expected(error=f"anthropic.{_CLASSES_OF_CODES[name]}", because=because)
        if payload.status in _CLASSES:
            return Expected(error=f"anthropic.{_CLASSES[payload.status]}", because=_EXCEPTIONS)
        if payload.status >= 500:
            because = f"{_EXCEPTIONS}, and InternalServerError for the others from 500 on"
            return Expected(error="anthropic.InternalServerError", because=because)
        because = f"{_EXCEPTIONS}, and APIStatusError for the others"
        return Expected(error="anthropic.APIStatusError", because=because)

    def status_told(self, error: BaseException) -> int | None:
        """Return the status that the exception tells."""
        return cast("int | None", getattr(error, "status_code", None))

    def problems(self, answer: Answer, ask: Ask) -> list[str]:
        """Return what the SDK's types object to."""
        body = b"".join(answer.chunks) + answer.end_marker
        if not ask.stream:
            values: list[Any] = [Message.model_validate_json(body, strict=True)]
            return [f"unknown member {name}" for name in unknown_members(values)]
        events = [event for event in read_events(body) if event.name != "ping"]
        values = [_EVENTS.validate_json(event.data, strict=True) for event in events]
        misnamed = [
            f"the event {event.name} is a {value.type}"
            for event, value in zip(events, values, strict=True)
            if event.name != value.type
        ]
        return misnamed + [f"unknown member {name}" for name in unknown_members(values)]


def _asked(ask: Ask) -> dict[str, Any]:
    messages = [{"role": "user", "content": "Say hello."}]
    tools = {"tools": [TOOL]} if ask.tools else {}
    return {"model": ask.model, "max_tokens": 1024, "messages": messages, **tools}


def _reply(message: Message) -> Reply:
    return Reply(
        text="".join(block.text for block in message.content if block.type == "text"),
        tool_calls=tuple(
            (block.name, block.input) for block in message.content if block.type == "tool_use"
        ),
        finish_reason=message.stop_reason,
        refusal=(message.stop_details.explanation or "") if message.stop_details else "",
    )


SDKS = (AnthropicSdk(),)
