"""Stamps facts with a number and the virtual time, in the order in which they happen.

It is on the hot path, so a fact is a plain tuple; `run` makes TraceEvents of them at the end.
It adds nothing of its own and interprets nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["Fact", "Recorder"]

#: (sequence number from 1, virtual time in ns, actor, kind, payload).
Fact = tuple[int, int, str, str, dict[str, Any]]


class Recorder:
    """The list of facts of one world.

    Args:
        now_ns: the virtual clock; the kernel sets its own when none is given.
    """

    __slots__ = ("events", "now_ns")

    def __init__(self, now_ns: Callable[[], int] | None = None) -> None:
        self.events: list[Fact] = []
        self.now_ns = now_ns

    def record(self, actor: str, kind: str, /, **payload: Any) -> int:
        """Append a fact and return its number.

        Args:
            actor: harness, subject, network or provider.
            kind: dotted lower case, such as `net.sent`.
            payload: JSON values without floats, whose text would differ between machines.
        """
        events = self.events
        number = len(events) + 1
        events.append((number, self.now_ns() if self.now_ns else 0, actor, kind, payload))
        return number
