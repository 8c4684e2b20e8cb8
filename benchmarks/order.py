"""What it costs to explore the order of what is due, and how soon it finds a planted race.

    python -m benchmarks.order

The loop's own workloads are run plainly, by chance, by priorities, and by the tape that was noted,
in turns; the best turn of each counts, in seconds of processor time. All of the tasks of `ready`
are due at one instant, so a decision there is one between a thousand. The race is that of the
tests: a token that another task revokes in between; first in first out never shows it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from benchmarks._turns import machine, turn
from benchmarks.loop import CASES, Workload
from harness.model.exploration import Coordinates
from harness.model.tape import BLANK, FIFO, Schedule, Tape
from harness.model.token import token_of
from harness.sim.choices import Choices
from harness.sim.kernel import Limits
from harness.sim.world import World
from tests.sim.exploring import explored, racing

ROUNDS, SEEDS = 3, 200
_UNLIMITED = Limits(virtual_ns_max=2**62, events_max=2**62, events_per_instant_max=2**62)
_RANDOM = Schedule(kind="random", seed=1)
_NOW_AND_THEN = Schedule(kind="random", seed=1, per_mille=50)
_PCT = Schedule(kind="pct", seed=1, depth=3)


def run(workload: Workload, schedule: Schedule = FIFO, tape: Tape = BLANK) -> Tape:
    """Run a workload in a fresh world, and return its tape."""
    world = World(seed=0, limits=_UNLIMITED, choices=Choices(0, tape, schedule))
    ending = world.run(workload)
    assert ending.reason == "completed", ending
    return world.choices.noted()


def cost(title: str, workload: Workload) -> None:
    """Print what each way of breaking ties costs."""
    tapes = {name: run(workload, schedule) for name, schedule in _NOTED.items()}
    pieces: dict[str, Callable[[], object]] = {
        "plain": partial(run, workload),
        "random": partial(run, workload, _RANDOM),
        "random, 50 of 1,000 ties": partial(run, workload, _NOW_AND_THEN),
        "pct, depth 3": partial(run, workload, _PCT),
    }
    pieces |= {
        f"tape of {name}: {tape.length} choices": partial(run, workload, FIFO, tape)
        for name, tape in tapes.items()
    }
    best = dict.fromkeys(pieces, 0.0)
    for _ in range(ROUNDS):
        for name, piece in pieces.items():
            best[name] = max(best[name], turn(piece, 0))
    print(f"\n{title}")
    for name, rate in best.items():
        print(f"  {name:44s} {1_000 / rate:8.1f} ms   {best['plain'] / rate:5.2f} of plain")


_NOTED = {"random": _RANDOM, "random, 50 of 1,000 ties": _NOW_AND_THEN}


def race(noise: int, name: str, schedule: Callable[[int], Schedule]) -> None:
    """Print how soon and how often the planted race shows."""
    subject = racing(noise)
    hits = [
        seed
        for seed in range(SEEDS)
        if isinstance(explored(subject, schedule(seed)).ending.error, AssertionError)
    ]
    first = str(hits[0] + 1) if hits else "none"
    print(f"  {name:24s} first in run {first:>5s}, in {len(hits) / SEEDS:6.1%} of {SEEDS} runs")


def tokens() -> None:
    """Print how long a token is."""
    print("\ncharacters of a token, by choices on its tape")
    for count in (0, 1, 5, 30, 300):
        choices: dict[str, dict[int, int]] = {}
        for number in range(count):
            lane = f"schedule/1/task/1/Task-{number * 7 % 12}"
            choices.setdefault(lane, {})[number // 12 * 2 + number % 2] = 1 + number**2 % 5
        where = Coordinates(
            scenario="rate-limits/retry-after-integer",
            scenario_digest="5f" * 32,
            subject="openai-async",
            seed=0,
            tape=Tape.of(choices),
        )
        print(f"  {count:4d} {len(token_of(where)):5d}")


def main() -> None:
    """Print all tables."""
    print(machine())
    for title, workload, _ in CASES:
        cost(title, workload)
    for noise in (5, 30):
        print(f"\nthe planted race, with {noise} other tasks")
        race(noise, "first in first out", lambda _: FIFO)
        race(noise, "random", lambda seed: Schedule(kind="random", seed=seed))
        race(noise, "random, 50 of 1,000", partial(_sparse, 50))
        for depth in (2, 3):
            for horizon in (100, 400):
                told = f"pct, depth {depth}, of {horizon}"
                race(noise, told, partial(_pct, depth, horizon))
    tokens()


def _sparse(per_mille: int, seed: int) -> Schedule:
    return Schedule(kind="random", seed=seed, per_mille=per_mille)


def _pct(depth: int, horizon: int, seed: int) -> Schedule:
    return Schedule(kind="pct", seed=seed, depth=depth, horizon=horizon)


if __name__ == "__main__":
    main()
