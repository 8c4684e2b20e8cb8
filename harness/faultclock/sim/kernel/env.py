"""The one queue of a world: a SimPy environment in whole nanoseconds.

Order is total: (time, priority, order of scheduling). What is due now waits in a plain deque,
so that a ready callback costs no heap operation. When the clock moves, everything that is due
at the new instant moves into that deque first; so whatever is scheduled *at* an instant comes
after whatever was scheduled *for* it, and ties are first in, first out.

This is the only file that imports SimPy. It runs nothing by itself: the kernel does.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from typing import Any, Protocol

import simpy
from simpy.core import EmptySchedule
from simpy.events import NORMAL, EventPriority

#: What the queue holds: SimPy events, and the kernel's own entries; all have `_cancelled`.
Entry = Any


class Call:
    """A scheduled callback of the world itself."""

    __slots__ = ("_cancelled", "args", "function")

    def __init__(self, function: Callable[..., object], args: tuple[Any, ...]) -> None:
        self.function = function
        self.args = args
        self._cancelled = False

    def cancel(self) -> None:
        """Never call it; harmless once it was called."""
        self._cancelled = True
        self.args = ()


class Ready(Protocol):
    """What is due now: a deque, or what decides between lanes."""

    def append(self, entry: Entry, /) -> None:
        """Put an entry behind what is due."""
        ...

    def appendleft(self, entry: Entry, /) -> None:
        """Put an entry before what is due."""
        ...

    def extendleft(self, entries: Iterable[Entry], /) -> None:
        """Put each entry before what is due, and before the last one."""
        ...

    def popleft(self) -> Entry:
        """Take out what comes next."""
        ...

    def clear(self) -> None:
        """Forget everything."""
        ...

    def __len__(self) -> int: ...


class UrgentMark:
    """Stands at the head of the ready entries while urgent events wait; see `take_urgent`."""

    __slots__ = ()
    _cancelled = False


_URGENT_MARK = UrgentMark()


class SimEnvironment(simpy.Environment):
    """A SimPy environment whose time is an integer of nanoseconds.

    Args:
        start_ns: where its time starts.
        ready: what holds what is due now; None: a plain queue, first in, first out.

    Attributes:
        ready: what is due now, in order. The loop appends to it directly.
    """

    _now: int

    def __init__(self, start_ns: int = 0, ready: Ready | None = None) -> None:
        super().__init__(start_ns)
        self.ready: Ready = deque() if ready is None else ready
        self._urgent: deque[Entry] = deque()

    def schedule(self, event: Entry, priority: EventPriority = NORMAL, delay: float = 0) -> None:
        """Schedule a SimPy event `delay` nanoseconds from now (SimPy itself calls this)."""
        event._cancelled = False
        self.schedule_at(event, self._now + round(delay), priority)

    def schedule_at(self, event: Entry, at_ns: int, priority: EventPriority = NORMAL) -> None:
        """Schedule an entry for an absolute time; a time that has passed means now."""
        if at_ns > self._now:
            heappush(self._queue, (at_ns, priority, next(self._eid), event))
        elif priority >= NORMAL:
            self.ready.append(event)
        else:
            if not self._urgent:
                self.put_ahead(_URGENT_MARK)
            self._urgent.append(event)

    def put_ahead(self, entry: Entry) -> None:
        """Let `entry` come before everything else that is due."""
        self.ready.appendleft(entry)

    def take_urgent(self) -> Entry:
        """Return the next urgent event; the kernel calls this when it meets the mark."""
        event = self._urgent.popleft()
        if self._urgent:
            self.put_ahead(_URGENT_MARK)
        return event

    def advance(self, until_ns: int) -> bool:
        """Move the clock to the next instant at which something is due, and make that ready.

        Cancelled entries are dropped and never move the clock.

        Returns:
            Whether anything is ready; False leaves the clock where it is.
        """
        queue = self._queue
        while queue:
            at_ns = queue[0][0]
            event: Entry = queue[0][3]
            if event._cancelled:
                heappop(queue)
                continue
            if at_ns > until_ns:
                return False
            self._now = int(at_ns)
            ready = self.ready
            ready.append(heappop(queue)[3])
            while queue and queue[0][0] == at_ns:
                ready.append(heappop(queue)[3])
            return True
        return False

    @property
    def has_future(self) -> bool:
        """Whether something that is not cancelled is due later."""
        return any(not entry[3]._cancelled for entry in self._queue)  # type: ignore[attr-defined]

    def last_due_ns(self, until_ns: int) -> int | None:
        """Return the last time up to `until_ns` at which something that stands is due."""
        due = (int(entry[0]) for entry in self._queue if not entry[3]._cancelled)  # type: ignore[attr-defined]
        return max((at_ns for at_ns in due if at_ns <= until_ns), default=None)

    def clear(self) -> None:
        """Forget everything that is scheduled."""
        self._queue.clear()
        self.ready.clear()
        self._urgent.clear()

    # ------------------------------------------------------------------ SimPy's own stepping

    def peek(self) -> float:
        """Return the time of the next event, infinity if there is none."""
        return self._now if self.ready else super().peek()

    def step(self) -> None:
        """Process the next SimPy event; for an environment that no kernel drives.

        Raises:
            EmptySchedule: nothing is scheduled.
        """
        while not self.ready:
            if not self.advance(1 << 200):
                raise EmptySchedule
        event = self.ready.popleft()
        if event.__class__ is UrgentMark:
            event = self.take_urgent()
        run_callbacks(event)


def run_callbacks(event: Entry) -> None:
    """Process one SimPy event.

    Raises:
        BaseException: the event failed and nobody waited for it.
    """
    callbacks, event.callbacks = event.callbacks, None
    for callback in callbacks:
        callback(event)
    if not event._ok and not hasattr(event, "_defused"):
        raise event._value
