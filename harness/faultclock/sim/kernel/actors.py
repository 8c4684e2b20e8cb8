"""Simulated threads, and what they wait on.

An Actor is one simulated thread: a real OS thread that runs only while it holds the baton. Its
`lock` is the baton's mail slot: released to hand the baton over, acquired to wait for it.
"""

from __future__ import annotations

import threading
from _thread import allocate_lock, get_ident
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from faultclock.sim.kernel.context import current_call

if TYPE_CHECKING:
    from faultclock.sim.kernel.kernel import Kernel
    from faultclock.sim.kernel.loop import KernelLoop


class TimedOut:
    """The type of TIMED_OUT."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "TIMED_OUT"


#: What `Kernel.park` returns when the deadline came first.
TIMED_OUT = TimedOut()


#: Real seconds for what a thread that has ended still tears down: a destructor of the subject may
#: hang, and a loaded machine may be slow.
_GONE_S_MAX = 60.0


class Actor:
    """One simulated thread of one kernel.

    Attributes:
        number: 0 for the main one, then in the order of their start.
        ident: identifier of the OS thread, 0 until it is known.
        wake: what it is parked on; None while it runs or steps an event loop.
        woken: its wake was met while another thread held the baton.
        loop: the event loop that it steps right now.
        dead: it has ended.
        joiners: who waits for its end.
        reads, read_at_ns: clock reads since the clock last moved under it.
        spun_ns: virtual time that it was charged for spinning on a clock.
        kills: how often it was told to end.
        gone: waits until its OS thread is gone, for so many seconds at most, and returns whether it
            is; None for a thread that we did not start.
    """

    __slots__ = (
        "dead",
        "gone",
        "ident",
        "joiners",
        "kills",
        "lock",
        "loop",
        "name",
        "number",
        "read_at_ns",
        "reads",
        "spun_ns",
        "thread",
        "wake",
        "woken",
    )

    def __init__(self, name: str, number: int) -> None:
        self.name = name
        self.number = number
        self.lock = allocate_lock()
        self.lock.acquire()
        self.ident = 0
        self.thread: threading.Thread | None = None
        self.wake: Wake | None = None
        self.woken = False
        self.loop: KernelLoop | None = None
        self.dead = False
        self.joiners: list[Wake] = []
        self.reads = 0
        self.read_at_ns = -1
        self.spun_ns = 0
        self.kills = 0
        self.gone: Callable[[float], bool] | None = None

    def forget(self) -> None:
        """Treat its thread as one that has ended, whatever it does."""
        self.dead = True
        SIMULATED.pop(self.ident, None)
        threading._active.pop(self.ident, None)  # type: ignore[attr-defined]

    def is_gone(self) -> bool:
        """Wait for the end of its OS thread, and return whether it has come.

        The interpreter tears down what a thread still holds as it ends: the objects of its
        `threading.local`, its frames. Side by side with the next holder of the baton that would
        come in another order, and leave other addresses for new objects, in each process.
        """
        return self.gone is None or self.gone(_GONE_S_MAX)

    def __repr__(self) -> str:
        return f"<Actor {self.number} {self.name!r}>"


class Wake:
    """One wait of one actor; met at most once.

    Attributes:
        reason: what a report says that the actor waits for.
        call: of the harness, which the actor was about.
        done: it was fired, or its deadline came.
        spent: it came round before the actor parked on it.
    """

    __slots__ = ("actor", "call", "done", "reason", "spent", "value")
    _cancelled = False

    def __init__(self, actor: Actor, reason: str) -> None:
        self.actor = actor
        self.reason = reason
        self.call = current_call()
        self.done = False
        self.spent = False
        self.value: Any = None


class Deadline:
    """The end of a wait's patience."""

    __slots__ = ("_cancelled", "wake")

    def __init__(self, wake: Wake) -> None:
        self.wake = wake
        self._cancelled = False


#: OS thread identifier to the kernel and actor that run on it. Patches look here at each use.
SIMULATED: dict[int, tuple[Kernel, Actor]] = {}


def current() -> tuple[Kernel, Actor] | None:
    """Return the kernel and actor of the calling thread, None if it is not simulated."""
    return SIMULATED.get(get_ident())
