"""The Bedrock dialect against the service's own model, what it refuses, and what it reads back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultclock.fakes.dialects import dialect_named
from faultclock.fakes.wire.answer import Answer
from faultclock.fakes.wire.aws_event_stream import write_message
from faultclock.fakes.wire.dialect import Asked, Exchange, RateStanding
from faultclock.fakes.wire.http_server import HttpRequest
from faultclock.load.payloads import load_payloads
from faultclock.model.scenario.payload import ErrorPayload
from faultclock.model.scenario.provider_script import ProviderScript, ToolCallReply
from tests.fakes.dialects.asking import broken_off, facts_of
from tests.fakes.dialects.bedrock_model import (
    message_problems,
    output_problems,
    service_model,
    stream_of,
)

DIALECT = dialect_named("bedrock-converse")
PAYLOADS: Mapping[str, ErrorPayload] = load_payloads(DIALECT.name)
EXCHANGE = Exchange(number=3, seed=7, unix_s=1_767_225_601, think_ms=100)
STREAM = "application/vnd.amazon.eventstream"
TOOLS = (
    ToolCallReply(name="weather", arguments='{"city": "Bern", "unit": "celsius"}'),
    ToolCallReply(name="time", arguments="{}"),
)
USER = {"role": "user", "content": [{"text": "Hi."}]}
SIGNED = (
    "AWS4-HMAC-SHA256 Credential=nobody/20260101/us-east-1/bedrock/aws4_request, "
    f"SignedHeaders=content-type;host;x-amz-date, Signature={'0' * 64}"
)
#: Not of the service itself: AWS answers so in front of any.
OF_THE_FRONT = {
    "ExpiredTokenException",
    "IncompleteSignatureException",
    "MissingAuthenticationTokenException",
    "SerializationException",
    "UnknownOperationException",
    "UnrecognizedClientException",
}


def request(
    method: str = "POST",
    target: str = "/model/a.model-v1%3A0/converse",
    content: bytes = b"{}",
    **headers: str,
) -> HttpRequest:
    """Return a request to the dialect; a header of "" is left out."""
    sent = {"authorization": SIGNED, "x_amz_date": "20260101T000000Z", **headers}
    named = {name.replace("_", "-"): value for name, value in sent.items() if value}
    return HttpRequest(method=method, target=target, headers=named, body=content)


def asked(stream: bool = False, **body: Any) -> Asked:
    """Return what the dialect reads of a request."""
    content = json.dumps({"messages": [USER], **body}).encode()
    operation = "converse-stream" if stream else "converse"
    return DIALECT.read(request(target=f"/model/a.model-v1%3A0/{operation}", content=content))


def whole(**script: Any) -> Answer:
    """Return a whole answer."""
    return DIALECT.good_answer(ProviderScript(**script), asked(), EXCHANGE)


def streamed(**script: Any) -> Answer:
    """Return a streamed answer."""
    return DIALECT.good_answer(ProviderScript(**script), asked(stream=True), EXCHANGE)


def body_of(answer: Answer) -> bytes:
    """Return all that is sent."""
    return b"".join(answer.chunks) + answer.end_marker


@pytest.mark.parametrize("tool_calls", [(), TOOLS])
def test_a_good_answer_fits_the_models_output(tool_calls: tuple[ToolCallReply, ...]) -> None:
    """The model of the service knows every member; on the wire the provider's word ends it."""
    answer = whole(reply="Grüße, world.", tool_calls=tool_calls)
    assert output_problems("Converse", answer.chunks[0]) == []
    body = json.loads(answer.chunks[0])
    assert body["stopReason"] == ("tool_use" if tool_calls else "end_turn")
    assert answer.finish_reason == ("tool_calls" if tool_calls else "stop")
    blocks = body["output"]["message"]["content"]
    assert [block["text"] for block in blocks if "text" in block] == (
        [] if tool_calls else ["Grüße, world."]
    )
    used = [block["toolUse"] for block in blocks if "toolUse" in block]
    assert [(it["name"], it["input"]) for it in used] == [
        (call.name, json.loads(call.arguments)) for call in tool_calls
    ]
    assert [it["toolUseId"] for it in used] == [call["id"] for call in answer.tool_calls]


@pytest.mark.parametrize(
    ("members", "problem"),
    [
        ({"stopReason": "done"}, "body.stopReason is 'done', not one of"),
        ({"stopReason": None}, "body.stopReason is None, not a string"),
        ({"usage": {}}, "body.usage has no inputTokens"),
        ({"metrics": {"latencyMs": True}}, "body.metrics.latencyMs is True, not a long"),
        ({"more": 1}, "unknown member body.more"),
        (
            {"output": {"message": {"role": "user", "content": [{"text": "", "image": {}}]}}},
            "body.output.message.content[0] is a union of 2 members",
        ),
    ],
)
def test_the_model_objects_to_what_it_does_not_know(members: dict[str, Any], problem: str) -> None:
    """So that its silence on our answers says something."""
    body = {**json.loads(whole().chunks[0]), **members}
    assert any(
        it.startswith(problem) for it in output_problems("Converse", json.dumps(body).encode())
    )


def test_the_events_of_a_stream_come_in_the_documented_order() -> None:
    """The text begins with the second piece and the reason precedes the usage."""
    answer = streamed(reply="One two three.")
    messages = list(stream_of(body_of(answer)))
    assert [message.headers[":event-type"] for message in messages] == [
        "messageStart",
        "contentBlockDelta",
        "contentBlockDelta",
        "contentBlockDelta",
        "contentBlockStop",
        "messageStop",
        "metadata",
    ]
    assert [problem for message in messages for problem in message_problems(message)] == []
    assert all(message.headers[":message-type"] == "event" for message in messages)
    assert (len(answer.chunks), answer.chunks_before_finish) == (6, 4)
    finish = len(b"".join(answer.chunks[:5]))
    assert answer.finish_within(finish) == "stop"
    assert answer.finish_within(finish - 1) is None
    assert json.loads(messages[-1].payload)["usage"]["outputTokens"] == 3


def test_streamed_tool_calls_can_be_put_together() -> None:
    """A start for each, and its arguments in pieces of text."""
    messages = list(stream_of(body_of(streamed(tool_calls=TOOLS))))
    assert [problem for message in messages for problem in message_problems(message)] == []
    events = [json.loads(message.payload) for message in messages]
    starts = [event["start"]["toolUse"]["name"] for event in events if "start" in event]
    assert starts == ["weather", "time"]
    for index, call in enumerate(TOOLS):
        parts = [
            event["delta"]["toolUse"]["input"]
            for event in events
            if event.get("contentBlockIndex") == index and "delta" in event
        ]
        assert "".join(parts) == call.arguments


def test_arguments_that_are_no_json_are_a_text_in_the_document() -> None:
    """A whole message holds any JSON value there."""
    broken = (ToolCallReply(name="weather", arguments='{"city": "Be'),)
    answer = whole(tool_calls=broken)
    assert json.loads(answer.tool_calls[0]["arguments"]) == '{"city": "Be'
    assert streamed(tool_calls=broken).tool_calls[0]["arguments"] == '{"city": "Be'


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=60))
def test_any_reply_is_read_back_from_a_stream(reply: str) -> None:
    """Encoding and framing keep every character."""
    heard = DIALECT.heard(body_of(streamed(reply=reply)), STREAM)
    assert (heard.text or "", heard.finish_reason) == (reply, "stop")


@pytest.mark.parametrize("answer", [whole(tool_calls=TOOLS), streamed(tool_calls=TOOLS)])
def test_tool_calls_are_read_back(answer: Answer) -> None:
    """Whole and streamed, with the reason in the words that all dialects share."""
    heard = DIALECT.heard(body_of(answer), "")
    assert [(it.name, json.loads(it.arguments)) for it in heard.tool_calls] == [
        (it.name, json.loads(it.arguments)) for it in TOOLS
    ]
    assert (heard.text, heard.finish_reason, heard.error) == (None, "tool_calls", None)


def test_a_cut_stream_has_no_reason_when_it_is_read_back() -> None:
    """Of a message that is cut, nothing can be read."""
    sent = b"".join(streamed(reply="One two three.").chunks[:3])
    heard = DIALECT.heard(sent[:-1], STREAM)
    assert (heard.text, heard.finish_reason) == ("One", None)


@given(st.binary(max_size=200))
def test_no_body_troubles_the_reader(body: bytes) -> None:
    """Neither rubbish, nor rubbish in a good frame."""
    DIALECT.heard(body, STREAM)
    DIALECT.heard(write_message({":event-type": "contentBlockDelta"}, body), STREAM)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["output", "message", "content", "toolUse", "text", "delta", "start", "input"]
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
    DIALECT.heard(write_message({":exception-type": "x"}, text), STREAM)


# ---------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    "name", [name for name, payload in PAYLOADS.items() if payload.body is not None]
)
def test_each_exception_is_one_of_the_services_model(name: str) -> None:
    """Status and members are the model's; what stands in front of all of AWS is known by name."""
    payload = PAYLOADS[name]
    answer = DIALECT.error_answer(payload, payload.status, EXCHANGE, {})
    assert answer.error is not None
    kind = str(answer.error["type"])
    assert dict(answer.headers)["x-amzn-errortype"] == payload.headers["x-amzn-errortype"]
    if kind in OF_THE_FRONT:
        assert answer.status in (400, 403, 404)
        return
    shape: Any = service_model().shape_for(kind)
    assert shape.metadata["error"]["httpStatusCode"] == payload.status
    assert set(json.loads(answer.chunks[0])) <= set(shape.members)


@pytest.mark.parametrize(
    ("name", "exception", "status"),
    [
        ("rate_limit_in_stream", "throttlingException", 429),
        ("overloaded_error", "serviceUnavailableException", 503),
        ("server_error", "internalServerException", 500),
        ("model_stream_error", "modelStreamErrorException", 424),
        ("context_length_exceeded", "validationException", 400),
    ],
)
def test_an_exception_inside_a_stream_is_a_message_of_the_model(
    name: str, exception: str, status: int
) -> None:
    """It has no status; the one that it has as an answer is told as its code."""
    data, facts = broken_off(DIALECT, PAYLOADS[name])
    (message,) = stream_of(data)
    assert message.headers[":exception-type"] == exception
    assert message.headers[":message-type"] == "exception"
    assert message_problems(message) == []
    assert facts["code"] == status
    assert facts["type"] == exception[:1].upper() + exception[1:]
    before = streamed(reply="One two.").chunks[0]
    assert DIALECT.heard(before + data, STREAM).error == facts


def test_an_exception_that_streams_do_not_have_is_an_error_without_a_model() -> None:
    """Its name and words stand in the headers."""
    data, facts = broken_off(DIALECT, PAYLOADS["permission_denied"])
    (message,) = stream_of(data)
    assert message.headers == {
        ":message-type": "error",
        ":error-code": "AccessDeniedException",
        ":error-message": facts["message"],
    }
    heard = DIALECT.heard(data, STREAM).error
    assert heard == {**facts, "code": None}


def test_a_real_limit_is_told_in_milliseconds() -> None:
    """Rounded up; and there are no headers that tell how full it is."""
    exchange = Exchange(
        number=1,
        seed=0,
        unix_s=0,
        think_ms=0,
        standing=RateStanding(retry_after_ns=1_500_000_001),
    )
    answer = DIALECT.error_answer(PAYLOADS["rate_limit_exceeded"], 429, exchange, {})
    assert dict(answer.headers)["x-amz-retry-after"] == "1501"
    assert not [name for name, _ in answer.headers if "ratelimit" in name]


# ---------------------------------------------------------------------- requests


@pytest.mark.parametrize(
    ("sent", "payload"),
    [
        (request(target="/model/a/invoke"), "not_found"),
        (request(target="/model/a/b/converse"), "not_found"),
        (request(method="GET"), "not_found"),
        (request(authorization=""), "missing_authorization"),
        (request(authorization="Bearer "), "incomplete_signature"),
        (request(authorization=SIGNED.replace("bedrock", "s3")), "incomplete_signature"),
        (request(authorization=SIGNED[:-1]), "incomplete_signature"),
        (request(x_amz_date=""), "incomplete_signature"),
        (request(content=b"{"), "invalid_json"),
        (request(content=b"[]"), "invalid_json"),
        (request(content=b"{}"), "invalid_request"),
        (request(content=b'{"messages": []}'), "invalid_request"),
        (request(content=b'{"messages": 1}'), "invalid_request"),
    ],
)
def test_the_provider_refuses_what_bedrock_would(sent: HttpRequest, payload: str) -> None:
    """Path, signature, JSON and messages are checked in this order."""
    refusal = DIALECT.read(sent).refusal
    assert refusal is not None
    assert refusal.payload == payload
    assert payload in DIALECT.own_payloads
    answer = DIALECT.error_answer(PAYLOADS[payload], 400, EXCHANGE, refusal.values)
    message = json.loads(answer.chunks[0])["message"]
    assert message == refusal.values.get("message", message)


def test_model_and_stream_stand_in_the_path() -> None:
    """The body says neither; an API key is as good as a signature."""
    content = json.dumps({"messages": [USER]}).encode()
    read = DIALECT.read(
        request(
            target="/model/arn%3Aaws%3Abedrock%3Ax%2Fy/converse-stream",
            content=content,
            authorization="Bearer key",
            x_amz_date="",
        )
    )
    assert (read.model, read.stream, read.refusal) == ("arn:aws:bedrock:x/y", True, None)


def test_what_tools_answered_is_told_as_messages_of_tools() -> None:
    """The same facts as of a chat in OpenAI's form."""
    use = {"toolUse": {"toolUseId": "tooluse_1", "name": "weather", "input": {}}}
    result = {"toolResult": {"toolUseId": "tooluse_1", "content": [{"text": "sunny"}]}}
    messages = [
        USER,
        {"role": "assistant", "content": [{"text": "Looking."}, use]},
        {"role": "user", "content": [result, {"text": "Go on."}]},
    ]
    facts = facts_of(DIALECT, asked(system=[{"text": "Be brief."}], messages=messages))
    assert [it["role"] for it in facts] == ["system", "user", "assistant", "tool", "user"]
    assert facts[2]["tool_calls"] == [{"id": "tooluse_1", "name": "weather"}]
    assert (facts[3]["tool_call_id"], facts[3]["content"]) == ("tooluse_1", "sunny")


def test_odd_messages_do_not_trouble_it() -> None:
    """What Bedrock might refuse and we do not model is answered, never a crash."""
    odd = [{"role": "user", "content": [{"toolResult": 1}, 1]}, "text", None, {"content": 5}]
    given_ = asked(messages=odd, system=[1])
    answer = DIALECT.good_answer(ProviderScript(), given_, EXCHANGE)
    assert output_problems("Converse", answer.chunks[0]) == []
    assert isinstance(facts_of(DIALECT, given_), list)


def test_a_proxys_page_has_no_error_object() -> None:
    """Its content type and body come as they are."""
    answer = DIALECT.error_answer(PAYLOADS["bad_gateway"], 502, EXCHANGE, {})
    assert dict(answer.headers)["content-type"] == "text/html"
    assert answer.chunks[0].startswith(b"<html>")
    assert answer.error is None
