"""Scenarios for the small runtimes, and short ways to read their traces."""

from __future__ import annotations

from typing import Any

import pytest

from faultclock.model.scenario.scenario import Scenario, scenario_of
from faultclock.model.trace.trace import Trace, TraceEvent
from tests.run.small_runtime import blocking_runtime, small_runtime

BOTH = pytest.mark.parametrize("subject", [small_runtime, blocking_runtime], ids=lambda b: b.id)
SECOND = 1_000_000_000


def working(**changes: Any) -> Scenario:
    """Return a scenario of one turn that calls a tool, changed as asked."""
    values: dict[str, Any] = {
        "id": "tests/working",
        "title": "Working",
        "why": "For a test.",
        "role": "runtime",
        "provider": {
            "replies": [
                {"tool_calls": [{"name": "write_file", "arguments": '{"path": "a"}'}]},
                {"text": "It is written."},
            ]
        },
        "tools": [{"name": "write_file"}],
        "interactors": [{}],
        "tasks": [{"id": "ask"}],
    }
    return scenario_of(values | changes)


def told(trace: Trace, *kinds: str) -> list[tuple[str, str | None]]:
    """Return kind and call of the events of these kinds."""
    return [(event.kind, event.payload.get("call")) for event in trace.of_kind(*kinds)]


CALLS = ("call.started", "call.returned", "call.raised", "call.crashed", "call.skipped")


def first(trace: Trace, kind: str) -> TraceEvent:
    """Return the first event of a kind."""
    return next(trace.of_kind(kind))
