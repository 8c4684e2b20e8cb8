"""What KODE SDK keeps: the record of a tool call, the type of its error, what a crash has left."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct, field

from faultclock.agents.turn import Message
from faultclock.agents.wire import one_line, tool_message

ErrorType = Literal["validation", "runtime", "logical", "aborted", "exception"]

_MESSAGE_MAX = 500
#: What a call is that was not good; a denial and a partial result are no errors.
TYPES: dict[str, ErrorType] = {
    "input_invalid": "validation",
    "exception": "runtime",
    "failed": "logical",
    "unavailable": "logical",
    "timeout": "aborted",
    "cancelled": "aborted",
    "unknown": "exception",
}
#: What the layer that caught an error notes on its record.
FLAGS = {"validation": "_validationError", "runtime": "_thrownError"}
_ADVICE: dict[ErrorType, tuple[str, ...]] = {
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


class CallRecord(Struct, kw_only=True):
    """A tool call as it is kept, from its start to its end.

    Attributes:
        state: PENDING, APPROVAL_REQUIRED, APPROVED, EXECUTING; at its end COMPLETED, FAILED,
            DENIED or SEALED.
        content: what the model is told of it; None until that is known.
        over: whether its end was emitted.
    """

    id: str
    name: str
    state: str = "PENDING"
    error: str | None = None
    content: dict[str, Any] | None = None
    over: bool = False
    trail: list[str] = field(default_factory=list)

    def become(self, state: str) -> None:
        """Go on to a state."""
        self.state = state
        self.trail.append(state)

    def snapshot(self) -> dict[str, Any]:
        """Return the ToolCallSnapshot of this moment."""
        own = {"id": self.id, "name": self.name, "state": self.state, "error": self.error}
        return {**own, "isError": self.error is not None, "auditTrail": list(self.trail)}


def advice(error_type: ErrorType, tool: str, tools: tuple[str, ...]) -> list[str]:
    """Return recommendations for the model, by the type of the error and the name of the tool."""
    found = [*_ADVICE[error_type], f"Look at what {tool} expects and offers"]
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
    return one_line(message)[:_MESSAGE_MAX] or "the tool failed without a message"


def denied_content(tool: str, by_policy: bool) -> dict[str, Any]:
    """Return what the model is told of a call that was denied."""
    who = "the policy" if by_policy else "the user"
    return {
        "ok": False,
        "error": f"{tool} was denied by {who}",
        "recommendations": ["Do without this call", "Ask the user what to do instead"],
    }


def is_retryable(error_type: ErrorType) -> bool:
    """Return whether the model may try again."""
    return error_type not in ("validation", "aborted")


class Left(Struct, kw_only=True):
    """What an earlier process has left.

    Attributes:
        epoch: number of the process that reads it, 1-based.
        open_calls: id to name of calls that have no result.
        was_cut: whether a turn was cut off.
    """

    epoch: int
    messages: list[Message]
    open_calls: dict[str, str] = field(default_factory=dict)
    was_cut: bool

    def add(self, entry: Mapping[str, Any]) -> None:
        """Add what an entry of the journal says."""
        if "user" in entry:
            self.messages.append({"role": "user", "content": entry["user"]})
        elif "assistant" in entry:
            self.messages.append(dict(entry["assistant"]))
            self.open_calls = asked_in(self.messages)
        elif "ended" in entry:
            self.open_calls.pop(entry["ended"], None)
            self.messages.append(tool_message(entry["ended"], entry.get("content") or {}))


def asked_in(messages: list[Message]) -> dict[str, str]:
    """Return id and name of the calls that the last message asks for."""
    calls = messages[-1].get("tool_calls") or () if messages else ()
    return {str(item["id"]): str(item["function"]["name"]) for item in calls}
