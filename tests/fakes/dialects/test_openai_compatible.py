"""What a server of nobody in particular does to OpenAI's dialect."""

from __future__ import annotations

import json

from faultclock.fakes.dialects import dialect_named
from faultclock.load.payloads import load_payloads
from tests.fakes.dialects.asking import EXCHANGE, LIMITED, answered, broken_off, headers_of, request

DIALECT = dialect_named("openai-compatible")
PAYLOADS = load_payloads("openai-compatible")


def test_no_key_is_needed() -> None:
    """Nor is one refused."""
    assert DIALECT.read(request(headers={})).refusal is None
    assert "missing_authorization" not in DIALECT.own_payloads


def test_it_tells_of_no_limits() -> None:
    """Whatever they are."""
    assert set(headers_of(answered(DIALECT, request(), LIMITED))) == {
        "date",
        "server",
        "content-type",
    }


def test_the_code_of_an_error_is_the_status_as_a_number() -> None:
    """The type is the name of a class."""
    answer = DIALECT.error_answer(PAYLOADS["model_not_found"], 404, EXCHANGE, {})
    assert answer.error is not None
    assert (answer.error["code"], answer.error["type"]) == (404, "NotFoundError")


def test_a_bare_error_object_is_an_error_all_the_same() -> None:
    """In an answer and in a stream, where it stays bare."""
    payload = PAYLOADS["context_length_exceeded_bare"]
    answer = DIALECT.error_answer(payload, 400, EXCHANGE, {})
    assert json.loads(answer.chunks[0])["object"] == "error"
    assert DIALECT.heard(answer.chunks[0], "application/json").error == answer.error
    event, error = broken_off(DIALECT, payload)
    assert json.loads(event.removeprefix(b"data: ")) == payload.body
    assert error == answer.error == DIALECT.heard(event, "text/event-stream").error


def test_an_error_may_be_a_mere_text() -> None:
    """As that of a wrong key is."""
    answer = DIALECT.error_answer(PAYLOADS["invalid_api_key"], 401, EXCHANGE, {})
    assert answer.error == {"code": None, "type": None, "message": "Unauthorized"}


def test_the_parameter_is_told_where_the_error_has_one() -> None:
    """The member is there in every error of this shape."""
    refusal = DIALECT.read(request(content=b'{"model": "m"}')).refusal
    assert refusal is not None
    answer = DIALECT.error_answer(PAYLOADS[refusal.payload], 400, EXCHANGE, refusal.values)
    error = json.loads(answer.chunks[0])["error"]
    assert (error["param"], error["message"]) == (
        "messages",
        "Missing required parameter: 'messages'.",
    )
