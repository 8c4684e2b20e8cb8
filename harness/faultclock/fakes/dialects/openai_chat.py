"""OpenAI's chat completions API, as it speaks on the wire: bodies, event streams and headers.

Bodies follow the types of the openai Python SDK 3.52, against which a test validates them; headers
and white space follow recordings of the API that public projects keep (crewAI's cassettes, read
2026-11-21). A streamed refusal follows the recordings in the SDK's own tests (openai-python,
.inline-snapshot/external/173417d5….bin, read 2026-11-22). Ids and counts are made from the seed and
the exchange number, never drawn.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
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
from faultclock.model.duration import MILLISECOND_NS, SECOND_NS
from faultclock.model.scenario.fault import AnswerEnd, HttpDate
from faultclock.model.scenario.payload import ErrorPayload
from faultclock.model.scenario.provider_script import ProviderScript, ToolCallReply

_ARGUMENT_PIECE_CHARS = 12
_TOKEN_COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")
_REQUESTS_LIMIT, _TOKENS_LIMIT = 10_000, 2_000_000
#: The instant at which a header is sent.
NOW = HttpDate(http_date="0s")  # type: ignore[arg-type]  # durations are texts in a file


class OpenAIChat:
    """The dialect `openai-chat`, and what others that speak alike differ from. It has no state.

    A provider that took over this API overrides what it does in its own way: the members above
    `read`, and the methods without an underscore.
    """

    name = "openai-chat"
    own_payloads: tuple[str, ...] = (
        "invalid_json",
        "invalid_request",
        "method_not_supported",
        "missing_authorization",
        "missing_required_parameter",
        "unknown_url",
    )
    #: What the path of a request ends with.
    path_end = "/chat/completions"
    #: Members without which a request is refused, and what they are.
    required: Mapping[str, type | tuple[type, ...]] = MappingProxyType(
        {"model": str, "messages": list}
    )
    #: What a stream begins with, such as a comment; sent with the first chunk.
    opening = b""
    #: What stands before the body of an answer that is no stream, such as a blank line.
    whole_opening = b""
    #: What a message, and the first delta of a stream, has beside its content.
    message_members: Mapping[str, Any] = MappingProxyType({"refusal": None, "annotations": []})
    delta_members: Mapping[str, Any] = MappingProxyType({"refusal": None})
    #: How a body is written as text: good ones, and those of errors.
    good_json = json.JSONEncoder(ensure_ascii=False)
    #: OpenAI indents its error bodies by four and ends them with a line break.
    error_json = json.JSONEncoder(ensure_ascii=False, indent=4)
    error_tail = "\n"
    #: openai 3.54, types/chat/chat_completion.py: the finish reasons, and `refusal`.
    ends: frozenset[AnswerEnd] = frozenset({"length", "filtered", "refused", "empty"})
    #: Finish reasons for which it has a word of its own.
    finish_words: Mapping[str, str] = MappingProxyType({})
    #: openai 3.54, types/chat/chat_completion_message_param.py.
    roles: frozenset[str] = frozenset(
        {"assistant", "developer", "function", "system", "tool", "user"}
    )
    answers_anywhere = False

    # ------------------------------------------------------------------ requests

    def read(self, request: HttpRequest) -> Asked:
        """Return what `request` asks for; what OpenAI itself would refuse is a refusal."""
        body = json_object(request.body)
        return Asked(
            model=self.model_asked(request, body or {}),
            stream=body is not None and body.get("stream") is True,
            refusal=self._refusal(request, body),
            body=body or {},
        )

    def model_asked(self, request: HttpRequest, body: Mapping[str, Any]) -> str | None:
        """Return the model that a request names."""
        del request
        return text_in(body.get("model"))

    def has_key(self, request: HttpRequest) -> bool:
        """Whether `request` shows a key, in the way that the API wants one."""
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        return scheme.lower() == "bearer" and bool(key.strip())

    def chat(self, asked: Asked) -> list[dict[str, Any]]:
        """Return the messages of a request, each with its place."""
        messages = asked.body.get("messages")
        given = enumerate(messages) if isinstance(messages, list) else ()
        return [{**item, "at": at} for at, item in given if isinstance(item, dict)]

    def _refusal(self, request: HttpRequest, body: dict[str, Any] | None) -> Refusal | None:
        unknown = self.unknown_url(request)
        if unknown is not None:
            return unknown
        if request.method != "POST":
            return Refusal(payload="method_not_supported", values={})
        if not self.has_key(request):
            return Refusal(payload="missing_authorization", values={})
        if body is None:
            return Refusal(payload="invalid_json", values={})
        return self.missing(body)

    def unknown_url(self, request: HttpRequest) -> Refusal | None:
        """Return why a request is refused whose path is none of the API."""
        path = request.target.partition("?")[0]
        if path.endswith(self.path_end):
            return None
        message = f"Invalid URL ({request.method} {path})"
        return Refusal(payload="unknown_url", values={"message": message})

    def missing(self, body: Mapping[str, Any]) -> Refusal | None:
        """Return why a request that is JSON is refused."""
        for name in self.required:
            if name not in body:
                message = f"Missing required parameter: '{name}'."
                values = {"message": message, "param": name}
                return Refusal(payload="missing_required_parameter", values=values)
        for name, kind in self.required.items():
            value = body[name]
            # A lone surrogate is legal in JSON and cannot be sent back: it is not printable.
            odd = isinstance(value, str) and not value.isprintable()
            if not isinstance(value, kind) or not value or odd:
                values = {"message": f"Invalid value for '{name}'.", "param": name}
                return Refusal(payload="invalid_request", values=values)
        return None

    # ------------------------------------------------------------------ answers

    def good_answer(self, script: ProviderScript, asked: Asked, exchange: Exchange) -> Answer:
        """Return a chat completion, whole or as chunks."""
        model_says = self.model_says(script, asked, exchange)
        usage = self.usage(model_says, asked)
        content_type = "text/event-stream; charset=utf-8" if asked.stream else "application/json"
        answer = Answer(
            status=200,
            headers=self.headers(content_type, exchange, usage["total_tokens"]),
            chunks=(),
            finish_reason=model_says.finish_reason,
            text=model_says.text,
            tool_calls=tuple(
                {"id": self.tool_id(call), "name": call.name, "arguments": call.arguments}
                for call in model_says.tool_calls
            ),
            usage={name: usage[name] for name in _TOKEN_COUNTS},
        )
        if not asked.stream:
            body = self._completion(model_says, asked, exchange, usage)
            text = self.good_json.encode(body).encode()
            return replace(answer, chunks=(self.whole_opening + text,))
        before = self.chunks_before_finish(model_says, asked, exchange)
        after = self.chunks_from_finish(model_says, asked, exchange, usage)
        first, *rest = [write_event(chunk) for chunk in (*before, *after)]
        return replace(
            answer,
            chunks=(self.opening + first, *rest),
            end_marker=b"data: [DONE]\n\n",
            stream=True,
            chunks_before_finish=len(before),
            usage=answer.usage if self.tells_usage(asked) else None,
        )

    def error_answer(
        self, payload: ErrorPayload, status: int, exchange: Exchange, values: Mapping[str, str]
    ) -> Answer:
        """Return `payload` as the body of an answer of `status`.

        Args:
            values: members of the error object that replace the payload's own.
        """
        headers = dict(self.headers(payload.content_type, exchange, 0))
        headers.update((name.lower(), value) for name, value in payload.headers.items())
        headers.update(self.limit_headers(exchange))
        if payload.text is not None:
            chunk, error = payload.text.encode(), None
        else:
            shown = self.with_values(payload.body or {}, values)
            chunk = (self.error_json.encode(shown) + self.error_tail).encode()
            error = self.error_facts(shown)
        return Answer(status=status, headers=tuple(headers.items()), chunks=(chunk,), error=error)

    def with_values(self, body: dict[str, Any], values: Mapping[str, str]) -> dict[str, Any]:
        """Return an error body in which `values` replace members that its error object has."""
        error = body.get("error")
        if not isinstance(error, dict):
            return body
        known = {name: value for name, value in values.items() if name in error}
        return {**body, "error": {**error, **known}}

    def error_event(
        self, payload: ErrorPayload, asked: Asked, exchange: Exchange, chunks_before: int
    ) -> tuple[bytes, ErrorFacts]:
        """Return `data: {"error": ...}` and its facts; the payload must be JSON."""
        del asked, exchange, chunks_before
        error = None if payload.body is None else self.error_facts(payload.body)
        if payload.body is None or error is None:
            raise InternalError("an error event needs a payload with an error object")
        return write_event({"error": payload.body["error"]}), error

    def headers(self, content_type: str, exchange: Exchange, tokens: int) -> Headers:
        """Return the headers of an answer.

        Args:
            tokens: that the answer cost.
        """
        used = exchange.number % _REQUESTS_LIMIT
        never_full = {
            "x-ratelimit-limit-requests": str(_REQUESTS_LIMIT),
            "x-ratelimit-limit-tokens": str(_TOKENS_LIMIT),
            "x-ratelimit-remaining-requests": str(_REQUESTS_LIMIT - used),
            "x-ratelimit-remaining-tokens": str(max(0, _TOKENS_LIMIT - tokens)),
            "x-ratelimit-reset-requests": "6ms",
            "x-ratelimit-reset-tokens": "0s",
        }
        return (
            ("date", NOW),
            ("content-type", content_type),
            ("openai-processing-ms", str(exchange.think_ms)),
            ("openai-version", "2020-10-01"),
            *(never_full | self.limit_headers(exchange)).items(),
            ("x-request-id", f"req_{token(exchange, 'request', 32)}"),
        )

    def limit_headers(self, exchange: Exchange) -> dict[str, str]:
        """Return what the headers tell of limits that the provider really has; else nothing."""
        standing = exchange.standing
        if standing is None:
            return {}
        told: dict[str, str] = {}
        for of, meter in (("requests", standing.requests), ("tokens", standing.tokens)):
            if meter is not None:
                told[f"x-ratelimit-limit-{of}"] = str(meter.limit)
                told[f"x-ratelimit-remaining-{of}"] = str(meter.remaining)
                told[f"x-ratelimit-reset-{of}"] = go_duration(meter.reset_ns)
        if standing.retry_after_ns is not None:
            told["retry-after-ms"] = str(-(-standing.retry_after_ns // MILLISECOND_NS))
            told["retry-after"] = str(-(-standing.retry_after_ns // SECOND_NS))
        return told

    def envelope(self, kind: str, asked: Asked, exchange: Exchange) -> dict[str, Any]:
        """Return the members of a completion or chunk that stand around its choices."""
        return {
            "id": f"chatcmpl-{token(exchange, 'completion', 29)}",
            "object": kind,
            "created": exchange.unix_s,
            "model": asked.model,
            "service_tier": "default",
            "system_fingerprint": "fp_5e1f0c4a7d",
        }

    def choice_members(self, finish_reason: str | None) -> dict[str, Any]:
        """Return what a choice has beside its index, its message and its finish reason.

        Args:
            finish_reason: None before the end of a stream.
        """
        del finish_reason
        return {"logprobs": None}

    def tool_id(self, call: SaidToolCall) -> str:
        """Return the id of a tool call."""
        return f"call_{call.id}"

    def usage(self, model_says: Said, asked: Asked) -> dict[str, Any]:
        """Return what the answer cost."""
        prompt = prompt_tokens(asked)
        return {
            "prompt_tokens": prompt,
            "completion_tokens": model_says.tokens,
            "total_tokens": prompt + model_says.tokens,
            "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
            "completion_tokens_details": {
                "reasoning_tokens": 0,
                "audio_tokens": 0,
                "accepted_prediction_tokens": 0,
                "rejected_prediction_tokens": 0,
            },
        }

    def tells_usage(self, asked: Asked) -> bool:
        """Whether a stream ends with what it cost."""
        options = asked.body.get("stream_options")
        return isinstance(options, dict) and options.get("include_usage") is True

    def model_says(self, script: ProviderScript, asked: Asked, exchange: Exchange) -> Said:
        """Return what the model says to the messages of a request."""
        messages = asked.body["messages"]
        mine = sum(isinstance(item, dict) and item.get("role") == "assistant" for item in messages)
        return said(script, exchange, messages, mine)

    def _completion(
        self, model_says: Said, asked: Asked, exchange: Exchange, usage: dict[str, Any]
    ) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": model_says.text}
        if model_says.tool_calls:
            message["tool_calls"] = [self.tool_call(call) for call in model_says.tool_calls]
        message |= self.message_members
        if model_says.refusal is not None:
            message["refusal"] = model_says.refusal
        reason = self.finish_words.get(model_says.finish_reason, model_says.finish_reason)
        choice = {"index": 0, "message": message, **self.choice_members(reason)}
        choice["finish_reason"] = reason
        envelope = self.envelope("chat.completion", asked, exchange)
        return {**envelope, "choices": [choice], "usage": usage}

    def tool_call(self, call: SaidToolCall, arguments: str | None = None) -> dict[str, Any]:
        """Return a tool call; `arguments` take the place of its own."""
        given = call.arguments if arguments is None else arguments
        function = {"name": call.name, "arguments": given}
        return {"id": self.tool_id(call), "type": "function", "function": function}

    def chunk(
        self, asked: Asked, exchange: Exchange, delta: dict[str, Any], reason: str | None = None
    ) -> dict[str, Any]:
        """Return one chunk of a stream."""
        choice = {"index": 0, "delta": delta, **self.choice_members(reason)}
        choice["finish_reason"] = reason
        tail = {"usage": None} if self.tells_usage(asked) else {}
        envelope = self.envelope("chat.completion.chunk", asked, exchange)
        return {**envelope, "choices": [choice], **tail}

    def chunks_before_finish(
        self, model_says: Said, asked: Asked, exchange: Exchange
    ) -> list[dict[str, Any]]:
        """Return the chunks of a stream that precede the one with the finish reason."""
        role = {"role": "assistant", "content": "", **self.delta_members}
        if model_says.text is not None:
            pieces = ({"content": piece} for piece in split_text(model_says.text))
            deltas: list[dict[str, Any]] = [role, *pieces]
        elif model_says.refusal is not None:
            pieces = ({"refusal": piece} for piece in split_text(model_says.refusal))
            deltas = [{**role, "content": None, "refusal": ""}, *pieces]
        else:
            deltas = [{**role, "content": None}, *self._deltas_of_tools(model_says)]
        return [self.chunk(asked, exchange, delta) for delta in deltas]

    def chunks_from_finish(
        self, model_says: Said, asked: Asked, exchange: Exchange, usage: dict[str, Any]
    ) -> list[dict[str, Any]]:
        """Return the chunk with the finish reason, and those behind it."""
        reason = self.finish_words.get(model_says.finish_reason, model_says.finish_reason)
        chunks = [self.chunk(asked, exchange, {}, reason)]
        if self.tells_usage(asked):
            envelope = self.envelope("chat.completion.chunk", asked, exchange)
            chunks.append({**envelope, "choices": [], "usage": usage})
        return chunks

    def _deltas_of_tools(self, model_says: Said) -> Iterator[dict[str, Any]]:
        for index, call in enumerate(model_says.tool_calls):
            yield {"tool_calls": [{"index": index, **self.tool_call(call, "")}]}
            for start in range(0, len(call.arguments), _ARGUMENT_PIECE_CHARS):
                piece = call.arguments[start : start + _ARGUMENT_PIECE_CHARS]
                yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}

    # ------------------------------------------------------------------ reading answers back

    def error_facts(self, body: Mapping[str, Any]) -> ErrorFacts | None:
        """Return code, type and message of the error object in `body`, None where there is none."""
        error = body.get("error")
        if not isinstance(error, dict):
            return None
        return {name: error.get(name) for name in ("code", "type", "message")}

    def heard(self, body: bytes, content_type: str) -> Heard:
        """Return what an answer says, whole or as a stream."""
        whole = json_object(body)
        if whole is not None:
            return self._heard_of([whole], key="message")
        if "event-stream" not in content_type and not body.lstrip().startswith((b"data:", b":")):
            return Heard()
        objects = (json_object(event.data) for event in read_events(body))
        return self._heard_of([item for item in objects if item is not None], key="delta")

    def _heard_of(self, parts: Sequence[Mapping[str, Any]], key: str) -> Heard:
        texts, refusals, reason, error = list[str](), list[str](), None, None
        calls: dict[int, list[str]] = {}
        for part in parts:
            error = error or self.error_facts(part)
            for choice in objects_in(part.get("choices")):
                reason = text_in(choice.get("finish_reason")) or reason
                message = choice.get(key)
                if not isinstance(message, dict):
                    continue
                texts.append(text_in(message.get("content")) or "")
                refusals.append(text_in(message.get("refusal")) or "")
                for place, call in enumerate(objects_in(message.get("tool_calls"))):
                    index = call.get("index", place)
                    asked = calls.setdefault(index if isinstance(index, int) else place, ["", ""])
                    function = call.get("function")
                    given = function if isinstance(function, dict) else {}
                    asked[0] += text_in(given.get("name")) or ""
                    asked[1] += text_in(given.get("arguments")) or ""
        common: dict[str | None, str] = {word: own for own, word in self.finish_words.items()}
        return Heard(
            text="".join(texts) or None,
            tool_calls=tuple(
                ToolCallReply(name=name, arguments=arguments) for name, arguments in calls.values()
            ),
            finish_reason=common.get(reason, reason),
            error=error,
            refusal="".join(refusals) or None,
        )


def go_duration(duration_ns: int) -> str:
    """Return a duration as OpenAI's reset headers write it: `6ms`, `8.64s`, `1m30s`, `0s`.

    Parts of a millisecond are rounded up: the time in it must not be too early.
    """
    rest_ms = -(-duration_ns // MILLISECOND_NS)
    if 0 < rest_ms < 1_000:
        return f"{rest_ms}ms"
    minutes, rest_ms = divmod(rest_ms, 60_000)
    hours, minutes = divmod(minutes, 60)
    seconds = f"{rest_ms / 1_000:.3f}".rstrip("0").rstrip(".")
    lead = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
    return f"{lead}{seconds}s"


def prompt_tokens(asked: Asked) -> int:
    """Return how many tokens the messages of a request make, roughly."""
    messages = asked.body["messages"]
    contents = [item.get("content") for item in messages if isinstance(item, dict)]
    return sum(4 + tokens_of(text) for text in contents if isinstance(text, str))


DIALECT = OpenAIChat()
