"""The Anthropic dialect against the SDK's own types, what it refuses, and what it reads back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from anthropic.types import Message, RawMessageStreamEvent
from anthropic.types.shared import ErrorObject, ErrorResponse
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from faultclock.fakes.dialects import dialect_named
from faultclock.fakes.wire.answer import Answer
from faultclock.fakes.wire.dialect import Asked, Exchange, Meter, RateStanding
from faultclock.fakes.wire.event_stream import read_events
from faultclock.fakes.wire.http_server import HttpRequest
from faultclock.load.payloads import load_payloads
from faultclock.model.scenario.payload import ErrorPayload
from faultclock.model.scenario.provider_script import ProviderScript, ToolCallReply
from tests.fakes.dialects.asking import broken_off, facts_of

DIALECT = dialect_named("anthropic-messages")
PAYLOADS: Mapping[str, ErrorPayload] = load_payloads(DIALECT.name)
EXCHANGE = Exchange(number=3, seed=7, unix_s=1_767_225_601, think_ms=100)
TOOLS = (
    ToolCallReply(name="weather", arguments='{"city": "Bern", "unit": "celsius"}'),
    ToolCallReply(name="time", arguments="{}"),
)
USER = {"role": "user", "content": "Hi."}
EVENTS: TypeAdapter[Any] = TypeAdapter(RawMessageStreamEvent)
#: Payloads in a shape of their own: what stands in front of the API answers so.
OF_THE_EDGE = {"forbidden", "request_too_large"}


def asked(**body: Any) -> Asked:
    """Return what the dialect reads of a request."""
    content = {"model": "claude-x", "max_tokens": 9, "messages": [USER], **body}
    return DIALECT.read(request(content=json.dumps(content).encode()))


def request(
    method: str = "POST", target: str = "/v1/messages", content: bytes = b"{}", **headers: str
) -> HttpRequest:
    """Return a request to the dialect; a header of "" is left out."""
    sent = {"x_api_key": "key", "anthropic_version": "2023-06-01", **headers}
    named = {name.replace("_", "-"): value for name, value in sent.items() if value}
    return HttpRequest(method=method, target=target, headers=named, body=content)


def whole(**script: Any) -> Answer:
    """Return a whole answer."""
    return DIALECT.good_answer(ProviderScript(**script), asked(), EXCHANGE)


def streamed(**script: Any) -> Answer:
    """Return a streamed answer."""
    return DIALECT.good_answer(ProviderScript(**script), asked(stream=True), EXCHANGE)


def body_of(answer: Answer) -> bytes:
    """Return all that is sent."""
    return b"".join(answer.chunks) + answer.end_marker


def error_of(name: str, **standing: Any) -> Answer:
    """Return the answer with an error payload."""
    exchange = Exchange(
        number=3, seed=7, unix_s=EXCHANGE.unix_s, think_ms=100, standing=RateStanding(**standing)
    )
    return DIALECT.error_answer(PAYLOADS[name], PAYLOADS[name].status, exchange, {})


@pytest.mark.parametrize("tool_calls", [(), TOOLS])
def test_a_good_answer_is_a_message(tool_calls: tuple[ToolCallReply, ...]) -> None:
    """The SDK's model takes it strictly; on the wire the provider's word ends it."""
    answer = whole(reply="Grüße, world.", tool_calls=tool_calls)
    message = Message.model_validate_json(answer.chunks[0], strict=True)
    assert message.model == "claude-x"
    assert message.stop_reason == ("tool_use" if tool_calls else "end_turn")
    assert answer.finish_reason == ("tool_calls" if tool_calls else "stop")
    texts = [block.text for block in message.content if block.type == "text"]
    assert texts == ([] if tool_calls else ["Grüße, world."])
    called = [(it.id, it.name, it.input) for it in message.content if it.type == "tool_use"]
    assert [(name, arguments) for _, name, arguments in called] == [
        (call.name, json.loads(call.arguments)) for call in tool_calls
    ]
    assert [id_ for id_, _, _ in called] == [call["id"] for call in answer.tool_calls]
    assert answer.usage is not None
    assert answer.usage["completion_tokens"] == message.usage.output_tokens


def test_the_events_of_a_stream_come_in_the_documented_order() -> None:
    """Each is named after its type; the text begins with the second piece, as elsewhere."""
    answer = streamed(reply="One two three.")
    events = list(read_events(body_of(answer)))
    assert [event.name for event in events] == [
        "message_start",
        "content_block_start",
        "ping",
        "content_block_delta",
        "content_block_delta",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    for event in events:
        assert json.loads(event.data)["type"] == event.name
        if event.name != "ping":
            EVENTS.validate_json(event.data, strict=True)
    assert len(answer.chunks) == 5
    assert answer.chunks_before_finish == 4
    assert b"message_delta" in answer.chunks[4]
    assert answer.finish_within(len(b"".join(answer.chunks))) == "stop"
    assert answer.finish_within(len(b"".join(answer.chunks)) - 1) is None


def test_streamed_tool_calls_can_be_put_together() -> None:
    """A block for each call, and its arguments in pieces of JSON text."""
    events = [json.loads(event.data) for event in read_events(body_of(streamed(tool_calls=TOOLS)))]
    opened = [it["content_block"] for it in events if it["type"] == "content_block_start"]
    assert [block["name"] for block in opened] == ["weather", "time"]
    assert [block["input"] for block in opened] == [{}, {}]
    for index, call in enumerate(TOOLS):
        deltas = [it["delta"] for it in events if it.get("index") == index and "delta" in it]
        assert "".join(delta["partial_json"] for delta in deltas) == call.arguments
    stops = [it["index"] for it in events if it["type"] == "content_block_stop"]
    assert stops == [0, 1]


def test_arguments_that_are_no_object_are_wrapped_where_an_object_is_needed() -> None:
    """A whole message cannot say them; a stream can, since it has text."""
    broken = (ToolCallReply(name="weather", arguments='{"city": "Be'),)
    said = json.loads(whole(tool_calls=broken).tool_calls[0]["arguments"])
    assert said == {"INVALID_JSON": '{"city": "Be'}
    assert streamed(tool_calls=broken).tool_calls[0]["arguments"] == '{"city": "Be'


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=60))
def test_any_reply_is_read_back_from_a_stream(reply: str) -> None:
    """Encoding and escaping keep every character."""
    heard = DIALECT.heard(body_of(streamed(reply=reply)), "text/event-stream")
    assert (heard.text or "") == reply
    assert heard.finish_reason == "stop"


@pytest.mark.parametrize("answer", [whole(tool_calls=TOOLS), streamed(tool_calls=TOOLS)])
def test_tool_calls_are_read_back(answer: Answer) -> None:
    """Whole and streamed, with the reason in the words that all dialects share."""
    heard = DIALECT.heard(body_of(answer), dict(answer.headers)["content-type"])  # type: ignore[arg-type]
    assert [(it.name, json.loads(it.arguments)) for it in heard.tool_calls] == [
        (it.name, json.loads(it.arguments)) for it in TOOLS
    ]
    assert (heard.text, heard.finish_reason, heard.error) == (None, "tool_calls", None)


def test_a_cut_stream_has_no_reason_when_it_is_read_back() -> None:
    """What arrived of the text is there."""
    heard = DIALECT.heard(b"".join(streamed(reply="One two.").chunks[:2]), "text/event-stream")
    assert (heard.text, heard.finish_reason) == ("One", None)


@given(st.binary(max_size=200), st.sampled_from(["application/json", "text/event-stream", ""]))
def test_no_body_troubles_the_reader(body: bytes, content_type: str) -> None:
    """Rubbish says nothing, or some text."""
    DIALECT.heard(body, content_type)
    DIALECT.heard(b"data: " + body + b"\n\n", content_type)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["type", "content", "delta", "text", "error", "index", "content_block", "input"]
                ),
                inner,
                max_size=4,
            )
        ),
    )
)
def test_no_json_troubles_the_reader_either(value: Any) -> None:
    """Members of the wrong kind are passed over."""
    text = json.dumps(value).encode()
    DIALECT.heard(text, "application/json")
    DIALECT.heard(b"event: x\ndata: " + text + b"\n\n", "text/event-stream")


# ---------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    "name", [name for name, payload in PAYLOADS.items() if payload.body is not None]
)
def test_each_error_is_an_error_response(name: str) -> None:
    """The SDK's model takes it; types that its union of objects has not are told apart."""
    answer = error_of(name)
    body = json.loads(answer.chunks[0])
    assert answer.error is not None
    assert answer.error["type"] == body["error"]["type"]
    if name in OF_THE_EDGE:
        assert "request_id" not in body
        return
    assert body["request_id"] == dict(answer.headers)["request-id"]
    assert set(body["error"]) <= {"type", "message", "details"}
    if body["error"]["type"] == "conflict_error":
        # types/shared/error_type.py names it, error_object.py has no class for it.
        return
    TypeAdapter(ErrorObject).validate_python(body["error"], strict=True)
    ErrorResponse.model_validate(body, strict=True)


def test_an_error_inside_a_stream_is_a_named_event_and_read_back() -> None:
    """Its type is all there is to know it by."""
    data, facts = broken_off(DIALECT, PAYLOADS["overloaded_error"])
    assert data.startswith(b'event: error\ndata: {"type":"error","error":{"details":null,')
    assert facts == {"code": None, "type": "overloaded_error", "message": "Overloaded"}
    (event,) = read_events(data)
    assert json.loads(event.data)["request_id"] == dict(streamed().headers)["request-id"]
    for before in (b"", streamed(reply="One two.").chunks[0]):
        assert DIALECT.heard(before + data, "text/event-stream").error == facts


def test_the_code_of_an_error_is_that_of_its_details() -> None:
    """Quota and rate limit share a type, and are told apart by it."""
    error = error_of("insufficient_quota").error
    assert error is not None
    assert (error["type"], error["code"]) == ("rate_limit_error", "enforced_spend_limit_reached")


@pytest.mark.parametrize(
    ("name", "value"),
    [("invalid_api_key", "false"), ("model_not_found", "false"), ("overloaded", None)],
)
def test_the_provider_says_whether_to_retry(name: str, value: str | None) -> None:
    """As recordings have it: false on 400, 401 and 404."""
    assert dict(error_of(name).headers).get("x-should-retry") == value
    assert dict(error_of("rate_limit_exceeded").headers)["x-should-retry"] == "true"


def test_a_limit_that_is_used_up_is_whole_again_at_the_full_minute() -> None:
    """So it was in a recorded 429, which had no Retry-After."""
    headers = dict(DIALECT.error_answer(PAYLOADS["rate_limit_exceeded"], 429, EXCHANGE, {}).headers)
    assert headers["anthropic-ratelimit-requests-remaining"] == "0"
    assert headers["anthropic-ratelimit-requests-reset"] == "2026-01-01T00:01:00Z"
    assert headers["anthropic-ratelimit-input-tokens-reset"] == "2026-01-01T00:00:01Z"
    assert "retry-after" not in headers


def test_real_limits_are_told_and_never_too_early() -> None:
    """Instants have whole seconds, and so has Retry-After: both are rounded up."""
    answer = error_of(
        "rate_limit_exceeded",
        requests=Meter(limit=50, remaining=0, reset_ns=2_400_000_000),
        tokens=Meter(limit=9_000, remaining=9_000, reset_ns=0),
        retry_after_ns=1_200_000_000,
    )
    headers = dict(answer.headers)
    assert headers["anthropic-ratelimit-requests-limit"] == "50"
    assert headers["anthropic-ratelimit-requests-reset"] == "2026-01-01T00:00:05Z"
    assert headers["anthropic-ratelimit-tokens-remaining"] == "9000"
    assert headers["anthropic-ratelimit-tokens-reset"] == "2026-01-01T00:00:01Z"
    assert headers["retry-after"] == "2"


# ---------------------------------------------------------------------- requests


@pytest.mark.parametrize(
    ("sent", "payload", "message"),
    [
        (request(target="/v1/complete"), "not_found", "Not Found"),
        (request(method="GET"), "method_not_allowed", "Method Not Allowed"),
        (request(x_api_key=""), "missing_authorization", "x-api-key header is required"),
        (
            request(x_api_key="", authorization="Bearer "),
            "missing_authorization",
            "x-api-key header is required",
        ),
        (
            request(anthropic_version=""),
            "missing_version",
            "anthropic-version: header is required",
        ),
        (
            request(anthropic_version="2023-06-01, 2023-06-01"),
            "invalid_request",
            "anthropic-version: the header is not a valid version",
        ),
        (request(content=b"{"), "invalid_json", "The request body is not valid JSON"),
        (request(content=b"[" * 100_000), "invalid_json", "The request body is not valid JSON"),
        (request(content=b"[]"), "invalid_json", "The request body is not valid JSON"),
        (request(), "invalid_request", "model: Field required"),
        (request(content=b'{"model": "m"}'), "invalid_request", "max_tokens: Field required"),
        (
            request(content=b'{"model": "m", "max_tokens": true}'),
            "invalid_request",
            "max_tokens: Input does not match the expected shape.",
        ),
        (
            request(content=b'{"model": "m", "max_tokens": 1, "messages": []}'),
            "invalid_request",
            "messages: at least one is required",
        ),
        (
            request(content=b'{"model": "\\ud800", "max_tokens": 1, "messages": [1]}'),
            "invalid_request",
            "model: Input does not match the expected shape.",
        ),
    ],
)
def test_the_provider_refuses_what_anthropic_would(
    sent: HttpRequest, payload: str, message: str
) -> None:
    """Path, method, key, version, JSON and fields are checked in this order."""
    refusal = DIALECT.read(sent).refusal
    assert refusal is not None
    assert refusal.payload == payload
    assert payload in DIALECT.own_payloads
    status = PAYLOADS[payload].status
    answer = DIALECT.error_answer(PAYLOADS[payload], status, EXCHANGE, refusal.values)
    assert json.loads(answer.chunks[0])["error"]["message"].startswith(message)


def test_a_bearer_token_is_a_key_too() -> None:
    """Workload identities have one."""
    sent = request(
        target="/v1/messages?beta=true",
        x_api_key="",
        authorization="Bearer token",
        content=json.dumps({"model": "m", "max_tokens": 1, "messages": [USER]}).encode(),
    )
    assert DIALECT.read(sent).refusal is None


def test_what_tools_answered_is_told_as_messages_of_tools() -> None:
    """The same facts as of a chat in OpenAI's form."""
    messages = [
        USER,
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Looking."},
                {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": "sunny"},
                {"type": "text", "text": "Go on."},
            ],
        },
    ]
    facts = facts_of(DIALECT, asked(system="Be brief.", messages=messages))
    assert [it["role"] for it in facts] == ["system", "user", "assistant", "tool", "user"]
    assert facts[2]["tool_calls"] == [{"id": "toolu_1", "name": "weather"}]
    assert (facts[3]["tool_call_id"], facts[3]["content"]) == ("toolu_1", "sunny")


def test_odd_messages_do_not_trouble_it() -> None:
    """What Anthropic might refuse and we do not model is answered, never a crash."""
    odd = [{"role": "user", "content": [{"type": "tool_result"}, 1]}, "text", None, {"content": 5}]
    given_ = asked(messages=odd, system=[1])
    answer = DIALECT.good_answer(ProviderScript(), given_, EXCHANGE)
    Message.model_validate_json(answer.chunks[0], strict=True)
    assert isinstance(facts_of(DIALECT, given_), list)


def test_a_proxys_page_has_no_error_object() -> None:
    """Its content type and body come as they are."""
    answer = error_of("bad_gateway")
    assert dict(answer.headers)["content-type"] == "text/html"
    assert answer.chunks[0].startswith(b"<html>")
    assert answer.error is None
