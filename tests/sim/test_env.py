"""The queue: whole nanoseconds, first in first out among equals, cancelled entries are nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import simpy
from hypothesis import given
from hypothesis import strategies as st
from simpy.core import EmptySchedule

from faultclock.sim.kernel.env import SimEnvironment


class Note:
    """An entry that only has a name."""

    def __init__(self, name: object, cancelled: bool = False) -> None:
        self.name = name
        self._cancelled = cancelled


def drained(env: SimEnvironment) -> Iterator[tuple[int, object]]:
    """Yield (time, name) of every entry, in order."""
    while env.ready or env.advance(1 << 80):
        yield env._now, env.ready.popleft().name


@given(st.lists(st.integers(min_value=0, max_value=5)))
def test_entries_come_by_time_and_equal_times_in_the_order_of_scheduling(times: list[int]) -> None:
    """The order is that of a stable sort by time."""
    env = SimEnvironment()
    for number, at_ns in enumerate(times):
        env.schedule_at(Note(number), at_ns)
    expected = [(at, number) for number, at in sorted(enumerate(times), key=lambda pair: pair[1])]
    assert list(drained(env)) == expected


def test_what_is_scheduled_at_an_instant_comes_after_what_was_scheduled_for_it() -> None:
    """Reaching an instant makes everything due ready before anything new."""
    env = SimEnvironment()
    env.schedule_at(Note("first"), 5)
    env.schedule_at(Note("second"), 5)
    assert env.advance(10)
    env.schedule_at(Note("new"), env._now)
    assert [name for _, name in drained(env)] == ["first", "second", "new"]


def test_a_cancelled_entry_does_not_move_the_clock() -> None:
    """Only what is still wanted makes time pass."""
    env = SimEnvironment()
    env.schedule_at(Note("gone", cancelled=True), 50)
    assert not env.advance(1 << 80)
    assert env._now == 0
    assert not env.has_future


def test_the_clock_stops_before_the_limit() -> None:
    """An entry beyond the limit stays where it is."""
    env = SimEnvironment()
    env.schedule_at(Note("late"), 11)
    assert not env.advance(10)
    assert env.has_future
    assert env._now == 0


def test_simpy_processes_run_in_whole_nanoseconds() -> None:
    """A tenth of a second, ten times, is a second exactly."""
    env = SimEnvironment()

    def process() -> Iterator[simpy.Event]:
        for _ in range(10):
            yield env.timeout(100_000_000)

    env.process(process())
    env.run()
    assert env._now == 1_000_000_000


def test_urgent_events_come_first_and_in_their_own_order() -> None:
    """SimPy starts its processes with urgent events; they must not overtake each other."""
    env = SimEnvironment()
    seen: list[str] = []

    def process(name: str) -> Iterator[simpy.Event]:
        seen.append(name)
        yield env.timeout(1)

    plain = env.event()
    plain.callbacks.append(lambda _: seen.append("plain"))
    plain.succeed()
    for name in "abc":
        env.process(process(name))
    env.run()
    assert seen == ["a", "b", "c", "plain"]


def test_stepping_an_empty_queue_says_so() -> None:
    """SimPy's own exception tells that nothing is left."""
    with pytest.raises(EmptySchedule):
        SimEnvironment().step()


def test_a_failed_event_that_nobody_defused_raises() -> None:
    """A failure must not vanish in the queue."""
    env = SimEnvironment()
    env.event().fail(ValueError("lost"))
    with pytest.raises(ValueError, match="lost"):
        env.run()
