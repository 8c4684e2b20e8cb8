"""Randomness that does not come from `random.seed`: the operating system's, and uuid1's.

Draws come from a seeded stream of the kernel's, apart from the one of the module `random`, so
that a uuid more does not shift a jitter. Each draw is a fact. What the module `random` hands
out is seeded once a run, in `surroundings`.

Not reachable: `_random.Random()` used directly, and extension modules that ask the system
themselves, unless they are named in `by_name`.
"""

from __future__ import annotations

import os
import random
import ssl
import uuid
from collections.abc import Callable
from typing import Any

from faultclock.sim.kernel.actors import current
from faultclock.sim.kernel.context import current_call
from faultclock.sim.kernel.flood import make_room
from faultclock.sim.kernel.kernel import Kernel
from faultclock.sim.patches import loading
from faultclock.sim.patches.registry import Patch, dispatching, named_like

#: Node of every simulated uuid1: locally administered, as for a machine without a card.
_NODE = 0x0200_0000_0001
#: From 1582-10-15, where uuid's time starts, to 1970, in units of 100 ns (RFC 9562, 5.1).
_UUID_EPOCH = 0x01B2_1DD2_1381_4000
_UUID_LAST = "_uuid1_last"


def draw(kernel: Kernel, source: str, bytes_count: int) -> bytes:
    """Return simulated entropy and record the draw."""
    make_room(kernel)
    kernel.record("subject", "entropy", source=source, bytes_count=bytes_count, call=current_call())
    kernel.touched["entropy_bytes"] = kernel.touched.get("entropy_bytes", 0) + bytes_count
    return kernel.entropy.randbytes(bytes_count)


def _drawing(source: str) -> Callable[[Any], Any]:
    def make(original: Callable[..., bytes]) -> Callable[..., bytes]:
        def replacement(size: int, *flags: Any) -> bytes:
            here = current()
            if here is None:
                drawn = loading.drawn(size) if size >= 0 else None
                return original(size, *flags) if drawn is None else drawn
            if size < 0:
                raise ValueError("negative argument not allowed")
            return draw(here[0], source, size)

        return named_like(replacement, original)

    return make


def _drawn_seed(source: str) -> int | None:
    """Return a seed from the world, or from the loading of a subject; None outside of both."""
    here = current()
    drawn = loading.drawn(32) if here is None else draw(here[0], source, 32)
    return None if drawn is None else int.from_bytes(drawn, "big")


def _make_seed_method(original: Callable[..., None]) -> Callable[..., None]:
    """Seed an unseeded generator from the world; C code would ask the real system."""

    def seed(self: random.Random, a: Any = None, version: int = 2) -> None:
        original(self, _drawn_seed("random.Random") if a is None else a, version)

    return named_like(seed, original)


def _make_seed_function(original: Callable[..., None]) -> Callable[..., None]:
    """`random.seed` is bound to the method as it was when `random` was imported."""

    def seed(a: Any = None, version: int = 2) -> None:
        original(_drawn_seed("random.seed") if a is None else a, version)

    return named_like(seed, original)


def simulated_uuid1(node: int | None = None, clock_seq: int | None = None) -> uuid.UUID:
    """Return a version 1 uuid of the world's time, of a fixed node unless one is given."""
    here = current()
    assert here is not None
    kernel = here[0]
    last = kernel.touched.get(_UUID_LAST, 0)
    stamp = max(kernel.wall_ns // 100 + _UUID_EPOCH, last + 1)
    kernel.touched[_UUID_LAST] = stamp
    if clock_seq is None:
        clock_seq = random.getrandbits(14)
    fields = (
        stamp & 0xFFFF_FFFF,
        (stamp >> 32) & 0xFFFF,
        (stamp >> 48) & 0x0FFF,
        (clock_seq >> 8) & 0x3F,
        clock_seq & 0xFF,
        _NODE if node is None else node,
    )
    return uuid.UUID(fields=fields, version=1)


PATCHES: tuple[Patch, ...] = (
    Patch(os, "urandom", _drawing("os.urandom")),
    *((Patch(os, "getrandom", _drawing("os.getrandom")),) if hasattr(os, "getrandom") else ()),
    Patch(ssl, "RAND_bytes", _drawing("ssl.RAND_bytes")),
    Patch(random.Random, "seed", _make_seed_method),
    Patch(random, "seed", _make_seed_function),
    Patch(uuid, "uuid1", dispatching(simulated_uuid1)),
    Patch(uuid, "getnode", dispatching(lambda: _NODE)),
)
