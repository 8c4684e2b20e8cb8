"""What every world of a run is made with, for every role: its limits, and the seed of a life."""

from __future__ import annotations

import hashlib

from faultclock.model.scenario.scenario import Scenario
from faultclock.model.tape import Chance
from faultclock.sim.kernel.choices import Choices
from faultclock.sim.kernel.kernel import Limits


def limits_of(scenario: Scenario) -> Limits:
    """Return where a world of `scenario` is ended by force."""
    return Limits(
        virtual_ns_max=scenario.limits.virtual_time,
        events_max=scenario.limits.events,
        events_per_instant_max=scenario.limits.events_per_instant,
    )


def choices_of(scenario: Scenario, seed: int, chance: Chance, life: int = 1) -> Choices:
    """Return the choices of one life of a run; `seed` is that of the run.

    What the scenario's own tape says holds, where the run's says nothing.
    """
    return Choices(seed, scenario.tape.joined(chance.tape), chance.schedule, life=life)


def seed_of_life(seed: int, life: int) -> int:
    """Return the seed of one life: ids that a fresh process draws must not repeat.

    The first life has the run's own seed.
    """
    if life == 1:
        return seed
    digest = hashlib.sha256(f"{seed}/life/{life}".encode()).digest()
    return int.from_bytes(digest[:4], "big")
