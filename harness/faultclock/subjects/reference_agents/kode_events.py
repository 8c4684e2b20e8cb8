"""What an agent of KODE SDK says on the way: its timeline, its tool calls, and its advice.

Every event has its channel (progress, control, monitor), its type and its place in the timeline.
Nothing here decides anything.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from faultclock.model.secrets import without_secrets
from faultclock.subjects.ports import Host

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
