"""A server of no particular provider that speaks OpenAI's chat completions, as vLLM and others do.

It has no limits to tell of, needs no key, and its errors carry the HTTP status as `code`. Older
ones send the error object bare, with `"object": "error"` in it, so that is read back as well.
Shapes follow answers of vLLM that are quoted in public (see the payload file).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any
from urllib.parse import unquote

from faultclock.fakes.dialects.openai_chat import NOW, OpenAIChat
from faultclock.fakes.wire.answer import ErrorFacts, Headers
from faultclock.fakes.wire.dialect import Asked, Exchange
from faultclock.fakes.wire.event_stream import write_event
from faultclock.fakes.wire.http_server import HttpRequest
from faultclock.fakes.wire.said import SaidToolCall, token
from faultclock.model.scenario.fault import AnswerEnd
from faultclock.model.scenario.payload import ErrorPayload

#: xAI's words for a wrong key, which it sends with a 400 and no code that says so: quoted in
#: github.com/continuedev/continue/issues/10778, and with its blanks encoded in
#: github.com/i-am-bee/beeai-framework/issues/447; read 2026-11-23.
_WRONG_KEY = "Incorrect API key provided"


class OpenAICompatible(OpenAIChat):
    """The dialect `openai-compatible`. It has no state."""

    name = "openai-compatible"
    own_payloads = tuple(
        name for name in OpenAIChat.own_payloads if name != "missing_authorization"
    )
    message_members = MappingProxyType({})
    delta_members = MappingProxyType({})
    good_json = error_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
    error_tail = ""
    #: vLLM, protocol.py and docs, read 2026-11-22: it filters nothing, and its `refusal` is
    #: always null.
    ends: frozenset[AnswerEnd] = frozenset({"length", "empty"})
    #: vLLM, entrypoints/chat_utils.py, `CustomChatCompletionMessageParam`: the role is any text.
    roles: frozenset[str] = frozenset()

    def has_key(self, request: HttpRequest) -> bool:
        """Return that it may go on: a key is optional."""
        del request
        return True

    def headers(self, content_type: str, exchange: Exchange, tokens: int) -> Headers:
        """Return the headers of an answer."""
        del exchange, tokens
        return (("date", NOW), ("server", "uvicorn"), ("content-type", content_type))

    def limit_headers(self, exchange: Exchange) -> dict[str, str]:
        """Return nothing: such a server names no limits."""
        del exchange
        return {}

    def envelope(self, kind: str, asked: Asked, exchange: Exchange) -> dict[str, Any]:
        """Return the members of a completion or chunk that stand around its choices."""
        return {
            "id": f"chatcmpl-{token(exchange, 'completion', 32)}",
            "object": kind,
            "created": exchange.unix_s,
            "model": asked.model,
        }

    def tool_id(self, call: SaidToolCall) -> str:
        """Return the id of a tool call."""
        return f"chatcmpl-tool-{call.id}"

    def error_facts(self, body: Mapping[str, Any]) -> ErrorFacts | None:
        """Return code, type and message of the error object in `body`, or that `body` is.

        An error may be a mere text.
        """
        if body.get("object") == "error":
            return super().error_facts({"error": dict(body)})
        if isinstance(body.get("error"), str):
            facts = {"code": None, "type": None, "message": body["error"]}
            wrong_key = unquote(body["error"]).startswith(_WRONG_KEY)
            return {**facts, "means": "invalid_api_key"} if wrong_key else facts
        return super().error_facts(body)

    def error_event(
        self, payload: ErrorPayload, asked: Asked, exchange: Exchange, chunks_before: int
    ) -> tuple[bytes, ErrorFacts]:
        """Return the error object as an event, as bare as in the body of an answer."""
        body = payload.body or {}
        error = self.error_facts(body)
        if body.get("object") == "error" and error is not None:
            return write_event(body), error
        return super().error_event(payload, asked, exchange, chunks_before)


DIALECT = OpenAICompatible()
