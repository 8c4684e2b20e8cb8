"""The order of what is due: explored, noted, and played again byte for byte."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultclock.model.tape import BLANK, Schedule, Tape
from faultclock.sim.kernel.choices import Choices
from faultclock.sim.kernel.env import Call
from faultclock.sim.kernel.order import Order
from faultclock.sim.world import World
from tests.sim.exploring import (
    Explored,
    explored,
    many_loops,
    many_tasks,
    many_threads,
    note,
    racing,
)
from tests.sim.running import ROOMY

SUBJECTS = (many_tasks, many_threads, many_loops)

schedules = st.one_of(
    st.builds(
        Schedule,
        kind=st.just("random"),
        seed=st.integers(0, 2**32),
        per_mille=st.sampled_from((1, 50, 300, 1_000)),
    ),
    st.builds(
        Schedule,
        kind=st.just("pct"),
        seed=st.integers(0, 2**32),
        depth=st.integers(1, 6),
        horizon=st.integers(1, 300),
    ),
)


@given(subject=st.sampled_from(SUBJECTS), schedule=schedules)
@settings(max_examples=60, deadline=None)
def test_what_was_explored_is_played_again_byte_for_byte(
    subject: Callable[[], Any], schedule: Schedule
) -> None:
    """Tasks, threads, several loops: the noted tape alone gives the same facts and itself."""
    first = explored(subject, schedule)
    again = explored(subject, tape=first.tape)
    assert first.ending.reason == again.ending.reason == "completed"
    assert again.facts == first.facts
    assert again.tape == first.tape


@pytest.mark.parametrize("subject", SUBJECTS)
def test_without_deviations_the_order_is_that_of_no_order_at_all(
    subject: Callable[[], Any],
) -> None:
    """First in first out: of a blank tape, of no chance at all, and of a tape of somebody else."""
    world = World(limits=ROOMY)
    world.run(subject)
    plain = repr(world.recorder.events)
    strange = Tape.of({"schedule/1/timer/9/nobody": {0: 3}})
    assert explored(subject).facts == plain
    assert explored(subject, tape=strange).facts == plain
    assert explored(subject, tape=strange).tape == BLANK
    never = explored(subject, Schedule(kind="random", per_mille=0))
    assert never.facts == plain
    assert never.tape == BLANK


def test_a_world_that_explores_nothing_has_the_plain_queue() -> None:
    """So it costs nothing; a tape about other lives or of other draws changes nothing in that."""
    assert Choices(0).order is None
    assert Choices(0, Tape.of({"schedule/2/loop/1": {0: 1}, "pace/x": {0: 1}})).order is None
    assert Choices(0, Tape.of({"schedule/1/loop/1": {0: 1}})).order is not None


@given(schedule=schedules, number=st.integers(0))
@settings(max_examples=25, deadline=None)
def test_a_tape_from_which_a_deviation_was_taken_still_runs(
    schedule: Schedule, number: int
) -> None:
    """And what it comes to is the same each time."""
    tape = explored(many_tasks, schedule).tape
    if tape.is_blank:
        return
    places = [(stream, at) for stream, chosen in tape.choices.items() for at, _ in chosen]
    taken, at = places[number % len(places)]
    less = Tape.of(
        {
            stream: {n: value for n, value in chosen if (stream, n) != (taken, at)}
            for stream, chosen in tape.choices.items()
        }
    )
    first = explored(many_tasks, tape=less)
    assert first.ending.reason == "completed"
    assert explored(many_tasks, tape=first.tape).facts == first.facts


class Source:
    """Whose callbacks have to come in their order."""

    def __init__(self, lane: str) -> None:
        self.lane = lane
        self.seen: list[tuple[str, int]] = []

    def happen(self, seen: list[tuple[str, int]], number: int) -> None:
        """Note that it happened."""
        seen.append((self.lane, number))


@given(
    schedule=schedules,
    arrivals=st.lists(st.one_of(st.sampled_from("abcd"), st.none()), max_size=60),
)
@settings(max_examples=100, deadline=None)
def test_within_a_lane_the_order_is_kept(schedule: Schedule, arrivals: list[str | None]) -> None:
    """Whatever comes and goes in between; None takes one out."""
    seen: list[tuple[str, int]] = []
    order = Order(schedule, BLANK, "schedule/1/")
    sources = {name: Source(name) for name in "abcd"}
    counts = dict.fromkeys(sources, 0)
    waiting = 0
    for name in arrivals:
        if name is None and waiting:
            entry = order.popleft()
            entry.function(*entry.args)
            waiting -= 1
        elif name is not None:
            order.append(Call(sources[name].happen, (seen, counts[name])))
            counts[name] += 1
            waiting += 1
        assert len(order) == waiting
        assert bool(order) == bool(waiting)
    while order:
        entry = order.popleft()
        entry.function(*entry.args)
    for name, count in counts.items():
        assert [number for lane, number in seen if lane == name] == list(range(count))


def test_the_number_of_a_deviation_is_how_many_went_before_it() -> None:
    """Three that came after it, when it is told to let three go."""
    seen: list[tuple[str, int]] = []
    order = Order(Schedule(), Tape.of({"schedule/1/net/a": {0: 3}}), "schedule/1/")
    for name in "abcdef":
        order.append(Call(Source(name).happen, (seen, 0)))
    while order:
        entry = order.popleft()
        entry.function(*entry.args)
    assert "".join(name for name, _ in seen) == "bcdaef"
    assert order.noted() == Tape.of({"schedule/1/net/a": {0: 3}})


def test_whoever_is_told_to_wait_for_more_than_there_are_goes_last() -> None:
    """Also where all are told to: then first in, first out."""
    seen: list[tuple[str, int]] = []
    told = Tape.of({f"schedule/1/net/{name}": {0: 99} for name in "abc"})
    order = Order(Schedule(), told, "schedule/1/")
    for name in "abc":
        order.append(Call(Source(name).happen, (seen, 0)))
    while order:
        entry = order.popleft()
        entry.function(*entry.args)
    assert "".join(name for name, _ in seen) == "abc"


def test_what_was_put_before_everything_comes_first() -> None:
    """Whatever the schedule; it is no decision, so nothing is noted."""
    seen: list[str] = []
    order = Order(Schedule(kind="random", seed=4), BLANK, "schedule/1/")
    order.append(Call(seen.append, ("behind",)))
    order.appendleft(Call(seen.append, ("second",)))
    order.appendleft(Call(seen.append, ("first",)))
    assert len(order) == 3
    while order:
        entry = order.popleft()
        entry.function(*entry.args)
    assert seen == ["first", "second", "behind"]
    assert order.noted() == BLANK


def test_what_is_cancelled_before_it_is_due_is_in_nobodys_way() -> None:
    """It is dropped, and is no step of its lane."""
    order = Order(Schedule(kind="random", seed=1), BLANK, "schedule/1/")
    call = Call(print, ())
    call.cancel()
    order.append(call)
    assert not order
    with pytest.raises(IndexError):
        order.popleft()


def test_forgetting_everything_leaves_nothing() -> None:
    """At the end of a run."""
    order = Order(Schedule(kind="pct", seed=1), BLANK, "schedule/1/")
    order.append(Call(print, ()))
    order.append(Call(print, ()))
    order.appendleft(Call(print, ()))
    order.clear()
    assert not order
    assert len(order) == 0


# ---------------------------------------------------------------------- finding races


def first_failing(schedule: Callable[[int], Schedule], most: int, noise: int = 5) -> int | None:
    """Return the first seed at which the planted race shows, within `most`."""
    subject = racing(noise)
    for seed in range(most):
        found = explored(subject, schedule(seed))
        if isinstance(found.ending.error, AssertionError):
            return seed
    return None


def test_the_planted_race_passes_first_in_first_out_and_is_found_by_chance() -> None:
    """Within a few seeds, with little noise and with much."""
    assert explored(racing()).ending.error is None
    random = partial(Schedule, kind="random")
    assert first_failing(lambda seed: random(seed=seed), 40) is not None
    assert first_failing(lambda seed: random(seed=seed), 40, noise=30) is not None


def test_the_planted_race_is_found_by_priorities() -> None:
    """It takes one lane that loses its priority at the right moment, so depth 2."""
    pct = partial(Schedule, kind="pct", depth=2, horizon=100)
    assert first_failing(lambda seed: pct(seed=seed), 400) is not None


def test_a_race_that_was_found_is_found_again_by_its_tape_alone() -> None:
    """And by none of its deviations alone is it always."""
    seed = first_failing(lambda seed: Schedule(kind="random", seed=seed), 40)
    assert seed is not None
    found = explored(racing(), Schedule(kind="random", seed=seed))
    again = explored(racing(), tape=found.tape)
    assert isinstance(again.ending.error, AssertionError)


def test_what_polls_cannot_keep_what_it_waits_for_from_going_on() -> None:
    """By priorities alone, one that yields until another is done would go on for ever."""

    async def main() -> str:
        done = asyncio.Event()

        async def other() -> None:
            for _ in range(5):
                await asyncio.sleep(0)
            done.set()

        task = asyncio.create_task(other())
        while not done.is_set():
            await asyncio.sleep(0)
        await task
        return "done"

    for seed in range(20):
        found = explored(main, Schedule(kind="pct", seed=seed, depth=1))
        assert found.ending.value == "done", seed
        assert explored(main, tape=found.tape).tape == found.tape


def test_each_moment_of_losing_priority_is_one_of_its_own() -> None:
    """Distinct ties within the horizon; more than there are cannot be asked for."""
    for seed in range(50):
        order = Order(Schedule(kind="pct", seed=seed, depth=6, horizon=5), BLANK, "schedule/1/")
        assert sorted(order._picker._changes) == [0, 1, 2, 3, 4]  # type: ignore[attr-defined]
        assert sorted(order._picker._changes.values()) == [  # type: ignore[attr-defined]
            -5,
            -4,
            -3,
            -2,
            -1,
        ]


def test_the_highest_priority_goes_until_it_loses_it() -> None:
    """With depth 1 nobody does: each lane is run to its end before the next one begins."""
    seen: list[tuple[str, int]] = []
    order = Order(Schedule(kind="pct", seed=3, depth=1), BLANK, "schedule/1/")
    sources = [Source(name) for name in "abcd"]
    for number in range(3):
        for source in sources:
            order.append(Call(source.happen, (seen, number)))
    while order:
        entry = order.popleft()
        entry.function(*entry.args)
    names = "".join(name for name, _ in seen)
    assert names == "".join(name * 3 for name in dict.fromkeys(names))


def test_what_piles_up_while_a_loop_is_blocked_keeps_the_explored_order() -> None:
    """It was decided when it came due; when the loop goes on it comes before all else."""

    async def main() -> None:
        loop = asyncio.get_running_loop()
        for number in range(4):
            loop.call_later(1, note, number)

        async def ticking(name: str) -> None:
            await asyncio.sleep(1)
            note(name)

        ticks = [asyncio.create_task(ticking(name)) for name in ("tick", "tock")]
        await asyncio.sleep(0.5)
        time.sleep(1)
        note("blocked")
        await asyncio.gather(*ticks)

    runs: list[Explored] = [
        explored(main, Schedule(kind="random", seed=seed)) for seed in range(12)
    ]
    assert len({tuple(map(str, run.notes)) for run in runs}) > 1
    for run in runs:
        assert run.notes[0] == "blocked"
        assert [what for what in run.notes if isinstance(what, int)] == [0, 1, 2, 3]
        assert explored(main, tape=run.tape).facts == run.facts
