"""Listings of the folder of a store under test: names come in their own order.

The order that a file system has differs between machines, and so would a trace.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

from faultclock.sim.host.disk import current_disk
from faultclock.sim.patches.registry import Patch, named_like


def _make_listdir(original: Callable[..., Any]) -> Callable[..., Any]:
    """Names below the folder come in their own order: the real one differs between machines."""

    def listdir(path: Any = ".") -> Any:
        found = original(path)
        disk = current_disk()
        if disk is not None and not isinstance(path, int) and disk.named(path) is not None:
            found.sort()
        return found

    return named_like(listdir, original)


class _Entries:
    """What `os.scandir` returns, sorted."""

    def __init__(self, entries: Any) -> None:
        with entries:
            self._entries = iter(sorted(entries, key=lambda entry: entry.name))

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return next(self._entries)

    def __enter__(self) -> _Entries:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End it."""
        self._entries = iter(())


def _make_scandir(original: Callable[..., Any]) -> Callable[..., Any]:
    def scandir(path: Any = ".") -> Any:
        entries = original(path)
        disk = current_disk()
        if disk is None:
            return entries
        known = path in disk.handles if isinstance(path, int) else disk.named(path) is not None
        return _Entries(entries) if known else entries

    return named_like(scandir, original)


PATCHES: tuple[Patch, ...] = (
    Patch(os, "listdir", _make_listdir),
    Patch(os, "scandir", _make_scandir),
)
