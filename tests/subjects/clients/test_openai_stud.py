"""The SDK's ways to fail, each told as the stud-cli rules want it, without a network."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import httpx2
import openai
import pytest

from faultclock.subjects.clients.openai_stud import openai_stud
from faultclock.subjects.ports import ProviderRequest, Reply, ToolCall, TypedError
from faultclock.subjects.stud import UnmappedProviderError

Answer = httpx2.Response | Exception


def good(**message: Any) -> httpx2.Response:
    """Return a good answer."""
    message = {"role": "assistant", "content": "Hello", **message}
    return httpx2.Response(200, json={"choices": [{"index": 0, "message": message}]})


def error(status: int, code: str | None, type_: str = "x", **headers: str) -> httpx2.Response:
    """Return an error answer."""
    body = {"error": {"message": "m", "type": type_, "code": code, "param": None}}
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx2.Response(status, json=body, headers=headers)


def stream(*events: Any) -> httpx2.Response:
    """Return a 200 with these events."""
    texts = [event if isinstance(event, str) else json.dumps(event) for event in events]
    body = "".join(f"data: {text}\n\n" for text in texts)
    return httpx2.Response(200, text=body, headers={"content-type": "text/event-stream"})


def delta(finish: str | None = None, **content: Any) -> dict[str, Any]:
    """Return one chunk."""
    return {"choices": [{"index": 0, "delta": content, "finish_reason": finish}]}


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Waits that were asked for; none is slept."""
    waits: list[float] = []

    async def sleep(delay_s: float) -> None:
        waits.append(delay_s)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    return waits


@pytest.fixture
def ask(request_: ProviderRequest, slept: list[float]) -> Callable[..., Any]:
    """Return a function that asks a provider that gives the planned answers."""

    def ask(*answers: Answer, streamed: bool = False) -> Any:
        planned: Iterator[Answer] = iter(answers)

        def handle(_: httpx2.Request) -> httpx2.Response:
            answer = next(planned)
            if isinstance(answer, Exception):
                raise answer
            return answer

        async def call() -> Any:
            http = httpx2.AsyncClient(transport=httpx2.MockTransport(handle))
            async with openai.AsyncOpenAI(
                api_key=request_.api_key, max_retries=0, http_client=http
            ) as client:
                return await openai_stud(replace(request_, stream=streamed), client)

        return asyncio.run(call())

    return ask


def test_good_answers_are_returned(ask: Callable[..., Any]) -> None:
    """Plain, with tools, and as a stream."""
    call = {"id": "c", "type": "function", "function": {"name": "add", "arguments": "{}"}}
    assert ask(good()) == Reply("Hello")
    assert ask(good(content=None, tool_calls=[call])) == Reply("", (ToolCall("add", "{}"),))
    events = delta(content="Hel"), delta(content="lo"), delta("stop"), "[DONE]"
    assert ask(stream(*events), streamed=True) == Reply("Hello")


@pytest.mark.parametrize(
    ("failure", "code", "attempts"),
    [
        (error(429, "rate_limit_exceeded"), "RateLimited", 6),
        (error(429, "insufficient_quota"), "RateLimited", 6),
        (error(500, "server_error"), "Provider5xx", 3),
        (httpx2.Response(502, text="<html>"), "Provider5xx", 3),
        (httpx2.ConnectError("refused"), "NetworkTimeout", 3),
        (httpx2.ReadTimeout("slow"), "NetworkTimeout", 3),
        (httpx2.RemoteProtocolError("cut"), "NetworkTimeout", 3),
        (error(200, "rate_limit_exceeded"), "RateLimited", 6),
        (error(200, None, "server_error"), "Provider5xx", 3),
        (error(400, "context_length_exceeded"), "ContextWindowTooSmall", 1),
    ],
)
def test_each_failure_has_its_code_and_its_number_of_attempts(
    ask: Callable[..., Any], slept: list[float], failure: Answer, code: str, attempts: int
) -> None:
    """The last error is typed and has the SDK's own error below it."""
    with pytest.raises(TypedError) as raised:
        ask(*[failure] * attempts)
    assert raised.value.code == code
    assert raised.value.__cause__ is not None
    assert len(slept) == attempts - 1


@pytest.mark.parametrize(
    ("events", "code"),
    [
        ([delta(content="Hel"), {"error": {"code": "rate_limit_exceeded"}}], "RateLimited"),
        ([{"error": {"type": "server_error", "message": "m"}}], "Provider5xx"),
        ([delta(content="Hel")], "NetworkTimeout"),
        ([], "NetworkTimeout"),
    ],
)
def test_a_stream_that_fails_is_not_half_an_answer(
    ask: Callable[..., Any], events: list[Any], code: str
) -> None:
    """An error object in it, or an end that it does not announce."""
    with pytest.raises(TypedError) as raised:
        ask(*(stream(*events) for _ in range(6)), streamed=True)
    assert raised.value.code == code


@pytest.mark.parametrize(
    "failure",
    [
        error(401, "invalid_api_key"),
        error(404, "model_not_found"),
        httpx2.Response(200, text="{half", headers={"content-type": "application/json"}),
        httpx2.Response(200, text="<html>", headers={"content-type": "text/html"}),
        httpx2.Response(200, json={"choices": []}),
        httpx2.Response(200, json={"choices": [{"message": None}]}),
    ],
)
def test_what_has_no_class_is_raised_at_once(
    ask: Callable[..., Any], slept: list[float], failure: Answer
) -> None:
    """Refused requests and damaged answers."""
    with pytest.raises(UnmappedProviderError):
        ask(failure)
    assert slept == []


def test_waits_follow_retry_after_and_the_schedule(
    ask: Callable[..., Any], slept: list[float], host: Any
) -> None:
    """7 s exactly, then 10 s ±20 % for the second rate limit, then 1 s ±20 %."""
    limited = error(429, "rate_limit_exceeded", retry_after="7", retry_after_ms="1")
    assert ask(limited, error(429, None), error(503, None), good()) == Reply("Hello")
    assert slept[0] == 7.0
    assert 8.0 <= slept[1] <= 12.0
    assert 0.8 <= slept[2] <= 1.2
    assert [(code, attempt) for _, code, attempt in host.of("audit")] == [
        ("RateLimited", 1),
        ("RateLimited", 2),
        ("Provider5xx", 3),
    ]
