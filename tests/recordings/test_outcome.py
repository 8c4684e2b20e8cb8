"""What came back in an exchange, by the dialects that are really spoken."""

from __future__ import annotations

import json
from typing import Any

import pytest

from faultclock.fakes.dialects import dialect_named
from faultclock.model.scenario.payload import ErrorPayload
from faultclock.recordings.exchange import Exchange, Headers, Oddities
from faultclock.recordings.outcome import Outcome, outcome_of
from tests.fakes.dialects.asking import broken_off
from tests.recordings.builders import exchange

JSON: Headers = (("content-type", "application/json"),)
EVENTS: Headers = (("content-type", "text/event-stream"),)
GOOD: dict[str, Any] = {
    "id": "1",
    "object": "chat.completion",
    "choices": [{"index": 0, "message": {"content": "Hi"}, "finish_reason": "stop"}],
}


def came_of(item: Exchange, dialect: str = "openai-chat") -> Outcome:
    """Return the outcome; that there is one is a part of each test."""
    outcome = outcome_of(item, dialect_named(dialect), Oddities())
    assert outcome is not None
    return outcome


def chunk(text: str, reason: str | None = None) -> str:
    """Return one event of a stream."""
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": reason}
    return f"data: {json.dumps({'object': 'chat.completion.chunk', 'choices': [choice]})}\n\n"


def answer(body: str | dict[str, Any], told: Headers = JSON, asked: bytes = b"{}") -> Exchange:
    """Return an exchange with a good status."""
    text = body if isinstance(body, str) else json.dumps(body)
    return exchange(body=text.encode(), told=told, asked=asked)


def test_a_good_answer_is_one() -> None:
    """What it says is read by its dialect."""
    outcome = came_of(answer(GOOD))
    assert (outcome.kind, outcome.failed) == ("good", False)
    assert outcome.said is not None
    assert outcome.said.text == "Hi"


def test_a_good_stream_is_one() -> None:
    """It says how it ended."""
    body = chunk("Hi") + chunk("", "stop") + "data: [DONE]\n\n"
    assert came_of(answer(body, EVENTS)).kind == "good"


def test_an_error_status_is_one_whatever_the_body() -> None:
    """JSON is kept as a value, all else as bytes."""
    body = b'{"error": {"message": "m", "type": "t", "code": "c"}}'
    outcome = came_of(exchange(status=429, body=body, told=JSON))
    assert (outcome.kind, outcome.status) == ("status", 429)
    assert outcome.facts == {"code": "c", "type": "t", "message": "m"}
    for raw in (b"<html>", b"[1]", b"", None):
        outcome = came_of(exchange(status=502, body=raw, told=JSON))
        assert (outcome.kind, outcome.body, outcome.raw) == ("status", None, raw or b"")


def test_an_error_object_with_a_good_status_is_one() -> None:
    """The commonest lie of gateways."""
    outcome = came_of(answer({"error": {"message": "m", "type": "t", "code": None}}))
    assert outcome.kind == "error_in_ok"
    assert outcome.failed


@pytest.mark.parametrize("chunks", [0, 1, 3])
def test_an_error_event_in_a_stream_is_one(chunks: int) -> None:
    """How many parts came before it is told."""
    error = {"error": {"message": "m", "type": "server_error", "code": None}}
    body = "".join(chunk(str(n)) for n in range(chunks)) + f"data: {json.dumps(error)}\n\n"
    outcome = came_of(answer(body, EVENTS))
    assert (outcome.kind, outcome.chunks, outcome.body) == ("error_in_stream", chunks, error)


def test_a_stream_without_its_end_is_cut() -> None:
    """A client cannot tell it from a good one by the framing."""
    outcome = came_of(answer(chunk("a") + chunk("b"), EVENTS))
    assert (outcome.kind, outcome.chunks, outcome.short) == ("cut_stream", 2, False)
    told = (*EVENTS, ("content-length", "9999"))
    assert came_of(answer(chunk("a"), told)).short


def test_half_of_a_body_is_cut() -> None:
    """It begins as JSON and ends in the middle."""
    assert came_of(answer('{"choices": [')).kind == "cut_body"


@pytest.mark.parametrize("body", ["<!DOCTYPE html><p>Sign in", "just words"])
def test_a_good_status_with_something_else_is_a_page(body: str) -> None:
    """A captive portal answers 200 to everything."""
    assert came_of(answer(body)).kind == "page"


def test_no_body_that_was_kept_is_taken_for_a_good_answer() -> None:
    """Nothing says that it failed; the oddities tell that it is missing."""
    assert came_of(exchange(body=None)).kind == "good"


@pytest.mark.parametrize(
    ("failure", "fault"),
    [
        ("net::ERR_NAME_NOT_RESOLVED", "dns_failure"),
        ("net::ERR_CONNECTION_REFUSED", "connect_refused"),
        ("net::ERR_CONNECTION_TIMED_OUT", "connect_timeout"),
        ("net::ERR_CONNECTION_RESET", "reset_before_response"),
        ("net::ERR_EMPTY_RESPONSE", "reset_before_response"),
    ],
)
def test_a_failure_of_the_network_is_the_fault_that_does_the_same(failure: str, fault: str) -> None:
    """Browsers record it."""
    outcome = came_of(exchange(status=None, body=None, failure=failure))
    assert (outcome.kind, outcome.fault) == ("network", fault)


@pytest.mark.parametrize("failure", [None, "net::ERR_ABORTED", "blocked by a plug-in"])
def test_what_nobody_knows_is_left_out(failure: str | None) -> None:
    """An exchange without an answer that could be played."""
    item = exchange(status=None, body=None, failure=failure)
    assert outcome_of(item, dialect_named("openai-chat"), Oddities()) is None


def test_lines_of_json_are_a_stream() -> None:
    """As Ollama sends them."""
    lines = '{"message": {"content": "a"}, "done": false}\n{"error": "out of memory"}\n'
    outcome = came_of(answer(lines, (("content-type", "application/x-ndjson"),)), "ollama")
    assert outcome.kind == "error_in_stream"
    assert (outcome.chunks, outcome.body) == (1, {"error": "out of memory"})


def test_an_exception_in_a_binary_stream_is_found() -> None:
    """Amazon's frames hold JSON, and the class stands in their headers."""
    dialect = dialect_named("bedrock-converse")
    payload = {"status": 429, "body": {"message": "Slow down."}, "source": "made for this test"}
    payload["headers"] = {"x-amzn-errortype": "ThrottlingException"}
    frame, _ = broken_off(dialect, ErrorPayload.model_validate(payload))
    told: Headers = (("content-type", "application/vnd.amazon.eventstream"),)
    outcome = outcome_of(exchange(body=frame, told=told), dialect, Oddities())
    assert outcome is not None
    assert outcome.kind == "error_in_stream"
    assert outcome.body == {"message": "Slow down."}
    assert outcome.facts is not None
    assert str(outcome.facts["type"]).lower() == "throttlingexception"


@pytest.mark.parametrize(
    "name",
    [
        "anthropic-messages",
        "azure-openai",
        "bedrock-converse",
        "cohere",
        "deepseek",
        "gemini-generate-content",
        "mistral",
        "ollama",
        "openai-chat",
        "openai-compatible",
        "openai-responses",
        "openrouter",
    ],
)
@pytest.mark.parametrize("body", [b"{", b"[]", b"\xff\xfe", b"data: x\n\n", b"3", b"\x00" * 40])
def test_no_rubbish_stops_a_dialect(name: str, body: bytes) -> None:
    """Whatever was recorded, something came of it."""
    for told in (JSON, EVENTS, ()):
        assert came_of(exchange(body=body, told=told), name).kind in {"good", "page", *_CUTS}


_CUTS = {"cut_stream", "cut_body"}
