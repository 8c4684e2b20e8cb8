"""Extension modules whose randomness is out of reach, replaced function by function.

They are patched at the start of the first run that finds them imported; importing them is the
subject's business.
"""

from __future__ import annotations

import sys
import uuid
from collections.abc import Callable, Iterator
from typing import Any

from faultclock.sim.kernel.actors import current
from faultclock.sim.patches.entropy import draw, simulated_uuid1
from faultclock.sim.patches.registry import Patch, dispatching


def _uuid4() -> int:
    here = current()
    assert here is not None
    return uuid.UUID(bytes=draw(here[0], "uuid4", 16), version=4).int


def _uuid7() -> int:
    """RFC 9562, 5.7: milliseconds since 1970, then random bits."""
    here = current()
    assert here is not None
    random_bits = int.from_bytes(draw(here[0], "uuid7", 10), "big")
    value = (here[0].wall_ns // 1_000_000) << 80 | random_bits
    value &= ~(0xF000 << 64) & ~(0xC000 << 48)
    return value | 0x7000 << 64 | 0x8000 << 48


def _uuid1(node: int | None = None, clock_seq: int | None = None) -> int:
    return simulated_uuid1(node, clock_seq).int


_FUNCTIONS: dict[str, Callable[..., int]] = {"uuid1": _uuid1, "uuid4": _uuid4, "uuid7": _uuid7}

#: Module to the functions of it that draw.
MODULES: dict[str, tuple[str, ...]] = {
    "fastuuid": ("uuid1", "uuid4", "uuid7"),
    "uuid_utils": ("uuid1", "uuid4", "uuid7"),
    "uuid_utils.compat": ("uuid1", "uuid4", "uuid7"),
}


def patches_of(module_name: str) -> Iterator[Patch]:
    """Yield the patches of an imported module."""
    module = sys.modules[module_name]
    for name in MODULES[module_name]:
        if hasattr(module, name):
            yield Patch(module, name, _making(module.UUID, _FUNCTIONS[name]))


def _making(uuid_class: Any, function: Callable[..., int]) -> Callable[[Any], Any]:
    return dispatching(lambda *args, **options: uuid_class(int=function(*args, **options)))
