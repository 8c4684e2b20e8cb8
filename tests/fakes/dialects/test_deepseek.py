"""What DeepSeek does to OpenAI's dialect: signs of life, and no limits that it tells of."""

from __future__ import annotations

import json

from faultclock.fakes.dialects import dialect_named
from faultclock.load.payloads import load_payloads
from tests.fakes.dialects.asking import LIMITED, TOOLS, answered, headers_of, request

DIALECT = dialect_named("deepseek")
PAYLOADS = load_payloads("deepseek")


def test_signs_of_life_come_before_the_answer() -> None:
    """A comment in a stream, blank lines otherwise; JSON and events are whole behind them."""
    streamed = answered(DIALECT, request("/chat/completions", stream=True))
    assert streamed.chunks[0].startswith(b": keep-alive\n\ndata: {")
    whole = answered(DIALECT, request("/chat/completions")).chunks[0]
    assert whole.startswith(b"\n\n{")
    assert json.loads(whole)["object"] == "chat.completion"


def test_it_tells_of_no_limits() -> None:
    """Not even how long to wait."""
    refusal = DIALECT.error_answer(PAYLOADS["rate_limit_exceeded"], 429, LIMITED, {})
    for answer in (answered(DIALECT, request(), LIMITED), refusal):
        assert set(headers_of(answer)) == {"date", "content-type", "x-ds-trace-id"}


def test_the_cache_is_told_of_in_the_usage() -> None:
    """Hits and misses make the prompt."""
    usage = json.loads(answered(DIALECT, request(), tool_calls=TOOLS).chunks[0])["usage"]
    hit, miss = usage["prompt_cache_hit_tokens"], usage["prompt_cache_miss_tokens"]
    assert hit + miss == usage["prompt_tokens"]


def test_the_code_says_bad_request_even_where_the_key_is_wrong() -> None:
    """Only status and type tell one from the other."""
    errors = {
        name: (payload.status, payload.body["error"]["type"], payload.body["error"]["code"])
        for name, payload in PAYLOADS.items()
        if payload.body is not None
    }
    assert errors["invalid_api_key"] == (401, "authentication_error", "invalid_request_error")
    assert errors["insufficient_quota"] == (402, "unknown_error", "invalid_request_error")
    assert errors["model_not_found"] == (400, "invalid_request_error", "invalid_request_error")
