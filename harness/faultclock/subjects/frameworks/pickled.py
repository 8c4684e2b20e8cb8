"""Python objects of a framework as text, for a session that is kept in the scenario's store."""

from __future__ import annotations

import base64
import io
import pickle
from typing import Any


def pickled(state: object) -> str:
    """Return equal texts for equal states, in every process.

    The memo of pickle writes the second use of one object as a reference. Whether two equal texts
    are one object differs between processes, so it is used only where a state holds a cycle.
    """
    try:
        return _dumped(state, fast=True)
    except (ValueError, RecursionError):
        return _dumped(state, fast=False)


def _dumped(state: object, *, fast: bool) -> str:
    buffer = io.BytesIO()
    pickler = _Pickler(buffer)
    pickler.fast = fast
    pickler.dump(state)
    return base64.b64encode(buffer.getvalue()).decode()


def unpickled(text: str) -> Any:
    """Return the state that `pickled` wrote, in an earlier life of the same run."""
    return _Unpickler(io.BytesIO(base64.b64decode(text))).load()


class _Pickler(pickle.Pickler):
    """Writes a set in order: its own order follows the hash seed of the process."""

    def persistent_id(self, obj: Any) -> Any:
        if type(obj) in {set, frozenset}:
            return type(obj), sorted(obj, key=repr)
        return None


class _Unpickler(pickle.Unpickler):
    def persistent_load(self, pid: Any) -> Any:
        kind, items = pid
        return kind(items)
