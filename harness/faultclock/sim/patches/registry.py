"""What a patch is: one name of one owner, and how its replacement is made.

Descriptions only. The installer applies them once and takes them back exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from faultclock.sim.kernel.actors import current
from faultclock.sim.kernel.escapes import refuse

Function = Callable[..., Any]


class Patch(Struct, frozen=True):
    """One replacement.

    Attributes:
        owner: a module or class that has the attribute.
        name: the attribute.
        make: given the original, returns the replacement, which decides at each use whether the
            calling thread is simulated.
        aliases: also replace the original where other modules bound it to a name of theirs.
    """

    owner: Any
    name: str
    make: Callable[[Any], Any]
    aliases: bool = True


def dispatching(simulated: Function) -> Callable[[Function], Function]:
    """Make a replacement that calls `simulated` in the world and the original elsewhere."""

    def make(original: Function) -> Function:
        def replacement(*args: Any, **kwargs: Any) -> Any:
            if current() is None:
                return original(*args, **kwargs)
            return simulated(*args, **kwargs)

        return named_like(replacement, original)

    return make


def refusing(name: str) -> Callable[[Function], Function]:
    """Make a replacement that is refused by `name` in the world."""

    def simulated(*_args: Any, **_kwargs: Any) -> Any:
        refuse(name)

    return dispatching(simulated)


def named_like(replacement: Function, original: Any) -> Function:
    """Give `replacement` the names and the documentation of `original`."""
    for name in ("__name__", "__qualname__", "__module__", "__doc__"):
        if hasattr(original, name):
            setattr(replacement, name, getattr(original, name))
    return replacement
