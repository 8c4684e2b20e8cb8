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
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, unquote

from faultclock.errors import InternalError
from faultclock.fakes.wire.answer import Answer, ErrorFacts, Headers
from faultclock.fakes.wire.arguments import arguments_object
from faultclock.fakes.wire.dialect import Asked, Exchange, Heard, RateStanding, Refusal
from faultclock.fakes.wire.event_stream import json_object, objects_in, read_events, text_in
from faultclock.fakes.wire.http_server import HttpRequest
from faultclock.fakes.wire.said import Said, said, split_text, token, tokens_of
from faultclock.fakes.wire.shaping import good
from faultclock.model.duration import SECOND_NS
from faultclock.model.scenario.fault import AnswerEnd, HttpDate
from faultclock.model.scenario.payload import ErrorPayload
from faultclock.model.scenario.provider_script import ProviderScript, ToolCallReply

_PATH = re.compile(r"/v1(?:alpha|beta)?/models/([^/:]+):((?:streamG|g)enerateContent)$")
#: Where a message says itself when to come back.
_RETRY_IN = re.compile(r" Please retry in [^ ]*s\.$")
#: The statuses that pass by waiting.
_PASSING = ("RESOURCE_EXHAUSTED", "UNAVAILABLE")
#: What a reason (`google.rpc.ErrorInfo`) says that neither code nor status does: a wrong key is a
#: 400 INVALID_ARGUMENT here (see `invalid_api_key` in the payload file).
_REASONS = {"API_KEY_INVALID": "invalid_api_key"}
_RETRY_INFO = "type.googleapis.com/google.rpc.RetryInfo"
_QUOTA_FAILURE = "type.googleapis.com/google.rpc.QuotaFailure"
#: A stream has a blank behind a colon and none behind a comma.
_STREAMED = json.JSONEncoder(ensure_ascii=False, separators=(",", ": "))
_INDENTED = json.JSONEncoder(ensure_ascii=False, indent=2)
_NOW = HttpDate(http_date="0s")  # type: ignore[arg-type]  # durations are texts in a file
#: google-genai 3.4, types.py, `FinishReason`; a reason that is not here is not a word for one
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
    "OTHER": "error",
}
_WORDS = {"length": "MAX_TOKENS", "content_filter": "SAFETY", "error": "OTHER"}
_HARMFUL = {"category": "HARM_CATEGORY_DANGEROUS_CONTENT", "probability": "HIGH", "blocked": True}
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
    #: google-genai 3.4, types.py, `FinishReason` and `BlockedReason`: it has no refusal.
    ends: frozenset[AnswerEnd] = frozenset({"length", "filtered", "empty", "failed"})
    #: Those that its refusal of another names, and the role of older clients for answers of tools.
    roles: frozenset[str] = frozenset({"function", "model", "user"})
    answers_anywhere = False

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

    def chat(self, asked: Asked) -> list[dict[str, Any]]:
        """Return the messages of a request; a tool's answer is known by its id, or its name."""
        return list(_as_chat(asked.body))

    # ------------------------------------------------------------------ answers

    def good_answer(self, script: ProviderScript, asked: Asked, exchange: Exchange) -> Answer:
        """Return a GenerateContentResponse, whole or in chunks."""
        contents = asked.body["contents"]
        place = sum(isinstance(item, dict) and item.get("role") == "model" for item in contents)
        model_says = said(script, exchange, contents, place)
        if model_says.ends == "filtered" and not (asked.stream and model_says.text):
            # Of an answer that is filtered before it is sent nothing is left (quoted in
            # github.com/epam/ai-dial-adapter-vertexai/pull/149, read 2026-11-22).
            model_says = replace(model_says, text=None)
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

        Where the provider knows when to come back, the body says it, and the limit if it is one.

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
        facts = {
            "code": error.get("code"),
            "type": error.get("status"),
            "message": error.get("message"),
        }
        details = objects_in(error.get("details"))
        delay = next((it["retryDelay"] for it in details if it.get("retryDelay") is not None), None)
        if delay is not None:
            facts["retry_delay"] = delay
        told = (_REASONS.get(text_in(item.get("reason")) or "") for item in details)
        means = next(filter(None, told), None)
        return facts if means is None else {**facts, "means": means}

    def heard(self, body: bytes, content_type: str) -> Heard:
        """Return what an answer says: one object, an array of them, or a stream."""
        parts = list(_objects(body, content_type))
        texts, calls, reason, error = list[str](), list[ToolCallReply](), None, None
        blocked = any(map(_is_blocked, parts))
        for part in parts:
            error = error or self.error_facts(part)
            for candidate in objects_in(part.get("candidates"))[:1]:
                reason = _FINISH_WORDS.get(str(candidate.get("finishReason")), reason)
                for piece in _parts_of(candidate.get("content")):
                    if piece.get("thought") is not True:
                        texts.append(text_in(piece.get("text")) or "")
                    calls.extend(_call_in(piece))
        if blocked:
            reason = "content_filter"
        elif reason == "stop" and calls:
            reason = "tool_calls"
        return Heard(
            text="".join(texts) or None,
            tool_calls=tuple(calls),
            finish_reason=reason,
            error=error,
            blocked=blocked if reason == "content_filter" else None,
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
        yield {"role": "system", "content": _text_of(system), "at": 0, "sent_as": "user"}
    for at, content in enumerate(objects_in(body.get("contents"))):
        parts = _parts_of(content)
        # A content without a role is the user's.
        place = {"at": at, "sent_as": content.get("role") or "user"}
        answers = [item for part in parts if isinstance(item := part.get("functionResponse"), dict)]
        for number, answer in enumerate(answers):
            yield {
                **place,
                "pair": str(number),
                "role": "tool",
                "tool_call_id": answer.get("id") or answer.get("name"),
                "content": _output_of(answer.get("response")),
            }
        calls = [item for part in parts if isinstance(item := part.get("functionCall"), dict)]
        text = _text_of(content)
        if calls or text or not answers:
            role = {"model": "assistant", None: "user"}.get(content.get("role"))
            message: dict[str, Any] = {**place, "role": role or content.get("role")}
            message["content"] = text
            if calls:
                message["tool_calls"] = [
                    {
                        "id": call.get("id") or call.get("name"),
                        "function": {"name": call.get("name")},
                        "pair": str(number),
                    }
                    for number, call in enumerate(calls)
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
    finished: Said | None = None,
) -> dict[str, Any]:
    """Return a response, or one chunk of it.

    Args:
        finished: what was said, where it ends here.
    """
    content: dict[str, Any] = {"role": "model"}
    if parts:
        content = {"parts": list(parts), **content}
    candidate: dict[str, Any] = {"content": content}
    if finished is not None:
        candidate["finishReason"] = _WORDS.get(finished.finish_reason, "STOP")
        if finished.ends == "filtered":
            # google-genai 3.4, types.py, `FinishReason.SAFETY`: "the `content` field is empty".
            candidate = {"finishReason": "SAFETY", "safetyRatings": [_HARMFUL]}
    told: dict[str, Any] = {"candidates": [{**candidate, "index": 0}]}
    ends = exchange.ends
    if ends is not None and ends.how == "filtered" and ends.after_tokens == 0:
        # types.py, `GenerateContentResponsePromptFeedback`: "only if no candidates were generated".
        told = {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}
    return {
        **told,
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
    if not parts and said_.text is not None:
        parts = [{"text": said_.text}]
    usage = _usage(prompt, said_.tokens)
    body = _response(parts, usage, asked, exchange, finished=said_)
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
        body = _response([piece], _usage(prompt, told), asked, exchange)
        yield f"data: {_STREAMED.encode(body)}\r\n\r\n".encode()
    usage = _usage(prompt, said_.tokens)
    last = [] if said_.text is None and not calls else [{"text": ""}]
    body = _response(last, usage, asked, exchange, finished=said_)
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


def _is_blocked(part: Mapping[str, Any]) -> bool:
    feedback = part.get("promptFeedback")
    return isinstance(feedback, dict) and bool(feedback.get("blockReason"))


def _call_in(piece: Mapping[str, Any]) -> Iterator[ToolCallReply]:
    call = piece.get("functionCall")
    if isinstance(call, dict):
        arguments = json.dumps(call.get("args") or {}, ensure_ascii=False)
        yield ToolCallReply(name=text_in(call.get("name")) or "", arguments=arguments)
