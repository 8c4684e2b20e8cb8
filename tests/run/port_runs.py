"""Runs of a tool or an extension as tests want them: a few words in, facts out."""

from __future__ import annotations

from typing import Any

from faultclock.model.scenario.scenario import scenario_of
from faultclock.model.trace.trace import Trace, TraceEvent
from faultclock.run.execute import execute
from faultclock.subjects.binding import Binding


def run(binding: Binding, seed: int = 0, **changes: Any) -> Trace:
    """Run `binding` once through a scenario of its role that is changed as asked."""
    provider = {"dialect": "http-json", **changes.pop("provider", {})}
    values = {"id": "tests/small", "title": "Small", "why": "For a test.", "role": binding.role}
    scenario = scenario_of({**values, "provider": provider, **changes})
    return execute(scenario, binding, seed)


def facts(trace: Trace, *kinds: str) -> list[TraceEvent]:
    """Return the events of some kinds."""
    return list(trace.of_kind(*kinds))
