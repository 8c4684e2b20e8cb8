"""The wall clock: `time.time`, `datetime.now` and what is built on them, in virtual time.

time-machine replaces them inside C functions, so that `from time import time` and the C
`datetime` follow too. It is process-wide, so it travels only during a run; threads outside the
world keep seeing real time. Local time in the world is UTC.

This is the only file that imports time-machine. It must be imported before anything replaces
names of `time`: time-machine looks the C functions up when it is imported, and crashes if one
of them has become a Python function by then.
"""

from __future__ import annotations

import datetime
import importlib
import sys
from _thread import get_ident
from types import TracebackType
from typing import TYPE_CHECKING, Any

from faultclock.model.trace.trace import WALL_EPOCH_NS
from faultclock.sim.kernel.actors import SIMULATED
from faultclock.sim.patches import loading
from faultclock.sim.patches.clocks import note_read

if TYPE_CHECKING:
    import time_machine
else:
    # It makes a fixture wherever it finds pytest, and that takes a tenth of a second to import.
    _hidden: dict[str, Any] = {} if "pytest" in sys.modules else {"pytest": None}
    sys.modules.update(_hidden)
    time_machine = importlib.import_module("time_machine")
    for _name in _hidden:
        del sys.modules[_name]

_real_time_ns = time_machine.escape_hatch.time.time_ns


def _time_ns() -> int:
    here = SIMULATED.get(get_ident())
    if here is None:
        return WALL_EPOCH_NS if loading.stands() else _real_time_ns()
    kernel, actor = here
    note_read(kernel, actor, "time")
    return kernel.epoch_ns + kernel.env._now


class WallClock:
    """Shows their wall-clock time to the threads of a world, between enter and exit.

    Args:
        epoch_ns: at its start, in nanoseconds since 1970.
    """

    __slots__ = ("_travel",)

    def __init__(self, epoch_ns: int = WALL_EPOCH_NS) -> None:
        # The destination only names the time zone: the traveller is asked for nothing else.
        seconds = epoch_ns // 1_000_000_000
        epoch = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
        self._travel = time_machine.travel(epoch, tick=False)

    def __enter__(self) -> None:
        self._travel.start().time_ns = _time_ns  # type: ignore[method-assign]

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self._travel.stop()
