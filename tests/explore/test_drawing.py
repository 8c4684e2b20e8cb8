"""What run n is follows from the scenario, the seed and n, and from nothing else."""

from __future__ import annotations

from collections import Counter

import pytest

from faultclock.errors import InputError
from faultclock.explore.drawing import SCHEDULES, Drawing, planned
from faultclock.model.duration import MILLISECOND_NS, SECOND_NS
from faultclock.model.scenario.varied import choices_at, varied
from faultclock.model.tape import BLANK, FIFO
from tests.explore.worlds import varying
from tests.run.conftest import small

RUNS = range(2, 402)


def test_the_first_run_is_the_scenario_as_it_is_written() -> None:
    """So an exploration says first whether the scenario passes without it."""
    first = planned(varying(seed=7), 1, 99)
    assert (first.seed, first.tape, first.schedule) == (7, BLANK, FIFO)
    assert first.scenario == varied(varying(seed=7), BLANK)


def test_a_run_is_the_same_wherever_and_whenever_it_is_drawn() -> None:
    """No run depends on those before it: any worker can draw any of them."""
    drawing = Drawing(varying(), 5)
    backwards = {number: drawing.planned(number) for number in reversed(RUNS[:50])}
    assert backwards == {number: planned(varying(), number, 5) for number in RUNS[:50]}


def test_other_seeds_and_other_variants_give_other_runs() -> None:
    """The cells of a matrix do not all try the same."""
    plain = planned(varying(), 2, 5)
    assert planned(varying(), 2, 6) != plain
    assert planned(varying(variant="other"), 2, 5) != plain


def test_every_run_is_a_valid_scenario_and_its_tape_makes_it() -> None:
    """Whatever was drawn, the tape alone says it."""
    for number in RUNS[:100]:
        run = planned(varying(), number, 1)
        assert run.scenario == varied(varying(), run.tape)
        assert run.scenario.vary is None


def test_some_runs_vary_one_thing_some_nothing_and_some_everything() -> None:
    """A swarm: what varies at all is drawn first."""
    drawing = Drawing(varying(), 3)
    counts = Counter(drawing.planned(number).tape.length for number in RUNS)
    assert set(counts) == set(range(len(choices_at(varying())) + 1))
    assert counts[1] > len(RUNS) / 10


def test_all_kinds_of_schedules_are_drawn_and_random_most_often() -> None:
    """It finds most."""
    drawing = Drawing(varying(), 3)
    kinds = Counter(drawing.planned(number).schedule.kind for number in RUNS)
    assert set(kinds) == set(SCHEDULES)
    assert kinds.most_common(1)[0][0] == "random"


def test_schedules_can_be_restricted() -> None:
    """For whoever measures one of them."""
    drawing = Drawing(varying(), 3, ("pct",))
    drawn = [drawing.planned(number).schedule for number in RUNS]
    assert {schedule.kind for schedule in drawn} == {"pct"}
    assert {schedule.depth for schedule in drawn} == {2, 3, 4, 5}
    with pytest.raises(InputError, match="no schedule"):
        Drawing(varying(), 3, ())


def test_durations_are_often_round_at_an_end_or_where_something_else_is() -> None:
    """A fair draw among three milliards of nanoseconds would never tie with anything."""
    drawing = Drawing(varying(), 3)
    drawn = [drawing.planned(number) for number in RUNS]
    times = [
        run.scenario.provider.think_time
        for run in drawn
        if run.tape.get("vary/provider.think_time") is not None
    ]
    assert all(0 <= time_ns <= 3 * SECOND_NS for time_ns in times)
    counts = Counter(times)
    assert {0, 3 * SECOND_NS, SECOND_NS, 2 * SECOND_NS} <= set(counts)
    # The written latency, and just beside it.
    assert {10 * MILLISECOND_NS, 10 * MILLISECOND_NS + 1} & set(counts)
    assert sum(count for value, count in counts.items() if value % MILLISECOND_NS == 0) > 100
    assert len(counts) > 40


def test_a_combination_that_is_no_scenario_is_drawn_again() -> None:
    """Each value is allowed; together they may make nothing that anybody could have written."""
    scenario = small(
        tasks=[{"id": "a"}, {"id": "b"}],
        provider={
            "faults": [
                {
                    "id": "limited",
                    "when": {"task": "a", "attempts": 1},
                    "then": {"kind": "http_error", "status": 429, "error": "rate_limit_exceeded"},
                }
            ]
        },
        vary={"values": {"provider.faults.limited.when.task": {"any_of": ["b", "nobody"]}}},
    )
    drawing = Drawing(scenario, 0)
    tasks = {drawing.planned(number).scenario.provider.faults[0].when.task for number in RUNS[:60]}
    assert tasks == {"a", "b"}


def test_what_the_subject_cannot_be_played_is_not_drawn() -> None:
    """And where nothing else is left, the scenario is played as it is written."""
    drawing = Drawing(varying(), 3, fits=lambda scenario: bool(scenario.provider.faults))
    assert all(drawing.planned(number).scenario.provider.faults for number in RUNS[:60])
    nothing = Drawing(varying(), 3, fits=lambda _: False)
    assert all(nothing.planned(number).tape == BLANK for number in RUNS[:3])
