"""Who waits for one simulated socket: parked threads and loops that poll it.

Every change of a socket (bytes, end of stream, reset, connected, accepted) tells all of them,
and each looks again for itself: level-triggered, as poll(2) is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from faultclock.sim.kernel.kernel import TIMED_OUT, Kernel, Wake

if TYPE_CHECKING:
    from faultclock.sim.net.sockets import SimSocket

NANOSECONDS_PER_SECOND = 1_000_000_000


def timeout_to_ns(timeout_s: float | None) -> int | None:
    """Return a client's delay in seconds as nanoseconds; None stays None, as "for ever"."""
    return None if timeout_s is None else round(timeout_s * NANOSECONDS_PER_SECOND)


class Watchers:
    """The waiters of one socket. It is the sink of the socket's endpoint."""

    __slots__ = ("hooks", "wakes")

    def __init__(self) -> None:
        self.wakes: list[tuple[Kernel, Wake]] = []
        #: Loops that watch the descriptor, each by its own key.
        self.hooks: dict[object, Callable[[], None]] = {}

    def on_readable(self) -> None:
        """Tell every waiter to look again."""
        if self.wakes:
            wakes, self.wakes = self.wakes, []
            for kernel, wake in wakes:
                kernel.fire(wake)
        for hook in tuple(self.hooks.values()):
            hook()


def park_until(
    kernel: Kernel,
    sockets: Iterable[SimSocket],
    ready: Callable[[], bool],
    timeout_ns: int | None,
    reason: str,
) -> bool:
    """Block the simulated thread until `ready()` or the deadline; return whether it is ready.

    Args:
        kernel: the world of the calling thread.
        sockets: whose changes may make it ready.
        ready: looked at again after each change.
        timeout_ns: from now; None waits for ever, 0 only looks.
        reason: what a deadlock report says that the thread waits for.
    """
    if ready():
        return True
    if timeout_ns == 0:
        return False
    deadline_ns = None if timeout_ns is None else kernel.now_ns + timeout_ns
    all_watchers = [sock.watchers for sock in sockets]
    while True:
        wake = kernel.waiter(reason)
        entry = (kernel, wake)
        for watchers in all_watchers:
            watchers.wakes.append(entry)
        left_ns = None if deadline_ns is None else deadline_ns - kernel.now_ns
        try:
            timed_out = kernel.park(wake, left_ns) is TIMED_OUT
        finally:
            for watchers in all_watchers:
                if entry in watchers.wakes:
                    watchers.wakes.remove(entry)
        if ready():
            return True
        if timed_out or deadline_ns == kernel.now_ns:
            return False
