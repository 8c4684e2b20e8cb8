"""What Mistral does to OpenAI's dialect: four shapes of errors, limits by the minute, streams."""

from __future__ import annotations

import json
from typing import Any

import pytest

from faultclock.errors import InternalError
from faultclock.fakes.dialects import dialect_named
from faultclock.fakes.dialects.mistral import error_body
from faultclock.load.payloads import load_payloads
from faultclock.model.scenario.payload import ErrorPayload
from tests.fakes.dialects.asking import (
    EXCHANGE,
    LIMITED,
    TOOLS,
    answered,
    broken_off,
    events_of,
    headers_of,
    request,
)

DIALECT = dialect_named("mistral")
PAYLOADS = load_payloads("mistral")


@pytest.mark.parametrize(
    ("body", "facts"),
    [
        (
            {"object": "error", "message": "Slow down", "type": "rate_limited", "code": "1300"},
            ("1300", "rate_limited", "Slow down"),
        ),
        (
            {"object": "error", "message": {"detail": [{"msg": "No"}]}, "type": "t", "code": None},
            (None, "t", "No"),
        ),
        ({"detail": "Unauthorized"}, (None, None, "Unauthorized")),
        ({"detail": [{"msg": "Field required"}, {"msg": "x"}]}, (None, None, "Field required")),
        ({"detail": [1]}, (None, None, None)),
        ({"message": "Too fast"}, (None, None, "Too fast")),
    ],
)
def test_an_error_is_known_in_any_of_its_shapes(body: dict[str, Any], facts: tuple[Any]) -> None:
    """Code, type and message, where it has them."""
    error = DIALECT.error_facts(body)
    assert error is not None
    assert (error["code"], error["type"], error["message"]) == facts


@pytest.mark.parametrize("body", [{}, {"choices": [], "message": "x"}, {"object": "list"}])
def test_what_is_no_error_is_none(body: dict[str, Any]) -> None:
    """A good answer has choices."""
    assert DIALECT.error_facts(body) is None


def test_ids_of_tool_calls_have_nine_characters() -> None:
    """Whole and streamed."""
    answer = answered(DIALECT, request(), tool_calls=TOOLS)
    calls = json.loads(answer.chunks[0])["choices"][0]["message"]["tool_calls"]
    assert [len(call["id"]) for call in calls] == [9, 9]
    assert [call["id"] for call in calls] == [call["id"] for call in answer.tool_calls]


def test_a_stream_asks_for_its_tools_at_once_and_tells_what_it_cost() -> None:
    """All in the chunk with the finish reason."""
    *before, last = events_of(answered(DIALECT, request(stream=True), tool_calls=TOOLS))
    assert not any("tool_calls" in chunk["choices"][0]["delta"] for chunk in before)
    calls = last["choices"][0]["delta"]["tool_calls"]
    assert [(call["index"], call["function"]["name"]) for call in calls] == [
        (0, "weather"),
        (1, "time"),
    ]
    assert last["choices"][0]["finish_reason"] == "tool_calls"
    assert last["usage"]["total_tokens"] > 0
    assert not any("usage" in chunk for chunk in before)


def test_limits_are_told_by_the_minute() -> None:
    """Those of the provider, or such as are never reached."""
    told = headers_of(answered(DIALECT, request(), LIMITED))
    assert told["x-ratelimit-limit-req-minute"] == "60"
    assert told["x-ratelimit-remaining-req-minute"] == "0"
    assert told["x-ratelimit-remaining-tokens-minute"] == "9"
    assert told["retry-after"] == "3"
    never = headers_of(answered(DIALECT, request()))
    assert never["x-ratelimit-limit-req-minute"] == "360"
    assert "retry-after" not in never
    assert len(never["x-kong-request-id"]) == 32


def test_a_request_without_messages_is_told_where_they_are_missing() -> None:
    """As a list of details, with status 422."""
    refusal = DIALECT.read(request(content=b'{"model": "m"}')).refusal
    assert refusal is not None
    payload = PAYLOADS[refusal.payload]
    answer = DIALECT.error_answer(payload, payload.status, EXCHANGE, refusal.values)
    (detail,) = json.loads(answer.chunks[0])["detail"]
    assert (answer.status, detail["loc"]) == (422, ["body", "messages"])
    assert error_body({"detail": "x"}, {"param": "y"}, EXCHANGE) == {"detail": "x"}


def test_an_error_inside_a_stream_is_not_told() -> None:
    """There is only a finish reason, and nobody can read back what it was."""
    event, error = broken_off(DIALECT, PAYLOADS["overloaded_error"])
    assert json.loads(event.removeprefix(b"data: "))["choices"][0]["finish_reason"] == "error"
    assert set(error.values()) == {None}
    heard = DIALECT.heard(event, "text/event-stream")
    assert (heard.error, heard.finish_reason) == (error, None)


def test_an_error_inside_a_stream_names_the_stream() -> None:
    """By its id, its model and its second, as every chunk before it does."""
    event, _ = broken_off(DIALECT, PAYLOADS["overloaded_error"])
    error = json.loads(event.removeprefix(b"data: "))
    good = events_of(answered(DIALECT, request(stream=True)))[0]
    assert error["model"] == "some-model"
    assert error.keys() == good.keys()
    assert {**error, "choices": []} == {**good, "choices": []}


def test_a_page_cannot_be_an_event() -> None:
    """Nor can a body that is no error."""
    no_error = ErrorPayload(status=400, body={"odd": 1}, source="made up")
    for payload in (PAYLOADS["bad_gateway"], no_error):
        with pytest.raises(InternalError):
            broken_off(DIALECT, payload)


def test_its_own_word_for_a_length_is_understood() -> None:
    """In a recording there may be one; ours have none."""
    body = b'{"choices": [{"finish_reason": "model_length", "message": {"content": "x"}}]}'
    assert DIALECT.heard(body, "application/json").finish_reason == "length"
