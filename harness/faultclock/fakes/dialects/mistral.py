"""Mistral's chat completions: near OpenAI's, with errors in four shapes and limits by the minute.

Bodies follow the types of the mistralai SDK 3.7, against which a test validates them, and answers
quoted in public (see the payload file). A stream always says what it cost, in its last chunk, and
sends each tool call whole. What goes wrong inside a stream ends it with the finish reason `error`
and not a word more.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from faultclock.errors import InternalError
from faultclock.fakes.dialects.openai_chat import NOW, OpenAIChat, prompt_tokens
from faultclock.fakes.wire.answer import ErrorFacts, Headers
from faultclock.fakes.wire.dialect import Asked, Exchange, Heard
from faultclock.fakes.wire.event_stream import objects_in, text_in, write_event
from faultclock.fakes.wire.said import Said, SaidToolCall, split_text, token
from faultclock.model.duration import SECOND_NS
from faultclock.model.scenario.fault import AnswerEnd
from faultclock.model.scenario.payload import ErrorPayload

_REQUESTS_LIMIT, _TOKENS_LIMIT = 360, 500_000
#: All that a stream says of an error: that there was one.
_UNTOLD: ErrorFacts = MappingProxyType({"code": None, "type": None, "message": None})
#: Longer ids of tool calls are refused.
_TOOL_ID_CHARS = 9


class Mistral(OpenAIChat):
    """The dialect `mistral`. It has no state."""

    name = "mistral"
    message_members = MappingProxyType({"prefix": False})
    delta_members = MappingProxyType({})
    good_json = error_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
    error_tail = ""
    #: mistralai 3.7, models/chatcompletionchoice.py.
    ends: frozenset[AnswerEnd] = frozenset({"length", "empty", "failed"})
    #: mistralai 3.7, models/chatcompletionrequest.py, `ChatCompletionRequestMessage`.
    roles: frozenset[str] = frozenset({"assistant", "system", "tool", "user"})

    # ------------------------------------------------------------------ answers

    def headers(self, content_type: str, exchange: Exchange, tokens: int) -> Headers:
        """Return the headers of an answer."""
        limits = {
            "x-ratelimit-limit-req-minute": str(_REQUESTS_LIMIT),
            "x-ratelimit-remaining-req-minute": str(_REQUESTS_LIMIT - 1),
            "x-ratelimit-limit-tokens-minute": str(_TOKENS_LIMIT),
            "x-ratelimit-remaining-tokens-minute": str(max(0, _TOKENS_LIMIT - tokens)),
            "x-ratelimit-tokens-query-cost": str(tokens),
        }
        return (
            ("date", NOW),
            ("content-type", content_type),
            *(limits | self.limit_headers(exchange)).items(),
            ("x-kong-request-id", token(exchange, "request", 32)),
        )

    def limit_headers(self, exchange: Exchange) -> dict[str, str]:
        """Return the headers of the limits; there is none for a reset."""
        standing = exchange.standing
        if standing is None:
            return {}
        told: dict[str, str] = {}
        for of, meter in (("req", standing.requests), ("tokens", standing.tokens)):
            if meter is not None:
                told[f"x-ratelimit-limit-{of}-minute"] = str(meter.limit)
                told[f"x-ratelimit-remaining-{of}-minute"] = str(meter.remaining)
        if standing.retry_after_ns is not None:
            told["retry-after"] = str(-(-standing.retry_after_ns // SECOND_NS))
        return told

    def envelope(self, kind: str, asked: Asked, exchange: Exchange) -> dict[str, Any]:
        """Return the members of a completion or chunk that stand around its choices."""
        return {
            "id": token(exchange, "completion", 32),
            "object": kind,
            "created": exchange.unix_s,
            "model": asked.model,
        }

    def choice_members(self, finish_reason: str | None) -> dict[str, Any]:
        """Return nothing: a choice has no members of its own."""
        del finish_reason
        return {}

    def tool_id(self, call: SaidToolCall) -> str:
        """Return the id of a tool call: nine characters."""
        return call.id[:_TOOL_ID_CHARS]

    def usage(self, model_says: Said, asked: Asked) -> dict[str, Any]:
        """Return what the answer cost."""
        prompt = prompt_tokens(asked)
        return {
            "prompt_tokens": prompt,
            "total_tokens": prompt + model_says.tokens,
            "completion_tokens": model_says.tokens,
        }

    def tells_usage(self, asked: Asked) -> bool:
        """Return that a stream always does."""
        del asked
        return True

    def chunk(
        self, asked: Asked, exchange: Exchange, delta: dict[str, Any], reason: str | None = None
    ) -> dict[str, Any]:
        """Return one chunk of a stream."""
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        envelope = self.envelope("chat.completion.chunk", asked, exchange)
        return {**envelope, "choices": [choice]}

    def chunks_before_finish(
        self, model_says: Said, asked: Asked, exchange: Exchange
    ) -> list[dict[str, Any]]:
        """Return the chunks that precede the last one; tools are asked for in that."""
        pieces = split_text(model_says.text or "")
        deltas = [{"role": "assistant", "content": ""}, *({"content": item} for item in pieces)]
        return [self.chunk(asked, exchange, delta) for delta in deltas]

    def chunks_from_finish(
        self, model_says: Said, asked: Asked, exchange: Exchange, usage: dict[str, Any]
    ) -> list[dict[str, Any]]:
        """Return the last chunk, with the tools, the finish reason and what it cost."""
        delta: dict[str, Any] = {"content": ""}
        if model_says.tool_calls:
            delta["tool_calls"] = [
                {**self.tool_call(call), "index": index}
                for index, call in enumerate(model_says.tool_calls)
            ]
        last = self.chunk(asked, exchange, delta, model_says.finish_reason)
        return [{**last, "usage": usage}]

    def with_values(self, body: dict[str, Any], values: Mapping[str, str]) -> dict[str, Any]:
        """Return an error body that names the parameter it is about."""
        details = objects_in(body.get("detail"))
        if not details or "param" not in values:
            return body
        return {**body, "detail": [{**details[0], "loc": ["body", values["param"]]}]}

    def error_event(
        self, payload: ErrorPayload, asked: Asked, exchange: Exchange, chunks_before: int
    ) -> tuple[bytes, ErrorFacts]:
        """Return a chunk whose finish reason is `error`: what went wrong is not in it."""
        del chunks_before
        if payload.body is None or self.error_facts(payload.body) is None:
            raise InternalError("an error event needs a payload with an error object")
        return write_event(self.chunk(asked, exchange, {"content": ""}, "error")), _UNTOLD

    # ------------------------------------------------------------------ reading answers back

    def error_facts(self, body: Mapping[str, Any]) -> ErrorFacts | None:
        """Return code, type and message of an error body in any of its shapes.

        They are an object that says of itself that it is an error, whose message may be a list of
        details; such a list, or a text, under `detail`; and a bare `message` of the gateway.
        """
        if body.get("object") == "error":
            message = body.get("message")
            if isinstance(message, dict):
                message = _detail(message)
            return {"code": body.get("code"), "type": body.get("type"), "message": message}
        if "detail" in body:
            return {**_UNTOLD, "message": _detail(body)}
        if "choices" not in body and isinstance(body.get("message"), str):
            return {**_UNTOLD, "message": body["message"]}
        return None

    def heard(self, body: bytes, content_type: str) -> Heard:
        """Return what an answer says, whole or as a stream."""
        heard = super().heard(body, content_type)
        match heard.finish_reason:
            case "error":
                return replace(heard, finish_reason=None, error=heard.error or _UNTOLD)
            case "model_length":
                return replace(heard, finish_reason="length")
        return heard


def _detail(body: Mapping[str, Any]) -> str | None:
    """Return what is wrong, of a list of details that of the first."""
    detail = body.get("detail")
    details = objects_in(detail)
    return text_in(details[0].get("msg")) if details else text_in(detail)


DIALECT = Mistral()
