"""Which of the things that are due at one instant comes next, where that is explored.

Everything that is due belongs to a lane: a task, a thread, one direction of a connection, and one
lane for all other callbacks of an event loop, which rely on their order. Within a lane the order is
kept; only the heads of different lanes can change places. That is all that a real scheduler and a
real network leave open.

A deviation is said of the step that has to wait: the n-th step of this lane lets so many others go
before it that came after it. Played again, the n-th decision is then the same decision, and a tape
from which one deviation was taken out still means something. Without any, the order is that of the
queue: first in, first out.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from typing import Any, Protocol

from harness.model.tape import Schedule, Tape
from harness.sim.actors import Deadline, Wake
from harness.sim.env import Call, Entry, SimEnvironment
from harness.sim.handles import SimHandle, SimTimerHandle

__all__ = ["Order"]

#: What belongs to no lane of its own: the world's own timers and its SimPy processes.
_WORLD = "world"


class _Picker(Protocol):
    """Breaks one tie."""

    def pick(self, lanes: list[str]) -> int:
        """Return which of the lanes, in the order of their heads, goes next (0-based)."""
        ...


class Order:
    """The order of one world.

    Args:
        schedule: how ties are broken.
        tape: the deviations that are played with `schedule.kind` `tape`.
        prefix: what their streams begin with.
    """

    def __init__(self, schedule: Schedule, tape: Tape, prefix: str) -> None:
        self._prefix = prefix
        self._steps: dict[str, int] = {}
        self._names: dict[str, Any] = {}
        #: How often the head of a lane was passed over, by lane.
        self._waited: dict[str, int] = {}
        self._noted: dict[str, dict[int, int]] = {}
        self._picker = self._made(schedule, tape)

    def _made(self, schedule: Schedule, tape: Tape) -> _Picker:
        if schedule.kind == "random":
            return _Random(schedule)
        if schedule.kind == "pct":
            return _Priorities(schedule)
        return _Played(self, tape)

    def noted(self) -> Tape:
        """Return the deviations so far."""
        return Tape.of({self._prefix + lane: steps for lane, steps in self._noted.items()})

    def waits(self, lane: str) -> tuple[int, int]:
        """Return the number of the lane's next step, and how often it was passed over already."""
        return self._steps.get(lane, 0), self._waited.get(lane, 0)

    def take(self, env: SimEnvironment) -> Entry:
        """Take the next entry out of what is ready, of which there is at least one."""
        ready = env.ready
        if env.ahead:
            # What was put before everything else has to come first.
            env.ahead -= 1
            return ready.popleft()
        heads = self._heads(ready) if len(ready) > 1 else {self.lane_of(ready[0]): 0}
        lanes = list(heads)
        number = self._picker.pick(lanes) if len(lanes) > 1 else 0
        for passed in lanes[:number]:
            waited = self._waited[passed] = self._waited.get(passed, 0) + 1
            self._noted.setdefault(passed, {})[self._steps.get(passed, 0)] = waited
        lane = lanes[number]
        self._steps[lane] = self._steps.get(lane, 0) + 1
        self._waited.pop(lane, None)
        place = heads[lane]
        if place == 0:
            return ready.popleft()
        entry = ready[place]
        del ready[place]
        return entry

    def _heads(self, ready: deque[Entry]) -> dict[str, int]:
        """Return the lanes with something to do, in the order of their heads, with their places."""
        while len(ready) > 1 and ready[0]._cancelled:
            ready.popleft()
        heads: dict[str, int] = {}
        for place, entry in enumerate(ready):
            if not entry._cancelled:
                heads.setdefault(self.lane_of(entry), place)
        return heads or {self.lane_of(ready[0]): 0}

    def lane_of(self, entry: Entry) -> str:
        """Return the name of the lane of an entry: the same in every process."""
        kind = entry.__class__
        if kind is SimHandle or kind is SimTimerHandle:
            owner = getattr(entry._callback, "__self__", None)
            if isinstance(owner, asyncio.Task):
                return self._named("task/" + owner.get_name(), owner)
            return f"loop/{entry._loop.number}"
        if kind is Wake:
            return f"thread/{entry.actor.number}"
        if kind is Deadline:
            return f"deadline/{entry.wake.actor.number}"
        if kind is Call:
            lane = getattr(getattr(entry.function, "__self__", None), "lane", None)
            return lane if isinstance(lane, str) else _WORLD
        return _WORLD

    def _named(self, name: str, owner: asyncio.Task[Any]) -> str:
        """Return a name that no other task has, even if it is called the same."""
        known: str | None = getattr(owner, "_lane", None)
        if known is not None:
            return known
        number, lane = 1, name
        while lane in self._names:
            number += 1
            lane = f"{name}~{number}"
        try:
            owner._lane = lane  # type: ignore[attr-defined]
        except AttributeError:
            # A task of somebody else's making that cannot be marked: one lane for all of its name.
            return name
        self._names[lane] = None
        return lane


class _Played:
    """Breaks ties as a tape says."""

    def __init__(self, order: Order, tape: Tape) -> None:
        self._order = order
        self._told = {
            stream.removeprefix(order._prefix): dict(chosen)
            for stream, chosen in tape.choices.items()
        }

    def pick(self, lanes: list[str]) -> int:
        for number, lane in enumerate(lanes):
            step, waited = self._order.waits(lane)
            if self._told.get(lane, {}).get(step, 0) <= waited:
                return number
        # All are to wait, and somebody has to go: a tape of another run.
        return 0


class _Random:
    """Breaks ties evenly, or only some of them."""

    def __init__(self, schedule: Schedule) -> None:
        self._random = random.Random(f"schedule-{schedule.seed}")
        self._per_mille = schedule.per_mille

    def pick(self, lanes: list[str]) -> int:
        drawn = self._random
        if self._per_mille < 1_000 and drawn.randrange(1_000) >= self._per_mille:
            return 0
        return drawn.randrange(len(lanes))


class _Priorities:
    """Lets the lane of the highest priority go; at a few moments the one that goes loses it."""

    def __init__(self, schedule: Schedule) -> None:
        self._random = random.Random(f"schedule-{schedule.seed}")
        self._ties = 0
        self._priority: dict[str, float] = {}
        self._lowest = 0.0
        self._changes = {
            self._random.randrange(schedule.horizon) for _ in range(schedule.depth - 1)
        }

    def pick(self, lanes: list[str]) -> int:
        for lane in lanes:
            if lane not in self._priority:
                self._priority[lane] = self._random.random()
        best = max(range(len(lanes)), key=lambda number: self._priority[lanes[number]])
        if self._ties in self._changes:
            self._lowest -= 1
            self._priority[lanes[best]] = self._lowest
            best = max(range(len(lanes)), key=lambda number: self._priority[lanes[number]])
        self._ties += 1
        return best
