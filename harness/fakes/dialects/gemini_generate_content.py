"""Google's Gemini API: `generateContent`, and `streamGenerateContent` as server-sent events.

Bodies follow the types of the google-genai Python SDK 3.4 (types.py), which forbid unknown members
and against which a test validates them. White space, line ends and headers follow recordings of
the API that pydantic-ai and crewAI keep (read 2026-11-21): a stream has CRLF line ends, commas
without a blank, and no last marker. An error that breaks into a stream is a bare JSON object over
several lines, without `data:`: google-genai 3.4, _api_client.py, `_iter_response_stream`.

The API has no rate-limit headers. When to come back stands in the body of the refusal, as
`google.rpc.RetryInfo`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qs, unquote

from harness.errors import InternalError
from harness.fakes.answer import Answer, ErrorFacts, Headers
from harness.fakes.arguments import arguments_object
from harness.fakes.chat_messages import message_facts
from harness.fakes.dialect import Asked, Exchange, Heard, RateStanding, Refusal
from harness.fakes.event_stream import json_object, objects_in, read_events, text_in
from harness.fakes.http_server import HttpRequest
from harness.fakes.said import Said, said, split_text, token, tokens_of
from harness.fakes.shaping import good
from harness.model.duration import SECOND_NS
from harness.model.fault import HttpDate
from harness.model.payload import ErrorPayload
from harness.model.scenario import ProviderScript, ToolCallReply

__all__ = ["DIALECT", "GeminiGenerateContent", "protobuf_duration"]

_PATH = re.compile(r"/v1(?:alpha|beta)?/models/([^/:]+):((?:streamG|g)enerateContent)$")
#: Where a message says itself when to come back.
_RETRY_IN = re.compile(r" Please retry in [^ ]*s\.$")
#: The statuses that pass by waiting.
_PASSING = ("RESOURCE_EXHAUSTED", "UNAVAILABLE")
_RETRY_INFO = "type.googleapis.com/google.rpc.RetryInfo"
_QUOTA_FAILURE = "type.googleapis.com/google.rpc.QuotaFailure"
#: A stream has a blank behind a colon and none behind a comma.
_STREAMED = json.JSONEncoder(ensure_ascii=False, separators=(",", ": "))
_INDENTED = json.JSONEncoder(ensure_ascii=False, indent=2)
_NOW = HttpDate(http_date="0s")  # type: ignore[arg-type]  # durations are texts in a file
#: google-genai 3.4, types.py, `FinishReason`; a reason that is not here is nobody's word for one
#: of ours. Tool calls end with STOP as well.
_FINISH_WORDS = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "SAFETY": "content_filter",
    "RECITATION": "content_filter",
    "BLOCKLIST": "content_filter",
    "PROHIBITED_CONTENT": "content_filter",
    "SPII": "content_filter",
    "MODEL_ARMOR": "content_filter",
}
#: Members of a tool's answer that are the answer itself, in the order in which they are looked
#: for: google-genai 3.4, types.py, `FunctionResponse.response`; "result" is what the SDK's own
#: function calling writes (_extra_utils.py).
_OUTPUTS = ("output", "error", "result")


class GeminiGenerateContent:
    """The dialect `gemini-generate-content`. It has no state."""

    name = "gemini-generate-content"
    own_payloads: tuple[str, ...] = (
        "invalid_json",
        "invalid_request",
        "missing_authorization",
        "missing_contents",
        "stream_without_sse",
        "unknown_url",
    )

    # ------------------------------------------------------------------ requests

    def read(self, request: HttpRequest) -> Asked:
        """Return what `request` asks for; what the API itself would refuse is a refusal."""
        body = json_object(request.body)
        called = _PATH.search(request.target.partition("?")[0])
        model = unquote(called[1]) if called else None
        return Asked(
            model=model if model is None or model.isprintable() else None,
            stream=called is not None and called[2].startswith("stream"),
            refusal=_refusal(request, called, body),
            body=body or {},
        )

    def messages(self, asked: Asked) -> list[dict[str, Any]]:
        """Return facts about each message; a tool's answer is told by its id, or by its name."""
        return message_facts({"messages": list(_as_chat(asked.body))})

    # ------------------------------------------------------------------ answers

    def good_answer(self, script: ProviderScript, asked: Asked, exchange: Exchange) -> Answer:
        """Return a GenerateContentResponse, whole or in chunks."""
        contents = asked.body["contents"]
        place = sum(isinstance(item, dict) and item.get("role") == "model" for item in contents)
        model_says = said(script, exchange, contents, place)
        calls: list[dict[str, Any]] = [
            {"id": call.id[:8], "name": call.name, "args": arguments_object(call, self.name)}
            for call in model_says.tool_calls
        ]
        prompt = _prompt_tokens(contents)
        chunks = (
            tuple(_chunks(model_says, calls, prompt, asked, exchange))
            if asked.stream
            else (_whole(model_says, calls, prompt, asked, exchange),)
        )
        content_type = "text/event-stream" if asked.stream else "application/json; charset=UTF-8"
        return good(
            model_says,
            prompt,
            headers=_headers(content_type, exchange, stream=asked.stream),
            chunks=chunks,
            chunks_before_finish=len(chunks) - 1,
            tool_ids=(shown["id"] for shown in calls),
            stream=asked.stream,
        )

    def error_answer(
        self, payload: ErrorPayload, status: int, exchange: Exchange, values: Mapping[str, str]
    ) -> Answer:
        """Return `payload` as the body of an answer of `status`.

        Where the provider knows when to come back, the body tells it, and the limit if it is one.

        Args:
            values: members of the error object that replace the payload's own.
        """
        content_type = payload.content_type
        if content_type == "application/json":
            content_type = "application/json; charset=UTF-8"
        headers = dict(_headers(content_type, exchange, stream=False))
        headers.update((name.lower(), value) for name, value in payload.headers.items())
        shown: dict[str, Any] | None = None
        if payload.body is not None:
            shown = _with_standing(_with_values(payload.body, values), exchange.standing)
            chunk = (_INDENTED.encode(shown) + "\n").encode()
        else:
            chunk = (payload.text or "").encode()
        return Answer(
            status=status,
            headers=tuple(headers.items()),
            chunks=(chunk,),
            error=None if shown is None else self.error_facts(shown),
        )

    def error_event(
        self, payload: ErrorPayload, asked: Asked, exchange: Exchange, chunks_before: int
    ) -> tuple[bytes, ErrorFacts]:
        """Return the error object as bare lines, and its facts; the payload must be JSON."""
        del asked, exchange, chunks_before
        error = None if payload.body is None else self.error_facts(payload.body)
        if error is None:
            raise InternalError("an error in a stream needs a payload with an error object")
        return f"{_INDENTED.encode(payload.body)}\n".replace("\n", "\r\n").encode(), error

    # ------------------------------------------------------------------ reading answers back

    def error_facts(self, body: Mapping[str, Any]) -> ErrorFacts | None:
        """Return what the error object in `body` says, None where there is none."""
        error = body.get("error")
        if not isinstance(error, dict):
            return None
        return {
            "code": error.get("code"),
            "type": error.get("status"),
            "message": error.get("message"),
        }

    def heard(self, body: bytes, content_type: str) -> Heard:
        """Return what an answer says: one object, an array of them, or a stream."""
        parts = list(_objects(body, content_type))
        texts, calls, reason, error = list[str](), list[ToolCallReply](), None, None
        for part in parts:
            error = error or self.error_facts(part)
            reason = _block_reason(part) or reason
            for candidate in objects_in(part.get("candidates"))[:1]:
                reason = _FINISH_WORDS.get(str(candidate.get("finishReason")), reason)
                for piece in _parts_of(candidate.get("content")):
                    if piece.get("thought") is not True:
                        texts.append(text_in(piece.get("text")) or "")
                    calls.extend(_call_in(piece))
        if reason == "stop" and calls:
            reason = "tool_calls"
        return Heard(
            text="".join(texts) or None, tool_calls=tuple(calls), finish_reason=reason, error=error
        )


DIALECT = GeminiGenerateContent()


def protobuf_duration(duration_ns: int) -> str:
    """Return a duration as JSON has a `google.protobuf.Duration`: `48s`, `1.500s`, `0.000000001s`.

    Fractions have three, six or nine digits.
    """
    seconds, rest_ns = divmod(duration_ns, SECOND_NS)
    if not rest_ns:
        return f"{seconds}s"
    digits = f"{rest_ns:09}"
    while digits.endswith("000"):
        digits = digits[:-3]
    return f"{seconds}.{digits}s"


# ---------------------------------------------------------------------- requests


def _refusal(
    request: HttpRequest, called: re.Match[str] | None, body: dict[str, Any] | None
) -> Refusal | None:
    query = parse_qs(request.target.partition("?")[2])
    if called is None or request.method != "POST":
        return Refusal(payload="unknown_url", values={})
    shown = (request.headers.get("x-goog-api-key"), request.headers.get("authorization"))
    if not any(shown) and not query.get("key"):
        return Refusal(payload="missing_authorization", values={})
    if called[2].startswith("stream") and query.get("alt") != ["sse"]:
        return Refusal(payload="stream_without_sse", values={})
    if body is None:
        return Refusal(payload="invalid_json", values={})
    if not body.get("contents"):
        return Refusal(payload="missing_contents", values={})
    if not isinstance(body["contents"], list):
        return Refusal(payload="invalid_request", values={})
    return None


def _as_chat(body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the contents of a request as chat messages, for what all dialects share."""
    system = body.get("systemInstruction", body.get("system_instruction"))
    if isinstance(system, dict):
        yield {"role": "system", "content": _text_of(system)}
    for content in objects_in(body.get("contents")):
        parts = _parts_of(content)
        answers = [item for part in parts if isinstance(item := part.get("functionResponse"), dict)]
        for answer in answers:
            yield {
                "role": "tool",
                "tool_call_id": answer.get("id") or answer.get("name"),
                "content": _output_of(answer.get("response")),
            }
        calls = [item for part in parts if isinstance(item := part.get("functionCall"), dict)]
        text = _text_of(content)
        if calls or text or not answers:
            role = {"model": "assistant", None: "user"}.get(content.get("role"))
            message: dict[str, Any] = {"role": role or content.get("role"), "content": text}
            if calls:
                message["tool_calls"] = [
                    {
                        "id": call.get("id") or call.get("name"),
                        "function": {"name": call.get("name")},
                    }
                    for call in calls
                ]
            yield message


def _parts_of(content: object) -> list[dict[str, Any]]:
    return objects_in(content.get("parts")) if isinstance(content, dict) else []


def _text_of(content: Mapping[str, Any]) -> str:
    return "".join(text_in(part.get("text")) or "" for part in _parts_of(content))


def _output_of(response: object) -> str:
    if isinstance(response, dict):
        for name in _OUTPUTS:
            if isinstance(response.get(name), str):
                return str(response[name])
    return json.dumps(response, sort_keys=True, ensure_ascii=False)


def _prompt_tokens(contents: Iterable[object]) -> int:
    texts = (_text_of(item) for item in contents if isinstance(item, dict))
    return sum(1 + tokens_of(text) for text in texts)


# ---------------------------------------------------------------------- answers


def _headers(content_type: str, exchange: Exchange, *, stream: bool) -> Headers:
    return (
        ("date", _NOW),
        ("content-type", content_type),
        *((("content-disposition", "attachment"),) if stream else ()),
        ("vary", "Origin, X-Origin, Referer"),
        ("server", "scaffolding on HTTPServer2"),
        ("x-xss-protection", "0"),
        ("x-frame-options", "SAMEORIGIN"),
        ("x-content-type-options", "nosniff"),
        ("server-timing", f"gfet4t7; dur={exchange.think_ms}"),
        ("alt-svc", 'h3=":443"; ma=2592000,h3-29=":443"; ma=2592000'),
    )


def _response(
    parts: Sequence[Mapping[str, Any]],
    usage: Mapping[str, Any],
    asked: Asked,
    exchange: Exchange,
    *,
    finished: bool,
) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"parts": list(parts), "role": "model"}}
    if finished:
        candidate["finishReason"] = "STOP"
    return {
        "candidates": [{**candidate, "index": 0}],
        "usageMetadata": usage,
        "modelVersion": asked.model,
        "responseId": token(exchange, "response", 22),
    }


def _usage(prompt: int, completion: int) -> dict[str, Any]:
    told: dict[str, Any] = {"promptTokenCount": prompt}
    if completion:
        told["candidatesTokenCount"] = completion
    return {
        **told,
        "totalTokenCount": prompt + completion,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": prompt}],
    }


def _whole(
    said_: Said, calls: list[dict[str, Any]], prompt: int, asked: Asked, exchange: Exchange
) -> bytes:
    parts: list[dict[str, Any]] = [{"functionCall": call} for call in calls]
    parts = parts or [{"text": said_.text}]
    usage = _usage(prompt, said_.tokens)
    body = _response(parts, usage, asked, exchange, finished=True)
    return (_INDENTED.encode(body) + "\n").encode()


def _chunks(
    said_: Said, calls: list[dict[str, Any]], prompt: int, asked: Asked, exchange: Exchange
) -> Iterator[bytes]:
    """Yield the events: pieces of the text or whole function calls, then the reason."""
    told = 0
    pieces: list[dict[str, Any]] = [{"functionCall": call} for call in calls]
    pieces = pieces or [{"text": piece} for piece in split_text(said_.text or "")]
    for piece in pieces:
        told += 0 if calls else 1
        body = _response([piece], _usage(prompt, told), asked, exchange, finished=False)
        yield f"data: {_STREAMED.encode(body)}\r\n\r\n".encode()
    usage = _usage(prompt, said_.tokens)
    body = _response([{"text": ""}], usage, asked, exchange, finished=True)
    yield f"data: {_STREAMED.encode(body)}\r\n\r\n".encode()


def _with_values(body: Mapping[str, Any], values: Mapping[str, str]) -> dict[str, Any]:
    error = body.get("error")
    return {**body, "error": {**error, **values}} if isinstance(error, dict) else dict(body)


def _with_standing(body: dict[str, Any], standing: RateStanding | None) -> dict[str, Any]:
    """Put into a refusal that passes when it does, and what the limit is if it is for one."""
    error = body.get("error")
    if standing is None or standing.retry_after_ns is None or not isinstance(error, dict):
        return body
    if error.get("status") not in _PASSING:
        return body
    details = [
        _with_limit(item, standing)
        for item in objects_in(error.get("details"))
        if item.get("@type") != _RETRY_INFO
    ]
    delay = protobuf_duration(standing.retry_after_ns)
    details.append({"@type": _RETRY_INFO, "retryDelay": delay})
    told = _RETRY_IN.sub("", text_in(error.get("message")) or "")
    message = f"{told} Please retry in {delay}."
    return {**body, "error": {**error, "message": message, "details": details}}


def _with_limit(detail: dict[str, Any], standing: RateStanding) -> dict[str, Any]:
    if detail.get("@type") != _QUOTA_FAILURE:
        return detail
    violations = []
    for violation in objects_in(detail.get("violations")):
        is_tokens = "Tokens" in str(violation.get("quotaId"))
        meter = standing.tokens if is_tokens else standing.requests
        told = {} if meter is None else {"quotaValue": str(meter.limit)}
        violations.append({**violation, **told})
    return {**detail, "violations": violations}


# ---------------------------------------------------------------------- reading answers back


def _objects(body: bytes, content_type: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects in an answer; in a stream, bare ones between events as well."""
    whole = json_object(body)
    if whole is not None:
        yield whole
        return
    if body.lstrip().startswith(b"["):
        yield from objects_in((json_object(b'{"all":' + body + b"}") or {}).get("all"))
        return
    if "event-stream" not in content_type and not body.lstrip().startswith(b"data:"):
        return
    for event in read_events(body):
        found = json_object(event.data)
        if found is not None:
            yield found
    lines = body.decode("utf-8", "replace").replace("\r", "").split("\n")
    bare = json_object("\n".join(line for line in lines if not line.startswith("data:")))
    if bare is not None:
        yield bare


def _block_reason(part: Mapping[str, Any]) -> str | None:
    feedback = part.get("promptFeedback")
    blocked = isinstance(feedback, dict) and feedback.get("blockReason")
    return "content_filter" if blocked else None


def _call_in(piece: Mapping[str, Any]) -> Iterator[ToolCallReply]:
    call = piece.get("functionCall")
    if isinstance(call, dict):
        arguments = json.dumps(call.get("args") or {}, ensure_ascii=False)
        yield ToolCallReply(name=text_in(call.get("name")) or "", arguments=arguments)
