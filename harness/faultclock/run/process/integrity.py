"""Whether Faultclock is still what it was before code that is not ours was loaded.

    before = Untouched()            # right before the subject is loaded
    before.changed()                # "faultclock.run.lives.lives_of" where the subject replaced it

It shows the usual ways in which one program changes another: a function or a class replaced in a
module, a method replaced in a class, the code of a function exchanged.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType, MethodType
from typing import Any

import faultclock

_OURS = f"{faultclock.__name__}."
_WRAPPERS = (classmethod, staticmethod, MethodType)

#: Where something stands, its name there, itself, and the function that it is, with its code.
_Kept = tuple[dict[str, Any], str, object, FunctionType | None, CodeType | None]


class Untouched:
    """Our functions and classes as they were when this was made.

    Args:
        modules: names of those that are looked at; none: all that are loaded.
    """

    def __init__(self, *modules: str) -> None:
        self._kept = tuple(_functions(modules or tuple(sys.modules)))

    def changed(self) -> str:
        """Return the name of the first of them that is another one now; empty: none is."""
        for namespace, name, value, function, code in self._kept:
            if namespace.get(name) is not value or (
                function is not None and function.__code__ is not code
            ):
                return f"{namespace.get('__module__') or namespace.get('__name__')}.{name}"
        return ""


def _functions(modules: Iterable[str]) -> Iterator[_Kept]:
    for module_name in modules:
        if module_name.startswith(_OURS):
            namespace = vars(sys.modules[module_name])
            for name, value in tuple(namespace.items()):
                if isinstance(value, FunctionType):
                    if _is_ours(value):
                        yield namespace, name, value, value, value.__code__
                elif isinstance(value, type) and _is_ours(value):
                    yield namespace, name, value, None, None
                    if value.__module__ == module_name:
                        yield from _methods(vars(value))


def _is_ours(value: object) -> bool:
    return str(getattr(value, "__module__", "")).startswith(_OURS)


def _methods(namespace: Any) -> Iterator[_Kept]:
    for name, value in tuple(namespace.items()):
        function: object = value
        # By their types: to ask any other object for an attribute may do anything.
        if isinstance(value, _WRAPPERS):
            function = value.__func__
        elif isinstance(value, property):
            function = value.fget
        if isinstance(function, FunctionType):
            yield namespace, name, value, function, function.__code__
