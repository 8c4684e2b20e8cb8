"""What a suite has not run when it stops at a failure, by scenario: a report names all of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from faultclock.model.report.finding import PassedOver, RunReport
from faultclock.model.scenario.scenario import Scenario


def not_run_after(
    planned: Sequence[tuple[Scenario, Sequence[int]]], place: int, last: RunReport, *, sweep: bool
) -> Iterator[PassedOver]:
    """Yield each scenario of which runs are missing after the run `last`.

    Args:
        planned: the scenarios in their order, each with its seeds.
        place: 0-based, of the scenario in `planned` whose run was the last.
        sweep: whether crashes are tried at every event of a scenario that says so.
    """
    what = "a run that did not end in real time" if last.ending == "watchdog" else "the failure"
    stopped = f"nothing was run after {what}, {last.scenario} with seed {last.seed}"
    wanted: Counter[str] = Counter()
    left: Counter[str] = Counter()
    for number, (scenario, seeds) in enumerate(planned):
        wanted[scenario.id] += len(seeds)
        if number > place:
            left[scenario.id] += len(seeds)
        elif number == place:
            left[scenario.id] += len(seeds) - 1 - list(seeds).index(last.seed)
    swept = planned[place][0]
    for id_, missing in left.items():
        if missing == wanted[id_]:
            yield PassedOver(scenario=id_, because=stopped, stopped=True)
        elif missing:
            because = f"{stopped}: {missing} of its {wanted[id_]} runs were not made"
            yield PassedOver(scenario=id_, because=because, stopped=True)
        elif id_ == swept.id and sweep and swept.is_swept:
            because = f"{stopped}: crash points after this one were not tried"
            yield PassedOver(scenario=id_, because=because, stopped=True)
