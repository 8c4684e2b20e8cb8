"""Ollama's own API: `POST /api/chat`, an answer of lines that are JSON objects.

Bodies follow the types of the ollama Python SDK 0.6.3 (_types.py), against which a test validates
them, and the server (ollama/ollama: server/routes.go, `ChatHandler`, `streamResponse`; docs/api;
read 2026-11-21). It streams by default. A tool call has an id (routes.go,
`toolCallId`) and a place among the calls, which this SDK does not know of. Its arguments are an
object, not a text.

There are neither rate-limit headers nor a Retry-After, and a local server wants no key. The
OpenAI-compatible route of the same server is another dialect.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from faultclock.errors import InternalError
from faultclock.fakes.wire.answer import Answer, ErrorFacts, Headers
from faultclock.fakes.wire.arguments import arguments_object
from faultclock.fakes.wire.dialect import Asked, Exchange, Heard, Refusal
from faultclock.fakes.wire.event_stream import json_object, objects_in, text_in
from faultclock.fakes.wire.http_server import HttpRequest
from faultclock.fakes.wire.said import Said, said, split_text, tokens_of
from faultclock.fakes.wire.shaping import good
from faultclock.model.duration import MILLISECOND_NS
from faultclock.model.scenario.fault import AnswerEnd, HttpDate
from faultclock.model.scenario.payload import ErrorPayload
from faultclock.model.scenario.provider_script import ProviderScript, ToolCallReply

_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_NOW = HttpDate(http_date="0s")  # type: ignore[arg-type]  # durations are texts in a file
#: How long one token is said to have taken.
_TOKEN_NS = 20 * MILLISECOND_NS
#: `done_reason` of a whole answer; tool calls end with "stop" as well.
_FINISH_WORDS = {"stop": "stop", "length": "length"}


class Ollama:
    """The dialect `ollama`. It has no state."""

    name = "ollama"
    own_payloads: tuple[str, ...] = (
        "invalid_json",
        "method_not_allowed",
        "missing_model",
        "missing_request_body",
        "unknown_url",
    )
    #: ollama/ollama, llm/server.go, `DoneReason`: stop, length, and that the connection closed.
    ends: frozenset[AnswerEnd] = frozenset({"length", "empty"})
    #: ollama/ollama, api/types.go, `Message.UnmarshalJSON`: the role is any text.
    roles: frozenset[str] = frozenset()
    answers_anywhere = False

    # ------------------------------------------------------------------ requests

    def read(self, request: HttpRequest) -> Asked:
        """Return what `request` asks for; what the server itself would refuse is a refusal."""
        body = json_object(request.body)
        model = body.get("model") if body is not None else None
        return Asked(
            model=model if isinstance(model, str) else None,
            stream=body is not None and body.get("stream") is not False,
            refusal=_refusal(request, body),
            body=body or {},
        )

    def chat(self, asked: Asked) -> list[dict[str, Any]]:
        """Return the messages of a request; a tool's answer is known by its id, or its name."""
        messages = objects_in(asked.body.get("messages"))
        return [{**_as_chat(message), "at": at} for at, message in enumerate(messages)]

    # ------------------------------------------------------------------ answers

    def good_answer(self, script: ProviderScript, asked: Asked, exchange: Exchange) -> Answer:
        """Return what the model says, as one object or as a line for each piece."""
        messages = objects_in(asked.body.get("messages"))
        place = sum(message.get("role") == "assistant" for message in messages)
        model_says = said(script, exchange, asked.body.get("messages") or [], place)
        calls = [
            {
                "id": f"call_{call.id[:8]}",
                "function": {
                    "index": index,
                    "name": call.name,
                    "arguments": arguments_object(call, self.name),
                },
            }
            for index, call in enumerate(model_says.tool_calls)
        ]
        prompt = sum(4 + tokens_of(text_in(m.get("content")) or "") for m in messages)
        lines = tuple(_lines(model_says, calls, prompt, asked, exchange))
        content_type = "application/x-ndjson" if asked.stream else "application/json; charset=utf-8"
        return good(
            model_says,
            prompt,
            headers=_headers(content_type),
            chunks=lines,
            chunks_before_finish=len(lines) - 1,
            tool_ids=(str(shown["id"]) for shown in calls),
            stream=asked.stream,
        )

    def error_answer(
        self,
        payload: ErrorPayload,
        status: int,
        exchange: Exchange,  # noqa: ARG002 - the server says nothing of limits
        values: Mapping[str, str],
    ) -> Answer:
        """Return `payload` as the body of an answer of `status`.

        Args:
            values: `error`, in place of the payload's own.
        """
        content_type = payload.content_type
        if content_type == "application/json":
            content_type = "application/json; charset=utf-8"
        headers = dict(_headers(content_type))
        headers.update((name.lower(), value) for name, value in payload.headers.items())
        if payload.body is None:
            chunk, error = (payload.text or "").encode(), None
        else:
            shown = {**payload.body, **values}
            chunk, error = _COMPACT.encode(shown).encode(), self.error_facts(shown)
        return Answer(status=status, headers=tuple(headers.items()), chunks=(chunk,), error=error)

    def error_event(
        self, payload: ErrorPayload, asked: Asked, exchange: Exchange, chunks_before: int
    ) -> tuple[bytes, ErrorFacts]:
        """Return the line `{"error": ...}` and its facts; the payload must be JSON."""
        del asked, exchange, chunks_before
        error = None if payload.body is None else self.error_facts(payload.body)
        if payload.body is None or error is None:
            raise InternalError("an error in a stream needs a payload with an error")
        return _line({"error": payload.body["error"]}), error

    # ------------------------------------------------------------------ reading answers back

    def error_facts(self, body: Mapping[str, Any]) -> ErrorFacts | None:
        """Return the error that `body` has, None where there is none; it is a mere text."""
        error = body.get("error")
        if not isinstance(error, str) or not error:
            return None
        return {"code": None, "type": None, "message": error}

    def heard(self, body: bytes, content_type: str) -> Heard:  # noqa: ARG002 - it reads lines
        """Return what an answer says, whole or in lines."""
        texts, calls, reason, error = list[str](), list[ToolCallReply](), None, None
        for part in _objects(body):
            error = error or self.error_facts(part)
            if part.get("done") is True:
                reason = _FINISH_WORDS.get(str(part.get("done_reason")), reason)
            message = part.get("message")
            if isinstance(message, dict):
                texts.append(text_in(message.get("content")) or "")
                calls.extend(map(_call_in, objects_in(message.get("tool_calls"))))
        if reason == "stop" and calls:
            reason = "tool_calls"
        return Heard(
            text="".join(texts) or None, tool_calls=tuple(calls), finish_reason=reason, error=error
        )


DIALECT = Ollama()


# ---------------------------------------------------------------------- requests


def _refusal(request: HttpRequest, body: dict[str, Any] | None) -> Refusal | None:
    if not request.target.partition("?")[0].endswith("/api/chat"):
        return Refusal(payload="unknown_url", values={})
    if request.method != "POST":
        return Refusal(payload="method_not_allowed", values={})
    if not request.body:
        return Refusal(payload="missing_request_body", values={})
    if body is None:
        return Refusal(payload="invalid_json", values={})
    model = body.get("model")
    # A lone surrogate is legal in JSON and cannot be sent back: it is not printable.
    if not isinstance(model, str) or not model or not model.isprintable():
        return Refusal(payload="missing_model", values={})
    return None


def _as_chat(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message as OpenAI's API has it, for what all dialects share."""
    if message.get("role") != "tool":
        return dict(message)
    names = (message.get(name) for name in ("tool_call_id", "tool_name", "name"))
    return {**message, "tool_call_id": next((name for name in names if name), None)}


# ---------------------------------------------------------------------- answers


def _headers(content_type: str) -> Headers:
    return (("content-type", content_type), ("date", _NOW))


def _lines(
    said_: Said, calls: Sequence[Mapping[str, Any]], prompt: int, asked: Asked, exchange: Exchange
) -> Iterator[bytes]:
    """Yield the lines of a stream, or the one object of an answer that is not streamed."""
    at = datetime.fromtimestamp(exchange.unix_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    head = {"model": asked.model, "created_at": at}
    asks: dict[str, Any] = {"tool_calls": list(calls)} if calls else {}

    def message(content: str, **more: Any) -> dict[str, Any]:
        return {**head, "message": {"role": "assistant", "content": content, **more}}

    reason = "length" if said_.ends == "length" else "stop"
    end = {"done": True, "done_reason": reason, **_metrics(said_, prompt, exchange)}
    if not asked.stream:
        yield _COMPACT.encode({**message(said_.text or "", **asks), **end}).encode()
        return
    if calls:
        yield _line({**message("", **asks), "done": False})
    for piece in split_text(said_.text or ""):
        yield _line({**message(piece), "done": False})
    yield _line({**message(""), **end})


def _metrics(said_: Said, prompt: int, exchange: Exchange) -> dict[str, int]:
    prompt_ns, answer_ns = prompt * _TOKEN_NS // 10, said_.tokens * _TOKEN_NS
    load_ns = exchange.think_ms * MILLISECOND_NS
    return {
        "total_duration": load_ns + prompt_ns + answer_ns,
        "load_duration": load_ns,
        "prompt_eval_count": prompt,
        "prompt_eval_duration": prompt_ns,
        "eval_count": said_.tokens,
        "eval_duration": answer_ns,
    }


def _line(value: Mapping[str, Any]) -> bytes:
    return f"{_COMPACT.encode(value)}\n".encode()


# ---------------------------------------------------------------------- reading answers back


def _objects(body: bytes) -> Iterator[dict[str, Any]]:
    whole = json_object(body)
    if whole is not None:
        yield whole
        return
    for line in body.split(b"\n"):
        found = json_object(line)
        if found is not None:
            yield found


def _call_in(call: Mapping[str, Any]) -> ToolCallReply:
    function = call.get("function")
    given = function if isinstance(function, dict) else {}
    arguments = json.dumps(given.get("arguments") or {}, ensure_ascii=False)
    return ToolCallReply(name=text_in(given.get("name")) or "", arguments=arguments)
