"""OpenRouter: chat completions of many providers, with errors of its own and of theirs.

A request that fails before a provider began is refused with a status; what fails later is an
error object in a body of status 200, or in a stream. Shapes follow OpenRouter's own pages
(errors and debugging; streaming; limits), read 2026-11-21.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from faultclock.errors import InternalError
from faultclock.fakes.dialects.openai_chat import NOW, OpenAIChat
from faultclock.fakes.wire.answer import ErrorFacts, Headers
from faultclock.fakes.wire.dialect import Asked, Exchange, Heard
from faultclock.fakes.wire.event_stream import objects_in, write_event
from faultclock.fakes.wire.said import Said, token
from faultclock.model.duration import MILLISECOND_NS, SECOND_NS
from faultclock.model.scenario.fault import AnswerEnd
from faultclock.model.scenario.payload import ErrorPayload

_PROVIDER = "OpenAI"
#: openrouter.ai/docs/api-reference/errors, "When no content is generated", and its list of codes.
_UPSTREAM = {"code": 502, "message": "Upstream error from OpenAI: the connection was lost."}


class OpenRouter(OpenAIChat):
    """The dialect `openrouter`. It has no state."""

    name = "openrouter"
    #: Sent now and then so that the client keeps the connection.
    opening = b": OPENROUTER PROCESSING\n\n"
    message_members = MappingProxyType({"refusal": None, "reasoning": None})
    delta_members = MappingProxyType({})
    #: openrouter.ai/docs/api-reference/overview, `NonStreamingChoice`, read 2026-11-23.
    ends: frozenset[AnswerEnd] = frozenset({*OpenAIChat.ends, "failed"})
    good_json = error_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
    error_tail = ""

    def headers(self, content_type: str, exchange: Exchange, tokens: int) -> Headers:
        """Return the headers of an answer; limits are in them only where there are some."""
        del tokens
        return (
            ("date", NOW),
            ("content-type", content_type),
            *self.limit_headers(exchange).items(),
            ("x-generation-id", _generation_id(exchange)),
        )

    def limit_headers(self, exchange: Exchange) -> dict[str, str]:
        """Return the headers about requests; the reset is in milliseconds since 1970."""
        standing = exchange.standing
        if standing is None:
            return {}
        told: dict[str, str] = {}
        if standing.requests is not None:
            reset_ms = exchange.unix_s * 1_000 - (-standing.requests.reset_ns // MILLISECOND_NS)
            told["x-ratelimit-limit"] = str(standing.requests.limit)
            told["x-ratelimit-remaining"] = str(standing.requests.remaining)
            told["x-ratelimit-reset"] = str(reset_ms)
        if standing.retry_after_ns is not None:
            told["retry-after"] = str(-(-standing.retry_after_ns // SECOND_NS))
        return told

    def envelope(self, kind: str, asked: Asked, exchange: Exchange) -> dict[str, Any]:
        """Return the members of a completion or chunk that stand around its choices."""
        return {
            "id": _generation_id(exchange),
            "provider": _PROVIDER,
            "model": asked.model,
            "object": kind,
            "created": exchange.unix_s,
        }

    def choice_members(self, finish_reason: str | None) -> dict[str, Any]:
        """Return what a choice has more: the provider's own word for the finish reason.

        One that the provider could not bring to its end has the error beside its message.
        """
        failed = {"error": _UPSTREAM} if finish_reason == "error" else {}
        return {"logprobs": None, "native_finish_reason": finish_reason, **failed}

    def chunk(
        self, asked: Asked, exchange: Exchange, delta: dict[str, Any], reason: str | None = None
    ) -> dict[str, Any]:
        """Return one chunk of a stream; the error that ends it stands beside the choices."""
        chunk = super().chunk(asked, exchange, delta, reason)
        failed = chunk["choices"][0].pop("error", None)
        return chunk if failed is None else {**chunk, "error": failed}

    def usage(self, model_says: Said, asked: Asked) -> dict[str, Any]:
        """Return what the answer cost, in tokens and in credits."""
        usage = super().usage(model_says, asked)
        return {**usage, "cost": 0.00015 * usage["total_tokens"], "is_byok": False}

    def error_event(
        self, payload: ErrorPayload, asked: Asked, exchange: Exchange, chunks_before: int
    ) -> tuple[bytes, ErrorFacts]:
        """Return a last chunk, whose finish reason is `error`, with the error object beside it."""
        del chunks_before
        error = None if payload.body is None else self.error_facts(payload.body)
        if payload.body is None or error is None:
            raise InternalError("an error event needs a payload with an error object")
        choice: dict[str, Any] = {
            "index": 0,
            "delta": {"role": "assistant", "content": ""},
            "finish_reason": "error",
            "native_finish_reason": "error",
        }
        chunk = self.envelope("chat.completion.chunk", asked, exchange)
        if "error" in payload.body:
            chunk["error"] = payload.body["error"]
        else:
            choice["error"] = _error_of_choice(payload.body)
        return write_event({**chunk, "choices": [choice]}), error

    def error_facts(self, body: Mapping[str, Any]) -> ErrorFacts | None:
        """Return what an error object says that stands in a body or in its first choice.

        The second place is that of an upstream provider that failed after the answer had begun
        (openrouter.ai/docs/api-reference/overview, `NonStreamingChoice`, read 2026-11-23).
        """
        error = _error_of_choice(body)
        return super().error_facts(body if error is None else {"error": error})

    def heard(self, body: bytes, content_type: str) -> Heard:
        """Return what an answer says; one that an error ended has no finish reason."""
        heard = super().heard(body, content_type)
        return replace(heard, finish_reason=None) if heard.finish_reason == "error" else heard


def _error_of_choice(body: Mapping[str, Any]) -> dict[str, Any] | None:
    for choice in objects_in(body.get("choices"))[:1]:
        error = choice.get("error")
        return error if isinstance(error, dict) else None
    return None


def _generation_id(exchange: Exchange) -> str:
    return f"gen-{exchange.unix_s}-{token(exchange, 'generation', 20)}"


DIALECT = OpenRouter()
