"""The wire as the reference reads it: bytes in, a reply or a failed attempt out."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultclock.agents.chat_exchange import ChatExchange
from faultclock.subjects.ports import API_KEY, ProviderRequest, Reply, ToolCall
from faultclock.subjects.stud import AttemptError


def answer(body: bytes, status: int = 200, *headers: str, kind: str = "application/json") -> bytes:
    """Return a whole HTTP answer."""
    lines = [f"HTTP/1.1 {status} X", f"Content-Type: {kind}", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, *headers, "", ""]).encode() + body


def completion(message: dict[str, Any]) -> bytes:
    """Return the body of a good answer."""
    return json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode()


def sse(*events: Any, end: bool = True) -> bytes:
    """Return a whole chunked event stream; `end` says whether the message ends properly."""
    texts = [event if isinstance(event, str) else json.dumps(event) for event in events]
    chunks = [f"data: {text}\n\n".encode() for text in texts]
    body = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)
    head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
    return f"{head}Transfer-Encoding: chunked\r\n\r\n".encode() + body + b"0\r\n\r\n" * end


def delta(finish: str | None = None, **content: Any) -> dict[str, Any]:
    """Return one chunk."""
    return {"choices": [{"index": 0, "delta": content, "finish_reason": finish}]}


def read(request: ProviderRequest, *received: bytes) -> Reply | None:
    """Return the reply after `received`."""
    exchange = ChatExchange(request)
    for data in received:
        exchange.feed(data)
    return exchange.answer


def failed(request: ProviderRequest, *received: bytes) -> AttemptError:
    """Return the failure that `received` proves."""
    with pytest.raises(AttemptError) as raised:
        read(request, *received)
    return raised.value


@pytest.fixture
def streamed(request_: ProviderRequest) -> ProviderRequest:
    """The same request, as a stream."""
    return replace(request_, stream=True)


def test_the_request_is_http_with_the_key_and_the_messages(request_: ProviderRequest) -> None:
    """It is sent to the base URL's host, as JSON, authenticated."""
    exchange = ChatExchange(request_)
    head, _, body = exchange.request_bytes.partition(b"\r\n\r\n")
    assert (exchange.host, exchange.port, exchange.secure) == ("api.openai.com", 443, True)
    assert head.startswith(b"POST /v1/chat/completions HTTP/1.1\r\n")
    assert f"Authorization: Bearer {API_KEY}".encode() in head
    assert json.loads(body) == {"model": request_.model, "messages": request_.messages}


def test_a_completion_is_its_text_and_tool_calls(request_: ProviderRequest) -> None:
    """Text may be null beside tool calls."""
    call = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{}"}}
    body = completion({"content": None, "tool_calls": [call]})
    assert read(request_, answer(body)) == Reply("", (ToolCall("add", "{}"),))
    assert read(request_, answer(completion({"content": "Hi"}))) == Reply("Hi")


def test_a_stream_is_put_together(streamed: ProviderRequest) -> None:
    """Text and tool calls arrive in pieces; comments and usage chunks say nothing."""
    first = {"index": 0, "function": {"name": "add", "arguments": '{"a"'}}
    second = {"index": 0, "function": {"arguments": ":1}"}}
    data = sse(
        delta(role="assistant", content=""),
        delta(content="Hel"),
        delta(content="lo", tool_calls=[first]),
        delta(tool_calls=[second]),
        delta("tool_calls"),
        {"choices": [], "usage": {}},
        "[DONE]",
    )
    assert read(streamed, data) == Reply("Hello", (ToolCall("add", '{"a":1}'),))


@given(cuts=st.lists(st.integers(1, 600), max_size=8))
def test_it_does_not_matter_how_the_bytes_are_split(cuts: list[int]) -> None:
    """Any partition of the same bytes gives the same reply."""
    request = ProviderRequest(host=object(), stream=True)  # type: ignore[arg-type]
    data = sse(delta(content="Grüße"), delta("stop", content=" …"), "[DONE]")
    places = [0, *sorted(cut for cut in cuts if cut < len(data)), len(data)]
    parts = [data[a:b] for a, b in pairwise(places) if a < b]
    assert read(request, *parts) == Reply("Grüße …")


def test_an_error_status_carries_the_providers_fields(request_: ProviderRequest) -> None:
    """Status, code, type, message and Retry-After are kept apart."""
    error = {"message": "slow down", "type": "requests", "code": "rate_limit_exceeded"}
    body = json.dumps({"error": error}).encode()
    seen = failed(request_, answer(body, 429, "Retry-After: 7"))
    assert seen.context() == {
        "signal": "http_error",
        "status": 429,
        "provider_code": "rate_limit_exceeded",
        "provider_type": "requests",
        "provider_message": "slow down",
        "retry_after": "7",
    }


def test_an_error_status_with_html_still_has_its_status(request_: ProviderRequest) -> None:
    """A proxy's page is no JSON; the status says enough."""
    assert failed(request_, answer(b"<html>", 502, kind="text/html")).status == 502


def test_an_error_status_whose_body_is_cut_still_has_its_status(request_: ProviderRequest) -> None:
    """The missing rest of a body cannot unsay its status."""
    seen = failed(request_, answer(b"x" * 50, 429, "Retry-After: 3")[:-20], b"")
    assert (seen.kind, seen.status, seen.retry_after) == ("http_error", 429, "3")


def test_an_error_object_in_a_200_is_a_failure(request_: ProviderRequest) -> None:
    """Whatever the status says, it is no answer."""
    body = b'{"error": {"code": "server_error", "type": "server_error", "message": "m"}}'
    assert failed(request_, answer(body)).kind == "error_body"


def test_an_error_object_in_a_stream_is_a_failure_at_once(streamed: ProviderRequest) -> None:
    """It is raised before the stream ends."""
    error = {"error": {"code": None, "type": "server_error", "message": "m"}}
    seen = failed(streamed, sse(delta(content="Hel"), error, end=False))
    assert (seen.kind, seen.provider_type) == ("stream_error", "server_error")


@pytest.mark.parametrize("end", [b"", b"0\r\n\r\n"], ids=["eof", "clean end"])
def test_a_stream_without_an_end_of_its_own_is_cut(streamed: ProviderRequest, end: bytes) -> None:
    """Half an answer is none, even when the message itself ends properly."""
    assert failed(streamed, sse(delta(content="Hel"), end=False), end).kind == "cut"


@pytest.mark.parametrize("received", [b"", b"HTTP/1.1 200 OK\r\nContent-Le"])
def test_a_connection_that_ends_before_the_answer_is_cut(
    request_: ProviderRequest, received: bytes
) -> None:
    """No bytes, or half a head."""
    assert failed(request_, *([received] if received else []), b"").kind == "cut"


@pytest.mark.parametrize(
    "received",
    [
        b"\x00\xff\x00\xff\r\n\r\n",
        answer(b"\xff\xff\xff"),
        answer(b"[]"),
        answer(b'{"choices": []}'),
        answer(b'{"choices": [{"message": null}]}'),
    ],
)
def test_damage_is_malformed_and_not_a_cut(request_: ProviderRequest, received: bytes) -> None:
    """Not HTTP, not JSON, not a completion."""
    assert failed(request_, received).kind == "malformed"


@pytest.mark.parametrize("event", ["{half", "[]", '{"choices": [7]}', "\udcff"])
def test_a_damaged_event_is_malformed(streamed: ProviderRequest, event: str) -> None:
    """A damaged chunk never passes for a whole answer."""
    data = sse("PLACE", delta("stop"), "[DONE]")
    raw = event.encode("utf-8", "surrogateescape")
    size, new = len(b"data: PLACE\n\n"), len(raw) + 8
    data = data.replace(b"%x\r\ndata: PLACE" % size, b"%x\r\ndata: %s" % (new, raw))
    assert failed(streamed, data).kind == "malformed"


def test_a_line_that_is_no_field_is_malformed(streamed: ProviderRequest) -> None:
    """The first bytes of `data:` may be what is damaged."""
    data = sse(delta(content="Hello"), delta("stop"), "[DONE]").replace(b"data: {", b"dXta: {", 1)
    assert failed(streamed, data).kind == "malformed"


def test_what_follows_a_whole_answer_cannot_unsay_it(streamed: ProviderRequest) -> None:
    """Damage and a cut after `[DONE]` are somebody else's."""
    whole = sse(delta("stop", content="Hello"), "[DONE]", end=False)
    assert read(streamed, whole + b"garbage\r\n") == Reply("Hello")
    assert read(streamed, whole, b"") == Reply("Hello")


def test_the_end_of_the_message_is_noticed(streamed: ProviderRequest) -> None:
    """Only then may the connection be closed without dropping anything."""
    exchange = ChatExchange(streamed)
    exchange.feed(sse(delta("stop"), "[DONE]", end=False))
    assert (exchange.answer, exchange.at_end) == (Reply(""), False)
    exchange.feed(b"0\r\n\r\n")
    assert exchange.at_end
