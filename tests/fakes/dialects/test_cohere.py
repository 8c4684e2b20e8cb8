"""Cohere's dialect: what it refuses, what it notes of requests, and when it says to come back.

That Cohere's SDK understands its answers is proved in `test_truth_table`.
"""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from cohere.core import http_client
from cohere.v2.types.v2chat_stream_response import V2ChatStreamResponse
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from faultclock.fakes.dialects import dialect_named
from faultclock.fakes.wire.answer import Answer
from faultclock.fakes.wire.dialect import Asked, Exchange, Heard, Meter, RateStanding
from faultclock.fakes.wire.event_stream import read_events
from faultclock.fakes.wire.http_server import HttpRequest
from faultclock.load.payloads import load_payloads
from faultclock.model.scenario.provider_script import ProviderReply, ProviderScript, ToolCallReply
from tests.fakes.dialects.asking import broken_off, facts_of

DIALECT = dialect_named("cohere")
PAYLOADS = load_payloads("cohere")
UNIX_S = 1_767_225_600
EXCHANGE = Exchange(number=3, seed=7, unix_s=UNIX_S, think_ms=100)
HELLO = [{"role": "user", "content": "Hi."}]
WEATHER = ToolCallReply(name="weather", arguments='{"city": "Bern"}')
EVENT: TypeAdapter[Any] = TypeAdapter(V2ChatStreamResponse)


def request(
    target: str = "/v2/chat",
    method: str = "POST",
    authorization: str = "Bearer co-x",
    content: bytes = b"{}",
) -> HttpRequest:
    """Return a request to the dialect."""
    headers = {"authorization": authorization} if authorization else {}
    return HttpRequest(method=method, target=target, headers=headers, body=content)


def asked(**body: Any) -> Asked:
    """Return what the dialect reads of a request."""
    return DIALECT.read(
        request(content=json.dumps({"model": "m", "messages": HELLO, **body}).encode())
    )


def streamed(**script: Any) -> Answer:
    """Return an answer in events."""
    return DIALECT.good_answer(ProviderScript(**script), asked(stream=True), EXCHANGE)


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=60))
def test_any_reply_survives_the_stream(reply: str) -> None:
    """Each event is one of the SDK's types, the last before the end marker has the reason."""
    answer = streamed(reply=reply)
    events = [
        EVENT.validate_json(event.data, strict=True)
        for event in read_events(b"".join(answer.chunks))
    ]
    texts = [event.delta.message.content.text for event in events if event.type == "content-delta"]
    assert "".join(texts) == reply
    assert [event.type for event in events[:2]] == ["message-start", "content-start"]
    assert events[-1].delta.finish_reason == "COMPLETE"
    heard = DIALECT.heard(b"".join(answer.chunks) + answer.end_marker, "text/event-stream")
    assert heard == Heard(text=reply or None, finish_reason="stop")


@pytest.mark.parametrize(
    ("sent", "payload"),
    [
        (request("/v1/chat"), "unknown_url"),
        (request(method="GET"), "method_not_allowed"),
        (request(authorization=""), "missing_authorization"),
        (request(authorization="Basic abc"), "missing_authorization"),
        (request(content=b"{"), "invalid_json"),
        (request(content=b"[]"), "invalid_json"),
        (request(), "missing_model"),
        (request(content=b'{"model": "\\ud800"}'), "missing_model"),
        (request(content=b'{"model": "m"}'), "invalid_request"),
        (request(content=b'{"model": "m", "messages": []}'), "invalid_request"),
    ],
)
def test_the_provider_refuses_what_cohere_would(sent: HttpRequest, payload: str) -> None:
    """Path, method, key, JSON and parameters are checked in this order."""
    refusal = DIALECT.read(sent).refusal
    assert refusal is not None
    assert refusal.payload == payload


def test_a_tools_answer_may_be_documents() -> None:
    """Their text is what the model is told."""
    documents = [
        {"type": "document", "document": {"data": "Sun, "}},
        {"type": "document", "document": {"data": {"degrees": 20}}},
    ]
    tool = {"role": "tool", "tool_call_id": "weather_1", "content": documents}
    fact = facts_of(DIALECT, asked(messages=[*HELLO, tool]))[1]
    assert (fact["tool_call_id"], fact["content"]) == ("weather_1", 'Sun, {"degrees": 20}')


def test_a_conversation_goes_on_where_the_model_stopped() -> None:
    """The n-th answer belongs to a request that holds n messages of the model."""
    script = ProviderScript(
        replies=(ProviderReply(tool_calls=(WEATHER,)), ProviderReply(text="Sunny."))
    )
    first = DIALECT.good_answer(script, asked(), EXCHANGE)
    message = json.loads(first.chunks[0])["message"]
    assert first.finish_reason == "tool_calls"
    assert message["tool_calls"][0]["id"] == first.tool_calls[0]["id"]
    messages = [*HELLO, message, *HELLO]
    assert DIALECT.good_answer(script, asked(messages=messages), EXCHANGE).text == "Sunny."


def test_a_plan_is_no_part_of_the_text() -> None:
    """The model makes one before it asks for tools."""
    answer = streamed(tool_calls=(WEATHER, WEATHER))
    assert b"tool-plan-delta" in b"".join(answer.chunks)
    heard = DIALECT.heard(b"".join(answer.chunks), "text/event-stream")
    assert heard == Heard(tool_calls=(WEATHER, WEATHER), finish_reason="tool_calls")


def test_an_error_in_a_stream_is_its_last_event() -> None:
    """It is read back from there, with what came before it, and has no good finish reason."""
    event, facts = broken_off(DIALECT, PAYLOADS["overloaded_error"])
    (told,) = read_events(event)
    delta = EVENT.validate_json(told.data, strict=True).delta
    assert (told.name, delta.finish_reason) == ("message-end", "ERROR")
    assert delta.error == facts["message"]
    heard = DIALECT.heard(b"".join(streamed(reply="One two").chunks[:3]) + event, "")
    assert heard == Heard(text="One", error=facts)


def test_every_error_has_an_id_of_its_own() -> None:
    """It follows from the exchange."""

    def id_of(number: int) -> str:
        exchange = Exchange(number=number, seed=7, unix_s=UNIX_S, think_ms=0)
        answer = DIALECT.error_answer(PAYLOADS["server_error"], 500, exchange, {})
        return str(json.loads(answer.chunks[0])["id"])

    assert id_of(3) == id_of(3) != id_of(4)
    assert [len(part) for part in id_of(3).split("-")] == [8, 4, 4, 4, 12]


@pytest.mark.parametrize(
    ("wait_ns", "fraction_ns"), [(5_000_000_000, 0), (4_300_000_000, 900_000_000), (1, 999_999_999)]
)
def test_whoever_waits_for_the_reset_is_never_too_early(
    wait_ns: int, fraction_ns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The SDK reads the header, and waits until that second at least."""
    meter = Meter(limit=60, remaining=0, reset_ns=60_000_000_000)
    standing = RateStanding(requests=meter, retry_after_ns=wait_ns)
    exchange = Exchange(number=3, seed=7, unix_s=UNIX_S, think_ms=0, standing=standing)
    answer = DIALECT.error_answer(PAYLOADS["rate_limit_exceeded"], 429, exchange, {})
    headers = {name: str(value) for name, value in answer.headers}
    assert (headers["x-ratelimit-limit"], headers["x-ratelimit-remaining"]) == ("60", "0")
    assert "retry-after" not in headers
    monkeypatch.setattr("time.time", lambda: UNIX_S + fraction_ns / 1e9)
    told_s = http_client._parse_x_ratelimit_reset(httpx.Headers(headers))
    assert told_s is not None
    assert wait_ns / 1e9 <= told_s + 1e-6 <= wait_ns / 1e9 + 2


def test_an_overloaded_provider_may_tell_when_it_is_not() -> None:
    """Though it counts nothing."""
    standing = RateStanding(retry_after_ns=5_000_000_000)
    exchange = Exchange(number=3, seed=7, unix_s=UNIX_S, think_ms=0, standing=standing)
    answer = DIALECT.error_answer(PAYLOADS["overloaded"], 503, exchange, {})
    told = {name: value for name, value in answer.headers if "ratelimit" in name}
    assert told == {"x-ratelimit-reset": str(UNIX_S + 6)}


def test_a_provider_without_limits_tells_of_none() -> None:
    """Its answers have no such header."""
    assert not any("ratelimit" in name for name, _ in streamed(reply="Hi.").headers)
