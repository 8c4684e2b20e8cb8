"""A JSON service over HTTP, as tools and extensions ask one: any method, any path, no streams.

What it answers is the script's `reply`:

    a text that is no JSON              {"path": …, "query": …, "body": …, "text": the reply}
    {"/items/1": …, "/items/2": …}      what stands under the path, or the longest end of it; 404
    any other JSON                      that, for every request

Where the script has `answers`, the one that fits the request is sent as it is.

So a tool under test finds its service here without one being written for it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

from faultclock.errors import InternalError
from faultclock.fakes.wire.answer import Answer, ErrorFacts, Headers
from faultclock.fakes.wire.dialect import Asked, Exchange, Heard, Shelf
from faultclock.fakes.wire.event_stream import json_object
from faultclock.fakes.wire.http_server import HttpRequest
from faultclock.model.scenario.fault import AnswerEnd, HttpDate
from faultclock.model.scenario.payload import ErrorPayload
from faultclock.model.scenario.provider_script import HttpAnswer, ProviderScript

_NOW = HttpDate.model_construct(http_date=0)
_PATH, _QUERY, _BODY = "path", "query", "body"


class HttpJson:
    """The dialect `http-json`. It has no state."""

    name = "http-json"
    encoder = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"))
    #: A path that the service has not is no fault of the plan, so it needs no payload.
    own_payloads = ()
    #: A service has no model that could end early.
    ends: frozenset[AnswerEnd] = frozenset()
    roles: frozenset[str] = frozenset()
    labels: frozenset[str] = frozenset()
    answers_anywhere = False
    arguments_are_objects = False

    def read(self, request: HttpRequest) -> Asked:
        """Return what `request` asks for; it is never refused here."""
        parts = urlsplit(request.target)
        body = {
            _PATH: parts.path,
            _QUERY: {name: values[-1] for name, values in parse_qs(parts.query).items()},
            _BODY: _parsed(request.body),
        }
        return Asked(model=None, stream=False, refusal=None, body=body)

    def good_answer(self, script: ProviderScript, asked: Asked, exchange: Exchange) -> Answer:
        """Return what the service answers when all is well; a path that it has not is a 404."""
        del exchange
        if asked.scripted is not None:
            return _as_written(asked.scripted)
        found, value = _looked_up(script, asked)
        if not found:
            # A service that has no such thing is well: this is an answer and no fault.
            value = {"error": {"code": "not_found", "message": "There is nothing at this path."}}
        return Answer(
            status=200 if found else 404,
            headers=headers_of("application/json"),
            chunks=(self.encoder.encode(value).encode(),),
            error=None if found else self.error_facts(value),
        )

    def recalled(
        self, asked: Asked, request: HttpRequest, shelf: Shelf, exchange: Exchange
    ) -> Asked:
        """Return `asked`: a service keeps nothing here."""
        del request, shelf, exchange
        return asked

    def error_answer(
        self, payload: ErrorPayload, status: int, exchange: Exchange, values: Mapping[str, str]
    ) -> Answer:
        """Return `payload` as the body of an answer of `status`."""
        del exchange, values
        headers = dict(headers_of(payload.content_type))
        headers.update((name.lower(), value) for name, value in payload.headers.items())
        text = payload.text if payload.text is not None else self.encoder.encode(payload.body)
        return Answer(
            status=status,
            headers=tuple(headers.items()),
            chunks=(text.encode(),),
            error=None if payload.body is None else self.error_facts(payload.body),
        )

    def chat(self, asked: Asked) -> list[dict[str, Any]]:
        """Return nothing: a service is asked, and no model."""
        del asked
        return []

    def error_facts(self, body: Mapping[str, Any]) -> ErrorFacts | None:
        """Return code, type and message of the error object in `body`, None where there is none."""
        error = body.get("error")
        if not isinstance(error, dict):
            return None
        return {name: error.get(name) for name in ("code", "type", "message")}

    def error_event(
        self, payload: ErrorPayload, asked: Asked, exchange: Exchange, chunks_before: int
    ) -> tuple[bytes, ErrorFacts]:
        """Refuse: an error is an answer of its own, so no fault inside a stream is ever met."""
        del asked, exchange, chunks_before
        raise InternalError(f"{self.name} has no streams to put {payload.status} into")

    def heard(self, body: bytes, content_type: str) -> Heard:
        """Return the body as the text that it is, or its error object."""
        del content_type
        error = self.error_facts(json_object(body) or {})
        return Heard(text=body.decode("utf-8", "replace") if error is None else None, error=error)


def headers_of(content_type: str) -> Headers:
    """Return the headers of every answer of a service."""
    return (("date", _NOW), ("content-type", content_type), ("server", "simulated"))


def _as_written(answer: HttpAnswer) -> Answer:
    body, headers = answer.body, dict(headers_of("application/json"))
    if isinstance(body, str):
        headers["content-type"] = "text/plain; charset=utf-8"
    elif body is None:
        del headers["content-type"]
    headers.update((name.lower(), value) for name, value in answer.headers.items())
    text = body if isinstance(body, str) else "" if body is None else HttpJson.encoder.encode(body)
    return Answer(status=answer.status, headers=tuple(headers.items()), chunks=(text.encode(),))


def _looked_up(script: ProviderScript, asked: Asked) -> tuple[bool, Any]:
    try:
        reply = json.loads(script.reply)
    except ValueError:
        return True, {**asked.body, "text": script.reply}
    if not _is_table(reply):
        return True, reply
    path = str(asked.body[_PATH])
    ends = [end for end in reply if path.endswith(end)]
    return (True, reply[max(ends, key=len)]) if ends else (False, None)


def _is_table(reply: Any) -> bool:
    return isinstance(reply, dict) and bool(reply) and all(key.startswith("/") for key in reply)


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body) if body else None
    except (ValueError, RecursionError):
        return None


DIALECT = HttpJson()
