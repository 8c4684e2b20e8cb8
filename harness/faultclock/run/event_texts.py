"""One short line about each kind of trace event, for timelines and lists. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from faultclock.model.duration import format_duration
from faultclock.model.trace import TraceEvent

__all__ = ["describe"]

_Payload = Mapping[str, Any]
#: Characters of what a program writes, in a line about it.
_SHOWN_MAX = 80
#: How an answer was not a whole one.
_ENDS = {
    "length": "cut at the model's limit",
    "filtered": "taken away by a filter",
    "refused": "the model refuses",
    "empty": "with nothing said",
    "paused": "the provider pauses",
    "failed": "the provider failed in the middle of it",
}


def describe(event: TraceEvent) -> str:
    """Return one short line about an event."""
    writer = _TEXTS.get(event.kind)
    return writer(event.payload) if writer is not None else event.kind.replace(".", " ")


def _response(payload: _Payload) -> str:
    error = payload.get("error") or {}
    who = f"{payload['provider']} " if payload.get("provider") else ""
    parts = [f"{who}answers {payload['status']}"]
    if name := error.get("code") or error.get("type"):
        parts.append(str(name))
    if (retry_after := payload.get("retry_after")) is not None:
        parts.append(f"Retry-After: {retry_after}")
    return ", ".join(parts)


def _exchange_ended(payload: _Payload) -> str:
    not_whole = f", {_ENDS[payload['ends']]}" if payload.get("ends") else ""
    return f"{payload['exchange']} ended: {payload['how'].replace('_', ' ')}{not_whole}"


def _raised(payload: _Payload) -> str:
    outer = payload["chain"][0]
    typed = f" ({outer['class']}/{outer['code']})" if outer.get("class") else ""
    return f"{payload['call']} raised {outer['type']}{typed}"


def _left(payload: _Payload) -> str:
    if (code := payload["exit_code"]) is not None:
        return f"the program of {payload['call']} ended with code {code}"
    if (signal := payload["signal"]) is not None:
        return f"the program of {payload['call']} was ended by {signal}"
    return f"{payload['call']} was not watched any longer"


def _disk_act(payload: _Payload) -> str:
    where = payload["file"] or "the folder"
    if "to" in payload:
        where += f" to {payload['to']}"
    size = "" if payload["bytes_count"] is None else f", {payload['bytes_count']} bytes"
    failed = "" if payload["ok"] else f": {payload['error']}"
    return f"{payload['op']} {payload['act']} {where}{size}{failed}"


def _survived(payload: _Payload) -> str:
    differing = [f"{item['file']} is {item['how']}" for item in payload["differing"]]
    return f"the disk has kept: {', '.join(differing) or 'everything'}"


def _resolve(payload: _Payload) -> str:
    outcome = payload.get("error") or payload.get("address")
    return f"resolves {payload['host']}: {outcome}"


def _typed(payload: _Payload) -> str:
    return f"{payload.get('class')}/{payload.get('code')}"


def _replied(payload: _Payload) -> str:
    who = f"{payload['execution']} {payload['tool']}"
    if not payload["ok"]:
        return f"{who} fails: {_typed(payload)}"
    if payload["partial"]:
        return f"{who} replies in part: {len(payload['errors'])} items failed"
    return f"{who} replies"


def _effect(payload: _Payload) -> str:
    again = f", time {payload['count']}" if payload["count"] > 1 else ""
    return f"effect of {payload['execution']} {payload['tool']}{again}"


def _shown(payload: _Payload) -> str:
    about = f" about {payload['tool']}" if payload.get("tool") else ""
    deadline = payload.get("deadline_ns")
    limit = f", {format_duration(deadline)} to answer" if deadline else ", without a deadline"
    return f"{payload['interactor']} shows {payload['interaction_kind']}{about}{limit}"


def _answered(payload: _Payload) -> str:
    refused = "" if payload["accepted"] else f", refused ({_typed(payload)})"
    return f"{payload['interactor']}: {payload['answer']}{refused}"


def _stored(payload: _Payload) -> str:
    outcome = "done" if payload["ok"] else _typed(payload)
    return f"{payload['op']} {payload['operation']}: {outcome}"


def _cancel(payload: _Payload) -> str:
    target = f" {payload['target']}" if payload.get("target") else ""
    return f"cancel of {payload['scope']}{target}"


def _declared(payload: _Payload) -> str:
    fields = payload.get("fields") or {}
    about = next(
        (fields[name] for name in ("stage", "tool", "request", "id") if name in fields), ""
    )
    return f"declares {payload['name']} {about}".rstrip()


def _asked_stage(payload: _Payload) -> str:
    return (
        f"{payload['stage']}, attempt {payload['attempt']}: {payload['phase']} {payload['answer']}"
    )


def _fault(payload: _Payload) -> str:
    whose = payload.get("of") or payload.get("provider")
    of = f" of {whose}" if whose else ""
    early = payload.get("early_ns")
    too_early = f", {format_duration(early)} too early" if early else ""
    return f"fault {payload['fault']}{of} ({payload['fault_kind'].replace('_', ' ')}{too_early})"


def _used_well(payload: _Payload, who: str) -> str:
    if payload["ok"]:
        return f"{who} has done it"
    error = payload.get("error") or {}
    return f"{who} fails: {error.get('cause') or error.get('type') or error.get('kind')}"


def _program_started(payload: _Payload) -> str:
    return f"{payload['run']} {' '.join([payload['program'], *payload['argv'][1:]])} starts"


def _program_ended(payload: _Payload) -> str:
    how = payload.get("signal") or f"status {payload['status']}"
    means = f" ({payload['means'].replace('_', ' ')})" if payload.get("means") else ""
    return f"{payload['run']} {payload['program']} ends: {how}{means}"


def _program_wrote(payload: _Payload) -> str:
    text = payload["text"].strip()
    shown = text if len(text) <= _SHOWN_MAX else f"{text[: _SHOWN_MAX - 1]}…"
    return f"{payload['run']} writes to {payload['stream']}: {shown}"


def _operator(payload: _Payload) -> str:
    actions = f" [{', '.join(payload['actions'])}]" if payload.get("actions") else ""
    return f"message to the operator: {payload['message']}{actions}"


_TEXTS: dict[str, Callable[[_Payload], str]] = {
    "call.started": lambda p: f"{p['call']} started",
    "call.returned": lambda p: f"{p['call']} returned",
    "call.raised": _raised,
    "call.crashed": lambda p: f"{p['call']} was cut off",
    "call.left": _left,
    "clock.late": lambda p: f"timers were up to {format_duration(p['late_ns'])} late",
    "call.skipped": lambda p: f"{p['call']} was not asked: {p['why']}",
    "process.started": lambda p: f"life {p['life']} starts" + (" and resumes" * p["resume"]),
    "process.crashed": lambda p: f"life {p['life']} is killed",
    "cancel.requested": _cancel,
    "cancel.unsupported": lambda p: f"{p['cancel']}: the subject cannot be cancelled",
    "tool.called": lambda p: f"{p['execution']} {p['tool']} is called",
    "tool.effect": _effect,
    "tool.replied": _replied,
    "tool.raised": lambda p: f"{p['execution']} {p['tool']} raises {p['type']}",
    "tool.stopped": lambda p: f"{p['execution']} {p['tool']} is stopped",
    "tool.unfinished": lambda p: f"{p['execution']} {p['tool']} never replied",
    "interaction.shown": _shown,
    "interaction.answered": _answered,
    "interaction.dismissed": lambda p: f"{p['interactor']} takes {p['request']} off the screen",
    "interaction.broken": lambda p: f"{p['interactor']} is broken",
    "store.asked": lambda p: f"{p['op']} {p['operation']} {p['session']}",
    "store.durable": lambda p: f"{p['op']} is durable" + (", torn" if p["torn"] else ""),
    "store.answered": _stored,
    "store.edited": lambda p: f"edit from outside: {p['session']}",
    "disk.acted": _disk_act,
    "disk.read": lambda p: (
        f"disk: opens {p['file']} to read" + ("" if p["ok"] else f": {p['error']}")
    ),
    "disk.survived": _survived,
    "disk.edited": lambda p: f"change from outside: {p['file']}: {p['how']}",
    "stage.asked": _asked_stage,
    "archive.saved": lambda p: f"{p['name']} is kept: {p['bytes_count']} bytes",
    "hook.called": lambda p: f"hook {p['hook']} is called ({p['slot']})",
    "hook.replied": lambda p: _used_well(p, f"hook {p['hook']}"),
    "node.called": lambda p: f"{p['do']} {p['node']} is done, time {p['n']}",
    "node.replied": lambda p: _used_well(p, f"node {p['node']}"),
    "policy.decided": lambda p: f"policy: {p['decision']} {p['tool']}",
    "program.started": _program_started,
    "program.wrote": _program_wrote,
    "program.signalled": lambda p: f"{p['run']} gets {p['signal']} from the {p['by']}",
    "program.ended": _program_ended,
    "program.missing": lambda p: f"there is no program {p['program']}",
    "queue.asked": lambda p: f"{p['item']} is pushed to the queue",
    "queue.answered": lambda p: _used_well(p, "the queue"),
    "telemetry.asked": lambda p: f"{p['name']} is exported",
    "telemetry.answered": lambda p: _used_well(p, "the telemetry sink"),
    "extension.phase": lambda p: f"{p['extension']}: {p['phase']}" + ("" if p["ok"] else " fails"),
    "extension.slot_decided": lambda p: f"{p['extension']} decides: {p['decision']}",
    "extension.slot_delivered": lambda p: f"{p['extension']} receives its slot",
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
    "http.request": lambda p: (
        f"{p['exchange']}: {p['method']} {p['target']}"
        + (f" at {p['provider']}" if p.get("provider") else "")
    ),
    "http.response": _response,
    "http.stream_error": lambda p: f"error in the stream: {p['error'].get('code')}",
    "http.exchange_ended": _exchange_ended,
    "fault.fired": _fault,
    "fault.unmet": lambda p: f"fault {p['fault']} was never met",
    "sleep": lambda p: f"sleeps {format_duration(p['delay_ns'])}",
    "declared.event": _declared,
    "declared.audit_event": lambda p: f"audits {p['name']}",
    "declared.content": lambda p: f"passes on {p['chars']} characters of the answer",
    "declared.audit": lambda p: f"audits {p['record'].get('class')}/{p['record'].get('code')}",
    "declared.operator_message": _operator,
    "declared.user_message": lambda p: f"message to the user: {p['message']}",
    "declared.model_message": lambda _: "message to the model: a typed error",
}
