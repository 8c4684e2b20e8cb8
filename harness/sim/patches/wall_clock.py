"""The wall clock: `time.time`, `datetime.now` and their kin, at C level, by time-machine.

One traveller stays while the patches are installed; its answer depends on the thread that asks,
so the process around a world keeps real time. The only file that imports time_machine, and it
must be imported before anything replaces a function of `time`: time-machine crashes otherwise.
"""

from __future__ import annotations

import _thread

import time_machine

from harness.model.trace import WALL_EPOCH_NS
from harness.sim.kernel import _BY_IDENT

__all__ = ["start", "stop"]

_real_time_ns = time_machine.escape_hatch.time.time_ns
_get_ident = _thread.get_ident
_travel: time_machine.travel | None = None


def _time_ns() -> int:
    here = _BY_IDENT.get(_get_ident())
    if here is None:
        return _real_time_ns()
    kernel = here[0]
    kernel.clock_read("wall")
    return WALL_EPOCH_NS + kernel.env._now


def start() -> None:
    """Begin to answer simulated threads with virtual time."""
    global _travel
    if _travel is None:
        _travel = time_machine.travel(0, tick=False)
        traveller = _travel.start()
        traveller.time_ns = _time_ns  # type: ignore[method-assign]


def stop() -> None:
    """Undo `start`."""
    global _travel
    if _travel is not None:
        _travel.stop()
        _travel = None
