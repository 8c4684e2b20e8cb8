"""A Scenario is self-contained, and its digest is its meaning."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from faultclock.model.scenario.scenario import Scenario, scenario_digest, scenario_of


def scenario(**changes: Any) -> Scenario:
    """Return a small scenario, changed as asked."""
    values: dict[str, Any] = {"id": "family/slug", "title": "A title", "why": "A reason."}
    return scenario_of(values | changes)


LIMITED: dict[str, Any] = {
    "id": "limited",
    "then": {"kind": "http_error", "status": 429, "error": "rate_limit_exceeded"},
}


def test_a_scenario_reads_back_from_its_own_json() -> None:
    """The trace header holds it whole."""
    whole = scenario(provider={"faults": [LIMITED], "latency": "5ms"}, seeds=3)
    assert scenario_of(whole.model_dump(mode="json")) == whole


def test_equal_meaning_gives_an_equal_digest() -> None:
    """`1000ms` and `1s` are the same delay."""
    left = scenario(provider={"latency": "1000ms"})
    right = scenario(provider={"latency": "1s"})
    assert scenario_digest(left) == scenario_digest(right)
    assert scenario_digest(left) != scenario_digest(scenario())


def test_a_changed_copy_has_a_digest_of_its_own() -> None:
    """Also right after that of the scenario it was made of, whose text is kept."""
    first = scenario()
    before = scenario_digest(first)
    changed = first.model_copy(update={"why": "Another reason."})
    assert scenario_digest(changed) == scenario_digest(scenario(why="Another reason."))
    assert scenario_digest(changed) != before == scenario_digest(first)


def test_two_faults_with_one_id_are_refused() -> None:
    """The ledger counts by id."""
    with pytest.raises(ValidationError, match="two faults"):
        scenario(provider={"faults": [LIMITED, LIMITED]})


def test_a_fault_for_an_unknown_task_is_refused() -> None:
    """Nobody could ever meet it."""
    with pytest.raises(ValidationError, match="unknown task"):
        scenario(provider={"faults": [{**LIMITED, "when": {"task": "nobody"}}]})


def test_a_scenario_without_a_task_is_refused() -> None:
    """It would pass without asking for anything."""
    with pytest.raises(ValidationError, match="empty"):
        scenario(tasks=[])


def test_two_tasks_with_one_id_are_refused() -> None:
    """Calls are named after their task."""
    with pytest.raises(ValidationError, match="same id"):
        scenario(tasks=[{"id": "a"}, {"id": "a"}])


@pytest.mark.parametrize("id_", ["slug", "Family/slug", "family/", "/slug", "a b/c"])
def test_an_id_is_family_and_slug(id_: str) -> None:
    """The id is the path below `scenarios/`."""
    with pytest.raises(ValidationError):
        scenario(id=id_)
