"""How large a scenario and its run are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from faultclock.model.report.exploration import Size
from faultclock.model.scenario.scenario import Scenario
from faultclock.model.trace.events import ends_of
from faultclock.model.trace.trace import Trace

_RULES = frozenset({"faults", "rules", "cancels", "crashes", "edits"})


def size_of(scenario: Scenario, trace: Trace) -> Size:
    """Return the size of `scenario` and of the run of it that `trace` is."""
    session = scenario.session
    one_each = (scenario.store, scenario.disk, scenario.telemetry, scenario.queue)
    many = (scenario.fallbacks, scenario.interactors, scenario.programs, scenario.hooks)
    refusals = [
        rule for script in (scenario.provider, *scenario.fallbacks) for rule in script.refusals
    ]
    ends = [event.at_ns for event in trace.of_kind(*ends_of("call.started"))]
    return Size(
        faults=sum(_rules(scenario)) + len(refusals),
        tasks=sum(task.copies for task in scenario.tasks),
        tools=len(scenario.tools),
        actors=1
        + sum(len(items) for items in many)
        + sum(item is not None for item in one_each)
        + (len(session.extensions) if session is not None else 0),
        choices=scenario.tape.joined(trace.header.tape).length,
        events=len(trace.events),
        # After the last call the world only waits for stragglers: that time is not the subject's.
        virtual_ns=max(ends, default=trace.footer.ended_at_ns),
    )


def _rules(value: Any) -> Iterator[int]:
    """Yield the number of rules in each list of them."""
    if isinstance(value, tuple):
        for item in value:
            yield from _rules(item)
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            member = getattr(value, name)
            if name in _RULES and isinstance(member, tuple):
                yield len(member)
            yield from _rules(member)
