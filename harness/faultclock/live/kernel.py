"""Real time for the fake provider: a monotonic clock, timers, and the ledger of facts.

It has the few names that the provider uses of the simulated kernel (`fakes.place.Clockwork`).
Facts may be recorded late, for an instant that has passed: which call a connection belongs to is
known only when its first request is read. So facts are put in order when they are sealed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol

from faultclock.fakes.provider.place import Waiting
from faultclock.model.duration import SECOND_NS
from faultclock.sim.kernel.recorder import Fact


class Timers(Protocol):
    """What calls something later, such as an event loop of asyncio."""

    def call_later(self, delay: float, callback: Callable[..., object], /, *args: Any) -> Waiting:
        """Call `callback(*args)` after `delay` seconds."""
        ...


class LiveKernel:
    """A clock that cannot be turned, and what happened by it.

    Args:
        timers: the event loop that everything runs on.
        clock: a monotonic clock in nanoseconds, the same in all processes of this machine.
        wall_clock: nanoseconds since 1970.
        watch: called with each fact right after it was recorded.

    Attributes:
        start_ns: what `clock` showed at time 0.
        epoch_ns: what `wall_clock` showed then.
        facts: in the order in which they were recorded, which need not be that of their times.
        late_ns: how late a timer was at most: so late may be what was noticed of a client.
    """

    def __init__(
        self,
        timers: Timers,
        clock: Callable[[], int] = time.monotonic_ns,
        wall_clock: Callable[[], int] = time.time_ns,
        *,
        watch: Callable[[Fact], None] | None = None,
    ) -> None:
        self._timers = timers
        self._clock = clock
        self._watch = watch
        self._floor_ns = 0
        self.start_ns = clock()
        self.epoch_ns = wall_clock()
        self.facts: list[Fact] = []
        self.late_ns = 0

    @property
    def now_ns(self) -> int:
        """Nanoseconds since time 0."""
        return max(self._floor_ns, self._clock() - self.start_ns)

    def record(self, actor: str, kind: str, /, **payload: Any) -> int:
        """Record a fact of now and return how many there are."""
        return self.record_at(self.now_ns, actor, kind, **payload)

    def record_at(self, at_ns: int, actor: str, kind: str, /, **payload: Any) -> int:
        """Record a fact of an instant that may have passed, and return how many there are."""
        fact = (len(self.facts) + 1, at_ns, actor, kind, payload)
        self.facts.append(fact)
        if self._watch is not None:
            self._watch(fact)
        return len(self.facts)

    def call_after(self, delay_ns: int, function: Callable[..., object], *args: Any) -> Waiting:
        """Call `function(*args)` no sooner than `delay_ns` from now."""
        due_ns = self.now_ns + delay_ns
        return self._timers.call_later(delay_ns / SECOND_NS, self._fire, due_ns, function, args)

    def _fire(self, due_ns: int, function: Callable[..., object], args: tuple[Any, ...]) -> None:
        # Event loops may fire a step of their clock too soon, and a delay that was played is one.
        self._floor_ns = max(self._floor_ns, due_ns)
        self.late_ns = max(self.late_ns, self.now_ns - due_ns)
        function(*args)
