"""A run is dealt out whole: every scenario to one part, and the same on every machine."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultclock.load.error_model import load_error_model
from faultclock.run.process.shards import dealt, run_count, selection_digest
from tests.run.conftest import small

COSTS = st.dictionaries(st.text("abc/-", min_size=1), st.integers(0, 400), max_size=12)


@given(COSTS, st.integers(1, 15))
def test_all_parts_together_are_the_whole(costs: dict[str, int], count: int) -> None:
    """Each scenario is in exactly one of them, whatever there are more of."""
    parts = [dealt(costs, number, count) for number in range(1, count + 1)]
    assert sorted(key for part in parts for key in part) == sorted(costs)


@given(COSTS, st.integers(1, 15), st.randoms())
def test_the_order_of_the_scenarios_does_not_matter(
    costs: dict[str, int], count: int, random: object
) -> None:
    """Machines may list their files in orders of their own."""
    items = list(costs.items())
    random.shuffle(items)  # type: ignore[attr-defined]
    for number in range(1, count + 1):
        assert dealt(dict(items), number, count) == dealt(costs, number, count)


@given(COSTS, st.integers(1, 15))
def test_no_part_has_more_than_the_dearest_scenario_above_another(
    costs: dict[str, int], count: int
) -> None:
    """So machines are done at about the same time."""
    loads = [
        sum(costs[key] for key in dealt(costs, number, count)) for number in range(1, count + 1)
    ]
    assert max(loads) - min(loads) <= max(costs.values(), default=0)


def test_a_sweep_counts_as_many_runs() -> None:
    """Nobody knows beforehand how many, but one it is not."""
    scenario = small(role="runtime", crash_everywhere=True, seeds=2)
    assert run_count(scenario, seeds=None, sweep=False) == 2
    assert run_count(scenario, seeds=3, sweep=True) > 30


@pytest.mark.parametrize(
    "changes", [{"seed": 1}, {"seeds": 2}, {"sweep": False}, {"title": "Other"}, {"model": "afk"}]
)
def test_another_selection_has_another_digest(changes: dict[str, object]) -> None:
    """Parts are joined only where all of it was the same."""
    options = {"seed": None, "seeds": None, "sweep": True}
    other = options | {key: value for key, value in changes.items() if key in options}
    scenario = small()
    edited = scenario.model_copy(update={"title": changes.get("title", scenario.title)})
    model = load_error_model("stud-cli")
    changed = load_error_model(str(changes.get("model", "stud-cli")))
    one = selection_digest((scenario,), model, **options)  # type: ignore[arg-type]
    assert one == selection_digest((small(),), model, **options)  # type: ignore[arg-type]
    assert one != selection_digest((edited,), changed, **other)  # type: ignore[arg-type]
