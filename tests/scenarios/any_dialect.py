"""A correct stud-cli client for every dialect, and four that get one thing wrong.

The reference speaks OpenAI's chat; what is fair to it could be unfair to all others. This client
does what the reference does, in any dialect: it asks as that API wants to be asked, and reads with
`Dialect.heard`. It must know nothing of the scenarios.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any
from urllib.parse import quote, urlsplit

import h11

from faultclock.agents.adapter import DECLARES, converse
from faultclock.agents.chat_exchange import ChatExchange
from faultclock.fakes.dialects import dialect_named, dialect_names
from faultclock.fakes.wire.dialect import Heard
from faultclock.fakes.wire.event_stream import json_object
from faultclock.subjects.binding import Binding, provider_adapter
from faultclock.subjects.ports import ProviderRequest, Reply, ToolCall
from faultclock.subjects.stud import AttemptError, Policy, StudCall, classify

#: All dialects of model providers: `http-json` is what stands behind a tool.
DIALECTS = tuple(name for name in dialect_names() if name not in ("http-json", "mcp"))

#: Most providers say it in a sentence alone.
_TOO_LONG = re.compile(
    r"(prompt|input) is too long|too many tokens|input token count|context (length|window)", re.I
)
#: Neither JSON nor server-sent events have such bytes: they are damage.
_DAMAGE = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_BINARY = b"application/vnd.amazon.eventstream"


class AnyExchange(ChatExchange):
    """One exchange in `dialect`; the bytes are taken as they come, and read at their end."""

    def __init__(self, dialect: str, request: ProviderRequest) -> None:
        self._dialect = dialect_named(dialect)
        self._asked = request
        super().__init__(request)

    def heard(self) -> Heard:
        """Return what the answer says so far."""
        content_type = self._headers.get(b"content-type", b"").decode()
        return self._dialect.heard(bytes(self._body), content_type)

    def _request(self, request: ProviderRequest) -> bytes:
        path, headers, content = _asking(self._dialect.name, request)
        target = urlsplit(request.base_url).path.rstrip("/") + path
        data = json.dumps(content).encode()
        headers = {
            "Host": self.authority,
            "Content-Type": "application/json",
            "Content-Length": str(len(data)),
            **headers,
        }
        return self._written("POST", target, list(headers.items()), data)

    def _handle(self, event: object) -> None:
        if isinstance(event, h11.Data):
            self._body += event.data
        else:
            super()._handle(event)
            # A stream is read at its end, like everything else.
            self._stream = None

    def _finish(self) -> Reply:
        if self._status != 200:
            raise self._status_failure()
        binary = self._headers.get(b"content-type") == _BINARY
        if not binary and _DAMAGE.search(self._body):
            raise AttemptError("malformed", "the answer is damaged", status=200)
        heard = self.heard()
        if heard.error is not None:
            kind = "stream_error" if self._asked.stream else "error_body"
            # AWS names the class of an error in a header.
            named = self._headers.get(b"x-amzn-errortype", b"").decode().partition(":")[0]
            type_ = heard.error.get("type") or named or None
            raise _failure(kind, 200, {**heard.error, "type": type_}, self._retry_after())
        if heard.finish_reason is None:
            kind = "cut" if self._asked.stream else "malformed"
            raise _failure(kind, 200, {}, None)
        return reply_of(heard)

    def _status_failure(self) -> AttemptError:
        content = json_object(bytes(self._body))
        facts = None if content is None else self._dialect.error_facts(content)
        return _failure("http_error", self._status, facts or {}, self._retry_after())


class AnyCall(StudCall):
    """A call that knows what its provider says of a prompt that is too long."""

    def classify(self, failure: AttemptError) -> tuple[str, str] | None:
        """Return class and code."""
        refused = failure.kind == "http_error" and failure.status in (400, 413, 422)
        if refused and _TOO_LONG.search(failure.provider_message or ""):
            return "ProviderCapability", "ContextWindowTooSmall"
        return classify(failure)


class RetriesNothing(AnyCall):
    """Wrong: the first failure is the last."""

    def policy(self, failure: AttemptError, kind: tuple[str, str]) -> Policy | None:
        """Return None: everything is terminal."""
        return None


class IgnoresRetryAfter(AnyCall):
    """Wrong: it waits by its schedule, whatever the provider asks for."""

    def retry_after_s(self, failure: AttemptError) -> float | None:
        """Return None: nothing was asked."""
        return None


class RetriesRefusals(AnyCall):
    """Wrong: a request that was refused is sent again, as if the provider had failed."""

    def classify(self, failure: AttemptError) -> tuple[str, str] | None:
        """Return class and code."""
        return super().classify(failure) or ("ProviderTransient", "Provider5xx")


class TakesAPartForTheWhole(AnyExchange):
    """Wrong: where a stream breaks off, what it has said is the answer."""

    def feed(self, data: bytes) -> None:
        """Take received bytes."""
        try:
            super().feed(data)
        except AttemptError as failure:
            heard = self.heard()
            if failure.kind != "cut" or not heard.text:
                raise
            self._answered(reply_of(heard))


def client(
    dialect: str,
    call_type: type[StudCall] = AnyCall,
    exchange_type: Callable[[str, ProviderRequest], AnyExchange] = AnyExchange,
) -> Binding:
    """Return a client that speaks `dialect`; the right one unless its parts are given."""

    @provider_adapter(
        id=f"any-{dialect}",
        title=f"Client of {dialect}",
        declares=DECLARES,
        inline=True,
        dialect=dialect,
    )
    async def ask(request: ProviderRequest) -> Reply:
        return await converse(request, call_type(request), partial(exchange_type, dialect))

    return ask


def reply_of(heard: Heard) -> Reply:
    """Return what was heard as the reply of an adapter."""
    calls = tuple(ToolCall(call.name, call.arguments) for call in heard.tool_calls)
    return Reply(heard.text or "", calls, heard.finish_reason)


def _asking(dialect: str, request: ProviderRequest) -> tuple[str, dict[str, str], dict[str, Any]]:
    """Return path, headers and body of a request."""
    model, key, stream = quote(request.model, safe=""), request.api_key, request.stream
    bearer = {"Authorization": f"Bearer {key}"}
    chat = {"model": request.model, "messages": request.messages, "stream": stream}
    match dialect:
        case "anthropic-messages":
            headers = {"x-api-key": key, "anthropic-version": "2023-06-01"}
            return "/v1/messages", headers, {**chat, "max_tokens": 1_000}
        case "azure-openai":
            return "/openai/v1/chat/completions", {"api-key": key}, chat
        case "bedrock-converse":
            asked = "converse-stream" if stream else "converse"
            told = [
                {"role": item["role"], "content": [{"text": item["content"]}]}
                for item in request.messages
            ]
            return f"/model/{model}/{asked}", bearer, {"messages": told}
        case "cohere":
            return "/v2/chat", bearer, chat
        case "gemini-generate-content":
            asked = "streamGenerateContent?alt=sse" if stream else "generateContent"
            told = [
                {"role": item["role"], "parts": [{"text": item["content"]}]}
                for item in request.messages
            ]
            headers = {"x-goog-api-key": key}
            return f"/v1beta/models/{model}:{asked}", headers, {"contents": told}
        case "mistral":
            return "/v1/chat/completions", bearer, chat
        case "ollama":
            return "/api/chat", bearer, chat
        case "openai-responses":
            responses = {"model": request.model, "input": request.messages, "stream": stream}
            return "/responses", bearer, responses
        case _:
            return "/chat/completions", bearer, chat


def _failure(
    kind: Any, status: int, facts: Mapping[str, Any], retry_after: str | None
) -> AttemptError:
    return AttemptError(
        kind,
        f"the provider answered {status}: {kind}",
        status=status,
        provider_code=facts.get("code"),
        provider_type=facts.get("type"),
        provider_message=facts.get("message"),
        retry_after=retry_after,
    )
