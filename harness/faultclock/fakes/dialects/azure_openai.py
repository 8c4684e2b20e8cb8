"""Azure OpenAI: OpenAI's chat completions behind Azure's gateway and content filter.

The deployment stands in the path, or in the body of the newer `/openai/v1`. The gateway refuses
in its own words, the model in OpenAI's. Bodies follow answers that are quoted in public (see the
payload file); that a stream begins with a chunk without choices is in Microsoft's description of
content filtering, read 2026-11-21.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from faultclock.fakes.dialects.openai_chat import NOW, OpenAIChat
from faultclock.fakes.wire.answer import Headers
from faultclock.fakes.wire.dialect import Asked, Exchange, Refusal
from faultclock.fakes.wire.event_stream import text_in
from faultclock.fakes.wire.http_server import HttpRequest
from faultclock.fakes.wire.said import Said, token

_DEPLOYMENT = re.compile(r"/openai/deployments/([^/]+)/chat/completions")
_V1_PATH = "/openai/v1/chat/completions"
_CATEGORIES = ("hate", "self_harm", "sexual", "violence")
_REQUESTS_LIMIT, _TOKENS_LIMIT = 80, 8_000
_HARMLESS = {name: {"filtered": False, "severity": "safe"} for name in _CATEGORIES}
_FILTERED = {**_HARMLESS, "violence": {"filtered": True, "severity": "medium"}}
_JAILBREAK = {"jailbreak": {"filtered": False, "detected": False}}


class AzureOpenAI(OpenAIChat):
    """The dialect `azure-openai`. It has no state."""

    name = "azure-openai"
    #: The model may be in the path alone.
    required = MappingProxyType({"messages": list})
    good_json = error_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
    error_tail = ""

    # ------------------------------------------------------------------ requests

    def read(self, request: HttpRequest) -> Asked:
        """Return what `request` asks for; where no path names the model, the body has to."""
        asked = super().read(request)
        if asked.refusal is not None or asked.model:
            return asked
        values = {"message": "Missing required parameter: 'model'.", "param": "model"}
        refusal = Refusal(payload="missing_required_parameter", values=values)
        return replace(asked, refusal=refusal)

    def model_asked(self, request: HttpRequest, body: Mapping[str, Any]) -> str | None:
        """Return the deployment in the path, else the model in the body."""
        deployment = _DEPLOYMENT.fullmatch(urlsplit(request.target).path)
        return unquote(deployment[1]) if deployment else text_in(body.get("model"))

    def has_key(self, request: HttpRequest) -> bool:
        """Whether there is an `api-key`, or a bearer's token of Entra ID."""
        return bool(request.headers.get("api-key", "").strip()) or super().has_key(request)

    def unknown_url(self, request: HttpRequest) -> Refusal | None:
        """Return why a path is refused; that of a deployment needs an `api-version`."""
        url = urlsplit(request.target)
        versioned = "api-version" in parse_qs(url.query)
        known = url.path == _V1_PATH or (_DEPLOYMENT.fullmatch(url.path) and versioned)
        return None if known else Refusal(payload="unknown_url", values={})

    # ------------------------------------------------------------------ answers

    def headers(self, content_type: str, exchange: Exchange, tokens: int) -> Headers:
        """Return the headers of an answer; the gateway's id is a UUID."""
        digits = token(exchange, "apim", 32)
        bounds = ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32))
        limits = {
            "x-ratelimit-limit-requests": str(_REQUESTS_LIMIT),
            "x-ratelimit-limit-tokens": str(_TOKENS_LIMIT),
            "x-ratelimit-remaining-requests": str(_REQUESTS_LIMIT - 1),
            "x-ratelimit-remaining-tokens": str(max(0, _TOKENS_LIMIT - tokens)),
        }
        return (
            ("date", NOW),
            ("content-type", content_type),
            ("apim-request-id", "-".join(digits[start:end] for start, end in bounds)),
            ("x-ms-region", "Sweden Central"),
            *(limits | self.limit_headers(exchange)).items(),
            ("x-request-id", token(exchange, "request", 32)),
        )

    def limit_headers(self, exchange: Exchange) -> dict[str, str]:
        """Return OpenAI's headers without those of the reset, which Azure does not send."""
        told = super().limit_headers(exchange)
        return {name: value for name, value in told.items() if "-reset-" not in name}

    def envelope(self, kind: str, asked: Asked, exchange: Exchange) -> dict[str, Any]:
        """Return the members of a completion or chunk that stand around its choices."""
        envelope = super().envelope(kind, asked, exchange)
        del envelope["service_tier"]
        if kind == "chat.completion":
            envelope["prompt_filter_results"] = _prompt_filter_results()
        return envelope

    def choice_members(self, finish_reason: str | None) -> dict[str, Any]:
        """Return what the content filter found in the answer, or in this piece of it."""
        found = _FILTERED if finish_reason == "content_filter" else _HARMLESS
        return {"content_filter_results": found, "logprobs": None}

    def chunks_before_finish(
        self, model_says: Said, asked: Asked, exchange: Exchange
    ) -> list[dict[str, Any]]:
        """Return the chunks before the finish reason: first what was found in the prompt."""
        first = {
            "choices": [],
            "created": 0,
            "id": "",
            "model": "",
            "object": "",
            "prompt_filter_results": _prompt_filter_results(),
        }
        return [first, *super().chunks_before_finish(model_says, asked, exchange)]


def _prompt_filter_results() -> list[dict[str, Any]]:
    return [{"prompt_index": 0, "content_filter_results": {**_HARMLESS, **_JAILBREAK}}]


DIALECT = AzureOpenAI()
