"""Cohere's chat API of version 2: `POST /v2/chat`, whole or as typed server-sent events.

Bodies follow the types of the cohere Python SDK 7.3 (v2/types, types), against which a test
validates them. Headers, ids and what a tool call looks like follow recordings that pydantic-ai
keeps; the events follow those that LLM gateways keep in their tests (read 2026-11-21). An error
within a stream is the last event, with `finish_reason` ERROR and the `error` as a text: SDK,
types/chat_message_end_event_delta.py. No recording of one was found.

The API documents nothing about its limits. The SDK reads `x-ratelimit-reset`, seconds
since 1970 (core/http_client.py, `_parse_x_ratelimit_reset`), so that is what a provider with
limits sends here, with its two companions.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from faultclock.errors import InternalError
from faultclock.fakes.wire.answer import Answer, ErrorFacts, Headers
from faultclock.fakes.wire.dialect import Asked, Exchange, Heard, Refusal
from faultclock.fakes.wire.event_stream import (
    json_object,
    objects_in,
    read_events,
    text_in,
    write_event,
)
from faultclock.fakes.wire.http_server import HttpRequest
from faultclock.fakes.wire.said import Said, SaidToolCall, said, split_text, token, tokens_of
from faultclock.fakes.wire.shaping import good
from faultclock.model.duration import SECOND_NS
from faultclock.model.scenario.fault import AnswerEnd, HttpDate
from faultclock.model.scenario.payload import ErrorPayload
from faultclock.model.scenario.provider_script import ProviderScript, ToolCallReply

_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_NOW = HttpDate(http_date="0s")  # type: ignore[arg-type]  # durations are texts in a file
_ARGUMENT_PIECE_CHARS = 12
#: What the model says to itself before it asks for tools; it is no part of the answer's text.
_TOOL_PLAN = "I will use the tools that I was given."
#: cohere 7.3, types/chat_finish_reason.py; ERROR and TIMEOUT are failures.
_FINISH_WORDS = {
    "COMPLETE": "stop",
    "STOP_SEQUENCE": "stop",
    "MAX_TOKENS": "length",
    "TOOL_CALL": "tool_calls",
}
_WORDS = {
    "stop": "COMPLETE",
    "length": "MAX_TOKENS",
    "tool_calls": "TOOL_CALL",
    "error": "ERROR",
}
#: What a stream says beside that it failed; a whole answer has no place for it.
_FAILURE = {"error": "The generation was stopped by an internal error."}
_FAILED = ("ERROR", "TIMEOUT")


class Cohere:
    """The dialect `cohere`. It has no state."""

    name = "cohere"
    own_payloads: tuple[str, ...] = (
        "invalid_json",
        "invalid_request",
        "method_not_allowed",
        "missing_authorization",
        "missing_model",
        "unknown_url",
    )
    #: cohere 7.3, types/chat_finish_reason.py: it knows neither filters nor refusals.
    ends: frozenset[AnswerEnd] = frozenset({"length", "empty", "failed"})
    #: cohere 7.3, types/chat_message_v2.py.
    roles: frozenset[str] = frozenset({"assistant", "system", "tool", "user"})
    answers_anywhere = False

    # ------------------------------------------------------------------ requests

    def read(self, request: HttpRequest) -> Asked:
        """Return what `request` asks for; what Cohere itself would refuse is a refusal."""
        body = json_object(request.body)
        model = body.get("model") if body is not None else None
        return Asked(
            model=model if isinstance(model, str) else None,
            stream=body is not None and body.get("stream") is True,
            refusal=_refusal(request, body),
            body=body or {},
        )

    def chat(self, asked: Asked) -> list[dict[str, Any]]:
        """Return the messages of a request; a tool's answer may be a list of documents."""
        messages = objects_in(asked.body.get("messages"))
        return [{**_as_chat(message), "at": at} for at, message in enumerate(messages)]

    # ------------------------------------------------------------------ answers

    def good_answer(self, script: ProviderScript, asked: Asked, exchange: Exchange) -> Answer:
        """Return what the model says, as one object or as events."""
        messages = asked.body["messages"]
        place = sum(isinstance(m, dict) and m.get("role") == "assistant" for m in messages)
        model_says = said(script, exchange, messages, place)
        prompt = _prompt_tokens(messages)
        usage = _usage(prompt, model_says.tokens)
        chunks = (
            tuple(_events(model_says, usage, exchange))
            if asked.stream
            else (_whole(model_says, usage, exchange),)
        )
        return good(
            model_says,
            prompt,
            headers=_headers("text/event-stream" if asked.stream else "application/json", exchange),
            chunks=chunks,
            chunks_before_finish=len(chunks) - 1,
            tool_ids=map(_id_of, model_says.tool_calls),
            stream=asked.stream,
            end_marker=b"data: [DONE]\n\n",
        )

    def error_answer(
        self, payload: ErrorPayload, status: int, exchange: Exchange, values: Mapping[str, str]
    ) -> Answer:
        """Return `payload` as the body of an answer of `status`; it is given an id.

        Args:
            values: members that replace the payload's own.
        """
        headers = dict(_headers(payload.content_type, exchange))
        headers.update((name.lower(), value) for name, value in payload.headers.items())
        headers.update(_limit_headers(exchange))
        if payload.body is None:
            chunk, error = (payload.text or "").encode(), None
        else:
            shown = {"id": _uuid(exchange, "error"), **payload.body, **values}
            chunk, error = _COMPACT.encode(shown).encode(), self.error_facts(shown)
        return Answer(status=status, headers=tuple(headers.items()), chunks=(chunk,), error=error)

    def error_event(
        self, payload: ErrorPayload, asked: Asked, exchange: Exchange, chunks_before: int
    ) -> tuple[bytes, ErrorFacts]:
        """Return the last event of a stream that failed, and its facts; the payload is JSON."""
        del asked, exchange, chunks_before
        error = None if payload.body is None else self.error_facts(payload.body)
        if error is None:
            raise InternalError("an error in a stream needs a payload with a message")
        delta = {"error": error["message"], "finish_reason": "ERROR", "usage": _usage(0, 0)}
        told = {"type": "message-end", "delta": delta}
        return write_event(told, "message-end"), _failure_in(delta) or error

    # ------------------------------------------------------------------ reading answers back

    def error_facts(self, body: Mapping[str, Any]) -> ErrorFacts | None:
        """Return what an error body says, None where it is none; it hardly has codes.

        A good answer has a `message` as well, which is an object.
        """
        message = body.get("message")
        if not isinstance(message, str):
            return None
        return {"code": None, "type": text_in(body.get("error_type")), "message": message}

    def heard(self, body: bytes, content_type: str) -> Heard:
        """Return what an answer says, whole or as events."""
        whole = json_object(body)
        if whole is not None:
            return self._heard_whole(whole)
        if "event-stream" not in content_type and not body.lstrip().startswith((b"event", b"data")):
            return Heard()
        found = (json_object(event.data) for event in read_events(body))
        return self._heard_events([event for event in found if event is not None])

    def _heard_whole(self, body: Mapping[str, Any]) -> Heard:
        message = body.get("message")
        given = message if isinstance(message, dict) else {}
        texts = [text_in(item.get("text")) or "" for item in objects_in(given.get("content"))]
        calls = [call.get("function") for call in objects_in(given.get("tool_calls"))]
        return Heard(
            text="".join(texts) or None,
            tool_calls=tuple(
                ToolCallReply(
                    name=text_in(call.get("name")) or "",
                    arguments=text_in(call.get("arguments")) or "",
                )
                for call in calls
                if isinstance(call, dict)
            ),
            finish_reason=_FINISH_WORDS.get(str(body.get("finish_reason"))),
            error=self.error_facts(body) or _failure_in(body),
        )

    def _heard_events(self, events: Sequence[Mapping[str, Any]]) -> Heard:
        texts, calls, reason, error = list[str](), list[list[str]](), None, None
        for event in events:
            kind, delta = event.get("type"), _inside(event, "delta")
            function = _inside(_inside(_inside(delta, "message"), "tool_calls"), "function")
            if kind == "content-delta":
                content = _inside(_inside(delta, "message"), "content")
                texts.append(text_in(content.get("text")) or "")
            elif kind == "tool-call-start":
                calls.append([text_in(function.get("name")) or ""])
            if kind in ("tool-call-start", "tool-call-delta") and calls:
                calls[-1].append(text_in(function.get("arguments")) or "")
            elif kind == "message-end":
                reason = _FINISH_WORDS.get(str(delta.get("finish_reason")), reason)
                error = error or _failure_in(delta)
            elif kind is None:
                error = error or self.error_facts(event)
        return Heard(
            text="".join(texts) or None,
            tool_calls=tuple(
                ToolCallReply(name=name, arguments="".join(pieces)) for name, *pieces in calls
            ),
            finish_reason=reason,
            error=error,
        )


DIALECT = Cohere()


# ---------------------------------------------------------------------- requests


def _refusal(request: HttpRequest, body: dict[str, Any] | None) -> Refusal | None:
    if not request.target.partition("?")[0].endswith("/v2/chat"):
        return Refusal(payload="unknown_url", values={})
    if request.method != "POST":
        return Refusal(payload="method_not_allowed", values={})
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not key.strip():
        return Refusal(payload="missing_authorization", values={})
    if body is None:
        return Refusal(payload="invalid_json", values={})
    model, messages = body.get("model"), body.get("messages")
    # A lone surrogate is legal in JSON and cannot be sent back: it is not printable.
    if not isinstance(model, str) or not model or not model.isprintable():
        return Refusal(payload="missing_model", values={})
    if not isinstance(messages, list) or not messages:
        return Refusal(payload="invalid_request", values={})
    return None


def _as_chat(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message as OpenAI's API has it: documents are given as their text."""
    content = message.get("content")
    parts = objects_in(content)
    if not isinstance(content, list) or not any("document" in part for part in parts):
        return dict(message)
    return {**message, "content": "".join(map(_text_of_part, parts))}


def _text_of_part(part: Mapping[str, Any]) -> str:
    data = _inside(part, "document").get("data", part.get("text"))
    return data if isinstance(data, str) else json.dumps(data, sort_keys=True, ensure_ascii=False)


def _prompt_tokens(messages: Iterable[object]) -> int:
    contents = (item.get("content") for item in messages if isinstance(item, dict))
    return sum(tokens_of(text) for text in contents if isinstance(text, str))


# ---------------------------------------------------------------------- answers


def _headers(content_type: str, exchange: Exchange) -> Headers:
    return (
        ("date", _NOW),
        ("content-type", content_type),
        ("access-control-expose-headers", "X-Debug-Trace-ID"),
        ("cache-control", "no-cache, no-store, no-transform, must-revalidate, private, max-age=0"),
        ("expires", "Thu, 01 Jan 1970 00:00:00 GMT"),
        ("pragma", "no-cache"),
        ("vary", "Origin"),
        ("x-debug-trace-id", token(exchange, "trace", 32)),
        ("x-envoy-upstream-service-time", str(exchange.think_ms)),
        *_limit_headers(exchange).items(),
    )


def _limit_headers(exchange: Exchange) -> dict[str, str]:
    """Return what the headers tell of the limits that the provider really has; else nothing.

    There is room for one, which is the one that is used up most.
    The second in it is never too early, though the clock that the SDK compares it with
    has fractions of one.
    """
    standing = exchange.standing
    if standing is None:
        return {}
    told: dict[str, str] = {}
    wait_ns = standing.retry_after_ns
    meters = [meter for meter in (standing.requests, standing.tokens) if meter is not None]
    if meters:
        meter = min(meters, key=lambda meter: meter.remaining / meter.limit)
        told["x-ratelimit-limit"] = str(meter.limit)
        told["x-ratelimit-remaining"] = str(meter.remaining)
        wait_ns = meter.reset_ns if wait_ns is None else wait_ns
    if wait_ns is not None:
        told["x-ratelimit-reset"] = str(exchange.unix_s + 1 - (-wait_ns // SECOND_NS))
    return told


def _uuid(exchange: Exchange, purpose: str) -> str:
    digits = token(exchange, purpose, 32)
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _id_of(call: SaidToolCall) -> str:
    return f"{call.name}_{call.id[:12]}"


def _usage(prompt: int, completion: int) -> dict[str, Any]:
    told = {"input_tokens": prompt, "output_tokens": completion}
    return {"billed_units": told, "tokens": told, "cached_tokens": 0}


def _tool_call(call: SaidToolCall, arguments: str) -> dict[str, Any]:
    function = {"name": call.name, "arguments": arguments}
    return {"id": _id_of(call), "type": "function", "function": function}


def _whole(said_: Said, usage: Mapping[str, Any], exchange: Exchange) -> bytes:
    message: dict[str, Any] = {"role": "assistant"}
    if said_.tool_calls:
        message["tool_plan"] = _TOOL_PLAN
        message["tool_calls"] = [_tool_call(call, call.arguments) for call in said_.tool_calls]
    elif said_.text is not None:
        message["content"] = [{"type": "text", "text": said_.text}]
    body = {
        "id": _uuid(exchange, "answer"),
        "message": message,
        "finish_reason": _WORDS[said_.finish_reason],
        "usage": usage,
    }
    return _COMPACT.encode(body).encode()


def _events(said_: Said, usage: Mapping[str, Any], exchange: Exchange) -> Iterator[bytes]:
    """Yield the events of a stream, up to the one with the finish reason."""
    empty = {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}
    yield _event("message-start", {"message": empty}, id=_uuid(exchange, "answer"))
    if said_.tool_calls:
        yield from _tool_events(said_.tool_calls)
    elif said_.text is not None:
        start = {"message": {"content": {"type": "text", "text": ""}}}
        yield _event("content-start", start, index=0)
        for piece in split_text(said_.text):
            yield _event("content-delta", {"message": {"content": {"text": piece}}}, index=0)
        yield _event("content-end", None, index=0)
    failure = _FAILURE if said_.ends == "failed" else {}
    told = {**failure, "finish_reason": _WORDS[said_.finish_reason], "usage": usage}
    yield _event("message-end", told)


def _tool_events(calls: Sequence[SaidToolCall]) -> Iterator[bytes]:
    for piece in split_text(_TOOL_PLAN):
        yield _event("tool-plan-delta", {"message": {"tool_plan": piece}})
    for index, call in enumerate(calls):
        start = {"message": {"tool_calls": _tool_call(call, "")}}
        yield _event("tool-call-start", start, index=index)
        for at in range(0, len(call.arguments), _ARGUMENT_PIECE_CHARS):
            more = {"function": {"arguments": call.arguments[at : at + _ARGUMENT_PIECE_CHARS]}}
            yield _event("tool-call-delta", {"message": {"tool_calls": more}}, index=index)
        yield _event("tool-call-end", None, index=index)


def _event(kind: str, delta: Mapping[str, Any] | None, **more: Any) -> bytes:
    told = {"type": kind, **more}
    return write_event(told if delta is None else {**told, "delta": delta}, kind)


# ---------------------------------------------------------------------- reading answers back


def _inside(value: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = value.get(name)
    return found if isinstance(found, dict) else {}


def _failure_in(value: Mapping[str, Any]) -> ErrorFacts | None:
    """Return what an answer or its last event says of a failure of the generation."""
    reason = value.get("finish_reason")
    if reason not in _FAILED:
        return None
    # ERROR is what every failure ends with, so it is no type of one.
    type_ = None if reason == "ERROR" else reason
    return {"code": None, "type": type_, "message": text_in(value.get("error"))}
