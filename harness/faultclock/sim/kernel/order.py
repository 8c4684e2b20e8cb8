"""Which of the things that are due at one instant comes next, where that is explored.

Everything that is due belongs to a lane (see `lanes`). Within a lane the order is kept; only the
heads of different lanes can change places, which is what a real event loop, a real scheduler of
threads and a real network leave open. So an explored order is a walk over lanes: at each tie one of
them takes its next step.

A deviation is said of the step that has to wait: the n-th step of this lane lets so many others go
before it that came after it. Played again, the n-th decision is then the same decision, and a tape
from which one deviation was taken out still means something. Without any, the order is that of the
queue: first in, first out.

An Order stands in the place of an environment's plain queue of what is due, so a world that
explores nothing pays nothing for it.
"""

from __future__ import annotations

import random
from bisect import bisect_left
from collections import deque
from collections.abc import Iterable
from heapq import heappop, heappush, heapreplace
from operator import attrgetter
from typing import Protocol

from faultclock.model.tape import Schedule, Tape
from faultclock.sim.kernel.env import Entry
from faultclock.sim.kernel.lanes import Lane, Lanes

#: So often a head of low priority is passed over before it goes first: what polls until another
#: has done something would else keep that from ever doing it, and no real scheduler does.
_PATIENCE = 1_000

_seq_of = attrgetter("seq")


class _Picker(Protocol):
    """Breaks ties."""

    def arrived(self, order: Order, lane: Lane, /) -> None:
        """Note that `lane` has a new head, and is one of the heads."""
        ...

    def pick(self, order: Order) -> int:
        """Return which of the heads goes next (0-based); there may be one only."""
        ...


class Order:
    """What is due at this instant, in an order that is explored or played.

    Args:
        schedule: how ties are broken.
        tape: the deviations that are played with `schedule.kind` `fifo`.
        prefix: what their streams begin with.

    Attributes:
        heads: the lanes with something to do, in the order in which their heads became due.
        ties: how many decisions there were so far between more than one.
        picks: how many there were in all.
    """

    def __init__(self, schedule: Schedule, tape: Tape, prefix: str) -> None:
        self._prefix = prefix
        self._lanes = Lanes(_told(schedule, tape, prefix))
        self._ahead: deque[Entry] = deque()
        self._arrived = 0
        self.picks = 0
        self._noted: dict[str, dict[int, int]] = {}
        self._picker = _picker(schedule)
        self.heads: list[Lane] = []
        self.ties = 0

    def noted(self) -> Tape:
        """Return the deviations so far."""
        self._note_heads()
        return Tape.of({self._prefix + name: steps for name, steps in self._noted.items()})

    def _note_heads(self) -> None:
        """Note who was passed over and has not gone yet: nor may it when this is played."""
        for place, lane in enumerate(self.heads):
            if waited := self.waited(place):
                self._noted.setdefault(lane.name, {})[lane.step] = waited

    def waited(self, place: int) -> int:
        """Return how many heads that came after the one at `place` went before it."""
        # Whoever goes was before it or behind it. Those before it move it up one place each, so
        # what is left of all that went is the number of those behind it.
        return self.picks + place - self.heads[place].base

    def place_of(self, lane: Lane) -> int:
        """Return where a lane with something to do stands among the heads."""
        return bisect_left(self.heads, lane.seq, key=_seq_of)

    # ------------------------------------------------------------------ as a queue

    def append(self, entry: Entry) -> None:
        """Put an entry behind all others of its lane; a cancelled one is dropped."""
        if entry._cancelled:
            return
        self._arrived = seq = self._arrived + 1
        lane = self._lanes.of(entry)
        if lane.head is None:
            lane.head = entry
            lane.seq = seq
            lane.base = self.picks + len(self.heads)
            self.heads.append(lane)
            self._picker.arrived(self, lane)
        else:
            lane.rest.append((seq, entry))

    def appendleft(self, entry: Entry) -> None:
        """Let an entry come before everything, whatever its lane: this is no tie."""
        self._ahead.appendleft(entry)

    def extendleft(self, entries: Iterable[Entry]) -> None:
        """Do what `appendleft` does, with one after the other."""
        self._ahead.extendleft(entries)

    def popleft(self) -> Entry:
        """Take out what comes next.

        Raises:
            IndexError: nothing is due.
        """
        if self._ahead:
            return self._ahead.popleft()
        heads = self.heads
        if len(heads) > 1:
            place = self._picker.pick(self)
            self.ties += 1
        else:
            place = 0
        lane = heads.pop(place)
        if waited := self.picks + place - lane.base:
            self._noted.setdefault(lane.name, {})[lane.step] = waited
        self.picks += 1
        lane.step += 1
        entry = lane.head
        lane.head = None
        if lane.rest:
            self._go_on(lane)
        return entry

    def _go_on(self, lane: Lane) -> None:
        """Put a lane back among the heads, where its next entry has its place."""
        lane.seq, lane.head = lane.rest.popleft()
        heads = self.heads
        if heads:
            place = self.place_of(lane)
            lane.base = self.picks + place
            heads.insert(place, lane)
            for later in heads[place + 1 :]:
                later.base += 1
                later.due += 1
        else:
            # So it is for most of the callbacks of a loop.
            lane.base = self.picks
            heads.append(lane)
        self._picker.arrived(self, lane)

    def clear(self) -> None:
        """Forget everything that is due, but not what was passed over."""
        self._note_heads()
        for lane in self.heads:
            lane.head = None
            lane.rest.clear()
        self.heads.clear()
        self._ahead.clear()

    def __len__(self) -> int:
        return len(self._ahead) + sum(1 + len(lane.rest) for lane in self.heads)

    def __bool__(self) -> bool:
        return bool(self.heads or self._ahead)


def _told(schedule: Schedule, tape: Tape, prefix: str) -> dict[str, dict[int, int]]:
    """Return the deviations that are played, by lane; only a tape that decides alone is."""
    if schedule.kind != "fifo":
        return {}
    return {
        stream.removeprefix(prefix): dict(chosen)
        for stream, chosen in tape.choices.items()
        if stream.startswith(prefix)
    }


def _picker(schedule: Schedule) -> _Picker:
    if schedule.kind == "random":
        return _Random(schedule)
    if schedule.kind == "pct":
        return _Priorities(schedule)
    return _Played()


class _Played:
    """Breaks ties as a tape says."""

    def arrived(self, _order: Order, lane: Lane, /) -> None:
        lane.wait()

    def pick(self, order: Order) -> int:
        # The first that has waited for as many as it was told to, as `waited` would count them.
        for count, lane in enumerate(order.heads, order.picks):
            if count >= lane.due:
                return count - order.picks
        # All are to wait, and somebody has to go: a tape of another run.
        return 0


class _Random:
    """Breaks ties evenly, or only some of them."""

    def __init__(self, schedule: Schedule) -> None:
        self._draw = random.Random(f"schedule-{schedule.seed}").random
        self._share = schedule.per_mille / 1_000

    def arrived(self, _order: Order, _lane: Lane, /) -> None:
        """Nothing to note."""

    def pick(self, order: Order) -> int:
        if self._share < 1 and self._draw() >= self._share:
            return 0
        return int(self._draw() * len(order.heads))


class _Priorities:
    """Lets the head of the highest priority go; at a few moments the one that would go loses it.

    Each lane draws a priority of its own. Of the moments, which are distinct ties out of the first
    `horizon`, number i gives its lane priority -i: below all that were drawn, and in no relation
    to which moment comes first. So any order of d steps has its chance, as in the paper.
    """

    def __init__(self, schedule: Schedule) -> None:
        drawn = random.Random(f"schedule-{schedule.seed}")
        self._draw = drawn.random
        moments = drawn.sample(range(schedule.horizon), min(schedule.depth - 1, schedule.horizon))
        self._changes = {moment: -number for number, moment in enumerate(moments, start=1)}
        self._highest = 1.0
        #: (-priority, seq, lane); one whose head is not that of `seq` any more is passed over.
        self._heap: list[tuple[float, int, Lane]] = []

    def arrived(self, order: Order, lane: Lane, /) -> None:
        if lane.priority is None:
            lane.priority = self._draw()
        if len(order.heads) == 1:
            # Nothing else in here can be a head any more.
            self._heap.clear()
        heappush(self._heap, (-lane.priority, lane.seq, lane))

    def pick(self, order: Order) -> int:
        if order.waited(0) >= _PATIENCE:
            self._highest += 1
            order.heads[0].priority = self._highest
            return 0
        heap = self._heap
        while True:
            _, seq, lane = heap[0]
            if lane.head is None or lane.seq != seq:
                heappop(heap)
                continue
            change = self._changes.pop(order.ties, None)
            if change is None:
                heappop(heap)
                return order.place_of(lane)
            lane.priority = change
            heapreplace(heap, (-change, seq, lane))
