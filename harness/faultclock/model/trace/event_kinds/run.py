"""The run, its processes and calls, cancels and faults."""

from __future__ import annotations

from typing import Any, NotRequired

from faultclock.model._base import Sha256
from faultclock.model.duration import format_duration
from faultclock.model.trace.event_fields import EventFields
from faultclock.model.trace.event_kinds.kind import FOREIGN, LIVED, PROVIDED, EventKind, kind
from faultclock.model.trace.event_shapes import (
    Call,
    Chain,
    Count,
    ExtensionContract,
    Flag,
    Int,
    MaybeSha,
    MaybeText,
    Number,
    Object,
    RunResult,
    Said,
    Text,
    ToolCall,
    ToolContract,
    list_of,
    maybe,
    shape,
)

_REPLY = maybe(
    {
        "text_sha256": MaybeSha,
        "type": Text,
        "problem": Text,
        "finish_reason": Text,
        "result": RunResult,
        "answer": shape("Answer", {"status": Said, "reason": Said}),
    }
)
_STORED = maybe({"value_sha256": MaybeSha, "value": Said})
_ASKED = maybe(
    {
        # a runtime's question
        "interaction_kind": Text,
        "deadline_ns": Count | None,
        # a tool
        "arguments": Object,
        "input_problem": MaybeText,
        "timeout_ns": Count,
        # an extension
        "config": Object | None,
        "config_problem": MaybeText,
        # a session store
        "store": Text,
        "session": Text,
        "owner": Text,
    }
)
_TASK = {"task": Text, **maybe({"do": Text})}
_MAYBE_TASK = maybe({"task": Text, "do": Text})
_CANCEL = {"cancel": Text, **LIVED}
_OCCASION = maybe(
    {
        "of": Text,
        "life": Number,
        "attempt": Number,
        "exchange": MaybeText,
        "account": Count,
        "retry_after_ns": Int | None,
        "early_ns": Int,
        "pushed_back_ns": Int,
        "request": Said,
        "execution": Text,
        "op": Text,
        "operation": Text,
        "run": Text,
        "n": Number,
    }
)
_SCRIPTED = (
    *("disk", "extension", "harness", "hook", "interactor", "program", "provider", "queue"),
    *("service", "stage", "store", "telemetry", "tool", "workflow"),
)


def _call(*fields: Any, text: Any, **more: Any) -> EventKind:
    return kind("harness", {"call": Text}, *fields, text=text, lane="calls", **more)


def _call_end(*fields: Any, text: Any, **more: Any) -> EventKind:
    ended = "the call ended"
    return _call(*fields, text=text, closes="call.started", happened=ended, **more)


def _raised(event: EventFields) -> str:
    assert event.chain is not None
    outer = event.chain[0]
    typed = f" ({outer['class']}/{outer['code']})" if outer.get("class") else ""
    return f"{event.call} raised {outer['type']}{typed}"


def _left(event: EventFields) -> str:
    if event.exit_code is not None:
        return f"the program of {event.call} ended with code {event.exit_code}"
    if event.signal is not None:
        return f"the program of {event.call} was ended by {event.signal}"
    return f"{event.call} was not watched any longer"


def _cancel(event: EventFields) -> str:
    target = f" {event.target}" if event.target else ""
    return f"cancel of {event.scope}{target}"


def _fault(event: EventFields) -> str:
    whose = event.of or event.provider
    of = f" of {whose}" if whose else ""
    early = event.early_ns
    too_early = f", {format_duration(early)} too early" if early else ""
    return f"fault {event.fault}{of} ({str(event.fault_kind).replace('_', ' ')}{too_early})"


KINDS: dict[str, EventKind] = {
    "run.started": kind("harness", text="run started", routine=True),
    "process.started": kind(
        "harness",
        LIVED,
        {"resume": Flag},
        text=lambda e: f"life {e.life} starts" + (" and resumes" if e.resume else ""),
        opens=("life",),
        mark="start",
    ),
    "process.crashed": kind(
        "harness", LIVED, {"crash": Text}, text="life {life} is killed", closes="process.started"
    ),
    "call.started": _call(
        {"copy": Number},
        _TASK,
        maybe({"stream": Flag, "prompt": Text}),
        _ASKED,
        _STORED,
        FOREIGN,
        text="{call} started",
        opens=("call",),
        mark="start",
    ),
    "call.returned": _call_end(
        {"text": MaybeText, "tool_calls": list_of(ToolCall)},
        _MAYBE_TASK,
        maybe({"found": Flag, "entries": list[Sha256], "sessions": list[Said]}),
        _REPLY,
        _STORED,
        FOREIGN,
        text="{call} returned",
        mark="returned",
    ),
    "call.raised": _call_end({"chain": Chain}, _MAYBE_TASK, FOREIGN, text=_raised, mark="raised"),
    "call.crashed": _call_end({"life": Number}, text="{call} was cut off"),
    "call.left": _call_end(
        {"exit_code": Int | None, "signal": MaybeText}, text=_left, only="real_time"
    ),
    "call.skipped": _call(_TASK, {"life": Number, "why": Text}, text="{call} was not asked: {why}"),
    "clock.late": kind(
        "harness",
        {"late_ns": Count},
        text=lambda e: f"timers were up to {format_duration(e.late_ns or 0)} late",
        only="real_time",
    ),
    "cancel.requested": kind(
        "harness",
        _CANCEL,
        {"scope": Text, "target": MaybeText, "n": Number, "calls": NotRequired[list[Text]]},
        text=_cancel,
        mark="cancel",
        happened="a cancel came",
    ),
    "cancel.unsupported": kind(
        "harness", _CANCEL, text="{cancel}: the subject cannot be cancelled", mark="unmet"
    ),
    "cancel.raised": kind("harness", _CANCEL, {"chain": Chain}, text="cancel raised"),
    "contract.declared": kind(
        "harness",
        {"call": Call, "contract": ToolContract | ExtensionContract},
        text="contract declared",
    ),
    "fault.fired": kind(
        _SCRIPTED,
        {"fault": Text, "fault_kind": Text, "call": Call},
        _OCCASION,
        PROVIDED,
        text=_fault,
        mark="fault",
    ),
    "fault.unmet": kind(
        _SCRIPTED,
        {"fault": Text, "optional": Flag},
        maybe({"of": Text, "call": Call, "life": Number}),
        PROVIDED,
        text="fault {fault} was never met",
        lane="harness",
        mark="unmet",
    ),
    "leak": kind(
        "harness", {"what": Text, "site": Text}, text="leak of {what} at {site}", mark="leak"
    ),
    "world.touched": kind(
        "harness", {"random_state": Sha256}, text="world touched", routine=True, counts=True
    ),
    "entropy": kind(
        "subject",
        {"source": Text, "bytes_count": Count, "call": Call},
        text="entropy",
        routine=True,
    ),
    "sleep": kind(
        "subject",
        {"delay_ns": Int, "call": Call},
        text=lambda e: f"sleeps {format_duration(e.delay_ns or 0)}",
    ),
}
