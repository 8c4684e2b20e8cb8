"""DeepSeek: OpenAI's chat completions, without limits in its answers.

Instead of refusing it makes a request wait, and sends comments (in a stream) or blank lines
(otherwise) meanwhile, so clients that read strictly line by line trip. Shapes follow its own pages
(error codes; rate limit; create chat completion), read 2026-11-21, and answers quoted in public.
"""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import Any

from faultclock.fakes.dialects.openai_chat import NOW, OpenAIChat, prompt_tokens
from faultclock.fakes.wire.answer import Headers
from faultclock.fakes.wire.dialect import Asked, Exchange
from faultclock.fakes.wire.said import Said, SaidToolCall, token
from faultclock.model.scenario.fault import AnswerEnd


class DeepSeek(OpenAIChat):
    """The dialect `deepseek`. It has no state."""

    name = "deepseek"
    opening = b": keep-alive\n\n"
    whole_opening = b"\n\n"
    message_members = MappingProxyType({})
    delta_members = MappingProxyType({})
    good_json = error_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
    error_tail = ""
    #: api-docs.deepseek.com, create chat completion, `finish_reason`, read 2026-11-22; a message
    #: has no `refusal`.
    ends: frozenset[AnswerEnd] = frozenset({"length", "filtered", "empty", "failed"})
    finish_words = MappingProxyType({"error": "insufficient_system_resource"})
    #: Those that its refusal of another names (see the payload file).
    roles: frozenset[str] = frozenset({"assistant", "latest_reminder", "system", "tool", "user"})

    def headers(self, content_type: str, exchange: Exchange, tokens: int) -> Headers:
        """Return the headers of an answer."""
        del tokens
        return (
            ("date", NOW),
            ("content-type", content_type),
            ("x-ds-trace-id", token(exchange, "trace", 32)),
        )

    def limit_headers(self, exchange: Exchange) -> dict[str, str]:
        """Return nothing: its pages name no such header, not even Retry-After."""
        del exchange
        return {}

    def envelope(self, kind: str, asked: Asked, exchange: Exchange) -> dict[str, Any]:
        """Return the members of a completion or chunk that stand around its choices."""
        digits = token(exchange, "completion", 32)
        bounds = ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32))
        return {
            "id": "-".join(digits[start:end] for start, end in bounds),
            "object": kind,
            "created": exchange.unix_s,
            "model": asked.model,
            "system_fingerprint": "fp_3a5770e1b4_prod0225",
        }

    def tool_id(self, call: SaidToolCall) -> str:
        """Return the id of a tool call."""
        return f"call_00_{call.id}"

    def usage(self, model_says: Said, asked: Asked) -> dict[str, Any]:
        """Return what the answer cost; nothing of the prompt was in the cache."""
        prompt = prompt_tokens(asked)
        return {
            "prompt_tokens": prompt,
            "completion_tokens": model_says.tokens,
            "total_tokens": prompt + model_says.tokens,
            "prompt_tokens_details": {"cached_tokens": 0},
            "prompt_cache_hit_tokens": 0,
            "prompt_cache_miss_tokens": prompt,
        }


DIALECT = DeepSeek()
