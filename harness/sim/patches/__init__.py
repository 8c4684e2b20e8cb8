"""The patches: process-wide, installed once, undone exactly.

Every replacement decides by the calling thread: in a world it is simulated, anywhere else it is
the original. Install before the subject's modules are imported, because locks and
`from time import monotonic` are bound then; names that were bound earlier are found by one walk
over the loaded modules.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any

# First: time-machine crashes when a function of `time` was replaced before its import.
from harness.sim.patches import wall_clock  # isort: skip
from harness.sim.net.patches import PATCHES as NETWORK_PATCHES
from harness.sim.patches import clocks, entropy, guards, locks, loops, threads
from harness.sim.patches.registry import Patch

__all__ = ["PATCHES", "install", "installed", "is_installed", "uninstall"]

PATCHES: tuple[Patch, ...] = (
    *clocks.PATCHES,
    *entropy.PATCHES,
    *locks.PATCHES,
    *threads.PATCHES,
    *loops.PATCHES,
    *guards.PATCHES,
    *NETWORK_PATCHES,
)

#: Modules that hold originals on purpose.
_NOT_WALKED = ("harness.sim", "time_machine", "_time_machine")

#: (owner, name, original, replacement) of each applied patch, in order.
_applied: list[tuple[Any, str, Any, Any]] = []

#: Those of them whose owner only inherited the name.
_inherited: set[tuple[int, str]] = set()


def is_installed() -> bool:
    """Return whether the patches are in place."""
    return bool(_applied)


def install() -> None:
    """Put every patch in place; a second time does nothing."""
    if _applied:
        return
    wall_clock.start()
    for patch in PATCHES:
        own = vars(patch.owner)
        original = own[patch.name] if patch.name in own else getattr(patch.owner, patch.name)
        replacement = patch.make(original)
        _applied.append((patch.owner, patch.name, original, replacement))
        if patch.name not in own:
            _inherited.add((id(patch.owner), patch.name))
        setattr(patch.owner, patch.name, replacement)
    # `random` keeps a name of its own for what SystemRandom and secrets draw from.
    _applied.append((random, "_urandom", random._urandom, os.urandom))  # type: ignore[attr-defined]
    random._urandom = os.urandom  # type: ignore[attr-defined]
    _rebind({id(original): (original, new) for _, _, original, new in _applied})
    guards.arm()


def uninstall() -> None:
    """Take every patch back, also where it was imported under another name."""
    if not _applied:
        return
    guards.disarm()
    _rebind({id(new): (new, original) for _, _, original, new in _applied})
    for owner, name, original, _ in reversed(_applied):
        if (id(owner), name) in _inherited:
            delattr(owner, name)
        else:
            setattr(owner, name, original)
    _applied.clear()
    _inherited.clear()
    wall_clock.stop()


@contextmanager
def installed() -> Iterator[None]:
    """Install for the time of a `with` block."""
    already = is_installed()
    install()
    try:
        yield
    finally:
        if not already:
            uninstall()


def _rebind(replacements: Mapping[int, tuple[Any, Any]]) -> None:
    """Replace in all loaded modules what was imported by name."""
    for name, module in list(sys.modules.items()):
        if not isinstance(module, ModuleType) or name.startswith(_NOT_WALKED):
            continue
        for key, value in list(vars(module).items()):
            found = replacements.get(id(value))
            if found is not None and found[0] is value:
                setattr(module, key, found[1])
