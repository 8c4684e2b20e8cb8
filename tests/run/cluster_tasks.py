"""What the tests of a cluster have done over there: it is imported in a process of its own."""

from __future__ import annotations

import os
import signal
from itertools import count
from pathlib import Path

from faultclock.errors import InputError
from faultclock.run.process.workers import Shared

_numbers = count()


def squares(items: tuple[int, ...]) -> list[int]:
    """Do a chunk."""
    return [item * item for item in items]


def times(shared: Shared[int], items: tuple[int, ...]) -> list[int]:
    """Do a chunk with a value that all have."""
    return [item * shared.get() for item in items]


def stamped(items: tuple[int, ...]) -> list[tuple[int, int]]:
    """Return what is another thing each time, as a subject does that is not simulated."""
    return [(os.getpid(), next(_numbers)) for _ in items]


def mortal(items: tuple[int, ...]) -> list[int]:
    """Do a chunk; the number 13 kills the process of the runs."""
    if 13 in items:
        os.kill(os.getpid(), signal.SIGKILL)
    return squares(items)


def failing(items: tuple[int, ...]) -> list[int]:
    """Do a chunk, but for one that has a 5."""
    if 5 in items:
        raise InputError("five")
    return squares(items)


def kill_worker_once(mark: Path, items: tuple[int, ...]) -> list[int]:
    """Do a chunk; who does the number 13 for the first time kills the worker above it."""
    if 13 in items and not mark.exists():
        mark.touch()
        os.kill(os.getppid(), signal.SIGKILL)
    return squares(items)
