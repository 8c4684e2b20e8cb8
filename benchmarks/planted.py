"""Counts how many runs it takes until exploration finds each planted bug.

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
from collections.abc import Callable, Iterator

from benchmarks._table import Row, Size, rows_of, runs_a_find
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

#: The miniatures that no scenario shows as it is written.
PLANTED = tuple(entry for entry in catalog() if entry.found_by == "explore")

#: Network latency, jitter and the provider's time to think, each of any order of magnitude.
_LATENCIES_NS = (100_000, 1_000_000_000)
_THINK_NS = (1_000_000, 10_000_000_000)

#: What run n of an exploration of a scenario is, from the seed of the exploration.
Plans = Callable[[Scenario, int], Iterator[Planned]]


def _explored(kind: ScheduleKind) -> Plans:
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


SEARCHES = {
    "random": _explored("random"),
    "pct": _explored("pct"),
    "fifo": _explored("fifo"),
    "latencies": _latencies,
}


def runs_to_find(entry: SubjectEntry, search: Plans, seed: int, runs: int) -> int | None:
    """Return the number of the first run that finds a planted bug; None: none of `runs` did."""
    assert entry.shown_by is not None
    (loaded,) = find_scenarios((entry.shown_by,))
    judge, binding = Judge(load_error_model(entry.model)), prepare(entry.id)
    for plan in search(loaded.scenario, seed):
        if plan.number > runs:
            return None
        trace = run_one(plan.scenario, binding, plan.seed, isolate=False, chance=plan.chance)
        findings = judge.judge(trace).findings
        if any(f.check == entry.fails and f.verdict is Verdict.FAIL for f in findings):
            return plan.number
    return None


def measure(size: Size) -> Iterator[Row]:
    """Yield for each bug and each way how many runs it takes to find it once."""
    searches, runs = size.of((5, 300), (1, 3))
    for entry in PLANTED[: size.of(len(PLANTED), 1)]:
        figures = {}
        for name, search in SEARCHES.items():
            found = [runs_to_find(entry, search, n, runs) for n in range(1, searches + 1)]
            finds = [number for number in found if number is not None]
            figures[name] = runs_a_find(sum(finds) + runs * (searches - len(finds)), len(finds))
        bug = entry.id.removeprefix("mini-race-")
        yield from rows_of(bug, f"runs of {searches * runs:,}", figures, "random")
