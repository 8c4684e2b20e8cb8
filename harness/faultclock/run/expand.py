"""Crash everywhere: one scenario for each event of a run, in which the process dies right there.

The trace of the scenario without a crash says which events there are. As every run is exactly
repeatable, the derived one is the same up to its event, and then the process is killed.
"""

from __future__ import annotations

from faultclock.errors import InputError
from faultclock.model.cells import cell_of
from faultclock.model.scenario.mishap import CrashRule
from faultclock.model.scenario.scenario import Killable, Scenario
from faultclock.model.scenario.trigger import EventTrigger
from faultclock.model.trace.events import ends_of
from faultclock.model.trace.trace import Trace

__all__ = [
    "cell_of",
    "crash_after",
    "crash_event",
    "crash_points",
    "variant_of",
    "without_crashes",
]

#: Id of the crash rule of every derived scenario.
_RULE = "crash-everywhere"
#: Facts about a process that is over, or not there yet: nothing is alive to be killed.
_LIFELESS = frozenset({"world.touched", "tool.unfinished", "fault.unmet"})
_OF_A_STORE = frozenset({"disk.acted", "call.returned"})


def without_crashes(scenario: Scenario) -> Scenario:
    """Return the scenario whose trace a sweep is made from."""
    return scenario.with_crashes()


def crash_points(trace: Trace) -> tuple[int, ...]:
    """Return the `seq` of each event after which the process can be killed.

    They lie between the first start of a call and the last end of one. A run that did not come
    to its own end has none. For a session store they are what changes the disk, and each answer:
    nothing else makes a difference to what is left.
    """
    if trace.footer.ending != "completed":
        return ()
    first = next((event.seq for event in trace.of_kind("call.started")), None)
    ends = [event.seq for event in trace.of_kind(*ends_of("call.started"))]
    if first is None or not ends:
        return ()
    return tuple(
        event.seq
        for event in trace.events
        if first <= event.seq <= ends[-1]
        and event.kind not in _LIFELESS
        and (event.kind in _OF_A_STORE or trace.header.scenario.role != "session_store")
    )


def crash_after(scenario: Scenario, seq: int) -> Scenario:
    """Return `scenario` with nothing but a crash right after event `seq` (1-based) of its trace.

    Raises:
        InputError: it is no scenario of a runtime or a session store.
    """
    if not isinstance(scenario, Killable):
        raise InputError(
            f"{scenario.id} is a scenario for role {scenario.role}: only a runtime or a session"
            " store can be killed"
        )
    name = f"crash after event {seq}"
    variant = name if scenario.variant is None else f"{scenario.variant}, {name}"
    killed = scenario.with_crashes(CrashRule(id=_RULE, on=EventTrigger(seq=seq)))
    return killed.model_copy(update={"variant": variant})


def crash_event(scenario: Scenario) -> int | None:
    """Return the event after which a derived scenario kills; None for any other scenario."""
    match scenario.crash_rules:
        case (CrashRule(id=id_, on=EventTrigger(seq=seq)),) if id_ == _RULE:
            return seq
    return None


def variant_of(scenario: Scenario) -> str | None:
    """Return which variant of its file a scenario is, with or without a sweep."""
    seq = crash_event(scenario)
    if seq is None or scenario.variant is None:
        return scenario.variant
    return scenario.variant.removesuffix(f"crash after event {seq}").removesuffix(", ") or None
