"""Ollama's dialect: what it refuses, what it notes of requests, and its lines.

That Ollama's SDK understands its answers is proved in `test_truth_table`.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ollama import ChatResponse

from faultclock.errors import InputError
from faultclock.fakes.dialects import dialect_named
from faultclock.fakes.wire.dialect import Asked, Exchange, Heard, Meter, RateStanding
from faultclock.fakes.wire.http_server import HttpRequest
from faultclock.load.payloads import load_payloads
from faultclock.model.scenario.provider_script import ProviderReply, ProviderScript, ToolCallReply
from tests.fakes.dialects.asking import broken_off, facts_of

DIALECT = dialect_named("ollama")
PAYLOADS = load_payloads("ollama")
EXCHANGE = Exchange(number=3, seed=7, unix_s=1_767_225_600, think_ms=100)
HELLO = [{"role": "user", "content": "Hi."}]
WEATHER = ToolCallReply(name="weather", arguments='{"city": "Bern"}')


def request(
    target: str = "/api/chat", method: str = "POST", content: bytes = b'{"model": "m"}'
) -> HttpRequest:
    """Return a request to the dialect; it needs no key."""
    return HttpRequest(method=method, target=target, headers={}, body=content)


def asked(**body: Any) -> Asked:
    """Return what the dialect reads of a request."""
    return DIALECT.read(
        request(content=json.dumps({"model": "m", "messages": HELLO, **body}).encode())
    )


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=60))
def test_any_reply_survives_the_stream(reply: str) -> None:
    """Each line is a ChatResponse, and no character of a reply ends one."""
    answer = DIALECT.good_answer(ProviderScript(reply=reply), asked(), EXCHANGE)
    *lines, rest = b"".join(answer.chunks).split(b"\n")
    assert (len(lines), rest) == (len(answer.chunks), b"")
    parts = [ChatResponse.model_validate_json(line, strict=True) for line in lines]
    assert "".join(part.message.content or "" for part in parts) == reply
    assert [part.done for part in parts] == [False] * (len(parts) - 1) + [True]
    heard = DIALECT.heard(b"".join(answer.chunks), "application/x-ndjson")
    assert heard == Heard(text=reply or None, finish_reason="stop")


@pytest.mark.parametrize(("stream", "streams"), [({}, True), ({"stream": False}, False)])
def test_it_streams_unless_it_is_told_not_to(stream: dict[str, bool], streams: bool) -> None:
    """The other way round than with most providers."""
    read = asked(**stream)
    answer = DIALECT.good_answer(ProviderScript(reply="One two."), read, EXCHANGE)
    assert (read.stream, answer.stream, len(answer.chunks) > 1) == (streams,) * 3


@pytest.mark.parametrize(
    ("sent", "payload"),
    [
        (request("/api/generate"), "unknown_url"),
        (request("/v1/chat/completions"), "unknown_url"),
        (request(method="GET"), "method_not_allowed"),
        (request(content=b""), "missing_request_body"),
        (request(content=b"{"), "invalid_json"),
        (request(content=b"[]"), "invalid_json"),
        (request(content=b"{}"), "missing_model"),
        (request(content=b'{"model": ""}'), "missing_model"),
        (request(content=b'{"model": "\\ud800"}'), "missing_model"),
    ],
)
def test_the_provider_refuses_what_ollama_would(sent: HttpRequest, payload: str) -> None:
    """Path, method, body and model are checked in this order."""
    refusal = DIALECT.read(sent).refusal
    assert refusal is not None
    assert refusal.payload == payload


def test_a_tools_answer_is_told_by_its_id_or_its_name() -> None:
    """The SDK sends a name, later servers know an id."""
    answers = [
        {"role": "tool", "content": "Sun.", "tool_name": "weather"},
        {"role": "tool", "content": "Rain.", "tool_name": "weather", "tool_call_id": "call_1"},
    ]
    facts = facts_of(DIALECT, asked(messages=[*HELLO, *answers]))
    assert [fact.get("tool_call_id") for fact in facts] == [None, "weather", "call_1"]
    assert [fact.get("content") for fact in facts] == [None, "Sun.", "Rain."]


def test_a_conversation_goes_on_where_the_model_stopped() -> None:
    """The n-th answer belongs to a request that holds n messages of the model."""
    script = ProviderScript(
        replies=(ProviderReply(tool_calls=(WEATHER,)), ProviderReply(text="Sunny."))
    )
    first = DIALECT.good_answer(script, asked(stream=False), EXCHANGE)
    told = json.loads(first.chunks[0])
    assert (first.finish_reason, told["done_reason"]) == ("tool_calls", "stop")
    assert told["message"]["tool_calls"][0]["id"] == first.tool_calls[0]["id"]
    messages = [*HELLO, told["message"], *HELLO]
    assert DIALECT.good_answer(script, asked(messages=messages), EXCHANGE).text == "Sunny."


def test_arguments_that_are_no_object_cannot_be_said() -> None:
    """The author of the scenario is told so."""
    script = ProviderScript(tool_calls=(ToolCallReply(name="weather", arguments='"Bern"'),))
    with pytest.raises(InputError, match="no JSON object"):
        DIALECT.good_answer(script, asked(), EXCHANGE)


def test_an_error_breaks_into_a_stream_as_a_line() -> None:
    """It is read back from there, with what came before it."""
    event, facts = broken_off(DIALECT, PAYLOADS["overloaded_error"])
    assert event == b'{"error":"Server overloaded, please retry shortly"}\n'
    answer = DIALECT.good_answer(ProviderScript(reply="One two"), asked(), EXCHANGE)
    heard = DIALECT.heard(answer.chunks[0] + event, "application/x-ndjson")
    assert heard == Heard(text="One", error=facts)


def test_it_tells_nothing_of_limits() -> None:
    """A refusal for one has a status and a text."""
    meter = Meter(limit=60, remaining=0, reset_ns=1)
    standing = RateStanding(requests=meter, retry_after_ns=9_000_000_000)
    exchange = Exchange(number=3, seed=7, unix_s=0, think_ms=0, standing=standing)
    answer = DIALECT.error_answer(PAYLOADS["rate_limit_exceeded"], 429, exchange, {})
    assert {name for name, _ in answer.headers} == {"content-type", "date"}
    assert json.loads(answer.chunks[0]).keys() == {"error"}
