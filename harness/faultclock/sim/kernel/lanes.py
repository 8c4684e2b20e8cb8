"""Lanes: who the things that are due belong to, and what each of these is called on a tape.

A lane is a thread, the patience of a thread, one direction of a connection, all that one event
loop was asked to call back soon, the timers that one task has set, the timers of a loop that no
task has set, or the world itself. Within a lane the order is kept. A network keeps its own; and a
loop promises to call back "in the order in which they are registered" (Python documentation,
asyncio, `loop.call_soon`), which holds for the steps of its tasks too, so code may rely on it. What
it does not promise is the order of two timers that are due at one time ("undefined",
`loop.call_later`), or what comes first of a timer, a packet and a thread.

A name is the same in every process. The first word says what kind of lane it is, so no two kinds
can collide. What a subject calls its tasks is taken over where it is short and plain; addresses
are taken out, since they differ in every process, and what is called the same is numbered in the
order in which their first timers come due.
"""

from __future__ import annotations

import hashlib
import re
from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from faultclock.sim.kernel.actors import Deadline, Wake
from faultclock.sim.kernel.env import Call, Entry
from faultclock.sim.kernel.handles import SimHandle, SimTimerHandle

if TYPE_CHECKING:
    from faultclock.sim.kernel.loop import KernelLoop

#: Addresses, and numbers that are as long as one: what `repr`, `id` and `hash` put into names.
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{5,}|[0-9]{12,}")
#: What a name may be made of. The tilde is left out: it begins a number or a digest of ours.
_STRANGE = re.compile(r"[^ -}]")
_NAME_MAX = 64
_KEPT = 40
_DIGITS = 8


class Lane:
    """One lane, and where it stands.

    Attributes:
        name: on a tape.
        step: 0-based number of its next step.
        head: its next entry; None while it has nothing to do.
        seq: when that became due, among all entries.
        rest: (seq, entry) of what is due after that.
        base: what `Order` counts from, to tell how many went before the head.
        due: that, and how many a tape lets go before it.
        told: how many others a tape lets go before each step, by its number.
        priority: where priorities decide.
    """

    __slots__ = ("base", "due", "head", "name", "priority", "rest", "seq", "step", "told")

    def __init__(self, name: str, told: Mapping[int, int] | None) -> None:
        self.name = name
        self.step = 0
        self.head: Entry | None = None
        self.seq = 0
        self.rest: deque[tuple[int, Entry]] = deque()
        self.base = 0
        self.due = 0
        self.told = told
        self.priority: float | None = None

    def wait(self) -> None:
        """Take from the tape how long the head has to wait."""
        self.due = self.base if self.told is None else self.base + self.told.get(self.step, 0)


class Lanes:
    """The lanes of one world.

    Args:
        told: what a tape says of the steps of each lane, by its name.
    """

    def __init__(self, told: Mapping[str, Mapping[int, int]]) -> None:
        self._told = told
        self._known: dict[tuple[str, Any], Lane] = {}
        self._called: dict[str, int] = {}

    def of(self, entry: Entry) -> Lane:
        """Return the lane of an entry that is not cancelled."""
        kind = entry.__class__
        if kind is SimHandle:
            return entry._loop.lane or self._of_loop(entry._loop)
        if kind is SimTimerHandle:
            return self._of_timer(entry)
        if kind is Wake:
            return self._of("thread", entry.actor.number)
        if kind is Deadline:
            return self._of("deadline", entry.wake.actor.number)
        if kind is Call:
            name = getattr(getattr(entry.function, "__self__", None), "lane", None)
            if isinstance(name, str):
                return self._of("net", name)
        return self._of("world", None)

    def _of_timer(self, timer: SimTimerHandle) -> Lane:
        soon = self._of_loop(timer._loop)
        if soon.head is not None:
            # A loop looks at its timers after what it has to do already: none can overtake that.
            return soon
        number = timer._loop.number
        task: Any = timer._maker
        if task is None:
            return self._of("timer", number)
        try:
            lane: Lane = task._lane
        except AttributeError:
            lane = self._of_new_task(task, number)
        return lane

    def _of_loop(self, loop: KernelLoop) -> Lane:
        if loop.lane is None:
            loop.lane = self._of("loop", loop.number)
        return loop.lane

    def _of(self, kind: str, which: Any) -> Lane:
        key = (kind, which)
        lane = self._known.get(key)
        if lane is None:
            name = kind if which is None else f"{kind}/{which}"
            lane = self._known[key] = Lane(name, self._told.get(name))
        return lane

    def _of_new_task(self, task: Any, loop_number: int) -> Lane:
        name = self._unique(f"timer/{loop_number}/{plain_name(_name_of(task))}")
        lane = Lane(name, self._told.get(name))
        try:
            task._lane = lane
        except AttributeError:
            # A task of somebody else's making that cannot be marked has no lane of its own.
            return self._of("timer", loop_number)
        return lane

    def _unique(self, name: str) -> str:
        number = self._called.get(name, 0) + 1
        self._called[name] = number
        return name if number == 1 else f"{name}~{number}"


def plain_name(name: str) -> str:
    """Return a name without addresses: short printable ASCII, the same in every process.

    What is too long or strange is cut, and told apart by a digest of the whole.
    """
    name = _ADDRESS.sub("#", name)
    if len(name) <= _NAME_MAX and not _STRANGE.search(name):
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{_STRANGE.sub('_', name[:_KEPT])}~{digest[:_DIGITS]}"


def _name_of(task: Any) -> str:
    try:
        return str(task.get_name())
    except Exception:  # noqa: BLE001 - a subject's own class may answer with anything
        return ""
