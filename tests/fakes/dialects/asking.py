"""What tests of chat dialects share: a request, an exchange, and limits that are reached."""

from __future__ import annotations

import json
from typing import Any

from faultclock.fakes.wire.answer import Answer, ErrorFacts
from faultclock.fakes.wire.chat_messages import message_facts
from faultclock.fakes.wire.dialect import Asked, Dialect, Exchange, Meter, RateStanding
from faultclock.fakes.wire.event_stream import read_events
from faultclock.fakes.wire.http_server import HttpRequest
from faultclock.model.scenario.payload import ErrorPayload
from faultclock.model.scenario.provider_script import ProviderScript, ToolCallReply

EXCHANGE = Exchange(number=3, seed=7, unix_s=1_767_225_600, think_ms=100)
#: 60 requests a minute of which none is left, and 9 of 1000 tokens; a refusal for 2.5 s.
LIMITED = Exchange(
    number=3,
    seed=7,
    unix_s=1_767_225_600,
    think_ms=100,
    standing=RateStanding(
        requests=Meter(limit=60, remaining=0, reset_ns=60_000_000_000),
        tokens=Meter(limit=1_000, remaining=9, reset_ns=1_500_000_000),
        retry_after_ns=2_500_000_000,
    ),
)
TOOLS = (
    ToolCallReply(name="weather", arguments='{"city": "Bern", "unit": "celsius"}'),
    ToolCallReply(name="time", arguments="{}"),
)
_KEY = {"authorization": "Bearer sk-x"}


def request(
    target: str = "/v1/chat/completions",
    *,
    method: str = "POST",
    headers: dict[str, str] | None = None,
    content: bytes | None = None,
    **body: Any,
) -> HttpRequest:
    """Return a request; keyword arguments are members of its body."""
    asked = {"model": "some-model", "messages": [{"role": "user", "content": "Hi."}], **body}
    text = json.dumps(asked).encode() if content is None else content
    sent = _KEY if headers is None else headers
    return HttpRequest(method=method, target=target, headers=sent, body=text)


def answered(
    dialect: Dialect, sent: HttpRequest, exchange: Exchange = EXCHANGE, **script: Any
) -> Answer:
    """Return the good answer to a request."""
    asked = dialect.read(sent)
    assert asked.refusal is None
    return dialect.good_answer(ProviderScript(**script), asked, exchange)


def broken_off(
    dialect: Dialect, payload: ErrorPayload, model: str = "some-model", chunks_before: int = 2
) -> tuple[bytes, ErrorFacts]:
    """Return the error that ends a stream of `EXCHANGE`, and its facts."""
    asked = Asked(model=model, stream=True, refusal=None, body={"model": model})
    return dialect.error_event(payload, asked, EXCHANGE, chunks_before)


def events_of(answer: Answer) -> list[dict[str, Any]]:
    """Return the data of a stream's events; the end marker is none."""
    return [json.loads(event.data) for event in read_events(b"".join(answer.chunks))]


def headers_of(answer: Answer) -> dict[str, Any]:
    """Return the headers by name."""
    return dict(answer.headers)


def facts_of(dialect: Dialect, asked: Asked) -> list[dict[str, Any]]:
    """Return what a trace has of the messages of a request."""
    return message_facts({"messages": dialect.chat(asked)})
