"""What an agent of KODE SDK keeps between two processes: the conversation, and what was open.

The manifest has the conversation up to the last turn. The journal has what came since: the
message of the user, the answers that asked for tools, and which calls began and ended. How often
a process has begun is kept too, so that no two of them use the same bookmarks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from faultclock.subjects.ports import Surroundings, TypedError
from faultclock.subjects.reference_agents.turn import Message
from faultclock.subjects.reference_agents.wire import tool_message


@dataclass(slots=True, kw_only=True)
class Left:
    """What an earlier process has left.

    Attributes:
        epoch: number of the process that reads it, 1-based.
        open_calls: id and name of calls that have no result.
        was_cut: whether a turn was cut off.
    """

    epoch: int
    messages: list[Message] = field(default_factory=list)
    open_calls: list[tuple[str, str]] = field(default_factory=list)
    was_cut: bool = False


class Memory:
    """Reads and writes the session store."""

    def __init__(self, surroundings: Surroundings) -> None:
        self.store = surroundings.store
        self.session = surroundings.session_id
        self.epoch = 1

    async def save(self, messages: list[Message]) -> None:
        """Replace what is stored by the whole conversation."""
        await self.store.write(self.session, {"epoch": self.epoch, "messages": messages})

    async def note(self, entry: Mapping[str, Any]) -> None:
        """Add an entry to the journal."""
        await self.store.append(self.session, dict(entry))

    async def restore(self) -> Left:
        """Return what an earlier process has left.

        Raises:
            TypedError: there is no such session.
        """
        manifest = await self.store.read(self.session)
        if manifest is None:
            raise TypedError("resume", "SESSION_NOT_FOUND", f"there is no session {self.session}")
        journal = await self.store.read_journal(self.session)
        self.epoch = int(manifest.get("epoch", 0)) + 1
        left = Left(epoch=self.epoch, messages=list(manifest.get("messages") or ()))
        for entry in journal or ():
            self._replay(entry, left)
        left.was_cut = bool(journal)
        return left

    def _replay(self, entry: Mapping[str, Any], left: Left) -> None:
        if "user" in entry:
            left.messages.append({"role": "user", "content": entry["user"]})
        elif "assistant" in entry:
            message = dict(entry["assistant"])
            left.messages.append(message)
            left.open_calls = [
                (str(item["id"]), str(item["function"]["name"]))
                for item in message.get("tool_calls") or ()
            ]
        elif "ended" in entry:
            id_ = str(entry["ended"])
            left.open_calls = [item for item in left.open_calls if item[0] != id_]
            left.messages.append(tool_message(id_, entry.get("content") or {}))
