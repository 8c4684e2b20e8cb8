"""Refusing what cannot be simulated: by name, and so that it cannot be hidden.

A refusal is recorded on the kernel first, then raised. The exception does not derive from
Exception, because subjects catch that; and when one catches even BaseException the record
stays, and the run proves nothing.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

from faultclock.sim.kernel.actors import current
from faultclock.sim.kernel.ending import Ending

if TYPE_CHECKING:
    from faultclock.sim.kernel.kernel import Kernel


class SimEscape(BaseException):
    """The subject reached for something real that the world cannot simulate."""


class SimKilled(BaseException):
    """The run is over: raised inside every simulated thread that still waits."""


def refuse(what: str) -> NoReturn:
    """Record that the subject reached for `what`, and raise.

    Raises:
        SimEscape: always.
    """
    site = call_site()
    here = current()
    if here is not None:
        here[0].escaped(what, site)
    raise SimEscape(f"{what} at {site} cannot be simulated")


def end_refused(kernel: Kernel, what: str, site: str) -> None:
    """End a run in which the subject has reached for `what`, as only its other side could see."""
    kernel.escaped(what, site)
    kernel.end(Ending(reason="escape", detail=tuple(kernel.escapes)))


def call_site() -> str:
    """Return `module:line` of the innermost frame that is neither ours nor the library's."""
    return site_of(sys._getframe(1))


def site_of(frame: FrameType | None) -> str:
    """Return `module:line` of the first frame outwards that is neither ours nor the library's."""
    fallback = "unknown:0"
    while frame is not None:
        name = str(frame.f_globals.get("__name__", "unknown"))
        if not name.startswith("faultclock.sim"):
            site = f"{name}:{frame.f_lineno}"
            if name.partition(".")[0] not in sys.stdlib_module_names:
                return site
            if fallback == "unknown:0":
                fallback = site
        frame = frame.f_back
    return fallback
