"""What it costs to explore the order of what is due, and how soon it finds a planted race.

Each workload of a loop is run plainly, by chance, by priorities, and by the tape that was noted.
Tasks that yield are all on one lane, so there is nothing to decide; of those that sleep alike, all
are due at one instant, and a decision there is one between hundreds. A whole run of the reference
is there for comparison. The race is that of the tests: a token that another task revokes in
between; first in first out never shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from benchmarks._table import Goal, Row, Size, rows_of, runs_a_find
from benchmarks._turns import best_ms
from benchmarks.loop import UNLIMITED, Workload, delays, ready, timers
from faultclock.load.scenario import find_scenarios
from faultclock.model.report.coordinates import Coordinates
from faultclock.model.report.token import token_of
from faultclock.model.tape import BLANK, FIFO, Chance, Schedule, Tape
from faultclock.run.prepare import prepare
from faultclock.run.suite import run_one
from faultclock.sim.kernel.choices import Choices
from faultclock.sim.world import World
from tests.sim.exploring import explored, racing

SCENARIO = "rate-limits/retry-after-integer"
PLAIN = "plain"
SCHEDULES = {
    PLAIN: FIFO,
    "random": Schedule(kind="random", seed=1),
    "50 of 1,000 ties": Schedule(kind="random", seed=1, per_mille=50),
    "pct": Schedule(kind="pct", seed=1, depth=3),
}
GOALS = tuple(
    Goal(case="a run of the reference", name=name, against="plain", most=1.2)
    for name in ("random", "50 of 1,000 ties", "pct")
)


def run(workload: Workload, schedule: Schedule = FIFO, tape: Tape = BLANK) -> Tape:
    """Run a workload in a fresh world, and return its tape."""
    world = World(seed=0, limits=UNLIMITED, choices=Choices(0, tape, schedule))
    ending = world.run(workload)
    assert ending.reason == "completed", ending
    return world.choices.noted()


def costs(size: Size) -> Iterator[Row]:
    """Yield what each way of breaking ties costs: a loop in which nothing else happens, a run."""
    tasks, steps = size.of((200, 50), (4, 3))
    cases: dict[str, Workload] = {
        "yield (one lane, no tie)": partial(ready, tasks, steps),
        "sleep, apart": partial(timers, delays(tasks, steps, 500)),
        "sleep, alike": partial(timers, [[1_000] * steps] * tasks),
    }
    for case, workload in cases.items():
        pieces = {name: partial(run, workload, how) for name, how in SCHEDULES.items()}
        for name in ("random", "50 of 1,000 ties"):
            pieces[f"tape of {name}"] = partial(run, workload, FIFO, pieces[name]())
        yield from rows_of(f"{tasks} tasks {case}", "ms", best_ms(pieces, size), PLAIN)
    (loaded,) = find_scenarios((SCENARIO,))
    one = partial(run_one, loaded.scenario, prepare("reference"), 0, isolate=False)
    whole = {name: partial(one, chance=Chance(schedule=how)) for name, how in SCHEDULES.items()}
    yield from rows_of(f"a run of the reference, {SCENARIO}", "ms", best_ms(whole, size), PLAIN)


def races(size: Size) -> Iterator[Row]:
    """Yield how many runs it takes to show the planted race once."""
    schedules = {name: SCHEDULES[name] for name in ("random", "50 of 1,000 ties")}
    schedules |= {
        f"pct, depth {depth}, of {horizon}": Schedule(kind="pct", depth=depth, horizon=horizon)
        for depth in (2, 3)
        for horizon in (100, 400)
    }
    seeds = size.of(100, 3)
    for noise in (5, 30):
        subject = racing(noise)
        assert not shows(subject, FIFO)
        figures = {
            name: runs_a_find(
                seeds,
                sum(shows(subject, how.model_copy(update={"seed": n})) for n in range(seeds)),
            )
            for name, how in schedules.items()
        }
        yield from rows_of(
            f"a race among {noise} other tasks", f"runs of {seeds}", figures, "random"
        )


def shows(subject: Callable[[], Any], schedule: Schedule) -> bool:
    """Return whether the planted race shows in one run."""
    return isinstance(explored(subject, schedule).ending.error, AssertionError)


def token_length(count: int) -> int:
    """Return the characters of a token of a run with so many choices on its tape."""
    choices: dict[str, dict[int, int]] = {}
    for number in range(count):
        lane = f"schedule/1/timer/1/Task-{number * 7 % 12}"
        choices.setdefault(lane, {})[number // 12 * 2 + number % 2] = 1 + number**2 % 5
    where = Coordinates(
        scenario=SCENARIO,
        scenario_digest="5f" * 32,
        subject="openai-async",
        seed=0,
        tape=Tape.of(choices),
    )
    return len(token_of(where))


def measure(size: Size) -> Iterator[Row]:
    """Yield the costs, the races and the length of a token."""
    yield from costs(size)
    yield from races(size)
    lengths = {f"choices: {count}": token_length(count) for count in (0, 1, 5, 30, 300)}
    yield from rows_of("token", "characters", lengths, "choices: 0")
