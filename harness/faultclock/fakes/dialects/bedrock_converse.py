"""What is no template in Bedrock's Converse API: its errors, whose class stands in a header."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from faultclock.errors import InternalError
from faultclock.fakes.wire.answer import ErrorFacts
from faultclock.fakes.wire.aws_event_stream import write_message
from faultclock.fakes.wire.event_stream import object_in, objects_in, text_in
from faultclock.model.scenario.payload import ErrorPayload

_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_ERROR_CLASS = "x-amzn-errortype"
#: What a stream can fail with, and the status that the same exception has as an answer.
_IN_STREAM = {
    "internalServerException": 500,
    "modelStreamErrorException": 424,
    "serviceUnavailableException": 503,
    "throttlingException": 429,
    "validationException": 400,
}


def chat(body: Mapping[str, Any], messages: object) -> list[dict[str, Any]]:
    """Return the messages of a request as OpenAI's chat has them: answers of tools apart."""
    told: list[dict[str, Any]] = []
    if body.get("system"):
        told.append({"role": "system", "content": body["system"], "at": 0})
    for at, message in enumerate(objects_in(messages)):
        blocks = objects_in(message.get("content"))
        place = {"at": at, "sent_as": message.get("role")}
        results = [object_in(block["toolResult"]) for block in blocks if "toolResult" in block]
        told += [
            {
                "role": "tool",
                "tool_call_id": result.get("toolUseId"),
                "content": result.get("content"),
                **place,
            }
            for result in results
        ]
        used = [object_in(block["toolUse"]) for block in blocks if "toolUse" in block]
        others = [it for it in blocks if "toolResult" not in it and "toolUse" not in it]
        if results and not others:
            continue
        calls = [{"id": it.get("toolUseId"), "function": {"name": it.get("name")}} for it in used]
        message = {"role": message.get("role"), "content": others, "tool_calls": calls, **place}
        told.append(message)
    return told


def error_facts(body: Mapping[str, Any]) -> ErrorFacts | None:
    """Return what an error says, None where it is none.

    An answer says its message alone, a stream its class as well. What AWS's other services write
    into the body as `__type` is taken where it stands.

    Args:
        body: of a message in a stream it has the headers too, whose names begin with a colon.
    """
    if ":" in body:
        return _failure(body)
    message = body.get("message", body.get("Message"))
    if not isinstance(message, str) or "output" in body:
        return None
    kind = text_in(body.get("__type"))
    return {"code": None, "type": kind and kind.rpartition("#")[2], "message": message}


def error_event(payload: ErrorPayload) -> tuple[bytes, ErrorFacts]:
    """Return the exception as a message of a stream, and its facts; it must be JSON.

    An exception that the API's streams do not have comes as an error without a model.
    """
    kind = _class_of(payload)
    if payload.body is None or kind is None:
        raise InternalError("an exception in a stream needs a message, and a class")
    name = kind[:1].lower() + kind[1:]
    message = str(payload.body["message"])
    facts = {"code": payload.status, "type": kind, "message": message}
    if name not in _IN_STREAM:
        told = {":message-type": "error", ":error-code": kind, ":error-message": message}
        return write_message(told, b""), facts
    headers = {
        ":exception-type": name,
        ":content-type": "application/json",
        ":message-type": "exception",
    }
    return write_message(headers, _COMPACT.encode(payload.body).encode()), facts


def _class_of(payload: ErrorPayload) -> str | None:
    """Return the exception that the payload's header names: `Name:http://…`."""
    named = {name.lower(): value for name, value in payload.headers.items()}.get(_ERROR_CLASS)
    return named.partition(":")[0] if named else None


def _failure(message: Mapping[str, Any]) -> ErrorFacts | None:
    """Return what a message of a stream says of a failure."""
    if message.get(":message-type") == "error":
        told = {"type": message.get(":error-code"), "message": message.get(":error-message")}
        return {"code": None, **told}
    name = message.get(":exception-type")
    if not isinstance(name, str):
        return None
    kind = name[:1].upper() + name[1:]
    return {"code": _IN_STREAM.get(name), "type": kind, "message": message.get("message")}
