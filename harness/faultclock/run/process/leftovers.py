"""What a run leaves behind in its process, so that another run made there may be another one.

    before = state()
    ...                             # a run
    state() == before               # nothing that is looked at has changed

Looked at are threads, descriptors, the working directory, the environment, and what the modules
that are not of a library refer to: counters, caches, clients, breakers. What a library keeps for
itself is not seen.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from collections import deque
from collections.abc import Hashable, Iterator
from functools import lru_cache
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, ModuleType
from typing import Any

from faultclock.run.notes.frames import Whose, whose

#: Objects that are looked at: the nearest to what is called, and the nearest to the modules.
_OBJECTS_MAX = 5_000
#: Real seconds in which a thread may end before it counts as one that stays.
_MOMENT_S = 0.1
_VALUES = (int, float, complex, str, bytes, bool, type(None))
_CODE = (BuiltinFunctionType, CodeType, FrameType, ModuleType)
_OURS = "faultclock."


def state(*roots: object) -> Hashable:
    """Return a value that is equal to another one of this process if nothing has changed between.

    It is read without calling any code of the objects that are looked at.

    Args:
        roots: what is looked at beside the modules.
    """
    return (
        _threads(),
        len(os.listdir("/proc/self/fd")),  # noqa: PTH208 - as names
        os.getcwd(),  # noqa: PTH109 - as text
        tuple(os.environ.items()),
        _own_state(roots),
    )


def _threads() -> int:
    """Return how many threads there are beside this one; one that is just ending gets a moment."""
    ends_s = time.monotonic() + _MOMENT_S
    while True:
        count = len(os.listdir("/proc/self/task")) - 1  # noqa: PTH208 - as names
        if not count or time.monotonic() > ends_s:
            return count
        os.sched_yield()


def _own_state(roots: tuple[object, ...]) -> Hashable:
    """Return what can be reached from `roots`, then from the subject's own modules."""
    namespaces = _own_modules()
    seen: set[int] = set()
    noted: list[Hashable] = [tuple(namespaces)]
    for start in (roots, namespaces.values()):
        found: deque[Any] = deque(start)
        most = len(seen) + _OBJECTS_MAX
        while found and len(seen) < most:
            for item in _referents(found.popleft(), namespaces):
                kind = type(item)
                if kind in _VALUES:
                    noted.append(item)
                elif id(item) not in seen and not issubclass(kind, _CODE):
                    seen.add(id(item))
                    noted.append(id(kind))
                    found.append(item)
    return hash(tuple(noted))


def _own_modules() -> dict[str, dict[str, Any]]:
    """Return the subject's own modules, by their names."""
    return _own_among(tuple(sys.modules))


@lru_cache(maxsize=1)
def _own_among(_names: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    return dict(_found_own())


def _found_own() -> Iterator[tuple[str, dict[str, Any]]]:
    for name, module in tuple(sys.modules.items()):
        namespace = getattr(module, "__dict__", None)
        file = None if namespace is None else namespace.get("__file__")
        if namespace is not None and isinstance(file, str) and whose(file) is Whose.OWN:
            yield name, namespace


def _referents(item: Any, namespaces: dict[str, dict[str, Any]]) -> list[Any]:
    kind = type(item)
    if kind is FunctionType:
        kept = (item.__defaults__, item.__kwdefaults__, item.__dict__, *(item.__closure__ or ()))
        is_own = whose(item.__code__.co_filename) is Whose.OWN
        return [*filter(None, kept), item.__globals__] if is_own else [*filter(None, kept)]
    if issubclass(kind, type):
        return list(vars(item).values()) if item.__module__ in namespaces else []
    if kind.__module__.startswith(_OURS) and kind.__module__ not in namespaces:
        # A lock or a clock of the simulation refers to the world of the run.
        return []
    return gc.get_referents(item)
