"""One chat-completions exchange, without any I/O: a Reply, or an AttemptError.

The failure comes as soon as the bytes at hand prove that the attempt failed. A stream is a good
answer only when it says so itself: with a finish reason, or with `[DONE]`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import h11

from faultclock.agents.exchange import Exchange
from faultclock.subjects.asking import arguments
from faultclock.subjects.ports import ProviderRequest, Reply, ToolCall
from faultclock.subjects.stud import AttemptError, FailureKind, error_object

_FIELDS = frozenset({"data", "event", "id", "retry"})


class ChatExchange(Exchange[Reply]):
    """The state of one exchange."""

    def __init__(self, request: ProviderRequest) -> None:
        super().__init__(f"{request.base_url}/chat/completions")
        self.request_bytes = self._request(request)
        self._stream: _StreamedAnswer | None = None

    @property
    def received_text(self) -> str:
        """What a stream has said so far."""
        return "" if self._stream is None else self._stream.text

    def content(self, request: ProviderRequest) -> dict[str, Any]:
        """Return the body of the request, before it is JSON."""
        content = arguments(request)
        if request.stream:
            content["stream"] = True
        return content

    def _request(self, request: ProviderRequest) -> bytes:
        body = json.dumps(self.content(request)).encode()
        headers = [
            ("Host", self.authority),
            ("Authorization", f"Bearer {request.api_key}"),
            ("Content-Type", "application/json"),
            ("Accept", "text/event-stream" if request.stream else "application/json"),
            ("Content-Length", str(len(body))),
        ]
        return self._written("POST", self.target, headers, body)

    def feed(self, data: bytes) -> None:
        """Take received bytes.

        Raises:
            AttemptError: the attempt failed; it says whether some of the text had arrived.
        """
        try:
            super().feed(data)
        except AttemptError as error:
            error.after_content = bool(self.received_text)
            raise

    def unreachable(self, error: OSError) -> AttemptError:
        if isinstance(error, TimeoutError):
            seen = AttemptError("deadline", "the provider did not answer in time")
        else:
            seen = AttemptError("network", "the connection to the provider failed")
        seen.after_content = bool(self.received_text)
        return seen

    def _broken(self, *, cut: bool) -> AttemptError:
        if not cut:
            return AttemptError("malformed", "the answer is not HTTP/1.1")
        # A status that is known says more than the missing rest of its body.
        if self._status >= 400:
            return self._status_failure()
        return AttemptError("cut", "the provider closed the connection before the answer was whole")

    def _handle(self, event: object) -> None:
        if isinstance(event, h11.Data) and self._stream is not None:
            # [DONE] completes the answer; what follows it has nothing to add.
            reply = None if self.done else self._stream.feed(bytes(event.data))
            if reply is not None:
                self._answered(reply)
            return
        super()._handle(event)
        is_stream = self._headers.get(b"content-type", b"").startswith(b"text/event-stream")
        if isinstance(event, h11.Response) and is_stream and self._status == 200:
            self._stream = _StreamedAnswer()

    def _finish(self) -> Reply:
        if self._stream is not None:
            return self._stream.finish()
        if self._status != 200:
            raise self._status_failure()
        try:
            content = json.loads(self._body)
        except ValueError as error:
            raise AttemptError("malformed", "the answer is not JSON", status=200) from error
        if isinstance(content, dict) and content.get("error"):
            raise _error_object("error_body", content["error"], 200, self._retry_after())
        try:
            choice = content["choices"][0]
            message = choice["message"]
            text = message.get("content") or ""
            tool_calls = tuple(
                ToolCall(item["function"]["name"], item["function"]["arguments"], _id(item))
                for item in message.get("tool_calls") or ()
            )
            finish_reason = choice.get("finish_reason")
        except (AttributeError, IndexError, KeyError, TypeError) as error:
            raise AttemptError(
                "malformed", "the answer is not a chat completion", status=200
            ) from error
        return Reply(text, tool_calls, finish_reason, _tokens(content))

    def _status_failure(self) -> AttemptError:
        try:
            content = json.loads(self._body)
        except ValueError:
            # A proxy answers with HTML, a cut body with half of its JSON: the status remains.
            content = None
        error = content.get("error") if isinstance(content, dict) else None
        return _error_object("http_error", error, self._status, self._retry_after())

    def _retry_after(self) -> str | None:
        value = self._headers.get(b"retry-after")
        return None if value is None else value.decode("latin-1")


class _StreamedAnswer:
    """Server-sent events of one answer, put together as they arrive."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[str] = []
        self._text: list[str] = []
        self._tool_calls: dict[int, list[str]] = {}
        self._finish_reason: str | None = None
        self._tokens = 0

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self._text)

    def feed(self, data: bytes) -> Reply | None:
        """Take body bytes; return the answer once `[DONE]` is among them."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            reply = self._line(line.removesuffix(b"\r"))
            if reply is not None:
                return reply
        return None

    def finish(self) -> Reply:
        """Return the answer at the end of the message, provided that it says it is whole."""
        if self._finish_reason is None:
            raise AttemptError("cut", "the stream ended before the answer was whole", status=200)
        return self._reply()

    def _line(self, raw: bytes) -> Reply | None:
        try:
            line = raw.decode()
        except UnicodeDecodeError as error:
            raise _malformed("the stream is not UTF-8") from error
        if not line:
            return self._dispatch()
        name, _, value = line.partition(":")
        if name and name not in _FIELDS:
            # The standard ignores unknown fields; from a provider they are damage, and a
            # damaged answer must not pass for a whole one.
            raise _malformed("the stream is not made of server-sent events")
        if name == "data":
            self._data.append(value.removeprefix(" "))
        return None

    def _dispatch(self) -> Reply | None:
        data, self._data = "\n".join(self._data), []
        if not data:
            return None
        if data == "[DONE]":
            return self.finish()
        try:
            chunk = json.loads(data)
        except ValueError as error:
            raise _malformed("an event of the stream is not JSON") from error
        if isinstance(chunk, dict) and chunk.get("error"):
            raise _error_object("stream_error", chunk["error"], 200, None)
        try:
            for choice in chunk["choices"]:
                self._add(choice.get("delta") or {})
                self._finish_reason = choice.get("finish_reason") or self._finish_reason
            self._tokens = _tokens(chunk) or self._tokens
        except (AttributeError, KeyError, TypeError) as error:
            raise _malformed("an event of the stream is not a chat completion") from error
        return None

    def _add(self, delta: Mapping[str, Any]) -> None:
        self._text.append(delta.get("content") or "")
        for call in delta.get("tool_calls") or ():
            parts = self._tool_calls.setdefault(call["index"], ["", "", ""])
            function = call.get("function") or {}
            parts[0] += function.get("name") or ""
            parts[1] += function.get("arguments") or ""
            parts[2] = parts[2] or _id(call)

    def _reply(self) -> Reply:
        calls = tuple(ToolCall(*self._tool_calls[index]) for index in sorted(self._tool_calls))
        return Reply(self.text, calls, self._finish_reason, self._tokens)


def _id(call: Mapping[str, Any]) -> str:
    value = call.get("id")
    return value if isinstance(value, str) else ""


def _tokens(content: Mapping[str, Any]) -> int:
    usage = content.get("usage")
    total = usage.get("total_tokens") if isinstance(usage, Mapping) else None
    return total if isinstance(total, int) else 0


def _malformed(message: str) -> AttemptError:
    return AttemptError("malformed", message, status=200)


def _error_object(
    kind: FailureKind, error: object, status: int, retry_after: str | None
) -> AttemptError:
    place = {"error_body": " in its body", "stream_error": " in its stream"}.get(kind, "")
    return error_object(kind, error if isinstance(error, dict) else {}, status, retry_after, place)
