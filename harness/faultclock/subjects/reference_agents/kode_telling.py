"""What an agent of KODE SDK says and keeps on record: states, calls, errors, permissions, hooks.

    a tool error -> its type, the flag, recommendations -> tool:error -> error -> the model

The shapes of it are in `kode_events`. What is done about an error is decided in `kode`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from faultclock.subjects.ports import Hook, ProviderTarget, Reply, Surroundings
from faultclock.subjects.reference_agents.calls import Call, Outcome
from faultclock.subjects.reference_agents.core import Agent, FailedAttempt, Next, Turn
from faultclock.subjects.reference_agents.kode_events import (
    CallRecord,
    CallState,
    ErrorType,
    Timeline,
    advice,
    cleaned,
    denied_content,
)
from faultclock.subjects.reference_agents.person import Decision

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
        """STREAMING_MODEL."""
        self.breakpoint("STREAMING_MODEL")

    def answered(self, turn: Turn, reply: Reply) -> None:
        """Emit the text of an answer."""
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
        """Emit tool:start."""
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
        """Return what the model is told of a call."""
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
        """PAUSED, until the person has decided."""
        record = self.records[call.id]
        record.become("APPROVAL_REQUIRED")
        self.breakpoint("AWAITING_APPROVAL")
        self.timeline.control("permission_required", call=record.snapshot())
        self.state("PAUSED")

    def approval_decided(self, call: Call, decision: Decision) -> None:
        """Say what was decided, and go on."""
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
        """Log error and continue."""
        message = cleaned(str(error) or f"the hook {hook.id} did not come back")
        self.put_on_record(("system", "hook"), {"target": hook.id, "message": message})
        self.timeline.error("warn", "system", message, hook=hook.id, slot=hook.slot)
