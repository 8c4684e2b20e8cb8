"""One run: scenario + subject + seed in, one sealed Trace out.

Everything that happens to a failure can be followed from here: the world is built, the fake
provider is mounted, the subject is driven, the facts are sealed. Nothing is judged.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version

import harness
from harness.fakes.provider import FakeProvider
from harness.model.payload import ErrorPayload
from harness.model.scenario import Scenario, scenario_digest
from harness.model.trace import (
    EndingReason,
    Trace,
    TraceEvent,
    TraceFooter,
    TraceHeader,
    trace_digest,
)
from harness.run.calls import async_main, sync_main
from harness.sim.kernel import Ending, Limits
from harness.sim.recorder import Fact
from harness.sim.world import World
from harness.subjects.binding import Binding
from harness.subjects.outcome import describe_exception

__all__ = ["Happened", "execute", "seal", "sealed", "simulate", "trace_header"]

#: Libraries whose behaviour shapes a trace of any subject.
_SHAPING = ("h11", "simpy")


@dataclass(frozen=True, slots=True, kw_only=True)
class Happened:
    """What a run left behind: plain values only, cheap to hand over to another process.

    Attributes:
        facts: in the order in which they happened.
        ended_at_ns: virtual time of the end.
    """

    facts: list[Fact]
    ending: EndingReason
    detail: tuple[str, ...]
    ended_at_ns: int


def execute(
    scenario: Scenario, binding: Binding, seed: int, payloads: Mapping[str, ErrorPayload]
) -> Trace:
    """Run `binding` through `scenario` in a fresh world and return the sealed trace.

    Args:
        seed: of everything random in the run, 0 to 2**32 - 1.
        payloads: error bodies by name, of the scenario's dialect.
    """
    happened = simulate(scenario, binding, seed, payloads)
    return sealed(trace_header(scenario, binding, seed), happened)


def simulate(
    scenario: Scenario, binding: Binding, seed: int, payloads: Mapping[str, ErrorPayload]
) -> Happened:
    """Do what `execute` does, up to the sealing: all that an isolated child has to do."""
    limits = Limits(
        virtual_ns_max=scenario.limits.virtual_time,
        events_max=scenario.limits.events,
        events_per_instant_max=scenario.limits.events_per_instant,
    )
    world = World(seed=seed, limits=limits, latency_ns=scenario.provider.latency)
    provider = FakeProvider(scenario.provider, payloads, seed=seed)
    provider.mount(world)
    world.kernel.record("harness", "run.started")
    make_main = async_main if binding.style == "async" else sync_main
    ending = world.run(make_main(world, binding, scenario))
    provider.seal()
    reason, detail = _reason(ending)
    return Happened(
        facts=world.recorder.events,
        ending=reason,
        detail=detail,
        ended_at_ns=world.kernel.now_ns,
    )


def sealed(header: TraceHeader, happened: Happened) -> Trace:
    """Return the trace of what happened."""
    events = tuple(TraceEvent(*fact) for fact in happened.facts)
    return seal(header, events, happened.ending, happened.detail, happened.ended_at_ns)


def seal(
    header: TraceHeader,
    events: tuple[TraceEvent, ...],
    ending: EndingReason,
    detail: tuple[str, ...],
    ended_at_ns: int,
) -> Trace:
    """Close a trace with its footer."""
    footer = TraceFooter(
        events=len(events),
        ended_at_ns=ended_at_ns,
        ending=ending,
        detail=detail,
        digest=trace_digest(header, events),
    )
    return Trace(header=header, events=events, footer=footer)


def trace_header(scenario: Scenario, binding: Binding, seed: int) -> TraceHeader:
    """Return the header: all that is needed to run it again."""
    return TraceHeader(
        scenario=scenario,
        scenario_digest=scenario_digest(scenario),
        subject=binding.info(),
        seed=seed,
        versions=_versions(),
    )


@cache
def _versions() -> dict[str, str]:
    return {
        "faultclock": harness.__version__,
        "python": platform.python_version(),
        **{name: version(name) for name in _SHAPING},
    }


def _reason(ending: Ending) -> tuple[EndingReason, tuple[str, ...]]:
    if ending.reason != "raised":
        return ending.reason, tuple(ending.detail)
    assert ending.error is not None, "what was raised is in the ending"
    error = describe_exception(ending.error)[0]
    text = f"{error['type']}: {error['message']}".rstrip(": ")
    # What a call raises is recorded by the driver. What ends the world around it is a task that
    # exits, cancels the others or stops the loop; anything else that arrives here is our bug.
    stopped = isinstance(ending.error, RuntimeError) and "loop stopped" in error["message"]
    if stopped or not isinstance(ending.error, Exception):
        return "escape", (f"the subject ended the run from inside: {text}",)
    return "harness_error", (text,)
