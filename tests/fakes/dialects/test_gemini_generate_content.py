"""Gemini's dialect: what it refuses, what it notes of requests, and when it says to come back.

That Google's SDK understands its answers is proved in `test_truth_table`.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from google.genai import types
from hypothesis import given
from hypothesis import strategies as st

from faultclock.errors import InputError
from faultclock.fakes.dialects import dialect_named
from faultclock.fakes.dialects.gemini_generate_content import protobuf_duration
from faultclock.fakes.wire.answer import Answer
from faultclock.fakes.wire.dialect import Asked, Exchange, Heard, Meter, RateStanding
from faultclock.fakes.wire.http_server import HttpRequest
from faultclock.load.payloads import load_payloads
from faultclock.model.scenario.provider_script import ProviderReply, ProviderScript, ToolCallReply
from tests.fakes.dialects.asking import broken_off, facts_of

DIALECT = dialect_named("gemini-generate-content")
PAYLOADS = load_payloads("gemini-generate-content")
EXCHANGE = Exchange(number=3, seed=7, unix_s=1_767_225_600, think_ms=100)
MODEL = "/v1beta/models/gemini-x"
STREAMED = f"{MODEL}:streamGenerateContent?alt=sse"
HELLO = [{"role": "user", "parts": [{"text": "Hi."}]}]
WEATHER = ToolCallReply(name="weather", arguments='{"city": "Bern"}')


def request(
    target: str = f"{MODEL}:generateContent",
    method: str = "POST",
    key: str = "AIza-x",
    content: bytes = b'{"contents": [{"parts": []}]}',
) -> HttpRequest:
    """Return a request to the dialect."""
    headers = {"x-goog-api-key": key} if key else {}
    return HttpRequest(method=method, target=target, headers=headers, body=content)


def asked(target: str = f"{MODEL}:generateContent", **body: Any) -> Asked:
    """Return what the dialect reads of a request."""
    content = json.dumps({"contents": HELLO, **body}).encode()
    return DIALECT.read(request(target, content=content))


def streamed(reply: str) -> Answer:
    """Return an answer in chunks."""
    return DIALECT.good_answer(ProviderScript(reply=reply), asked(STREAMED), EXCHANGE)


def limited(payload: str, standing: RateStanding) -> dict[str, Any]:
    """Return the error object of a refusal by a provider that has limits."""
    exchange = Exchange(number=3, seed=7, unix_s=0, think_ms=0, standing=standing)
    answer = DIALECT.error_answer(PAYLOADS[payload], 429, exchange, {})
    assert answer.error is not None
    error: dict[str, Any] = json.loads(answer.chunks[0])["error"]
    assert answer.error["message"] == error["message"]
    assert not {"retry-after", "retry-after-ms"} & dict(answer.headers).keys()
    return error


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=60))
def test_any_reply_survives_the_stream(reply: str) -> None:
    """Encoding and line ends keep every character, also those at which other lines end."""
    answer = streamed(reply)
    texts = b"".join(answer.chunks).decode().removesuffix("\r\n\r\n").split("\r\n\r\n")
    chunks = [
        types.GenerateContentResponse.model_validate_json(text.removeprefix("data: "), strict=True)
        for text in texts
    ]
    assert "".join(chunk.text or "" for chunk in chunks) == reply
    heard = DIALECT.heard(b"".join(answer.chunks), "text/event-stream")
    assert heard == Heard(text=reply or None, finish_reason="stop")


@pytest.mark.parametrize(
    ("sent", "payload"),
    [
        (request("/v1beta/models"), "unknown_url"),
        (request(f"{MODEL}:countTokens"), "unknown_url"),
        (request("/v2/models/gemini-x:generateContent"), "unknown_url"),
        (request(method="GET"), "unknown_url"),
        (request(key=""), "missing_authorization"),
        (request(f"{MODEL}:streamGenerateContent"), "stream_without_sse"),
        (request(f"{MODEL}:streamGenerateContent?alt=json"), "stream_without_sse"),
        (request(content=b"{"), "invalid_json"),
        (request(content=b"[]"), "invalid_json"),
        (request(content=b"{}"), "missing_contents"),
        (request(content=b'{"contents": []}'), "missing_contents"),
        (request(content=b'{"contents": {"parts": []}}'), "invalid_request"),
    ],
)
def test_the_provider_refuses_what_gemini_would(sent: HttpRequest, payload: str) -> None:
    """Path, key, JSON and contents are checked in this order."""
    refusal = DIALECT.read(sent).refusal
    assert refusal is not None
    assert refusal.payload == payload


@pytest.mark.parametrize("version", ["v1", "v1beta", "v1alpha"])
def test_a_key_may_stand_in_the_query(version: str) -> None:
    """In each version of the API."""
    target = f"/{version}/models/gemini-x:streamGenerateContent?alt=sse&key=AIza-x"
    read = DIALECT.read(request(target, key=""))
    assert (read.refusal, read.model, read.stream) == (None, "gemini-x", True)


def test_messages_are_told_as_those_of_any_chat() -> None:
    """What the model asks for and what a tool answers are found by id, or else by name."""
    call = {"name": "weather", "args": {"city": "Bern"}}
    facts = facts_of(
        DIALECT,
        asked(
            systemInstruction={"parts": [{"text": "Be brief."}]},
            contents=[
                *HELLO,
                {"role": "model", "parts": [{"functionCall": call}]},
                {
                    "role": "user",
                    "parts": [
                        {"functionResponse": {"name": "weather", "response": {"output": "Sun."}}},
                        {"functionResponse": {"id": "c2", "name": "x", "response": {"a": 1}}},
                    ],
                },
                {"parts": [{"text": "And now?"}]},
            ],
        ),
    )
    assert [fact["role"] for fact in facts] == [
        *("system", "user", "assistant", "tool", "tool", "user")
    ]
    assert facts[2]["tool_calls"] == [{"id": "weather", "name": "weather"}]
    assert [(fact["tool_call_id"], fact["content"]) for fact in facts[3:5]] == [
        ("weather", "Sun."),
        ("c2", '{"a": 1}'),
    ]


def test_an_answer_by_name_is_for_the_call_in_its_place() -> None:
    """Google's guide gives no ids back; one that is given counts."""
    calls = [{"functionCall": {"id": id_, "name": "weather"}} for id_ in ("c1", "c2", "c3")]
    answers: list[dict[str, Any]] = [{"name": "weather"}, {"name": "other"}]
    answers.append({"id": "c9", "name": "weather"})
    parts = [{"functionResponse": {**answer, "response": {"output": "Sun."}}} for answer in answers]
    contents = [{"role": "model", "parts": calls}, {"role": "user", "parts": parts}]
    facts = facts_of(DIALECT, asked(contents=contents))
    assert [fact.get("tool_call_id") for fact in facts[1:]] == ["c1", "other", "c9"]


def test_a_conversation_goes_on_where_the_model_stopped() -> None:
    """The n-th answer belongs to a request that holds n messages of the model."""
    script = ProviderScript(
        replies=(ProviderReply(tool_calls=(WEATHER,)), ProviderReply(text="Sunny."))
    )
    first = DIALECT.good_answer(script, asked(), EXCHANGE)
    assert first.finish_reason == "tool_calls"
    contents = [*HELLO, {"role": "model", "parts": []}, *HELLO]
    assert DIALECT.good_answer(script, asked(contents=contents), EXCHANGE).text == "Sunny."
    part = json.loads(first.chunks[0])["candidates"][0]["content"]["parts"][0]
    assert part["functionCall"]["id"] == first.tool_calls[0]["id"]


def test_arguments_that_are_no_object_cannot_be_said() -> None:
    """The author of the scenario is told so."""
    script = ProviderScript(tool_calls=(ToolCallReply(name="weather", arguments="[1"),))
    with pytest.raises(InputError, match="no JSON object"):
        DIALECT.good_answer(script, asked(), EXCHANGE)


@pytest.mark.parametrize(
    ("duration_ns", "text"),
    [
        (0, "0s"),
        (48_000_000_000, "48s"),
        (1_500_000_000, "1.500s"),
        (15_002_899_939, "15.002899939s"),
        (1_000, "0.000001s"),
        (1, "0.000000001s"),
    ],
)
def test_a_duration_has_three_six_or_nine_decimals(duration_ns: int, text: str) -> None:
    """As protobuf writes it in JSON."""
    assert protobuf_duration(duration_ns) == text


def test_a_refusal_for_a_limit_says_in_its_body_when_to_come_back() -> None:
    """And how much is allowed, of requests or of tokens; there is no header for it."""
    standing = RateStanding(
        requests=Meter(limit=60, remaining=0, reset_ns=60_000_000_000),
        tokens=Meter(limit=900, remaining=100, reset_ns=1_000_000_000),
        retry_after_ns=1_500_000_000,
    )
    for payload, limit in (("rate_limit_with_retry_info", "60"), ("rate_limit_tokens", "900")):
        error = limited(payload, standing)
        details = {detail["@type"].rpartition(".")[2]: detail for detail in error["details"]}
        assert details["RetryInfo"]["retryDelay"] == "1.500s"
        assert details["QuotaFailure"]["violations"][0]["quotaValue"] == limit
        assert error["message"].endswith(" Please retry in 1.500s.")
        assert error["message"].count("retry in") == 1
        kinds = [detail["@type"] for detail in error["details"]]
        assert len(kinds) == len(set(kinds))


def test_an_overloaded_provider_may_tell_when_it_is_not() -> None:
    """It has no limit to tell."""
    error = limited("overloaded", RateStanding(retry_after_ns=5_000_000_000))
    assert [detail.get("retryDelay") for detail in error["details"]] == ["5s"]


def test_what_was_not_refused_for_a_limit_says_nothing_of_it() -> None:
    """Neither a 429 that the scenario planned nor another refusal."""
    meter = Meter(limit=60, remaining=9, reset_ns=0)
    assert (
        limited("rate_limit_exceeded", RateStanding(requests=meter))["details"]
        == (PAYLOADS["rate_limit_exceeded"].body or {})["error"]["details"]
    )
    error = limited("invalid_request", RateStanding(requests=meter, retry_after_ns=1))
    assert "retry" not in json.dumps(error)


def test_a_daily_quota_is_told_from_a_rate_limit_by_its_id_alone() -> None:
    """Status, code and words are the same."""
    ids = []
    for payload in ("rate_limit_exceeded", "insufficient_quota"):
        error = (PAYLOADS[payload].body or {})["error"]
        assert (error["code"], error["status"]) == (429, "RESOURCE_EXHAUSTED")
        ids += [v["quotaId"] for d in error["details"] for v in d.get("violations", ())]
    assert ["PerMinute" in id_ for id_ in ids] == [True, False]
    assert "PerDay" in ids[1]


def test_an_error_breaks_into_a_stream_as_bare_lines() -> None:
    """It is read back from there, with what came before it."""
    event, facts = broken_off(DIALECT, PAYLOADS["overloaded_error"])
    assert b"data:" not in event
    assert event.startswith(b'{\r\n  "error": {\r\n')
    answer = streamed("One two")
    heard = DIALECT.heard(answer.chunks[0] + event, "text/event-stream")
    assert heard == Heard(text="One", error=facts)
    assert facts["code"] == 503
    assert facts["type"] == "UNAVAILABLE"


@pytest.mark.parametrize(
    ("body", "heard"),
    [
        (
            {"promptFeedback": {"blockReason": "SAFETY"}},
            Heard(finish_reason="content_filter", blocked=True),
        ),
        (
            {"candidates": [{"finishReason": "SAFETY", "index": 0}]},
            Heard(finish_reason="content_filter", blocked=False),
        ),
        (
            {"candidates": [{"content": {"parts": [{"text": "A"}]}, "finishReason": "MAX_TOKENS"}]},
            Heard(text="A", finish_reason="length"),
        ),
        (
            {"candidates": [{"content": {"parts": [{"text": "Hm", "thought": True}]}}]},
            Heard(),
        ),
        (
            [{"error": {"code": 400, "message": "No.", "status": "INVALID_ARGUMENT"}}],
            Heard(error={"code": 400, "type": "INVALID_ARGUMENT", "message": "No."}),
        ),
    ],
)
def test_other_answers_of_gemini_are_heard_too(body: Any, heard: Heard) -> None:
    """A blocked prompt, a cut text, thoughts, and an error in a list of its own."""
    assert DIALECT.heard(json.dumps(body).encode(), "application/json") == heard
