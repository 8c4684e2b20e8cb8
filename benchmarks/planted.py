"""Counts how many runs it takes until exploration finds each planted bug.

    python -m benchmarks.planted [SEEDS [RUNS]]

A planted bug is a miniature that passes its scenario as it is written. Four ways of looking for it
start at run 2 with the same seeds of exploration; what counts is the first run in which the check
that the miniature is made for fails:

    random      the declared variations, and ties broken at random
    pct         the declared variations, and ties broken by priorities that are lost now and then
    fifo        the declared variations, first in first out
    latencies   the scenario as it is written, with other latencies and delays: what one gets by
                running it again and again
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from faultclock.explore.drawing import Drawing, Planned
from faultclock.load.error_model import load_error_model
from faultclock.load.scenario import find_scenarios
from faultclock.model.report.finding import Verdict
from faultclock.model.scenario.scenario import Scenario
from faultclock.model.tape import ScheduleKind
from faultclock.oracle.judge import Judge
from faultclock.run.prepare import prepare
from faultclock.run.suite import run_one
from faultclock.subjects.registry import SubjectEntry, catalog

__all__ = ["PLANTED", "Search", "runs_to_find"]

SEEDS = 5
RUNS = 300

#: The miniatures that no scenario shows as it is written.
PLANTED = tuple(entry for entry in catalog() if entry.found_by == "explore")

#: Network latency, jitter and the provider's time to think, each of any order of magnitude.
_LATENCIES_NS = (100_000, 1_000_000_000)
_THINK_NS = (1_000_000, 10_000_000_000)


@dataclass(frozen=True, slots=True)
class Search:
    """One way of looking for a bug, by what run n of an exploration is."""

    name: str
    plans: Callable[[Scenario, int], Iterator[Planned]]


def _explored(kind: ScheduleKind) -> Callable[[Scenario, int], Iterator[Planned]]:
    def plans(scenario: Scenario, seed: int) -> Iterator[Planned]:
        drawing = Drawing(scenario, seed, (kind,))
        number = 1
        while True:
            yield drawing.planned(number)
            number += 1

    return plans


def _latencies(scenario: Scenario, seed: int) -> Iterator[Planned]:
    plain = scenario.model_copy(update={"vary": None})
    yield Planned(number=1, seed=scenario.seed, scenario=plain)
    number = 2
    while True:
        drawn = random.Random(f"latencies-{seed}-{number}")
        latency = _any_magnitude(drawn, _LATENCIES_NS)
        provider = scenario.provider.model_copy(
            update={
                "latency": latency,
                "jitter": drawn.randint(0, latency),
                "think_time": _any_magnitude(drawn, _THINK_NS),
            }
        )
        varied = plain.model_copy(update={"provider": provider})
        yield Planned(number=number, seed=drawn.randrange(2**32), scenario=varied)
        number += 1


def _any_magnitude(drawn: random.Random, bounds: tuple[int, int]) -> int:
    low, high = map(math.log, bounds)
    return round(math.exp(drawn.uniform(low, high)))


SEARCHES = (
    Search("random", _explored("random")),
    Search("pct", _explored("pct")),
    Search("fifo", _explored("tape")),
    Search("latencies", _latencies),
)


def runs_to_find(entry: SubjectEntry, search: Search, seed: int, runs: int) -> int | None:
    """Return the number of the first run that finds a planted bug; None: none of `runs` did."""
    assert entry.shown_by is not None
    (loaded,) = find_scenarios((entry.shown_by,))
    judge, binding = Judge(load_error_model(entry.model)), prepare(entry.id)
    for plan in search.plans(loaded.scenario, seed):
        if plan.number > runs:
            return None
        trace = run_one(plan.scenario, binding, plan.seed, isolate=False, chance=plan.chance)
        findings = judge.judge(trace).findings
        if any(f.check == entry.fails and f.verdict is Verdict.FAIL for f in findings):
            return plan.number
    return None


def _told(found: Iterable[int | None], runs: int) -> str:
    """Return `median (worst)` of what was found, and how often nothing was."""
    counts = sorted(math.inf if number is None else number for number in found)
    middle = counts[(len(counts) - 1) // 2]
    if middle == math.inf:
        lost = counts.count(math.inf)
        return (
            f"not in {runs}" if lost == len(counts) else f"not in {runs}, {lost} of {len(counts)}"
        )
    worst = f"{counts[-1]}" if counts[-1] < math.inf else f"not in {runs}"
    return f"{middle} ({worst})"


def main(seeds: int = SEEDS, runs: int = RUNS) -> None:
    """Print the table."""
    names = [search.name for search in SEARCHES]
    print(f"| bug (check) | {' | '.join(names)} |")
    print("|---|" + "---|" * len(names))
    for entry in PLANTED:
        cells = []
        for search in SEARCHES:
            found = [runs_to_find(entry, search, seed, runs) for seed in range(1, seeds + 1)]
            cells.append(_told(found, runs))
        name = entry.id.removeprefix("mini-race-")
        print(f"| {name} ({entry.fails}) | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
