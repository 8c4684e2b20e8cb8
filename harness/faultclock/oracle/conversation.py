"""What was said in a conversation: messages by role and digest, as the provider was sent them.

The user's and the assistant's texts are compared, and which tool calls have a result, in their
order. Others may lie between them: what a runtime adds of its own is its own affair.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from faultclock.model.trace import TraceEvent
from faultclock.oracle.attempts import Call
from faultclock.oracle.tool_messages import messages_of

#: Role and SHA-256 (hex) of a message; of a tool's result the id of its call.
Said = tuple[str, str]
#: Role to what a message of it is known by.
_FIELDS: dict[object, str] = {
    "user": "content_sha256",
    "assistant": "content_sha256",
    "tool": "tool_call_id",
}
_NOTHING = hashlib.sha256(b"").hexdigest()


def said_in(request: TraceEvent) -> list[Said]:
    """Return what a request holds, oldest first; messages without a text are left out."""
    return [
        (str(message.get("role")), str(message.get(_FIELDS[message.get("role")])))
        for message in messages_of(request)
        if message.get("role") in _FIELDS
        and message.get(_FIELDS[message.get("role")]) not in (None, _NOTHING)
    ]


def said_in_turn(call: Call) -> list[Said]:
    """Return the conversation up to the end of a turn; nothing when its last word is not known."""
    last = call.attempts[-1] if call.attempts else None
    if last is None or last.asked is None or last.text_sha256 is None:
        return []
    return [*said_in(last.asked), ("assistant", last.text_sha256)]


def first_missing(expected: Iterable[Said], given: Iterable[Said]) -> int | None:
    """Return the 0-based place of the first of `expected` that is not in `given`, in order."""
    rest = iter(given)
    for index, wanted in enumerate(expected):
        if not any(item == wanted for item in rest):
            return index
    return None
