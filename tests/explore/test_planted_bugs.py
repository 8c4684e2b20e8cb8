"""Bugs that no scenario shows as it is written: exploration finds each, and in no reference.

Whether a planted bug hides from everything else that is shipped takes minutes:
`python -m tests.explore.hiding`. How many runs each way of looking takes: `benchmarks.planted`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from faultclock.explore.drawing import Drawing
from faultclock.load.error_model import load_error_model
from faultclock.model.report.finding import Verdict
from faultclock.model.scenario.scenario import Scenario
from faultclock.model.scenario.varied import varied
from faultclock.model.tape import BLANK, Chance, Tape
from faultclock.mutants.by_hand import BY_HAND
from faultclock.oracle.judge import Judge
from faultclock.run.suite import run_one
from faultclock.subjects.binding import Binding
from faultclock.subjects.registry import catalog
from tests.run.conftest import shipped_scenario

#: What is right where a miniature is wrong.
REFERENCES = {
    ("provider_adapter", "stud-cli"): "reference",
    ("runtime", "stud-cli"): "reference-runtime",
    ("runtime", "afk"): "reference-afk",
}


@dataclass(frozen=True, slots=True)
class Find:
    """Where a bug shows.

    Attributes:
        seed, tape: coordinates of a run that shows it, with nothing on them that is not needed.
        exploration: a seed of exploration; it shows there in the first runs.
        within: so many of them, and some more for a drawing that is changed.
    """

    tape: dict[str, dict[int, int]]
    exploration: int
    within: int
    seed: int = 0


FINDS = {
    # The renewal is over, and the second call is woken before the first has the new token.
    "token-is-renewed-twice": Find({"schedule/1/timer/1/Task-3": {1: 2}}, 2, 60),
    # A 429, a 500 and two resets: the third failure of one policy should be the last.
    "retries-multiply-after-a-limit": Find(
        {"vary/provider.faults.reset.when.attempts": {0: 3}}, 1, 100
    ),
    # 100 ms after the probe was admitted.
    "probe-is-cancelled-early": Find({"vary/cancels.esc.when.delay": {0: 100_000_001}}, 1, 40),
    # 500 ms after the start, while the question is open.
    "approval-outlives-its-question": Find({"vary/cancels.esc.when.at": {0: 499_000_001}}, 5, 100),
    # Half a second after the tool was done, while it waits for a whole one.
    "cancel-in-a-backoff-loses-results": Find(
        {"vary/cancels.esc.when.delay": {0: 500_000_001}}, 4, 100
    ),
    # One of three tools has its result in the journal, one only its effect.
    "resume-finishes-the-batch": Find({"vary/crashes.killed.on.seq": {0: 76}}, 1, 60),
}
NAMES = sorted(FINDS)


def failed(
    judge: Judge, scenario: Scenario, binding: Binding, seed: int, chance: Chance
) -> set[str]:
    """Return the checks that one run fails; an unproved run fails none."""
    trace = run_one(scenario, binding, seed, isolate=False, chance=chance)
    assert trace.footer.ending == "completed"
    return {f.check for f in judge.judge(trace).findings if f.verdict is Verdict.FAIL}


@pytest.fixture
def planted(bound: Callable[[str], Binding]) -> Callable[[str], tuple[Judge, Scenario, Binding]]:
    """Return a function that gives what is needed to run a planted bug by its name."""

    def found(name: str) -> tuple[Judge, Scenario, Binding]:
        item = BY_HAND[f"mini-race-{name}"]
        judge = Judge(load_error_model(item.model))
        return judge, shipped_scenario(item.shown_by), bound(f"mini-race-{name}")

    return found


def test_every_planted_bug_is_listed_with_what_finds_it() -> None:
    """Whoever runs one and sees it pass has to learn why."""
    entries = {entry.id: entry for entry in catalog() if entry.found_by == "explore"}
    assert {id_.removeprefix("mini-race-") for id_ in entries} == FINDS.keys()
    for entry in entries.values():
        assert entry.shown_by is not None
        scenario = shipped_scenario(entry.shown_by)
        assert scenario.vary is not None
        assert (scenario.role, scenario.models) == (entry.role, (entry.model,))


@pytest.mark.parametrize("name", NAMES)
def test_a_planted_bug_does_not_show_as_its_scenario_is_written(
    name: str, planted: Callable[[str], tuple[Judge, Scenario, Binding]]
) -> None:
    """Not even as a warning, and the situation comes about."""
    judge, scenario, binding = planted(name)
    trace = run_one(varied(scenario, BLANK), binding, scenario.seed, isolate=False)
    good = (Verdict.PASS, Verdict.NOT_APPLICABLE)
    assert [f for f in judge.judge(trace).findings if f.verdict not in good] == []


@pytest.mark.parametrize("name", NAMES)
def test_a_planted_bug_shows_at_its_coordinates(
    name: str, planted: Callable[[str], tuple[Judge, Scenario, Binding]]
) -> None:
    """The check that it is made for fails there, and no other."""
    judge, scenario, binding = planted(name)
    tape = Tape.of(FINDS[name].tape)
    found = failed(judge, varied(scenario, tape), binding, FINDS[name].seed, Chance(tape=tape))
    assert found == {BY_HAND[f"mini-race-{name}"].fails}


@pytest.mark.parametrize("name", NAMES)
def test_a_small_exploration_finds_a_planted_bug(
    name: str, planted: Callable[[str], tuple[Judge, Scenario, Binding]]
) -> None:
    """With one seed; `benchmarks.planted` measures many."""
    judge, scenario, binding = planted(name)
    drawing = Drawing(scenario, FINDS[name].exploration)
    fails = BY_HAND[f"mini-race-{name}"].fails
    assert any(
        fails in failed(judge, plan.scenario, binding, plan.seed, plan.chance)
        for plan in map(drawing.planned, range(1, FINDS[name].within + 1))
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_reference_survives_what_finds_a_planted_bug(
    name: str,
    planted: Callable[[str], tuple[Judge, Scenario, Binding]],
    bound: Callable[[str], Binding],
) -> None:
    """At its coordinates, and in the first runs of an exploration: the bug is what is found."""
    judge, scenario, _ = planted(name)
    item = BY_HAND[f"mini-race-{name}"]
    binding = bound(REFERENCES[scenario.role, item.model])
    tape = Tape.of(FINDS[name].tape)
    chance = Chance(tape=tape)
    assert failed(judge, varied(scenario, tape), binding, FINDS[name].seed, chance) == set()
    drawing = Drawing(scenario, FINDS[name].exploration)
    for plan in map(drawing.planned, range(2, 7)):
        assert failed(judge, plan.scenario, binding, plan.seed, plan.chance) == set()
