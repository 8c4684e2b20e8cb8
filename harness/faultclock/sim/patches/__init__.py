"""How an unmodified subject gets the world instead of the real thing.

Installed once in a process, before the subject is imported; every replacement decides at each
use whether the calling thread is simulated, so outside a run nothing changes. `uninstall`
leaves the process exactly as it was, but for the audit hook, which then looks away.
"""

from __future__ import annotations

# First of all, before anything could replace a name of `time`: see the warning there.
from faultclock.sim.patches.wall_clock import WallClock  # isort: skip

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from faultclock.errors import InternalError
from faultclock.sim.kernel.actors import current
from faultclock.sim.patches import (
    blocking,
    by_name,
    clocks,
    databases,
    entropy,
    files,
    in_order,
    listings,
    machine,
    names,
    processes,
    refusals,
    sockets,
)
from faultclock.sim.patches.installer import Installation

__all__ = ["WallClock", "install", "install_late", "installed", "uninstall"]

_installation: Installation | None = None
_late: set[str] = set()


def install() -> None:
    """Install all patches; nothing happens when they are."""
    global _installation
    if _installation is not None:
        return
    _installation = Installation()
    _installation.apply(
        (
            *clocks.PATCHES,
            *blocking.PATCHES,
            *entropy.PATCHES,
            *machine.PATCHES,
            *files.PATCHES,
            *names.PATCHES,
            *listings.PATCHES,
            *processes.PATCHES,
            *refusals.PATCHES,
            *sockets.PATCHES,
        )
    )
    refusals.arm()
    install_late()


def install_late() -> None:
    """Patch libraries that were imported since; called at the start of each run."""
    assert _installation is not None
    for named in (by_name, in_order, databases):
        for name in named.MODULES:
            if name in sys.modules and name not in _late:
                _late.add(name)
                _installation.apply(named.patches_of(name))


def uninstall() -> None:
    """Take all patches back; nothing happens when there are none.

    Raises:
        InternalError: called inside a run.
    """
    global _installation
    if _installation is None:
        return
    if current() is not None:
        raise InternalError("patches cannot be taken back inside a run")
    refusals.disarm()
    databases.leave()
    _installation.take_back()
    _installation = None
    _late.clear()


@contextmanager
def installed() -> Iterator[None]:
    """Have the patches installed for a while; nested uses leave them to the outermost."""
    outermost = _installation is None
    install()
    try:
        yield
    finally:
        if outermost:
            uninstall()
