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
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType

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
    loading,
    machine,
    names,
    processes,
    refusals,
    sockets,
)
from faultclock.sim.patches.installer import Installation

__all__ = ["WallClock", "install", "install_late", "installed", "starting", "uninstall"]

_installation: Installation | None = None
_late: set[str] = set()
#: Libraries that are patched as soon as they are there, and what has their patches.
_NAMED = {name: named for named in (by_name, in_order, databases) for name in named.MODULES}


class _JustImported(MetaPathFinder):
    """Patches a library at its first import, which may be in the middle of a run."""

    def __init__(self) -> None:
        self._finds = False

    def find_spec(self, fullname: str, *_: object) -> ModuleSpec | None:
        if fullname not in _NAMED or self._finds:
            return None
        self._finds = True
        try:
            spec = find_spec(fullname)
        finally:
            self._finds = False
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                execute(module)
                # Another one that it imports had it looked at when it was only half there.
                _late.discard(fullname)
                if _installation is not None:
                    install_late()

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


_just_imported = _JustImported()


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
    sys.meta_path.insert(0, _just_imported)
    install_late()


def install_late() -> None:
    """Patch libraries that were imported since; called at the start of each run."""
    assert _installation is not None
    for name, named in _NAMED.items():
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
    sys.meta_path.remove(_just_imported)
    databases.leave()
    _installation.take_back()
    _installation = None
    _late.clear()


@contextmanager
def starting() -> Iterator[None]:
    """Let the calling thread load a subject: at the instant at which its runs begin."""
    # Two frames up, beyond that of `contextlib`, stands who loads it.
    with loading.begun(sys._getframe(2)), WallClock():
        yield


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
