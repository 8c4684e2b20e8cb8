"""What it costs to explore the order of what is due, and how soon it finds a planted race.

    python -m benchmarks.order

Each workload of a loop is run plainly, by chance, by priorities, and by the tape that was noted, in
turns; the best turn of each counts, in seconds of processor time. Tasks that yield are all on one
lane, so there is nothing to decide; of those that sleep alike, all are due at one instant, and a
decision there is one between hundreds. A whole run of the reference is there for comparison. The
race is that of the tests: a token that another task revokes in between; first in first out never
shows it.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from benchmarks._turns import machine, turn
from faultclock.load.scenario import find_scenarios
from faultclock.model.report.exploration import Coordinates
from faultclock.model.report.token import token_of
from faultclock.model.tape import BLANK, FIFO, PLAIN, Chance, Schedule, Tape
from faultclock.run.prepare import prepare
from faultclock.run.suite import run_one
from faultclock.sim.kernel.choices import Choices
from faultclock.sim.kernel.kernel import Limits
from faultclock.sim.world import World
from tests.sim.exploring import explored, racing

TASKS, STEPS, ROUNDS, SEEDS = 200, 50, 3, 100
_TURN_S = 0.5
_SCENARIO = "rate-limits/retry-after-integer"
_CHANCE = random.Random(1)
_DELAYS_MS = [[_CHANCE.randint(1, 500) for _ in range(STEPS)] for _ in range(TASKS)]
_UNLIMITED = Limits(virtual_ns_max=2**62, events_max=2**62, events_per_instant_max=2**62)
_RANDOM = Schedule(kind="random", seed=1)
_NOW_AND_THEN = Schedule(kind="random", seed=1, per_mille=50)
_PCT = Schedule(kind="pct", seed=1, depth=3)

Workload = Callable[[], Coroutine[Any, Any, None]]


async def yielding() -> None:
    """Let each task yield to the others again and again."""

    async def one() -> None:
        for _ in range(STEPS):
            await asyncio.sleep(0)

    await asyncio.gather(*(one() for _ in range(TASKS)))


async def sleeping_apart() -> None:
    """Let each task sleep for times of its own; some of them meet."""

    async def one(delays_ms: list[int]) -> None:
        for delay_ms in delays_ms:
            await asyncio.sleep(delay_ms / 1_000)

    await asyncio.gather(*(one(delays_ms) for delays_ms in _DELAYS_MS))


async def sleeping_alike() -> None:
    """Let all tasks sleep for the same time, again and again."""

    async def one() -> None:
        for _ in range(STEPS):
            await asyncio.sleep(1)

    await asyncio.gather(*(one() for _ in range(TASKS)))


CASES = (
    (f"{TASKS} tasks yield {STEPS} times", yielding),
    (f"{TASKS} tasks sleep {STEPS} times, apart", sleeping_apart),
    (f"{TASKS} tasks sleep {STEPS} times, alike", sleeping_alike),
)


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
    _tell(title, best)


_NOTED = {"random": _RANDOM, "random, 50 of 1,000 ties": _NOW_AND_THEN}


def whole_run() -> None:
    """Print what exploring costs in a whole run of a correct subject."""
    (loaded,) = find_scenarios((_SCENARIO,))
    binding = prepare("reference")
    best = dict.fromkeys(("plain", "random", "pct, depth 3"), 0.0)
    chances = (PLAIN, Chance(schedule=_RANDOM), Chance(schedule=_PCT))
    for _ in range(ROUNDS):
        for name, chance in zip(best, chances, strict=True):
            piece = partial(run_one, loaded.scenario, binding, 0, isolate=False, chance=chance)
            best[name] = max(best[name], turn(piece, _TURN_S))
    _tell(f"the reference, {_SCENARIO}", best)


def _tell(title: str, best: dict[str, float]) -> None:
    print(f"\n{title}")
    for name, rate in best.items():
        print(f"  {name:44s} {1_000 / rate:8.1f} ms   {best['plain'] / rate:5.2f} of plain")


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
            lane = f"schedule/1/timer/1/Task-{number * 7 % 12}"
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
    for title, workload in CASES:
        cost(title, workload)
    whole_run()
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
