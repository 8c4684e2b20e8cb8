"""Trace events as marks for a timeline: a lane and one short text each. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from harness.model.duration import format_duration
from harness.model.finding import EventMark
from harness.model.trace import Trace, TraceEvent

__all__ = ["timeline"]

#: Marks per run in a report; the rest is in the trace. 50 clients make about 3,000 events.
MARKS_MAX = 400


def timeline(trace: Trace, cited: frozenset[int]) -> tuple[tuple[EventMark, ...], int]:
    """Return the marks of a trace, and how many are left out.

    Shown are the first MARKS_MAX events and all that are `cited` (by `seq`) as proof.
    """
    shown = [event for event in trace.events if event.seq <= MARKS_MAX or event.seq in cited]
    marks = tuple(
        EventMark(
            seq=event.seq,
            at_ns=event.at_ns,
            lane=event.actor,
            kind=event.kind,
            text=describe(event),
            payload=dict(event.payload),
        )
        for event in shown
    )
    return marks, len(trace.events) - len(shown)


def describe(event: TraceEvent) -> str:
    """Return one short line about an event."""
    payload = event.payload
    writer = _TEXTS.get(event.kind)
    return writer(payload) if writer is not None else event.kind.replace(".", " ")


def _response(payload: Mapping[str, Any]) -> str:
    error = payload.get("error") or {}
    parts = [f"answers {payload['status']}"]
    if name := error.get("code") or error.get("type"):
        parts.append(str(name))
    if (retry_after := payload.get("retry_after")) is not None:
        parts.append(f"Retry-After: {retry_after}")
    return ", ".join(parts)


def _raised(payload: Mapping[str, Any]) -> str:
    outer = payload["chain"][0]
    typed = f" ({outer['class']}/{outer['code']})" if outer.get("class") else ""
    return f"{payload['call']} raised {outer['type']}{typed}"


def _resolve(payload: Mapping[str, Any]) -> str:
    outcome = payload.get("error") or payload.get("address")
    return f"resolves {payload['host']}: {outcome}"


_TEXTS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "call.started": lambda p: f"{p['call']} started",
    "call.returned": lambda p: f"{p['call']} returned",
    "call.raised": _raised,
    "leak": lambda p: f"leak of {p['what']} at {p['site']}",
    "net.resolve": _resolve,
    "net.connect": lambda p: f"{p['connection']} connects to {p['host']}:{p['port']}",
    "net.connected": lambda p: f"{p['connection']} connected",
    "net.connect_failed": lambda p: f"{p['connection']} {p['error'].replace('_', ' ')}",
    "net.sent": lambda p: f"{p['connection']} sends {p['bytes_count']} bytes",
    "net.delivered": lambda p: f"{p['connection']} receives {p['bytes_count']} bytes",
    "net.eof": lambda p: f"{p['connection']} end of stream",
    "net.reset": lambda p: f"{p['connection']} reset by the provider",
    "net.closed": lambda p: f"{p['connection']} closed by the subject",
    "http.request": lambda p: f"{p['exchange']}: {p['method']} {p['target']}",
    "http.response": _response,
    "http.stream_error": lambda p: f"error in the stream: {p['error'].get('code')}",
    "http.exchange_ended": lambda p: f"{p['exchange']} ended: {p['how'].replace('_', ' ')}",
    "fault.fired": lambda p: f"fault {p['fault']} ({p['fault_kind'].replace('_', ' ')})",
    "fault.unmet": lambda p: f"fault {p['fault']} was never met",
    "sleep": lambda p: f"sleeps {format_duration(p['delay_ns'])}",
    "declared.event": lambda p: f"declares {p['name']}",
    "declared.audit": lambda p: f"audits {p['record'].get('class')}/{p['record'].get('code')}",
    "declared.user_message": lambda p: f"tells the user: {p['message']}",
    "declared.model_message": lambda _: "tells the model a typed error",
}
