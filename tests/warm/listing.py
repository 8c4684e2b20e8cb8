"""All shipped scenarios, read once by each worker: to read them takes seconds."""

from __future__ import annotations

from functools import cache

from faultclock.load.scenario import LoadedScenario, find_scenarios


@cache
def all_scenarios() -> tuple[LoadedScenario, ...]:
    """Return what `find_scenarios()` returns."""
    return find_scenarios()
