"""Applies patches once and takes them back exactly, aliases included.

`from time import monotonic` binds the real function to another module's name, out of reach of
a patch of `time`. So one walk over all loaded modules replaces such names, and another takes
them back, also from modules that were loaded in between.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from faultclock.sim.patches.registry import Patch

#: Our own modules keep the originals that they need. The import system must not change.
_SKIPPED = ("faultclock.", "_frozen_importlib", "importlib._bootstrap")

_ABSENT = object()


class Installation:
    """Everything that is patched right now, and how to undo it."""

    def __init__(self) -> None:
        self._undo: list[tuple[Any, str, Any]] = []
        #: id of an original to it and its replacement, and the other way round.
        self._forward: dict[int, tuple[Any, Any]] = {}
        self._backward: dict[int, tuple[Any, Any]] = {}

    def apply(self, patches: Iterable[Patch]) -> None:
        """Apply patches, then follow the aliases of what they replace."""
        fresh: dict[int, tuple[Any, Any]] = {}
        for patch in patches:
            original = getattr(patch.owner, patch.name)
            replacement = patch.make(original)
            # A class may only have inherited the attribute; then undoing it means deleting.
            self._undo.append((patch.owner, patch.name, vars(patch.owner).get(patch.name, _ABSENT)))
            setattr(patch.owner, patch.name, replacement)
            if patch.aliases and not isinstance(patch.owner, type):
                fresh.setdefault(id(original), (original, replacement))
        self._forward.update(fresh)
        for original, replacement in fresh.values():
            self._backward.setdefault(id(replacement), (replacement, original))
        _walk(fresh)

    def take_back(self) -> None:
        """Undo everything, the last first."""
        for owner, name, kept in reversed(self._undo):
            if kept is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, kept)
        _walk(self._backward)
        self._undo.clear()
        self._forward.clear()
        self._backward.clear()


def _walk(replacements: dict[int, tuple[Any, Any]]) -> None:
    """Replace module attributes that are the first of a pair by the second."""
    for name, module in list(sys.modules.items()):
        if name.startswith(_SKIPPED):
            continue
        # A module may have put any object in its place, even one without a dictionary.
        namespace = getattr(module, "__dict__", None)
        if not isinstance(namespace, dict):
            continue
        for key, value in list(namespace.items()):
            pair = replacements.get(id(value))
            if pair is not None and pair[0] is value:
                namespace[key] = pair[1]
