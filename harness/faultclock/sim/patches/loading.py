"""A subject is loaded at the instant at which its runs begin, and with entropy of its own.

What a module keeps when it is imported, such as the time of its last call, a generator of jitter or
a session id, lives on in the runs. With the time of this machine there, a token bucket would begin
hours in the future; with its entropy, no two processes would make the same run.

Code that waits needs a clock that moves, so it sees the real one: an event loop, a lock with a
deadline, code that sleeps, and code that reads clocks again and again.
"""

from __future__ import annotations

import random
import sys
from _thread import get_ident
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

#: Reads of clocks after which the code waits for them to move.
_READS_MAX = 10_000
#: Packages whose code reads a clock in order to wait.
_WAITING = frozenset(
    {"_pyrepl", "anyio", "asyncio", "concurrent", "multiprocessing", "queue", "selectors"}
    | {"socketserver", "subprocess", "threading", "trio", "uvloop"}
)
_SEED = 0


class _Loader:
    """Who loads a subject."""

    __slots__ = ("base", "entropy", "reads", "thread")

    def __init__(self, base: FrameType) -> None:
        self.base = base
        self.thread = get_ident()
        self.entropy = random.Random(_SEED)
        self.reads = 0

    def is_here(self) -> bool:
        """Return whether the calling thread is the one that loads."""
        return self.thread == get_ident()


_loader: _Loader | None = None


@contextmanager
def begun(base: FrameType) -> Iterator[None]:
    """Let the calling thread be the one that loads a subject.

    Args:
        base: the frame that loads it; what stands above it belongs to the subject.
    """
    global _loader
    state = random.getstate()
    _loader = _Loader(base)
    random.seed(_SEED)
    try:
        yield
    finally:
        _loader = None
        random.setstate(state)


def stands() -> bool:
    """Return whether a clock that is read now shows the start of the runs."""
    loader = _loader
    if loader is None or not loader.is_here() or loader.reads >= _READS_MAX:
        return False
    loader.reads += 1
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame is not loader.base:
        if str(frame.f_globals.get("__name__")).partition(".")[0] in _WAITING:
            return False
        frame = frame.f_back
    return True


def waits() -> None:
    """Note that the calling thread waits: from now on it sees the real clock."""
    if _loader is not None and _loader.is_here():
        _loader.reads = _READS_MAX


def drawn(bytes_count: int) -> bytes | None:
    """Return entropy for the calling thread, if it loads a subject."""
    if _loader is None or not _loader.is_here():
        return None
    return _loader.entropy.randbytes(bytes_count)
