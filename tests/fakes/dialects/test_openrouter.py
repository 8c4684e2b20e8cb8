"""What OpenRouter does to OpenAI's dialect: comments, ids, its own errors and those of others."""

from __future__ import annotations

import json

import pytest

from faultclock.errors import InternalError
from faultclock.fakes.dialects import dialect_named
from faultclock.load.payloads import load_payloads
from tests.fakes.dialects.asking import (
    EXCHANGE,
    LIMITED,
    answered,
    broken_off,
    events_of,
    headers_of,
    request,
)

DIALECT = dialect_named("openrouter")
PAYLOADS = load_payloads("openrouter")
PATH = "/api/v1/chat/completions"


def test_a_stream_begins_with_a_comment() -> None:
    """It comes with the first chunk, whose place does not change."""
    answer = answered(DIALECT, request(PATH, stream=True), reply="One two.")
    assert answer.chunks[0].startswith(b": OPENROUTER PROCESSING\n\ndata: {")
    assert [chunk["choices"][0]["delta"].get("content") for chunk in events_of(answer)] == [
        "",
        "One",
        " two.",
        None,
    ]


def test_the_generation_is_named_in_body_and_header() -> None:
    """By the same id; the provider behind it is told, too."""
    answer = answered(DIALECT, request(PATH))
    body = json.loads(answer.chunks[0])
    assert body["id"] == headers_of(answer)["x-generation-id"]
    assert body["id"].startswith("gen-1767225600-")
    assert body["provider"] == "OpenAI"
    assert body["choices"][0]["native_finish_reason"] == "stop"
    assert body["usage"]["cost"] > 0


def test_limits_are_told_where_there_are_some() -> None:
    """The reset in milliseconds since 1970, the wait in whole seconds; tokens have no limit."""
    told = headers_of(answered(DIALECT, request(PATH), LIMITED))
    assert (told["x-ratelimit-limit"], told["x-ratelimit-remaining"]) == ("60", "0")
    assert told["x-ratelimit-reset"] == "1767225660000"
    assert told["retry-after"] == "3"
    untold = headers_of(answered(DIALECT, request(PATH)))
    assert not any(name.startswith(("x-rate", "retry")) for name in untold)


def test_the_code_of_an_error_is_a_number() -> None:
    """What went wrong at the provider behind it stands in the metadata."""
    answer = DIALECT.error_answer(PAYLOADS["overloaded"], 502, EXCHANGE, {})
    error = json.loads(answer.chunks[0])["error"]
    assert (error["code"], error["metadata"]["raw"]) == (502, "Overloaded")
    assert answer.error == {"code": 502, "type": None, "message": "Provider returned error"}


def test_an_error_inside_a_stream_is_a_last_chunk() -> None:
    """Its finish reason says so, and the error stands beside the choices."""
    event, error = broken_off(DIALECT, PAYLOADS["overloaded_error"])
    chunk = json.loads(event.removeprefix(b"data: "))
    assert chunk["choices"][0]["finish_reason"] == "error"
    assert chunk["error"]["code"] == error["code"] == 502
    heard = DIALECT.heard(event, "text/event-stream")
    assert (heard.error, heard.finish_reason) == (error, None)
    with pytest.raises(InternalError):
        broken_off(DIALECT, PAYLOADS["bad_gateway"])


def test_an_error_inside_a_stream_names_the_stream() -> None:
    """By its id, its model and its second, as every chunk before it does."""
    event, _ = broken_off(DIALECT, PAYLOADS["overloaded_error"])
    error = json.loads(event.removeprefix(b"data: "))
    good = events_of(answered(DIALECT, request(PATH, stream=True)))[0]
    del error["error"]
    assert {**error, "choices": []} == {**good, "choices": []}


def test_a_402_that_is_worth_waiting_for_says_so() -> None:
    """Another does not."""
    budget, credits = PAYLOADS["in_flight_budget"], PAYLOADS["insufficient_quota"]
    assert budget.status == credits.status == 402
    assert budget.headers["retry-after"] == "5"
    assert not credits.headers
