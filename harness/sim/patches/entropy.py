"""Randomness: seeded per run, and recorded where it is drawn from the system.

The module-level functions of `random` are seeded by the world; everything that asks the system
(`os.urandom`, uuid4, secrets, SystemRandom, an unseeded `random.Random()`) draws from a second
stream, so that one more uuid does not change the jitter.
"""

from __future__ import annotations

import os
import random
import uuid
from collections.abc import Callable
from typing import Any

from harness.sim.context import current_call
from harness.sim.kernel import Kernel, current
from harness.sim.patches.registry import Patch

__all__ = ["PATCHES"]

#: A locally administered address: the real one would differ between machines.
_NODE = 0x02_00_00_00_00_01


def _draw(kernel: Kernel, source: str, count: int) -> bytes:
    kernel.count(source)
    kernel.record(
        "subject", "entropy", source=source, bytes_count=count, call=current_call()
    )
    return kernel.entropy.randbytes(count)


def _make_urandom(original: Callable[[int], bytes]) -> Callable[[int], bytes]:
    def urandom(size: int, /) -> bytes:
        here = current()
        if here is None:
            return original(size)
        if size < 0:
            raise ValueError("negative argument not allowed")
        return _draw(here[0], "urandom", size)

    urandom.__doc__ = original.__doc__
    return urandom


def _make_getrandom(original: Callable[..., bytes]) -> Callable[..., bytes]:
    def getrandom(size: int, flags: int = 0) -> bytes:
        here = current()
        return original(size, flags) if here is None else _draw(here[0], "getrandom", size)

    return getrandom


def _make_seed(original: Callable[..., None]) -> Callable[..., None]:
    def seed(self: random.Random, a: Any = None, version: int = 2) -> None:
        here = current()
        if here is not None and a is None:
            a = int.from_bytes(_draw(here[0], "random.seed", 32), "big")
        original(self, a, version)

    seed.__doc__ = original.__doc__
    return seed


def _make_getnode(original: Callable[[], int]) -> Callable[[], int]:
    def getnode() -> int:
        return original() if current() is None else _NODE

    return getnode


PATCHES: tuple[Patch, ...] = (
    Patch(owner=os, name="urandom", make=_make_urandom),
    Patch(owner=os, name="getrandom", make=_make_getrandom),
    Patch(owner=random.Random, name="seed", make=_make_seed),
    Patch(owner=uuid, name="getnode", make=_make_getnode),
)
