"""What a subject can learn of the machine: always the same one.

SDKs put the platform into their headers, and a thread pool's size follows the number of
processors, so a trace would differ between machines. Asking `platform` also runs a program.
"""

from __future__ import annotations

import os
import platform
from typing import Any

from faultclock.sim.patches.registry import Patch, dispatching

#: Processors of the simulated machine.
PROCESSORS = 8

_SYSTEM = ("Linux", "localhost", "6.1.0", "#1 SMP", "x86_64")
_PLATFORM = "Linux-6.1.0-x86_64-with-glibc2.36"


def _uname() -> Any:
    result = platform.uname_result(*_SYSTEM)
    # A cached property, which would run a program at its first use.
    result.__dict__["processor"] = ""
    return result


def _platform(aliased: bool = False, terse: bool = False) -> str:  # noqa: ARG001 - its signature
    return _PLATFORM


def _os_uname() -> Any:
    return os.uname_result(_SYSTEM)


PATCHES: tuple[Patch, ...] = (
    Patch(os, "uname", dispatching(_os_uname)),
    Patch(os, "getloadavg", dispatching(lambda: (0.0, 0.0, 0.0))),
    Patch(platform, "uname", dispatching(_uname)),
    Patch(platform, "platform", dispatching(_platform)),
    Patch(os, "cpu_count", dispatching(lambda: PROCESSORS)),
    *(
        (Patch(os, "process_cpu_count", dispatching(lambda: PROCESSORS)),)
        if hasattr(os, "process_cpu_count")
        else ()
    ),
    *(
        (Patch(os, "sched_getaffinity", dispatching(lambda _pid: set(range(PROCESSORS)))),)
        if hasattr(os, "sched_getaffinity")
        else ()
    ),
)
