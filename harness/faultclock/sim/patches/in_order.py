"""Sets of libraries that are gone through, in an order that is another one in every process.

anyio keeps the cancel scopes inside of a scope in a set, and cancels what is in them in its order,
which is that of addresses: in the world they come in the order in which they were put in. botocore
tells its features in the order of a set of texts, which is that of the hash seed: in the world they
are sorted.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

from faultclock.sim.kernel.actors import current
from faultclock.sim.patches.registry import Patch, named_like


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


def _kept_in_order(attribute: str) -> Callable[[Any], Any]:
    """Make an `__init__` after which that set is one of ours."""

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def replacement(self: Any, *args: Any, **kwargs: Any) -> None:
            original(self, *args, **kwargs)
            # Another version of the library may keep something else there.
            if current() is not None and type(getattr(self, attribute, None)) is set:
                setattr(self, attribute, SetInOrder.fromkeys(getattr(self, attribute)))

        return named_like(replacement, original)

    return make


def _make_sorted_features(original: Callable[..., Any]) -> Callable[..., Any]:
    def replacement(self: Any) -> Any:
        parts = original(self)
        if current() is None:
            return parts
        return [part._replace(name=",".join(sorted(part.name.split(",")))) for part in parts]

    return named_like(replacement, original)


#: Module to class, method, and how it is replaced.
MODULES: dict[str, tuple[str, str, Callable[[Any], Any]]] = {
    "anyio._backends._asyncio": ("CancelScope", "__init__", _kept_in_order("_child_scopes")),
    "botocore.useragent": (
        "UserAgentString",
        "_build_feature_metadata",
        _make_sorted_features,
    ),
}


def patches_of(module_name: str) -> Iterator[Patch]:
    """Yield the patches of an imported module, where it is as we know it."""
    class_name, method, make = MODULES[module_name]
    owner = getattr(sys.modules[module_name], class_name, None)
    if isinstance(owner, type) and hasattr(owner, method):
        yield Patch(owner, method, make)
