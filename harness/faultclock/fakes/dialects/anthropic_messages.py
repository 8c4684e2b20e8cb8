"""Anthropic's Messages API, as it speaks on the wire: bodies, named events and headers.

Bodies and events follow the types of the anthropic Python SDK 2.12, against which tests validate
them. Rest on recordings and quoted answers: the headers of a 429 (anthropic-sdk-typescript, issue
357), `x-should-retry: false` on 400 and 401 (cassettes of DataDog/dd-trace-py), the errors (each
with its source, in the payload file). Rests on documents alone: which events share a write; that
an answer can have no content at all (platform.claude.com, handling stop reasons, "Empty responses
with end_turn"). All read 2026-11-21 and 2026-11-22.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from faultclock.errors import InternalError
from faultclock.fakes.wire.answer import Answer, ErrorFacts, Headers
from faultclock.fakes.wire.dialect import Asked, Exchange, Heard, Meter, Refusal
from faultclock.fakes.wire.event_stream import (
    json_object,
    objects_in,
    read_events,
    text_in,
    write_event,
)
from faultclock.fakes.wire.http_server import HttpRequest
from faultclock.fakes.wire.said import Said, said, split_text, token, tokens_of
from faultclock.fakes.wire.shaping import good
from faultclock.model.duration import SECOND_NS
from faultclock.model.scenario.fault import AnswerEnd, HttpDate
from faultclock.model.scenario.payload import ErrorPayload
from faultclock.model.scenario.provider_script import ProviderScript, ToolCallReply

_PATH_END = "/v1/messages"
_ARGUMENT_PIECE_CHARS = 12
_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_NOW = HttpDate(http_date="0s")  # type: ignore[arg-type]  # durations are texts in a file
_VERSION = re.compile(r"\d{4}-\d{2}-\d{2}")
_FIELDS = (("model", str), ("max_tokens", int), ("messages", list))
#: Statuses on which recordings have `x-should-retry: false`; 404 by the same rule.
_FINAL_STATUSES = frozenset({400, 401, 404})
_LIMIT = "anthropic-ratelimit-"
#: What is allowed in a minute where the provider has no limits that matter.
_NEVER_REACHED = {
    "requests": 4_000,
    "tokens": 2_400_000,
    "input-tokens": 2_000_000,
    "output-tokens": 400_000,
}
_STOP_REASONS = {
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "length": "max_tokens",
    "content_filter": "refusal",
    "pause_turn": "pause_turn",
}
_CANONICAL = {
    **{word: reason for reason, word in _STOP_REASONS.items()},
    "stop_sequence": "stop",
    "model_context_window_exceeded": "length",
}


class AnthropicMessages:
    """The dialect `anthropic-messages`. It has no state."""

    name = "anthropic-messages"
    own_payloads: tuple[str, ...] = (
        "invalid_json",
        "invalid_request",
        "method_not_allowed",
        "missing_authorization",
        "missing_version",
        "not_found",
    )
    #: anthropic 2.12, types/stop_reason.py: what a filter stops is a `refusal`, too.
    ends: frozenset[AnswerEnd] = frozenset({"length", "refused", "empty", "paused"})
    #: anthropic 2.12, types/message_param.py.
    roles: frozenset[str] = frozenset({"assistant", "system", "user"})
    answers_anywhere = False

    # ------------------------------------------------------------------ requests

    def read(self, request: HttpRequest) -> Asked:
        """Return what `request` asks for; what Anthropic itself would refuse is a refusal."""
        body = json_object(request.body)
        model = body.get("model") if body is not None else None
        return Asked(
            model=text_in(model),
            stream=body is not None and body.get("stream") is True,
            refusal=_refusal(request, body),
            body=body or {},
        )

    def chat(self, asked: Asked) -> list[dict[str, Any]]:
        """Return the messages of a request; answers of tools stand in those of the user here."""
        return chat_messages(asked.body)

    # ------------------------------------------------------------------ answers

    def good_answer(self, script: ProviderScript, asked: Asked, exchange: Exchange) -> Answer:
        """Return a message, whole or as events."""
        messages = asked.body["messages"]
        place = sum(isinstance(item, dict) and item.get("role") == "assistant" for item in messages)
        model_says = said(script, exchange, messages, place)
        prompt = sum(4 + tokens_of(_words(item.get("content"))) for item in objects_in(messages))
        usage = {"input_tokens": prompt, "output_tokens": model_says.tokens}
        content_type = "text/event-stream; charset=utf-8" if asked.stream else "application/json"
        headers = self._headers(content_type, exchange, usage)
        chunks: tuple[bytes, ...]
        if asked.stream:
            chunks = _events(model_says, asked, exchange, usage)
        else:
            chunks = (_COMPACT.encode(_message(model_says, asked, exchange, usage)).encode(),)
        return good(
            model_says,
            prompt,
            headers=headers,
            chunks=chunks,
            chunks_before_finish=len(chunks) - 1,
            tool_ids=(f"toolu_{call.id}" for call in model_says.tool_calls),
            tool_input=_tool_input,
            stream=asked.stream,
            end_marker=_event({"type": "message_stop"}),
            finish_reason=_finish_reason(model_says),
        )

    def error_answer(
        self, payload: ErrorPayload, status: int, exchange: Exchange, values: Mapping[str, str]
    ) -> Answer:
        """Return `payload` as the body of an answer of `status`.

        Args:
            values: members of the error object that replace the payload's own.
        """
        headers = dict(self._headers(payload.content_type, exchange, {}))
        if status in _FINAL_STATUSES:
            headers["x-should-retry"] = "false"
        headers.update((name.lower(), value) for name, value in payload.headers.items())
        for of in _NEVER_REACHED:
            # A 429 was recorded whose limit is whole again at the next full minute.
            if headers[f"{_LIMIT}{of}-remaining"] == "0":
                headers[f"{_LIMIT}{of}-reset"] = _instant(exchange.unix_s // 60 * 60 + 60)
        headers.update(_told_limits(exchange))
        if payload.text is not None:
            chunk, error = payload.text.encode(), None
        else:
            shown = _with_values(payload, values, exchange)
            chunk, error = _COMPACT.encode(shown).encode(), self.error_facts(shown)
        return Answer(status=status, headers=tuple(headers.items()), chunks=(chunk,), error=error)

    def error_event(
        self, payload: ErrorPayload, asked: Asked, exchange: Exchange, chunks_before: int
    ) -> tuple[bytes, ErrorFacts]:
        """Return `event: error` with the payload, and its facts; it must be JSON.

        It names the request (quoted in github.com/gotgenes/pi-anthropic-auth/issues/73).
        """
        del asked, chunks_before
        error = None if payload.body is None else self.error_facts(payload.body)
        if payload.body is None or error is None:
            raise InternalError("an error event needs a payload with an error object")
        told = {"type": "error", **payload.body, "request_id": _request_id(exchange)}
        return write_event(told, "error"), error

    def _headers(self, content_type: str, exchange: Exchange, usage: Mapping[str, int]) -> Headers:
        used = {
            "requests": exchange.number % _NEVER_REACHED["requests"],
            "tokens": sum(usage.values()),
            "input-tokens": usage.get("input_tokens", 0),
            "output-tokens": usage.get("output_tokens", 0),
        }
        limits: dict[str, str] = {}
        for of, limit in _NEVER_REACHED.items():
            limits[f"{_LIMIT}{of}-limit"] = str(limit)
            limits[f"{_LIMIT}{of}-remaining"] = str(max(1, limit - used[of]))
            limits[f"{_LIMIT}{of}-reset"] = _instant(exchange.unix_s)
        return (
            ("date", _NOW),
            ("content-type", content_type),
            *(limits | _told_limits(exchange)).items(),
            ("request-id", _request_id(exchange)),
        )

    # ------------------------------------------------------------------ reading answers back

    def error_facts(self, body: Mapping[str, Any]) -> ErrorFacts | None:
        """Return code, type and message of the error object in `body`, None where there is none.

        The code is `details.error_code`, which only few errors have.
        """
        error = body.get("error")
        if not isinstance(error, dict):
            return None
        details = error.get("details")
        code = details.get("error_code") if isinstance(details, dict) else None
        return {"code": code, "type": error.get("type"), "message": error.get("message")}

    def heard(self, body: bytes, content_type: str) -> Heard:
        """Return what an answer says, whole or as a stream."""
        whole = json_object(body)
        if whole is not None:
            return self._heard_whole(whole)
        if "event-stream" in content_type or body.lstrip().startswith((b"event:", b"data:")):
            found = (json_object(event.data) for event in read_events(body))
            return self._heard_events([item for item in found if item is not None])
        return Heard()

    def _heard_whole(self, message: Mapping[str, Any]) -> Heard:
        blocks = objects_in(message.get("content"))
        texts = [text_in(block.get("text")) for block in blocks if block.get("type") == "text"]
        return Heard(
            text="".join(text or "" for text in texts) or None,
            tool_calls=tuple(
                ToolCallReply(
                    name=text_in(block.get("name")) or "",
                    arguments=_COMPACT.encode(block.get("input")),
                )
                for block in blocks
                if block.get("type") == "tool_use"
            ),
            finish_reason=_canonical(message.get("stop_reason")),
            error=self.error_facts(message),
        )

    def _heard_events(self, events: Sequence[Mapping[str, Any]]) -> Heard:
        texts, reason, error = list[str](), None, None
        calls: dict[object, list[str]] = {}
        for event in events:
            error = error or self.error_facts(event)
            delta, index = _object(event.get("delta")), str(event.get("index"))
            block = _object(event.get("content_block"))
            if block.get("type") == "tool_use":
                calls[index] = [text_in(block.get("name")) or "", ""]
            texts.append(text_in(block.get("text")) or text_in(delta.get("text")) or "")
            if index in calls:
                calls[index][1] += text_in(delta.get("partial_json")) or ""
            reason = _canonical(delta.get("stop_reason")) or reason
        return Heard(
            text="".join(texts) or None,
            tool_calls=tuple(
                ToolCallReply(name=name, arguments=arguments or "{}")
                for name, arguments in calls.values()
            ),
            finish_reason=reason,
            error=error,
        )


def chat_messages(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the messages of a request as OpenAI's chat has them: answers of tools apart."""
    told: list[dict[str, Any]] = []
    if body.get("system"):
        told.append({"role": "system", "content": body["system"], "at": 0})
    for at, message in enumerate(objects_in(body.get("messages"))):
        content = message.get("content")
        blocks = objects_in(content)
        place = {"at": at, "sent_as": message.get("role")}
        results = [block for block in blocks if block.get("type") == "tool_result"]
        told += [
            {
                "role": "tool",
                "tool_call_id": block.get("tool_use_id"),
                "content": block.get("content"),
                "part": part,
                **place,
            }
            for part, block in enumerate(blocks)
            if block in results
        ]
        used = [block for block in blocks if block.get("type") == "tool_use"]
        if blocks:
            content = [block for block in blocks if block not in results and block not in used]
        if not content and results:
            continue
        calls = [{"id": it.get("id"), "function": {"name": it.get("name")}} for it in used]
        message = {"role": message.get("role"), "content": content, "tool_calls": calls, **place}
        told.append(message)
    return told


def _refusal(request: HttpRequest, body: dict[str, Any] | None) -> Refusal | None:
    if not request.target.partition("?")[0].endswith(_PATH_END):
        return Refusal(payload="not_found", values={})
    if request.method != "POST":
        return Refusal(payload="method_not_allowed", values={})
    scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
    if not request.headers.get("x-api-key") and not (scheme.lower() == "bearer" and bearer.strip()):
        return Refusal(payload="missing_authorization", values={})
    version = request.headers.get("anthropic-version")
    if not version:
        return Refusal(payload="missing_version", values={})
    if not _VERSION.fullmatch(version):
        message = "anthropic-version: the header is not a valid version"
        return Refusal(payload="invalid_request", values={"message": message})
    return Refusal(payload="invalid_json", values={}) if body is None else _missing(body)


def _missing(body: Mapping[str, Any]) -> Refusal | None:
    for name, kind in _FIELDS:
        value = body.get(name)
        if name not in body:
            message = f"{name}: Field required"
        elif not isinstance(value, kind) or isinstance(value, bool):
            message = f"{name}: Input does not match the expected shape."
        elif not value:
            message = f"{name}: at least one is required"
        # A lone surrogate is legal in JSON and cannot be sent back: it is not printable.
        elif isinstance(value, str) and not value.isprintable():
            message = f"{name}: Input does not match the expected shape."
        else:
            continue
        return Refusal(payload="invalid_request", values={"message": message})
    return None


def _message(
    said_: Said, asked: Asked, exchange: Exchange, usage: Mapping[str, int]
) -> dict[str, Any]:
    blocks: list[dict[str, Any]] = [
        {
            "type": "tool_use",
            "id": f"toolu_{call.id}",
            "name": call.name,
            "input": _tool_input(call.arguments),
        }
        for call in said_.tool_calls
    ]
    if _speaks(said_):
        blocks.insert(0, {"type": "text", "text": said_.text})
    return _envelope(asked, exchange, usage) | {"content": blocks, **_stop(said_)}


def _speaks(said_: Said) -> bool:
    """Whether there is a block of text: an answer that says nothing has none."""
    return said_.text is not None and said_.ends != "empty"


def _finish_reason(said_: Said) -> str:
    return "content_filter" if said_.ends == "refused" else said_.finish_reason


def _stop(said_: Said) -> dict[str, Any]:
    """Return why it stopped, and of a refusal what there is to say (SDK, RefusalStopDetails)."""
    stop: dict[str, Any] = {"stop_reason": _STOP_REASONS[_finish_reason(said_)]}
    if said_.ends == "refused":
        details = {"type": "refusal", "category": None, "explanation": said_.refusal}
        stop["stop_details"] = details
    return stop


def _envelope(asked: Asked, exchange: Exchange, usage: Mapping[str, int]) -> dict[str, Any]:
    cached = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    return {
        "model": asked.model,
        "id": f"msg_{token(exchange, 'message', 24)}",
        "type": "message",
        "role": "assistant",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {**usage, **cached, "service_tier": "standard"},
    }


def _events(
    said_: Said, asked: Asked, exchange: Exchange, usage: Mapping[str, int]
) -> tuple[bytes, ...]:
    """Return the events in the pieces in which they are sent, without the last one of all.

    Events that follow each other at once share a piece, so that a cut after so many pieces leaves
    as much of the text as in other dialects.
    """
    envelope = _envelope(asked, exchange, {**usage, "output_tokens": 1})
    pieces = [_event({"type": "message_start", "message": envelope})]
    stopped = b""
    if _speaks(said_):
        pieces[0] += _block_start(0, {"type": "text", "text": ""})
        pieces[0] += _event({"type": "ping"})
        pieces += [
            _block_delta(0, {"type": "text_delta", "text": text})
            for text in split_text(said_.text or "")
        ]
        stopped = _event({"type": "content_block_stop", "index": 0})
    for index, call in enumerate(said_.tool_calls):
        block = {"type": "tool_use", "id": f"toolu_{call.id}", "name": call.name, "input": {}}
        opening = stopped + _block_start(index, block)
        pieces.append(
            opening + _block_delta(index, {"type": "input_json_delta", "partial_json": ""})
        )
        for start in range(0, len(call.arguments), _ARGUMENT_PIECE_CHARS):
            part = call.arguments[start : start + _ARGUMENT_PIECE_CHARS]
            pieces.append(_block_delta(index, {"type": "input_json_delta", "partial_json": part}))
        stopped = _event({"type": "content_block_stop", "index": index})
    delta = {**_stop(said_), "stop_sequence": None}
    tokens = {"output_tokens": usage["output_tokens"]}
    finish = _event({"type": "message_delta", "delta": delta, "usage": tokens})
    return (*pieces, stopped + finish)


def _event(value: dict[str, Any]) -> bytes:
    return write_event(value, str(value["type"]))


def _block_start(index: int, block: dict[str, Any]) -> bytes:
    return _event({"type": "content_block_start", "index": index, "content_block": block})


def _block_delta(index: int, delta: dict[str, Any]) -> bytes:
    return _event({"type": "content_block_delta", "index": index, "delta": delta})


def _tool_input(arguments: str) -> dict[str, Any]:
    """Return arguments as the object that a whole message needs.

    What is no object cannot be said there; the API's documents on streamed tools wrap it so.
    """
    value = json_object(arguments)
    return {"INVALID_JSON": arguments} if value is None else value


def _with_values(
    payload: ErrorPayload, values: Mapping[str, str], exchange: Exchange
) -> dict[str, Any]:
    body = dict(payload.body or {})
    if values and isinstance(body.get("error"), dict):
        body["error"] = {**body["error"], **values}
    return {**body, "request_id": _request_id(exchange)} if body.get("type") == "error" else body


def _told_limits(exchange: Exchange) -> dict[str, str]:
    """Return what the headers tell of limits that the provider really has; else nothing."""
    standing = exchange.standing
    if standing is None:
        return {}
    told: dict[str, str] = {}
    meters: dict[str, Meter | None] = {
        "requests": standing.requests,
        "tokens": standing.tokens,
        "input-tokens": standing.tokens,
    }
    for of, meter in meters.items():
        if meter is not None:
            told[f"{_LIMIT}{of}-limit"] = str(meter.limit)
            told[f"{_LIMIT}{of}-remaining"] = str(meter.remaining)
            # The second of the exchange has begun already: the time in it must not be too early.
            told[f"{_LIMIT}{of}-reset"] = _instant(
                exchange.unix_s + (-(-meter.reset_ns // SECOND_NS) + 1 if meter.reset_ns else 0)
            )
    if standing.retry_after_ns is not None:
        told["retry-after"] = str(-(-standing.retry_after_ns // SECOND_NS))
    return told


def _instant(unix_s: int) -> str:
    """Return the RFC 3339 form that the reset headers have, whole seconds."""
    return datetime.fromtimestamp(unix_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _request_id(exchange: Exchange) -> str:
    return f"req_{token(exchange, 'request', 24)}"


def _words(content: object) -> str:
    if isinstance(content, str):
        return content
    return "".join(text_in(block.get("text")) or "" for block in objects_in(content))


def _canonical(reason: object) -> str | None:
    return _CANONICAL.get(reason, reason) if isinstance(reason, str) else None


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


DIALECT = AnthropicMessages()
