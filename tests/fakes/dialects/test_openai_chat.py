"""The OpenAI dialect against the SDK's own types, and what it refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from faultclock.fakes.dialects import dialect_named
from faultclock.fakes.wire.dialect import Asked, Exchange
from faultclock.fakes.wire.http_server import HttpRequest
from faultclock.fakes.wire.said import split_text
from faultclock.model.scenario.provider_script import ProviderScript, ToolCallReply
from tests.fakes.dialects.driver import unknown_members

DIALECT = dialect_named("openai-chat")
EXCHANGE = Exchange(number=3, seed=7, unix_s=1_767_225_600, think_ms=100)
TOOLS = (
    ToolCallReply(name="weather", arguments='{"city": "Bern", "unit": "celsius"}'),
    ToolCallReply(name="time", arguments="{}"),
)


def asked(**body: Any) -> Asked:
    """Return what the dialect reads of a request."""
    content = {"model": "gpt-x", "messages": [{"role": "user", "content": "Hi."}], **body}
    return DIALECT.read(request(content=json.dumps(content).encode()))


def request(
    method: str = "POST",
    target: str = "/v1/chat/completions",
    authorization: str = "Bearer sk-x",
    content: bytes = b"{}",
) -> HttpRequest:
    """Return a request to the dialect."""
    headers = {"authorization": authorization} if authorization else {}
    return HttpRequest(method=method, target=target, headers=headers, body=content)


def chunks_of(script: ProviderScript, **body: Any) -> list[ChatCompletionChunk]:
    """Return the chunks of a stream, strictly validated by the SDK's model."""
    answer = DIALECT.good_answer(script, asked(stream=True, **body), EXCHANGE)
    assert answer.end_marker == b"data: [DONE]\n\n"
    texts = [chunk.removeprefix(b"data: ").removesuffix(b"\n\n") for chunk in answer.chunks]
    return [ChatCompletionChunk.model_validate_json(text, strict=True) for text in texts]


@pytest.mark.parametrize("tool_calls", [(), TOOLS])
def test_a_good_answer_is_a_chat_completion(tool_calls: tuple[ToolCallReply, ...]) -> None:
    """The SDK's model takes it strictly and knows every member."""
    script = ProviderScript(reply="Grüße, world.", tool_calls=tool_calls)
    answer = DIALECT.good_answer(script, asked(), EXCHANGE)
    completion = ChatCompletion.model_validate_json(answer.chunks[0], strict=True)
    assert unknown_members(completion) == []
    choice = completion.choices[0]
    assert completion.model == "gpt-x"
    assert choice.finish_reason == answer.finish_reason == ("tool_calls" if tool_calls else "stop")
    assert choice.message.content == answer.text == (None if tool_calls else "Grüße, world.")
    called = choice.message.tool_calls or []
    assert [(c.function.name, c.function.arguments) for c in called] == [
        (c.name, c.arguments) for c in tool_calls
    ]


def test_a_stream_begins_with_the_role_and_ends_with_the_reason() -> None:
    """In between, the pieces of the reply."""
    chunks = chunks_of(ProviderScript(reply="One two three."))
    deltas = [chunk.choices[0].delta for chunk in chunks]
    assert (deltas[0].role, deltas[0].content) == ("assistant", "")
    assert [delta.content for delta in deltas[1:-1]] == ["One", " two", " three."]
    assert [chunk.choices[0].finish_reason for chunk in chunks] == [None] * 4 + ["stop"]
    assert len({chunk.id for chunk in chunks}) == 1
    assert [name for chunk in chunks for name in unknown_members(chunk)] == []


def test_streamed_tool_calls_can_be_put_together() -> None:
    """The first delta of a call names it, later ones carry pieces of its arguments."""
    chunks = chunks_of(ProviderScript(tool_calls=TOOLS))
    calls: dict[int, list[str]] = {}
    for delta in (chunk.choices[0].delta for chunk in chunks):
        for call in delta.tool_calls or []:
            assert call.function is not None
            pieces = calls.setdefault(call.index, [call.id or "", call.function.name or ""])
            pieces.append(call.function.arguments or "")
    assert [(name, "".join(rest)) for _, name, *rest in calls.values()] == [
        (call.name, call.arguments) for call in TOOLS
    ]
    assert chunks[-1].choices[0].finish_reason == "tool_calls"


def test_usage_comes_in_a_last_chunk_when_it_is_asked_for() -> None:
    """The chunks before it carry a null, as the API documents it."""
    script = ProviderScript(reply="One two.")
    without, with_usage = (
        chunks_of(script),
        chunks_of(script, stream_options={"include_usage": True}),
    )
    assert len(with_usage) == len(without) + 1
    assert [chunk.usage for chunk in with_usage[:-1]] == [None] * len(without)
    last = with_usage[-1]
    assert last.usage is not None
    assert (last.choices, last.usage.completion_tokens) == ([], 2)
    assert last.usage.total_tokens == last.usage.prompt_tokens + 2


def test_ids_follow_from_seed_and_number_alone() -> None:
    """Equal exchanges are equal, and others are not."""

    def ids(exchange: Exchange) -> tuple[bytes, Any]:
        answer = DIALECT.good_answer(ProviderScript(), asked(), exchange)
        return answer.chunks[0], dict(answer.headers)["x-request-id"]

    other = Exchange(number=4, seed=7, unix_s=EXCHANGE.unix_s, think_ms=100)
    assert ids(EXCHANGE) == ids(EXCHANGE)
    assert ids(EXCHANGE)[0] != ids(other)[0]
    assert ids(EXCHANGE)[1] != ids(other)[1]


@given(st.text())
def test_the_pieces_of_a_text_give_it_back(text: str) -> None:
    """Nothing is lost or doubled, whatever the script."""
    assert "".join(split_text(text)) == text


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=60))
def test_any_reply_survives_the_stream(reply: str) -> None:
    """Encoding and escaping keep every character."""
    chunks = chunks_of(ProviderScript(reply=reply))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == reply


@pytest.mark.parametrize(
    ("sent", "payload", "values"),
    [
        (request(target="/v1/models"), "unknown_url", {"message": "Invalid URL (POST /v1/models)"}),
        (request(method="GET"), "method_not_supported", {}),
        (request(authorization=""), "missing_authorization", {}),
        (request(authorization="Bearer "), "missing_authorization", {}),
        (request(authorization="Basic abc"), "missing_authorization", {}),
        (request(content=b"{"), "invalid_json", {}),
        (request(content=b"\xff\xfe"), "invalid_json", {}),
        (request(content=b"[" * 100_000), "invalid_json", {}),
        (request(content=b"[]"), "invalid_json", {}),
        (request(content=b"{}"), "missing_required_parameter", {"param": "model"}),
        (
            request(content=b'{"model": "m"}'),
            "missing_required_parameter",
            {"param": "messages", "message": "Missing required parameter: 'messages'."},
        ),
        (
            request(content=b'{"model": "m", "messages": []}'),
            "invalid_request",
            {"param": "messages"},
        ),
        (request(content=b'{"model": 1, "messages": [1]}'), "invalid_request", {"param": "model"}),
        (
            request(content=b'{"model": "\\ud800", "messages": [1]}'),
            "invalid_request",
            {"param": "model"},
        ),
    ],
)
def test_the_provider_refuses_what_openai_would(
    sent: HttpRequest, payload: str, values: dict[str, str], payloads: Any
) -> None:
    """Path, method, key, JSON and parameters are checked in this order."""
    refusal = DIALECT.read(sent).refusal
    assert refusal is not None
    assert refusal.payload == payload
    assert values.items() <= refusal.values.items()
    answer = DIALECT.error_answer(payloads[payload], 400, EXCHANGE, refusal.values)
    error = json.loads(answer.chunks[0])["error"]
    assert values.items() <= error.items()
    assert set(error) == {"message", "type", "param", "code"}


def test_odd_messages_do_not_trouble_it() -> None:
    """What OpenAI might refuse and we do not model is answered, never a crash."""
    odd = [{"role": "user", "content": [{"type": "text", "text": "x"}]}, "text", None]
    answer = DIALECT.good_answer(ProviderScript(), asked(messages=odd), EXCHANGE)
    ChatCompletion.model_validate_json(answer.chunks[0], strict=True)


def test_a_proxys_page_has_no_error_object(payloads: Any) -> None:
    """Its content type and body come as they are."""
    answer = DIALECT.error_answer(payloads["bad_gateway"], 502, EXCHANGE, {})
    assert dict(answer.headers)["content-type"] == "text/html"
    assert answer.chunks[0].startswith(b"<html>")
    assert answer.error is None
