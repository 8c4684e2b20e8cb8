"""The network and the provider. An agent's timeline draws what they make up: the attempts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NotRequired

from msgspec.structs import replace
from pydantic import Field

from faultclock.model._base import Sha256
from faultclock.model.scenario.fault import AnswerEnd
from faultclock.model.trace.event_fields import EventFields
from faultclock.model.trace.event_kinds.kind import PROVIDED, EventKind, Mark, kind
from faultclock.model.trace.event_shapes import (
    Call,
    Count,
    ErrorFacts,
    Flag,
    Int,
    InWords,
    MaybeSha,
    MaybeText,
    Message,
    Number,
    Text,
    ToolCall,
    list_of,
    maybe,
)

_CONNECTION = {"connection": Text, "call": Call}
_EXCHANGE = {"exchange": Text, **_CONNECTION, **PROVIDED}
#: How an answer was not a whole one.
_ENDS = {
    "length": "cut at the model's limit",
    "filtered": "taken away by a filter",
    "refused": "the model refuses",
    "empty": "with nothing said",
    "paused": "the provider pauses",
    "failed": "the provider failed in the middle of it",
}

#: To connect and to send are one thing to whoever reads of it.
_BEGUN = "a request was begun"


def _net(*fields: Mapping[str, Any], **more: Any) -> EventKind:
    return kind("network", *fields, lane="wire", **more)


def _on_connection(*fields: Mapping[str, Any], text: str, **more: Any) -> EventKind:
    where = {} if more.keys() & {"opens", "closes"} else {"part_of": "net.connect"}
    return _net(_CONNECTION, *fields, text=f"{{connection}} {text}", **where, **more)


def _http(*fields: Mapping[str, Any], **more: Any) -> EventKind:
    return kind("provider", _EXCHANGE, *fields, lane="wire", **more)


def _at_a_service(kinds: Mapping[str, EventKind]) -> dict[str, EventKind]:
    """Return the kinds of the same exchange at a host that is no model's provider.

    They have names of their own, so that nothing that counts what a provider was asked counts them.
    """
    return {
        name.replace("http.", "service."): replace(
            known,
            actors=("service",),
            fields={**known.fields, "service": Text, "asks": NotRequired[Text]},
            happened="",
            lane=None,
            closes=known.closes and known.closes.replace("http.", "service."),
            part_of=known.part_of and known.part_of.replace("http.", "service."),
            named="service" if known.opens else None,
        )
        for name, known in kinds.items()
    }


def _resolved(event: EventFields) -> str:
    return f"resolves {event.host}: {event.error or event.address}"


def _connect_failed(event: EventFields) -> str:
    return f"{event.connection} {str(event.error).replace('_', ' ')}"


def _request(event: EventFields) -> str:
    at = event.provider or event.service
    where = f" at {at}" if at else ""
    return f"{event.exchange}: {event.asks or f'{event.method} {event.target}'}{where}"


def _response(event: EventFields) -> str:
    error = event.error or {}
    at = event.provider or event.service
    who = f"{at} " if at else ""
    parts = [f"{who}answers {event.status}"]
    if name := error.get("code") or error.get("type"):
        parts.append(str(name))
    if event.retry_after is not None:
        parts.append(f"Retry-After: {event.retry_after}")
    return ", ".join(parts)


def _response_mark(payload: Mapping[str, Any]) -> Mark:
    status = payload.get("status")
    return "refusal" if isinstance(status, int) and status >= 400 else "answer"


def _ended(event: EventFields) -> str:
    not_whole = f", {_ENDS[event.ends]}" if event.ends else ""
    return f"{event.exchange} ended: {str(event.how).replace('_', ' ')}{not_whole}"


_NETWORK: dict[str, EventKind] = {
    "net.resolving": _net(
        {"host": Text, "call": Call}, text="net resolving", opens=("call", "host")
    ),
    "net.resolve": _net(
        {"host": Text, "call": Call, "address": MaybeText, "error": MaybeText},
        text=_resolved,
        closes="net.resolving",
        mark=lambda payload: "broken" if payload.get("error") is not None else None,
        routine=True,
    ),
    "net.connect": _on_connection(
        {"host": Text, "port": Int},
        text="connects to {host}:{port}",
        happened=_BEGUN,
        opens=("connection",),
        routine=True,
    ),
    "net.connected": _on_connection(text="connected", routine=True),
    "net.connect_failed": _net(
        _CONNECTION,
        {"error": Text},
        text=_connect_failed,
        closes="net.connect",
        mark="broken",
        arrives=True,
    ),
    "net.sent": _on_connection(
        {"bytes_count": Count}, text="sends {bytes_count} bytes", happened=_BEGUN, routine=True
    ),
    "net.delivered": _on_connection(
        {"bytes_count": Count, "sent_ns": NotRequired[Count]},
        text="receives {bytes_count} bytes",
        routine=True,
        arrives=True,
    ),
    "net.eof": _on_connection(text="end of stream", arrives=True),
    # The subject has yet to close its end.
    "net.reset": _on_connection(text="reset by the provider", mark="broken", arrives=True),
    "net.closed": _on_connection(
        {"how": Text}, text="closed by the subject", closes="net.connect", routine=True
    ),
}
_HTTP: dict[str, EventKind] = {
    "http.malformed": kind(
        "provider", _CONNECTION, {"reason": Text}, PROVIDED, text="http malformed", lane="wire"
    ),
    "http.request": _http(
        {
            "attempt": Number,
            "method": Text,
            "target": Text,
            "headers": dict[Text, Text],
            "body_sha256": Sha256,
            "body_bytes": Count,
            "model": MaybeText,
            "stream": Flag,
        },
        maybe(
            {
                "messages": list_of(Message),
                "in_words": list_of(InWords),
                "quotes": list_of(Sha256),
                "reached": Count,
                "tools": Count,
                "counts": Flag,
                "asked_sha256": Sha256,
                "varies": Text,
            }
        ),
        text=_request,
        happened="a request to the model was sent",
        opens=("exchange",),
    ),
    "http.response": _http(
        {
            "status": Annotated[int, Field(ge=100, le=999)],
            "headers": dict[Text, Text],
            "retry_after": MaybeText,
            "error": ErrorFacts | None,
        },
        text=_response,
        part_of="http.request",
        mark=_response_mark,
    ),
    "http.stream_error": _http(
        {"error": ErrorFacts},
        text=lambda e: f"error in the stream: {e.error.get('code')}",
        part_of="http.request",
        mark="refusal",
    ),
    "http.exchange_ended": _http(
        {"how": Text, "finish_reason": MaybeText, "text_sha256": MaybeSha},
        maybe(
            {
                "ends": AnswerEnd,
                "tool_calls": list_of(ToolCall),
                "by_tool": Text,
                "usage": dict[Text, Count],
            }
        ),
        text=_ended,
        closes="http.request",
        mark=lambda payload: "broken" if payload.get("how") not in {None, "complete"} else None,
        routine=True,
    ),
}

#: What a script has no answer for, so that the run is over.
_UNANSWERED = kind(
    "service",
    {"host": Text, "method": Text, "target": Text, "call": Call},
    text="nothing answers {method} {target} at {host}",
    mark="unmet",
)

KINDS: dict[str, EventKind] = {
    **_NETWORK,
    **_HTTP,
    **_at_a_service(_HTTP),
    "service.unanswered": _UNANSWERED,
}
