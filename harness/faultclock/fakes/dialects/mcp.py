"""A server of the Model Context Protocol over Streamable HTTP: one path, sessions, JSON or streams.

The facts are those of https://modelcontextprotocol.io/specification/2025-11-25/basic/transports
(read 2026-11-28), and of the official Python SDK, mcp 2.3.0, whose client parses each answer in our
tests. What is said in a message is in `wire/mcp.py`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from msgspec.structs import replace

from faultclock.fakes.dialects.http_json import HttpJson, headers_of
from faultclock.fakes.wire import mcp
from faultclock.fakes.wire.answer import Answer, ErrorFacts
from faultclock.fakes.wire.dialect import Asked, Exchange, Shelf
from faultclock.fakes.wire.event_stream import json_object, object_in, write_event
from faultclock.fakes.wire.http_server import HttpRequest
from faultclock.model.scenario.mcp_server import McpServer
from faultclock.model.scenario.payload import ErrorPayload
from faultclock.model.scenario.provider_script import ProviderScript

_SESSION, _VERSION = "mcp-session-id", "mcp-protocol-version"
#: What a client has to accept, by "Sending Messages to the Server".
_ACCEPTED = ("application/json", "text/event-stream")
#: The method of what is no HTTP request, but a line of the input of a program.
STDIO = "stdio"
#: The error of a session that is over, which it ends.
_LOST = 404


class Mcp(HttpJson):
    """The dialect `mcp`. It has no state: the provider keeps the sessions."""

    name = "mcp"
    encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))

    def read(self, request: HttpRequest) -> Asked:
        """Return what `request` asks for; it is never refused here."""
        message = json_object(request.body)
        body = {
            "method": request.method,
            "path": urlsplit(request.target).path,
            "accept": request.headers.get("accept", ""),
            "session": request.headers.get(_SESSION),
            "version": request.headers.get(_VERSION),
            "message": message,
        }
        named = mcp.name_of(message or {})
        values = {"id": (message or {}).get("id"), "session": body["session"]}
        asked = Asked(model=None, stream=False, refusal=None, body=body, named=named, values=values)
        return replace(asked, stream=message is not None and mcp.is_request(message))

    def recalled(
        self, asked: Asked, request: HttpRequest, shelf: Shelf, exchange: Exchange
    ) -> Asked:
        """Return what is asked for, and whether in a session that there is."""
        del request, exchange
        return replace(asked, body={**asked.body, "known": asked.body["session"] in shelf})

    def good_answer(self, script: ProviderScript, asked: Asked, exchange: Exchange) -> Answer:
        """Return what the server answers when all is well."""
        server = script.mcp or McpServer()
        body = asked.body
        if body["method"] == STDIO:
            return _heard_on_stdio(server, asked)
        if body["path"] != server.path:
            return _refused(asked, 404, mcp.INVALID_REQUEST, "Not Found")
        match body["method"]:
            case "POST":
                return _posted(server, asked, exchange)
            case "DELETE" if body["known"]:
                return _answer(200, None, keeps={str(body["session"]): None})
            case "DELETE":
                return _refused(asked, _LOST, mcp.INVALID_REQUEST, "Session not found")
        # It has nothing to say of its own accord, so it offers no stream for that.
        return _refused(asked, 405, mcp.INVALID_REQUEST, "Method Not Allowed")

    def error_answer(
        self, payload: ErrorPayload, status: int, exchange: Exchange, values: Mapping[str, Any]
    ) -> Answer:
        """Return `payload` as the answer, with the id of the message that it answers."""
        body, session = payload.body, values.get("session")
        if body is not None and "jsonrpc" in body:
            payload = payload.model_copy(update={"body": {**body, "id": values.get("id")}})
        answer = super().error_answer(payload, status, exchange, values)
        return replace(answer, keeps={str(session): None} if status == _LOST and session else {})

    def error_facts(self, body: Mapping[str, Any]) -> ErrorFacts | None:
        """Return code and message of the error in `body`, or of the result that is one."""
        error = body.get("error")
        if isinstance(error, dict):
            return {"code": error.get("code"), "type": None, "message": error.get("message")}
        if object_in(body.get("result")).get("isError") is True:
            return {"code": None, "type": "isError", "message": None}
        return None


def _posted(server: McpServer, asked: Asked, exchange: Exchange) -> Answer:
    body, message = asked.body, asked.body["message"]
    if not all(kind in body["accept"] or "*/*" in body["accept"] for kind in _ACCEPTED):
        return _refused(asked, 406, mcp.INVALID_REQUEST, "Not Acceptable")
    if message is None:
        return _refused(asked, 400, mcp.PARSE_ERROR, "Parse error")
    begins = message.get("method") == "initialize"
    if not begins:
        if body["session"] is None:
            return _refused(asked, 400, mcp.INVALID_REQUEST, "Bad Request: Missing session ID")
        if not body["known"]:
            return _refused(asked, _LOST, mcp.INVALID_REQUEST, "Session not found")
        if body["version"] not in (None, *mcp.VERSIONS):
            return _refused(asked, 400, mcp.INVALID_REQUEST, "Unsupported protocol version")
    if not mcp.is_request(message):
        return _answer(202, None)
    said = mcp.answer_to(server, message)
    stream = server.answers_with == "stream"
    if not begins:
        return _answer(200, said, stream)
    session = hashlib.sha256(f"{exchange.seed}/mcp/{exchange.number}".encode()).hexdigest()[:32]
    return _answer(200, said, stream, headers={_SESSION: session}, keeps={session: {}})


def _heard_on_stdio(server: McpServer, asked: Asked) -> Answer:
    """Return what is written to one line of the input, which may be nothing."""
    message = asked.body["message"]
    if message is None:
        return _answer(200, mcp.failure({}, mcp.PARSE_ERROR, "Parse error"))
    return _answer(200, mcp.answer_to(server, message) if mcp.is_request(message) else None)


def _refused(asked: Asked, status: int, code: int, text: str) -> Answer:
    return _answer(status, mcp.failure(asked.body["message"] or {}, code, text))


def _answer(
    status: int,
    said: Mapping[str, Any] | None,
    stream: bool = False,
    *,
    headers: Mapping[str, str] | None = None,
    keeps: Shelf | None = None,
) -> Answer:
    kind = "text/event-stream" if stream else "application/json"
    chunk = b"" if said is None else DIALECT.encoder.encode(said).encode()
    if stream and said is not None:
        chunk = write_event(said, "message")
    return Answer(
        status=status,
        headers=(*headers_of(kind), *(headers or {}).items()),
        chunks=(chunk,),
        stream=stream,
        error=None if said is None else DIALECT.error_facts(said),
        keeps=keeps or {},
    )


DIALECT = Mcp()
