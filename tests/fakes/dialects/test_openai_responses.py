"""The responses API: what a request tells, how a stream goes, and how it goes wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest
from openai.types.responses import ResponseStreamEvent
from pydantic import TypeAdapter

from faultclock.errors import InternalError
from faultclock.fakes.dialects import dialect_named
from faultclock.fakes.wire.event_stream import read_events
from faultclock.fakes.wire.http_server import HttpRequest
from faultclock.load.payloads import load_payloads
from faultclock.model.scenario.payload import ErrorPayload
from faultclock.model.scenario.provider_script import ProviderReply, ToolCallReply
from tests.fakes.dialects import asking
from tests.fakes.dialects.asking import (
    EXCHANGE,
    LIMITED,
    TOOLS,
    answered,
    broken_off,
    events_of,
    facts_of,
    headers_of,
)

DIALECT = dialect_named("openai-responses")
PAYLOADS = load_payloads("openai-responses")
EVENT: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)
ASKED = {"type": "function_call", "call_id": "call_1", "name": "time", "arguments": "{}"}
TOLD = {"type": "function_call_output", "call_id": "call_1", "output": "noon"}


def request(input: Any = "Hi.", **body: Any) -> HttpRequest:
    """Return a request to the dialect."""
    return asking.request(
        "/v1/responses", content=json.dumps({"model": "m", "input": input, **body}).encode()
    )


@pytest.mark.parametrize(
    ("sent", "payload", "values"),
    [
        (asking.request(), "unknown_url", {}),
        (asking.request("/v1/responses"), "missing_required_parameter", {"param": "input"}),
        (request(input=""), "invalid_request", {"param": "input"}),
        (request(input=[]), "invalid_request", {"param": "input"}),
        (request(input=5), "invalid_request", {"param": "input"}),
    ],
)
def test_it_refuses_what_openai_would(
    sent: HttpRequest, payload: str, values: dict[str, str]
) -> None:
    """The input is a text or a list, and not empty."""
    refusal = DIALECT.read(sent).refusal
    assert refusal is not None
    assert refusal.payload == payload
    assert values.items() <= refusal.values.items()


def test_what_a_request_tells_is_told_as_messages() -> None:
    """Instructions, texts, parts, tool calls and what tools answered."""
    parts = [{"type": "input_text", "text": "Hi."}]
    items = [{"role": "user", "content": parts}, ASKED, TOLD, {"type": "reasoning"}, "odd"]
    facts = facts_of(DIALECT, DIALECT.read(request(input=items, instructions="Be brief.")))
    assert [fact["role"] for fact in facts] == ["system", "user", "assistant", "tool"]
    assert facts[2]["tool_calls"] == [{"id": "call_1", "name": "time"}]
    assert (facts[3]["content"], facts[3]["tool_call_id"]) == ("noon", "call_1")
    plain = facts_of(DIALECT, DIALECT.read(request()))
    assert plain == facts_of(
        DIALECT, DIALECT.read(request(input=[{"role": "user", "content": "Hi."}]))
    )


def test_what_the_model_says_at_once_is_one_message() -> None:
    """A text and the tools behind it, whatever stands between them and their results."""
    spoken = {"role": "assistant", "content": "I look."}
    second = {**ASKED, "call_id": "call_2"}
    items = [spoken, ASKED, {"type": "reasoning"}, second, TOLD, {**TOLD, "call_id": "call_2"}]
    facts = facts_of(DIALECT, DIALECT.read(request(input=[*items, ASKED])))
    asked = [[call["id"] for call in fact.get("tool_calls", ())] for fact in facts]
    assert asked == [["call_1", "call_2"], [], [], ["call_1"]]


def test_a_conversation_goes_on_with_each_turn_of_the_model() -> None:
    """Two tools that are asked for at once are one turn."""
    replies = (
        ProviderReply(tool_calls=(ToolCallReply(name="time", arguments="{}"),)),
        ProviderReply(text="It is noon."),
    )
    first = answered(DIALECT, request(), replies=replies)
    assert [call["name"] for call in first.tool_calls] == ["time"]
    user = {"role": "user", "content": "Hi."}
    again = [user, ASKED, {**ASKED, "call_id": "call_2"}, TOLD, {**TOLD, "call_id": "call_2"}]
    assert answered(DIALECT, request(input=again), replies=replies).text == "It is noon."


def test_a_stream_tells_each_item_from_beginning_to_end() -> None:
    """Numbered without a gap, and whole only with its last event."""
    answer = answered(DIALECT, request(stream=True), reply="One two.")
    kinds = [event["type"].removeprefix("response.") for event in events_of(answer)]
    assert kinds == [
        *("created", "in_progress", "output_item.added", "content_part.added"),
        *("output_text.delta", "output_text.delta", "output_text.done"),
        *("content_part.done", "output_item.done", "completed"),
    ]
    assert [event["sequence_number"] for event in events_of(answer)] == list(range(len(kinds)))
    assert answer.chunks_before_finish == len(answer.chunks) - 1
    assert answer.end_marker == b""


def test_a_stream_that_asks_for_tools_sends_their_arguments_in_pieces() -> None:
    """An item for each, and none for a message."""
    events = events_of(answered(DIALECT, request(stream=True), tool_calls=TOOLS))
    deltas = [e["delta"] for e in events if e["type"].endswith("arguments.delta")]
    assert "".join(deltas) == "".join(call.arguments for call in TOOLS)
    output = events[-1]["response"]["output"]
    assert [item["type"] for item in output] == ["function_call", "function_call"]


@pytest.mark.parametrize(
    ("name", "kind", "code"),
    [
        ("server_error", "response.failed", "server_error"),
        ("rate_limit_tokens", "response.failed", "rate_limit_exceeded"),
        ("invalid_prompt", "response.failed", "invalid_prompt"),
        ("overloaded_error", "error", "server_is_overloaded"),
        ("insufficient_quota", "error", "insufficient_quota"),
        ("no_capacity_event", "error", "no_capacity"),
    ],
)
def test_an_error_inside_a_stream_is_the_event_that_its_code_calls_for(
    name: str, kind: str, code: str
) -> None:
    """The SDK's types take all of them but the one with the error inside."""
    data, error = broken_off(DIALECT, PAYLOADS[name])
    (event,) = read_events(data)
    assert (event.name, error["code"]) == (kind, code)
    assert DIALECT.heard(data, "text/event-stream").error == error
    if name != "no_capacity_event":
        assert EVENT.validate_json(event.data, strict=True).type == kind


def test_a_filtered_answer_is_incomplete() -> None:
    """Which is a finish reason when it is read back."""
    data, error = broken_off(DIALECT, PAYLOADS["content_filter"])
    (event,) = read_events(data)
    assert (event.name, error["code"]) == ("response.incomplete", "content_filter")
    assert EVENT.validate_json(event.data, strict=True).type == event.name
    heard = DIALECT.heard(data, "text/event-stream")
    assert (heard.finish_reason, heard.error) == ("content_filter", None)


@pytest.mark.parametrize("name", ["server_error", "content_filter", "insufficient_quota"])
@pytest.mark.parametrize("chunks_before", [0, 1, 4])
def test_an_error_inside_a_stream_goes_on_where_the_stream_was(
    name: str, chunks_before: int
) -> None:
    """It has the next number, and where it tells of the response that is the one that began."""
    answer = answered(DIALECT, request(stream=True))
    good = events_of(answer)
    data, _ = broken_off(DIALECT, PAYLOADS[name], "m", chunks_before)
    (event,) = read_events(data)
    told = json.loads(event.data)
    before = list(read_events(b"".join(answer.chunks[:chunks_before])))
    assert told["sequence_number"] == good[len(before)]["sequence_number"] == len(before)
    if "response" in told:
        begun = good[0]["response"]
        differs = {key for key, value in told["response"].items() if value != begun[key]}
        assert differs <= {"status", "error", "incomplete_details"}


def test_a_payload_without_an_error_object_is_no_event() -> None:
    """Neither a page nor another body."""
    odd = ErrorPayload(status=400, body={"odd": 1}, source="made up")
    for payload in (PAYLOADS["bad_gateway"], odd):
        with pytest.raises(InternalError):
            broken_off(DIALECT, payload)


def test_what_came_before_an_error_is_heard() -> None:
    """The text so far, and the tools that were asked for."""
    event, error = broken_off(DIALECT, PAYLOADS["overloaded_error"])
    answer = answered(DIALECT, request(stream=True), reply="One two three.")
    heard = DIALECT.heard(b"".join(answer.chunks[:4]) + event, "text/event-stream")
    assert (heard.text, heard.error, heard.finish_reason) == ("One two", error, None)
    asking_tools = answered(DIALECT, request(stream=True), tool_calls=TOOLS)
    cut = b"".join(asking_tools.chunks[:-1])
    assert len(DIALECT.heard(cut, "text/event-stream").tool_calls) == 2


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, "length"),
        ({"status": "incomplete", "incomplete_details": {"reason": "steered"}}, "steered"),
        ({"status": "queued"}, None),
    ],
)
def test_why_a_recorded_response_ended_is_understood(
    response: dict[str, Any], reason: str | None
) -> None:
    """In the canonical word, where there is one."""
    heard = DIALECT.heard(json.dumps({"output": [], **response}).encode(), "application/json")
    assert heard.finish_reason == reason


def test_a_recorded_failure_has_its_error() -> None:
    """Though the status was 200."""
    body = {"status": "failed", "error": {"code": "server_error", "message": "No."}}
    heard = DIALECT.heard(json.dumps(body).encode(), "application/json")
    assert heard.error is not None
    assert (heard.error["code"], heard.finish_reason) == ("server_error", None)


def test_limits_are_told_as_in_chat_completions() -> None:
    """One gateway answers for both."""
    told = headers_of(answered(DIALECT, request(), LIMITED))
    assert (told["retry-after-ms"], told["x-ratelimit-reset-requests"]) == ("2500", "1m0s")
    error = DIALECT.error_answer(PAYLOADS["model_not_found"], 400, EXCHANGE, {})
    assert (error.status, dict(error.error or {})["code"]) == (400, "model_not_found")
