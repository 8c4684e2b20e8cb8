"""OpenAI's chat completions API, as it speaks on the wire: bodies, event streams and headers.

Bodies follow the types of the openai Python SDK 3.52, against which a test validates them; headers
and white space follow recordings of the API that public projects keep (crewAI's cassettes, read
2026-11-21). Ids and counts are made from the seed and the exchange number, never drawn.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from harness.errors import InternalError
from harness.fakes.answer import Answer, ErrorFacts, Headers
from harness.fakes.chat_messages import message_facts
from harness.fakes.dialect import Asked, Exchange, Refusal
from harness.fakes.http_server import HttpRequest
from harness.model.fault import HttpDate
from harness.model.payload import ErrorPayload
from harness.model.scenario import ProviderScript, ToolCallReply

__all__ = ["OpenAIChat", "split_text"]

_PATH_END = "/chat/completions"
#: Rough stand-in for a token: leading white space and at most eight other characters.
_TOKEN = re.compile(r"\s*\S{1,8}|\s+")
_ARGUMENT_PIECE_CHARS = 12
_TOKEN_COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")
_REQUESTS_LIMIT, _TOKENS_LIMIT = 10_000, 2_000_000
_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_SPACED = json.JSONEncoder(ensure_ascii=False)
_SORTED = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True)
#: OpenAI indents its error bodies by four and ends them with a line break.
_INDENTED = json.JSONEncoder(ensure_ascii=False, indent=4)
_NOW = HttpDate(http_date="0s")  # type: ignore[arg-type]  # durations are texts in a file


class OpenAIChat:
    """The dialect `openai-chat`. It has no state."""

    name = "openai-chat"
    own_payloads = (
        "invalid_json",
        "invalid_request",
        "method_not_supported",
        "missing_authorization",
        "missing_required_parameter",
        "unknown_url",
    )

    def read(self, request: HttpRequest) -> Asked:
        """Return what `request` asks for; what OpenAI itself would refuse is a refusal."""
        body = _object(request.body)
        model = body.get("model") if body is not None else None
        return Asked(
            model=model if isinstance(model, str) else None,
            stream=body is not None and body.get("stream") is True,
            refusal=_refusal(request, body),
            body=body or {},
        )

    def messages(self, asked: Asked) -> list[dict[str, Any]]:
        """Return facts about each message of a request."""
        return message_facts(asked.body)

    def good_answer(self, script: ProviderScript, asked: Asked, exchange: Exchange) -> Answer:
        """Return a chat completion, whole or as chunks."""
        said = _said(script, asked, exchange)
        usage = _usage(said, asked)
        shown = {name: usage[name] for name in _TOKEN_COUNTS}
        tool_calls = tuple(
            {"id": call.id, "name": call.name, "arguments": call.arguments}
            for call in said.tool_calls
        )
        if not asked.stream:
            body = _completion(said, asked, exchange, usage)
            return Answer(
                status=200,
                headers=_headers("application/json", exchange, usage["total_tokens"]),
                chunks=(_SPACED.encode(body).encode(),),
                finish_reason=said.finish_reason,
                text=said.text,
                tool_calls=tool_calls,
                usage=shown,
            )
        deltas = _deltas(said)
        chunks = _stream(asked, exchange, deltas, said.finish_reason, usage)
        return Answer(
            status=200,
            headers=_headers("text/event-stream; charset=utf-8", exchange, usage["total_tokens"]),
            chunks=chunks,
            end_marker=b"data: [DONE]\n\n",
            stream=True,
            chunks_before_finish=len(deltas),
            finish_reason=said.finish_reason,
            text=said.text,
            tool_calls=tool_calls,
            usage=shown if _with_usage(asked) else None,
        )

    def error_answer(
        self, payload: ErrorPayload, status: int, exchange: Exchange, values: Mapping[str, str]
    ) -> Answer:
        """Return `payload` as the body of an answer of `status`.

        Args:
            values: members of the error object that replace the payload's own.
        """
        headers = dict(_headers(payload.content_type, exchange, 0))
        headers.update((name.lower(), value) for name, value in payload.headers.items())
        if payload.text is not None:
            chunk, error = payload.text.encode(), None
        else:
            shown = _with_values(payload, values)
            chunk = (_INDENTED.encode(shown) + "\n").encode()
            error = _facts(shown)
        return Answer(status=status, headers=tuple(headers.items()), chunks=(chunk,), error=error)

    def error_event(self, payload: ErrorPayload) -> tuple[bytes, ErrorFacts]:
        """Return `data: {"error": ...}` and its facts; the payload must be JSON."""
        error = None if payload.body is None else _facts(payload.body)
        if payload.body is None or error is None:
            raise InternalError("an error event needs a payload with an error object")
        return _event({"error": payload.body["error"]}), error


def split_text(text: str) -> tuple[str, ...]:
    """Return `text` in the pieces that a stream sends; joined they give it back."""
    return tuple(_TOKEN.findall(text))


def _object(body: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _refusal(request: HttpRequest, body: dict[str, Any] | None) -> Refusal | None:
    path = request.target.partition("?")[0]
    if not path.endswith(_PATH_END):
        message = f"Invalid URL ({request.method} {path})"
        return Refusal(payload="unknown_url", values={"message": message})
    if request.method != "POST":
        return Refusal(payload="method_not_supported", values={})
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not key.strip():
        return Refusal(payload="missing_authorization", values={})
    if body is None:
        return Refusal(payload="invalid_json", values={})
    for name in ("model", "messages"):
        if name not in body:
            message = f"Missing required parameter: '{name}'."
            values = {"message": message, "param": name}
            return Refusal(payload="missing_required_parameter", values=values)
    for name, kind in (("model", str), ("messages", list)):
        value = body[name]
        # A lone surrogate is legal in JSON and cannot be sent back: it is not printable.
        odd = isinstance(value, str) and not value.isprintable()
        if not isinstance(value, kind) or not value or odd:
            message = f"Invalid value for '{name}'."
            return Refusal(payload="invalid_request", values={"message": message, "param": name})
    return None


def _with_values(payload: ErrorPayload, values: Mapping[str, str]) -> dict[str, Any]:
    body = payload.body or {}
    error = body.get("error")
    return {**body, "error": {**error, **values}} if values and isinstance(error, dict) else body


def _facts(body: Mapping[str, Any]) -> ErrorFacts | None:
    error = body.get("error")
    if not isinstance(error, dict):
        return None
    return {name: error.get(name) for name in ("code", "type", "message")}


def _headers(content_type: str, exchange: Exchange, tokens: int) -> Headers:
    used = exchange.number % _REQUESTS_LIMIT
    return (
        ("date", _NOW),
        ("content-type", content_type),
        ("openai-processing-ms", str(exchange.think_ms)),
        ("openai-version", "2020-10-01"),
        ("x-ratelimit-limit-requests", str(_REQUESTS_LIMIT)),
        ("x-ratelimit-limit-tokens", str(_TOKENS_LIMIT)),
        ("x-ratelimit-remaining-requests", str(_REQUESTS_LIMIT - used)),
        ("x-ratelimit-remaining-tokens", str(max(0, _TOKENS_LIMIT - tokens))),
        ("x-ratelimit-reset-requests", "6ms"),
        ("x-ratelimit-reset-tokens", "0s"),
        ("x-request-id", f"req_{_token(exchange, 'request', 32)}"),
    )


def _token(exchange: Exchange, purpose: str, length: int) -> str:
    text = f"{exchange.seed}/{exchange.number}/{purpose}"
    return hashlib.sha256(text.encode()).hexdigest()[:length]


@dataclass(frozen=True, slots=True, kw_only=True)
class _ToolCall:
    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Said:
    """What the model says: a text, or the tools that it asks for."""

    text: str | None
    tool_calls: tuple[_ToolCall, ...]

    @property
    def finish_reason(self) -> str:
        return "tool_calls" if self.tool_calls else "stop"


def _said(script: ProviderScript, asked: Asked, exchange: Exchange) -> _Said:
    """Return the good answer to `asked`: that of its place in the conversation, if there is one.

    Within a conversation the ids of tool calls follow from the messages, so that a request that
    is sent again is answered with the same ids, and no two answers share one.
    """
    if not script.replies:
        ids = (_token(exchange, f"tool/{index}", 24) for index in range(len(script.tool_calls)))
        return _worded(script.reply, script.tool_calls, tuple(ids))
    messages = asked.body["messages"]
    place = sum(isinstance(item, dict) and item.get("role") == "assistant" for item in messages)
    reply = script.replies[min(place, len(script.replies) - 1)]
    text = f"{exchange.seed}/{place}/{_SORTED.encode(messages)}"
    ids = (
        hashlib.sha256(f"{text}/tool/{index}".encode("utf-8", "surrogatepass")).hexdigest()[:24]
        for index in range(len(reply.tool_calls))
    )
    return _worded(reply.text, reply.tool_calls, tuple(ids))


def _worded(text: str, calls: tuple[ToolCallReply, ...], ids: tuple[str, ...]) -> _Said:
    return _Said(
        text=None if calls else text,
        tool_calls=tuple(
            _ToolCall(id=f"call_{id_}", name=call.name, arguments=call.arguments)
            for call, id_ in zip(calls, ids, strict=True)
        ),
    )


def _usage(said: _Said, asked: Asked) -> dict[str, Any]:
    messages = asked.body["messages"]
    contents = [item.get("content") for item in messages if isinstance(item, dict)]
    prompt = sum(4 + len(split_text(text)) for text in contents if isinstance(text, str))
    texts = [call.arguments for call in said.tool_calls] or [said.text or ""]
    completion = sum(len(split_text(text)) for text in texts)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": 0,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }


def _tool_call(call: _ToolCall, arguments: str) -> dict[str, Any]:
    function = {"name": call.name, "arguments": arguments}
    return {"id": call.id, "type": "function", "function": function}


def _completion(
    said: _Said, asked: Asked, exchange: Exchange, usage: dict[str, Any]
) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": said.text}
    if said.tool_calls:
        message["tool_calls"] = [_tool_call(call, call.arguments) for call in said.tool_calls]
    message |= {"refusal": None, "annotations": []}
    reason = said.finish_reason
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reason}
    return {
        **_envelope("chat.completion", asked, exchange),
        "choices": [choice],
        "usage": usage,
    }


def _envelope(kind: str, asked: Asked, exchange: Exchange) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{_token(exchange, 'completion', 29)}",
        "object": kind,
        "created": exchange.unix_s,
        "model": asked.model,
        "service_tier": "default",
        "system_fingerprint": "fp_5e1f0c4a7d",
    }


def _deltas(said: _Said) -> list[dict[str, Any]]:
    """Return the deltas that precede the one with the finish reason."""
    role = {"role": "assistant", "content": "", "refusal": None}
    if said.text is not None:
        return [role, *({"content": piece} for piece in split_text(said.text))]
    deltas: list[dict[str, Any]] = [{**role, "content": None}]
    for index, call in enumerate(said.tool_calls):
        opening = _tool_call(call, "")
        deltas.append({"tool_calls": [{"index": index, **opening}]})
        for start in range(0, len(call.arguments), _ARGUMENT_PIECE_CHARS):
            piece = call.arguments[start : start + _ARGUMENT_PIECE_CHARS]
            deltas.append({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    return deltas


def _stream(
    asked: Asked,
    exchange: Exchange,
    deltas: list[dict[str, Any]],
    finish_reason: str,
    usage: dict[str, Any],
) -> tuple[bytes, ...]:
    envelope = _envelope("chat.completion.chunk", asked, exchange)
    with_usage = _with_usage(asked)
    tail = {"usage": None} if with_usage else {}

    def chunk(delta: dict[str, Any], reason: str | None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        return _event({**envelope, "choices": [choice], **tail})

    chunks = [chunk(delta, None) for delta in deltas]
    chunks.append(chunk({}, finish_reason))
    if with_usage:
        chunks.append(_event({**envelope, "choices": [], "usage": usage}))
    return tuple(chunks)


def _with_usage(asked: Asked) -> bool:
    options = asked.body.get("stream_options")
    return isinstance(options, dict) and options.get("include_usage") is True


def _event(value: dict[str, Any]) -> bytes:
    return b"data: " + _COMPACT.encode(value).encode() + b"\n\n"
