"""Whole runs whose order is explored: the tape in the trace gives the same bytes again."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from faultclock.model.scenario.scenario import Scenario
from faultclock.model.tape import BLANK, Chance, Schedule
from faultclock.model.trace.trace import trace_lines
from faultclock.run.execute import execute
from faultclock.run.expand import crash_after
from faultclock.run.suite import run_one
from faultclock.subjects.binding import Binding
from tests.run.conftest import limited, shipped_scenario, small

SCHEDULES = (
    Schedule(kind="random", seed=1),
    Schedule(kind="random", seed=2, per_mille=200),
    Schedule(kind="pct", seed=3, depth=3, horizon=60),
)

Bound = Callable[[str], Binding]


def concurrent() -> Scenario:
    """Return a scenario of six calls at once, of which the first ones are limited."""
    return small(
        provider=limited(retry_after="2"), tasks=[{"id": "ask", "prompt": "Hi", "copies": 6}]
    )


def lived() -> Scenario:
    """Return a scenario of a runtime that is killed amid three tools, and resumed."""
    return crash_after(shipped_scenario("tools/one-of-three-fails"), 60)


def stored() -> Scenario:
    """Return a scenario of a session store that is killed after it has saved."""
    return shipped_scenario("session-store-contract/killed-after-save")


CASES = (
    ("reference", concurrent),
    ("openai-sync", concurrent),
    ("reference-runtime", lived),
    ("reference-store", stored),
)


@pytest.mark.parametrize(("subject", "scenario"), CASES)
@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda item: f"{item.kind}-{item.seed}")
def test_the_tape_of_an_explored_run_gives_the_same_bytes(
    subject: str, scenario: Callable[[], Scenario], schedule: Schedule, bound: Bound
) -> None:
    """Asynchronous and with threads, with several lives, and with a store on a disk."""
    binding, written = bound(subject), scenario()
    first = run_one(written, binding, 3, isolate=True, chance=Chance(schedule=schedule))
    again = run_one(written, binding, 3, isolate=True, chance=Chance(tape=first.header.tape))
    for trace in (first, again):
        # A child that hangs in real time says here where it does.
        assert (trace.footer.ending, trace.footer.detail) == ("completed", ())
    assert list(trace_lines(first)) == list(trace_lines(again))
    if schedule is SCHEDULES[0] and subject != "reference-store":
        # A store is one thread, so nothing of it is ever due at the same time.
        assert not first.header.tape.is_blank


def test_the_tape_of_a_run_that_explores_nothing_is_blank(bound: Bound) -> None:
    """So a trace of it looks as it did before there were tapes."""
    plain = execute(concurrent(), bound("reference"), 3)
    never = Chance(schedule=Schedule(kind="random", per_mille=0))
    assert plain.header.tape == BLANK
    assert list(trace_lines(execute(concurrent(), bound("reference"), 3, never))) == list(
        trace_lines(plain)
    )


def test_a_tape_of_the_scenario_is_played_in_each_of_its_runs(bound: Bound) -> None:
    """What was found once is a scenario like any other."""
    chance = Chance(schedule=SCHEDULES[0])
    first = execute(concurrent(), bound("reference"), 3, chance)
    tape = first.header.tape
    assert not tape.is_blank
    written = concurrent().model_copy(update={"tape": tape})
    assert execute(written, bound("reference"), 3).events == first.events
