"""What the tests of the world share: run something in a fresh one, and look at how it ended."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from faultclock.sim.kernel.clock import SECOND_NS
from faultclock.sim.kernel.kernel import Ending, Limits
from faultclock.sim.world import World

#: Limits that no well-behaved test meets.
ROOMY = Limits(
    virtual_ns_max=1_000_000 * SECOND_NS, events_max=2_000_000, events_per_instant_max=100_000
)


def run(
    subject: Callable[[], Any], *, seed: int = 0, limits: Limits = ROOMY
) -> tuple[World, Ending]:
    """Run `subject` in a fresh world."""
    world = World(seed=seed, limits=limits)
    return world, world.run(subject)


def value_of(subject: Callable[[], Any], *, seed: int = 0) -> Any:
    """Return what `subject` returns; fail if it does not."""
    _, ending = run(subject, seed=seed)
    if ending.error is not None:
        raise ending.error
    assert ending.reason == "completed", ending
    return ending.value


def facts(world: World, kind: str) -> list[tuple[int, dict[str, Any]]]:
    """Return (virtual time, payload) of each fact of one kind."""
    return [
        (at_ns, payload) for _, at_ns, _, found, payload in world.recorder.events if found == kind
    ]
