"""The simulated half of the parity check: the same scripts in a world."""

from __future__ import annotations

from faultclock.sim.kernel.kernel import Limits
from faultclock.sim.world import World
from tests.parity.cells import Cell, Outcome, call, describe
from tests.sim.net.scripted import SimService

_LIMITS = Limits(virtual_ns_max=10**12, events_max=1_000_000, events_per_instant_max=20_000)


def run_simulated(cell: Cell, scheme: str) -> Outcome:
    """Run one cell in a world, over `http` or `https`, and return what it came to."""
    world = World(seed=1, limits=_LIMITS, latency_ns=1_000_000)
    service = SimService(world.kernel, *(cell.replies or ()))
    if cell.replies is not None:
        world.network.listen(None, None, service)
    ending = world.run(call(cell, f"{scheme}://api.openai.com"))
    result = str(ending.value) if ending.error is None else describe(ending.error)
    if ending.reason not in ("completed", "raised"):
        result = f"{ending.reason}: {ending.detail}"
    connects = sum(kind == "net.connect" for _, _, _, kind, _ in world.recorder.events)
    return Outcome(result, service.requests.count, connects)
