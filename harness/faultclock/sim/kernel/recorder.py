"""Stamps facts with a number and the virtual time, in the order in which they happen.

It is on the hot path, so a fact is a plain tuple; `run` makes TraceEvents of them at the end.
It adds nothing of its own and interprets nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: (sequence number from 1, virtual time in ns, actor, kind, payload).
Fact = tuple[int, int, str, str, dict[str, Any]]


class Recorder:
    """The list of facts of one world.

    Args:
        now_ns: the virtual clock; the kernel sets its own when none is given.
        before: how many facts of the same run were recorded elsewhere before these.
    """

    __slots__ = ("before", "events", "now_ns")

    def __init__(self, now_ns: Callable[[], int] | None = None, *, before: int = 0) -> None:
        self.events: list[Fact] = []
        self.now_ns = now_ns
        self.before = before

    def record(self, actor: str, kind: str, /, **payload: Any) -> int:
        """Append a fact and return its number.

        Args:
            actor: harness, subject, network or provider.
            kind: dotted lower case, such as `net.sent`.
            payload: JSON values without floats, whose text would differ between machines.
        """
        events = self.events
        number = self.before + len(events) + 1
        events.append((number, self.now_ns() if self.now_ns else 0, actor, kind, payload))
        return number


class WatchedRecorder(Recorder):
    """A recorder that shows each fact to somebody right after it was recorded.

    Attributes:
        watch: called with the fact, on whichever thread recorded it, before anything else
            happens. It must not record and not block; it may end the run.
    """

    __slots__ = ("watch",)

    def __init__(self, watch: Callable[[Fact], None], *, before: int = 0) -> None:
        super().__init__(before=before)
        self.watch = watch

    def record(self, actor: str, kind: str, /, **payload: Any) -> int:
        """Append a fact, show it, and return its number."""
        number = super().record(actor, kind, **payload)
        self.watch(self.events[-1])
        return number
