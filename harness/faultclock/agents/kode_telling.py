"""What an agent of KODE SDK says and keeps on record: states, calls, errors, permissions, hooks.

    a tool error -> its type, the flag, recommendations -> tool:error -> error -> the model

Every event has its channel (progress, control, monitor), its type and its place in the timeline.
What is done about an error is decided in `kode`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from faultclock.agents.calls import Call, Decision, Outcome
from faultclock.agents.core import Agent
from faultclock.agents.turn import FailedAttempt, Next, Turn
from faultclock.model.secrets import without_secrets
from faultclock.subjects.ports import Hook, Host, ProviderTarget, Reply, Surroundings

ErrorType = Literal["validation", "runtime", "logical", "aborted", "exception"]
CallState = Literal[
    "PENDING",
    "APPROVAL_REQUIRED",
    "APPROVED",
    "EXECUTING",
    "COMPLETED",
    "FAILED",
    "DENIED",
    "SEALED",
]

#: How many places in the timeline belong to one process; the next one begins behind them.
_EPOCH = 1_000_000
_MESSAGE_MAX = 500

_BY_TYPE: dict[ErrorType, tuple[str, ...]] = {
    "validation": (
        "Check tool parameters against schema",
        "Ensure all required parameters are provided",
        "Verify parameter types are correct",
    ),
    "runtime": ("Verify that what the tool needs is there and reachable", "Try again, or simpler"),
    "logical": ("Read the message and adjust the input", "Try an alternative approach"),
    "aborted": ("Do not simply repeat the call", "Split the work into smaller steps"),
    "exception": ("Use one of the tools that are offered", "Report the failure to the user"),
}
_FILE_WORDS = ("file", "fs", "read", "write", "edit")
_FILE_ADVICE = ("Verify the file path is correct", "Use fs_glob to search for files")
_DENIED = ("denied_by_policy", "denied_by_user", "approval_timed_out")
#: What a call is that was not good, where it is an error at all.
_TYPES: dict[str, ErrorType] = {
    "input_invalid": "validation",
    "exception": "runtime",
    "failed": "logical",
    "unavailable": "logical",
    "timeout": "aborted",
    "cancelled": "aborted",
    "unknown": "exception",
}
_FLAGS: dict[ErrorType, str] = {"validation": "_validationError", "runtime": "_thrownError"}


class Timeline:
    """Emits events, each with the next bookmark.

    Args:
        epoch: 1-based number of the process, so that no bookmark is ever used twice.
    """

    def __init__(self, host: Host, epoch: int = 1) -> None:
        self.host = host
        self.seq = epoch * _EPOCH

    def progress(self, type_: str, **fields: Any) -> None:
        """Emit what the user sees."""
        self.emit("progress", type_, fields)

    def control(self, type_: str, **fields: Any) -> None:
        """Emit what somebody has to decide, or has decided."""
        self.emit("control", type_, fields)

    def monitor(self, type_: str, **fields: Any) -> None:
        """Emit what operators see."""
        self.emit("monitor", type_, fields)

    def error(
        self,
        severity: Literal["warn", "error"],
        phase: Literal["model", "tool", "sandbox", "system"],
        message: str,
        **detail: Any,
    ) -> None:
        """Emit the monitor's `error`."""
        self.monitor("error", severity=severity, phase=phase, message=message, detail=detail)

    def emit(self, channel: str, type_: str, fields: Mapping[str, Any]) -> None:
        """Emit an event with the next bookmark."""
        bookmark = {"seq": self.next_seq(), "timestamp": time.time_ns() // 1_000_000}
        self.put(type_, {"channel": channel, "type": type_, "bookmark": bookmark, **fields})

    def put(self, type_: str, fields: Mapping[str, Any]) -> None:
        """Hand an event to whoever listens."""
        self.host.event(type_, **fields)

    def next_seq(self) -> int:
        """Return the next place in the timeline."""
        self.seq += 1
        return self.seq


@dataclass(slots=True, kw_only=True)
class CallRecord:
    """A tool call as it is kept, from its start to its end.

    Attributes:
        content: what the model is told of it; None until that is known.
        over: whether its end was emitted.
    """

    id: str
    name: str
    state: CallState = "PENDING"
    error: str | None = None
    content: dict[str, Any] | None = None
    over: bool = False
    trail: list[str] = field(default_factory=list)

    def become(self, state: CallState) -> None:
        """Go on to a state."""
        self.state = state
        self.trail.append(state)

    def snapshot(self) -> dict[str, Any]:
        """Return the ToolCallSnapshot of this moment."""
        return {
            "id": self.id,
            "name": self.name,
            "state": self.state,
            "error": self.error,
            "isError": self.error is not None,
            "auditTrail": list(self.trail),
        }


def advice(error_type: ErrorType, tool: str, tools: tuple[str, ...]) -> list[str]:
    """Return recommendations for the model, by the type of the error and the name of the tool."""
    found = [*_BY_TYPE[error_type], f"Look at what {tool} expects and offers"]
    if error_type in ("runtime", "logical") and any(word in tool for word in _FILE_WORDS):
        found = [*_FILE_ADVICE, *found]
    if error_type == "exception" and tools:
        found.insert(0, f"Tools that exist: {', '.join(tools)}")
    return found


def cleaned(message: str) -> str:
    """Return a message for model and user: one line, no stack, no secret. Paths stay in it.

    Example:
        >>> cleaned("no such file: /srv/agent/notes.txt")
        'no such file: /srv/agent/notes.txt'
    """
    text = message.partition("Traceback (most recent call last)")[0]
    text = " ".join(without_secrets(text).replace("<secret>", "…").split())
    return text[:_MESSAGE_MAX] or "the tool failed without a message"


def denied_content(tool: str, by_policy: bool) -> dict[str, Any]:
    """Return what the model is told of a call that was denied."""
    who = "the policy" if by_policy else "the user"
    return {
        "ok": False,
        "error": f"{tool} was denied by {who}",
        "recommendations": ["Do without this call", "Ask the user what to do instead"],
    }


class KodeTelling(Agent):
    """The moments of an agent, and the records of its calls.

    Attributes:
        records: the calls of the model's last answer, by their ids.
    """

    def __init__(self, surroundings: Surroundings) -> None:
        super().__init__(surroundings)
        self.timeline = self.make_timeline()
        self.records: dict[str, CallRecord] = {}

    def make_timeline(self, epoch: int = 1) -> Timeline:
        """Return the timeline of the process with this number."""
        return Timeline(self.host, epoch)

    def state(self, name: str) -> None:
        """Emit the state of the agent: READY, WORKING or PAUSED."""
        self.timeline.monitor("state_changed", state=name)

    def breakpoint(self, name: str) -> None:
        """Emit that a breakpoint is passed."""
        self.timeline.monitor("breakpoint_changed", current=name)

    # ------------------------------------------------------------------ the model

    def asking(self, turn: Turn, target: ProviderTarget, attempt: int) -> None:
        self.breakpoint("STREAMING_MODEL")

    def answered(self, turn: Turn, reply: Reply) -> None:
        if reply.text:
            self.timeline.progress("text_chunk_start", step=turn.steps)
            self.timeline.progress("text_chunk", step=turn.steps, delta=reply.text)
            self.timeline.progress("text_chunk_end", step=turn.steps, text=reply.text)
        if reply.tool_calls:
            self.breakpoint("TOOL_PENDING")

    def attempt_failed(self, turn: Turn, attempt: FailedAttempt, step: Next) -> None:
        """Tell the monitor that the model failed."""
        message = cleaned(str(attempt.error))
        context = {"target": attempt.target.id or "model", "message": message}
        self.put_on_record(attempt.pair, context, attempt.number)
        self.timeline.error("error", "model", message, step=turn.number)

    # ------------------------------------------------------------------ tools

    def call_proposed(self, turn: Turn, call: Call) -> None:
        record = self.records[call.id] = CallRecord(id=call.id, name=call.name)
        record.trail.append(record.state)
        self.timeline.progress("tool:start", call=record.snapshot())

    def call_refused(self, turn: Turn, call: Call, outcome: Outcome, step: Next) -> None:
        """End a call that is not executed: denied, or an error of its own."""
        record = self.records[call.id]
        if outcome.kind in _DENIED:
            record.content = denied_content(call.name, outcome.kind == "denied_by_policy")
            self.end(record, "DENIED")
            return
        self.fail(record, call, outcome)
        self.end(record, "FAILED")

    def executed(self, record: CallRecord, outcome: Outcome) -> None:
        """Keep a normal return as it is."""
        record.content = self.good_content(outcome)
        record.become("COMPLETED")
        self.timeline.monitor("tool_executed", call=record.snapshot())

    def good_content(self, outcome: Outcome) -> dict[str, Any]:
        """Return what the model is told of a normal return."""
        errors = [
            {"item": item.item, "class": item.error_class, "code": item.code}
            for item in outcome.errors
        ]
        content = {"ok": True, "value": outcome.value}
        return {**content, "errors": errors} if errors else content

    def end(self, record: CallRecord, state: CallState) -> None:
        """Emit tool:end, and keep the record of the call."""
        record.over = True
        if record.state != state:
            record.become(state)
        self.keep(record)
        self.timeline.progress("tool:end", call=record.snapshot())

    def keep(self, record: CallRecord) -> None:
        """Keep the record of a call for good."""
        self.host.audit_event("ToolCallRecord", call=record.snapshot())

    def content(self, call: Call, outcome: Outcome) -> Mapping[str, Any]:
        return self.records[call.id].content or {}

    def seal(self, record: CallRecord) -> None:
        """End a call that nobody will hear of any more."""
        record.error = "the call was cut off; its result is missing"
        self.end(record, "SEALED")

    def sealed_content(self, tool: str) -> dict[str, Any]:
        """Return what the model is told of a call that was cut off."""
        message = "The result is missing: the call was cut off. It may have had its effect."
        return self.failed_content(tool, "aborted", message)

    # ------------------------------------------------------------------ errors of tools

    def is_error(self, outcome: Outcome) -> bool:
        """Return whether an outcome is an error; a denial and a partial result are none."""
        return outcome.kind in _TYPES

    def error_type(self, outcome: Outcome) -> ErrorType:
        """Return which of the five types an error is."""
        if outcome.kind == "exception" and outcome.code == "call":
            return "exception"
        return _TYPES[outcome.kind]

    def fail(self, record: CallRecord, call: Call, outcome: Outcome) -> None:
        """Identify an error, put it on record, emit it twice, and have it ready for the model."""
        error_type = self.error_type(outcome)
        message = self.message(outcome)
        record.error = message
        record.become("FAILED")
        record.content = self.failed_content(call.name, error_type, message)
        self.audit_error(record, error_type, message)
        self.emit_error(record, error_type, message)
        self.host.show_user(f"{call.name}: {message}")
        self.host.tell_model(record.content)

    def message(self, outcome: Outcome) -> str:
        """Return what model and user read of an error."""
        prefix = "Invalid parameters: " if outcome.kind == "input_invalid" else ""
        return prefix + cleaned(outcome.message)

    def retryable(self, error_type: ErrorType) -> bool:
        """Return whether the model may try again."""
        return error_type not in ("validation", "aborted")

    def failed_content(self, tool: str, error_type: ErrorType, message: str) -> dict[str, Any]:
        """Return what the model is told of an error."""
        return {
            "ok": False,
            "error": message,
            "errorType": error_type,
            "retryable": self.retryable(error_type),
            "recommendations": self.recommendations(error_type, tool),
        }

    def recommendations(self, error_type: ErrorType, tool: str) -> list[str]:
        """Return what the model may do about it."""
        names = tuple(item.contract.name for item in self.world.tools)
        return advice(error_type, tool, names)

    def audit_error(self, record: CallRecord, error_type: ErrorType, message: str) -> None:
        """Put an error on record, with the flag of the layer that caught it."""
        context: dict[str, Any] = {"target": record.id, "tool": record.name, "message": message}
        if error_type in _FLAGS:
            context[_FLAGS[error_type]] = True
        self.put_on_record(("tool", error_type), context)

    def emit_error(self, record: CallRecord, error_type: ErrorType, message: str) -> None:
        """Emit tool:error for the user and `error` for the monitor."""
        self.timeline.progress("tool:error", call=record.snapshot(), error=message)
        self.timeline.error(
            self.severity(error_type),
            "tool",
            message,
            callId=record.id,
            tool=record.name,
            errorType=error_type,
            retryable=self.retryable(error_type),
        )

    def severity(self, error_type: ErrorType) -> Any:
        """Return how loud the monitor is told."""
        return "warn" if error_type in ("logical", "validation") else "error"

    # ------------------------------------------------------------------ permissions and hooks

    def approval_asked(self, call: Call) -> None:
        record = self.records[call.id]
        record.become("APPROVAL_REQUIRED")
        self.breakpoint("AWAITING_APPROVAL")
        self.timeline.control("permission_required", call=record.snapshot())
        self.state("PAUSED")

    def approval_decided(self, call: Call, decision: Decision) -> None:
        allowed = decision == "approved"
        self.timeline.control(
            "permission_decided",
            callId=call.id,
            decision="allow" if allowed else "deny",
            decidedBy="timeout" if decision == "timeout" else "user",
        )
        if allowed:
            self.records[call.id].become("APPROVED")
        self.state("WORKING")

    def hook_failed(self, hook: Hook, error: Exception) -> None:
        message = cleaned(str(error) or f"the hook {hook.id} did not come back")
        self.put_on_record(("system", "hook"), {"target": hook.id, "message": message})
        self.timeline.error("warn", "system", message, hook=hook.id, slot=hook.slot)
