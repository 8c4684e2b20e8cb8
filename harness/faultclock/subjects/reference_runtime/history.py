"""The conversation as messages: how they are made, and how a broken-off turn is made whole again.

A provider refuses a conversation in which a tool call has no answer. A turn that was cut off (by
a cancel, an error or a crash) is therefore sealed: each of its calls without a result gets a
synthetic one that says so, and no such call is ever run again by itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from faultclock.subjects.ports import Reply
from faultclock.subjects.reference_runtime.session import Message

_UNKNOWN = (
    "The call was cut off while it ran: its outcome is unknown. It may have had its effect; check"
    " before you call it again."
)
_NOT_RUN = "The turn was cut off before the call was run: nothing happened."


def user(text: str) -> Message:
    """Return the message of the user."""
    return {"role": "user", "content": text}


def assistant(reply: Reply) -> Message:
    """Return the message of the model."""
    if not reply.tool_calls:
        return {"role": "assistant", "content": reply.text}
    calls = [_call(call.id, call.name, call.arguments) for call in reply.tool_calls]
    return {"role": "assistant", "content": reply.text or None, "tool_calls": calls}


def tool_message(call_id: str, content: Mapping[str, Any]) -> Message:
    """Return the message that answers a tool call."""
    text = json.dumps(content, ensure_ascii=False, sort_keys=True)
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def _call(id_: str, name: str, arguments: str) -> dict[str, Any]:
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedCall:
    """A call that got a synthetic result; `started` says whether it may have had its effect."""

    tool: str
    tool_call: str
    started: bool


def sealed(
    messages: Iterable[Message],
    results: Mapping[str, Mapping[str, Any]],
    started: Iterable[str],
) -> tuple[list[Message], list[SealedCall]]:
    """Return `messages` with an answer to every tool call, and the calls that had none.

    Args:
        messages: with or without their tool messages.
        results: id of a tool call to the content of its answer, for those not in `messages`.
        started: ids of the calls that were executed, or begun.
    """
    given = list(messages)
    answers = {item["tool_call_id"]: item for item in given if item.get("role") == "tool"}
    answers |= {id_: tool_message(id_, content) for id_, content in results.items()}
    begun = set(started)
    whole: list[Message] = []
    orphans: list[SealedCall] = []
    for item in given:
        if item.get("role") == "tool":
            continue
        whole.append(item)
        for call in item.get("tool_calls") or ():
            id_, name = call["id"], call["function"]["name"]
            if id_ not in answers:
                orphan = SealedCall(tool=name, tool_call=id_, started=id_ in begun)
                orphans.append(orphan)
                answers[id_] = tool_message(id_, _seal(orphan))
            whole.append(answers[id_])
    return whole, orphans


def _seal(orphan: SealedCall) -> dict[str, Any]:
    message = _UNKNOWN if orphan.started else _NOT_RUN
    return {"error": {"class": "Cancellation", "code": "ToolCancelled", "message": message}}


@dataclass(slots=True)
class Replay:
    """One turn, put together from the journal's entries.

    Entries of unknown kinds are left alone: another version of the program may have written them.
    """

    id: str | None = None
    first: list[Message] = field(default_factory=list)
    assistants: list[Message] = field(default_factory=list)
    started: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    results: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    @classmethod
    def turns(cls, entries: Sequence[Mapping[str, Any]]) -> list[Replay]:
        """Return the turns of a journal, in their order."""
        turns: list[Replay] = []
        for entry in entries:
            begins = entry.get("kind") == "turn_started"
            # A lost acknowledgement may have made the beginning of a turn stand there twice.
            if not turns or (begins and entry.get("turn") != turns[-1].id):
                turns.append(cls(id=entry.get("turn") if begins else None))
            turns[-1].take(entry)
        return turns

    def take(self, entry: Mapping[str, Any]) -> None:
        """Apply one entry; to apply it twice is to apply it once."""
        call = str(entry.get("tool_call"))
        match entry.get("kind"):
            case "turn_started":
                self.first = [user(str(entry.get("text", "")))]
            case "tools_proposed":
                message = dict(entry.get("message") or {})
                if message and message not in self.assistants:
                    self.assistants.append(message)
            case "tool_started":
                self.started[call] = entry
                self.results.pop(call, None)
            case "tool_ended" if isinstance(entry.get("content"), Mapping):
                self.results[call] = entry["content"]

    def whole(self) -> tuple[list[Message], list[SealedCall]]:
        """Return its messages with every tool call answered; none if it did nothing."""
        self.adopt_strays()
        if not self.assistants:
            return [], []
        return sealed([*self.first, *self.assistants], self.results, self.started)

    def adopt_strays(self) -> None:
        """Make the message that a call without one must have come from."""
        known = {call["id"] for item in self.assistants for call in item.get("tool_calls") or ()}
        calls = [
            _call(id_, str(entry.get("tool")), json.dumps(entry.get("arguments") or {}))
            for id_, entry in self.started.items()
            if id_ not in known
        ]
        if calls:
            message = {"role": "assistant", "content": None, "tool_calls": calls}
            self.assistants.append(message)
