"""How large a scenario and its run are."""

from __future__ import annotations

from faultclock.model.report.exploration import Size
from faultclock.model.scenario.rule import rules_in
from faultclock.model.scenario.scenario import Scenario
from faultclock.model.trace.events import ends_of
from faultclock.model.trace.trace import Trace


def size_of(scenario: Scenario, trace: Trace) -> Size:
    """Return the size of `scenario` and of the run of it that `trace` is."""
    world, disk = scenario.world, getattr(scenario, "disk", None)
    one_each = (world.store, disk, world.telemetry, world.queue)
    many = (
        world.fallbacks,
        world.interactors,
        world.programs,
        world.hooks,
    )
    edits = sum(len(script.edits) for script in (world.store, disk) if script is not None)
    ends = [event.at_ns for event in trace.of_kind(*ends_of("call.started"))]
    return Size(
        faults=sum(1 for _ in rules_in(scenario)) + edits,
        tasks=sum(task.copies for task in scenario.tasks),
        tools=len(world.tools),
        actors=1
        + sum(len(items) for items in many)
        + sum(item is not None for item in one_each)
        + len(world.set_up.extensions),
        choices=scenario.tape.joined(trace.header.tape).length,
        events=len(trace.events),
        # After the last call the world only waits for stragglers: that time is not the subject's.
        virtual_ns=max(ends, default=trace.footer.ended_at_ns),
    )
