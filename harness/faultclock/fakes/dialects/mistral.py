"""What Mistral's errors look like: an object with a message or details, a list of them, a text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from faultclock.fakes.wire.answer import ErrorFacts
from faultclock.fakes.wire.dialect import Exchange
from faultclock.fakes.wire.event_stream import objects_in, text_in


def error_facts(body: Mapping[str, Any]) -> ErrorFacts | None:
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
        return {"code": None, "type": None, "message": _detail(body)}
    if "choices" not in body and isinstance(body.get("message"), str):
        return {"code": None, "type": None, "message": body["message"]}
    return None


def error_body(
    body: dict[str, Any], values: Mapping[str, str], exchange: Exchange
) -> dict[str, Any]:
    """Return an error body that names the parameter it is about."""
    del exchange
    details = objects_in(body.get("detail"))
    if not details or "param" not in values:
        return body
    return {**body, "detail": [{**details[0], "loc": ["body", values["param"]]}]}


def _detail(body: Mapping[str, Any]) -> str | None:
    """Return what is wrong, of a list of details that of the first."""
    detail = body.get("detail")
    details = objects_in(detail)
    return text_in(details[0].get("msg")) if details else text_in(detail)
