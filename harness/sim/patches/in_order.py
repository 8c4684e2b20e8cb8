"""Sets of libraries whose members hash to their address, and which are gone through.

anyio keeps the cancel scopes inside of a scope in a set, and cancels what is in them in its order:
that is another one in every process. In the world they come in the order in which they were put in.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

from harness.sim.actors import current
from harness.sim.patches.registry import Patch, named_like

__all__ = ["MODULES", "SetInOrder", "patches_of"]

#: Module to class, and the attribute of its instances that is such a set.
MODULES: dict[str, tuple[str, str]] = {
    "anyio._backends._asyncio": ("CancelScope", "_child_scopes"),
}


class SetInOrder(dict[Any, None]):
    """As much of a set as its owner uses, in the order in which things were put in."""

    def add(self, item: Any) -> None:
        """Put `item` in, at the end unless it is there."""
        self[item] = None

    def discard(self, item: Any) -> None:
        """Take `item` out, if it is there."""
        self.pop(item, None)

    def remove(self, item: Any) -> None:
        """Take `item` out.

        Raises:
            KeyError: it is not there.
        """
        del self[item]


def patches_of(module_name: str) -> Iterator[Patch]:
    """Yield the patches of an imported module, where it is as we know it."""
    class_name, attribute = MODULES[module_name]
    owner = getattr(sys.modules[module_name], class_name, None)
    if isinstance(owner, type):
        yield Patch(owner, "__init__", _making(attribute))


def _making(attribute: str) -> Callable[[Any], Any]:
    def make(original: Callable[..., None]) -> Callable[..., None]:
        def replacement(self: Any, *args: Any, **kwargs: Any) -> None:
            original(self, *args, **kwargs)
            # Another version of the library may keep something else there.
            if current() is not None and type(getattr(self, attribute, None)) is set:
                setattr(self, attribute, SetInOrder.fromkeys(getattr(self, attribute)))

        return named_like(replacement, original)

    return make
