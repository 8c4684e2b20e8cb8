"""Every step of a shipped reference is changed, where it is taken, and each change is a row."""

from __future__ import annotations

import pytest

from faultclock.kills.mutant import Mutant
from faultclock.kills.shipped import shipped_mutants
from faultclock.kills.step_mutants import OtherSteps, step_mutants, steps_taken
from faultclock.kills.trial import play, run_mutant, try_mutant
from faultclock.load.error_model import load_error_model
from faultclock.load.scenario import find_scenarios
from faultclock.model.scenario.scenario import Scenario
from faultclock.mutants.references import REFERENCES, SUBJECTS
from faultclock.oracle.judge import Judge
from faultclock.run.bind_scenario import bind_scenario
from faultclock.subjects.shipped import SHIPPED
from tests.run.conftest import ready

SPEC = "reference-common"
ID = "rate-limits/retry-after-integer"


def scenario(id_: str = ID) -> Scenario:
    """Return a shipped scenario."""
    (found,) = find_scenarios((id_,))
    return found.scenario


def taken(id_: str = ID) -> list[str]:
    """Return the steps that the reference takes in a scenario."""
    binding = ready(SPEC)
    return steps_taken(binding, SPEC, bind_scenario(scenario(id_), binding), 0)


def mutants() -> dict[str, Mutant]:
    """Return the mutants of what the reference does there, by their ids."""
    return {item.id: item for item in step_mutants(SPEC, dict.fromkeys(taken(), frozenset({ID})))}


def test_the_steps_that_a_run_takes_are_seen() -> None:
    """A run in which nothing fails asks for no wait."""
    assert {"talk", "policy", "retry_after_s"} <= set(taken())
    assert "retry_after_s" not in taken("provider-transient/healthy-call")


def test_noting_the_steps_changes_nothing() -> None:
    """The runs before and behind it are the same."""
    binding = ready(SPEC)
    before = run_mutant(scenario(), binding, 0, None)
    taken()
    assert run_mutant(scenario(), binding, 0, None).footer.digest == before.footer.digest


def test_a_step_that_is_not_taken_is_not_changed() -> None:
    """Its run would be the same."""
    assert all(isinstance(item.change, OtherSteps) for item in mutants().values())
    named = {id_.split(":")[0].removeprefix("step ") for id_ in mutants() if id_[:4] == "step"}
    assert named == {step for step in taken() if step in named}
    assert named


@pytest.mark.parametrize(
    ("id_", "kills"),
    [
        ("step retry_after_s: return 0.0", True),
        ("step retry_after_s: skip", True),
        ("step retry_after_s: again", False),
    ],
)
def test_a_changed_step_kills_the_rule_that_it_breaks(id_: str, kills: bool) -> None:
    """A Retry-After that is not read breaks the rule about it; one that is read twice does not."""
    judge = Judge(load_error_model("common"))
    binding = ready(SPEC)
    played = play(judge, binding, scenario())
    trial = try_mutant(judge, binding, mutants()[id_], played, all_seeds=False)
    assert (("retries.floor", "COMMON-HINT-01") in trial.kills) == kills
    assert trial.is_changed == trial.is_noticed == kills


def test_a_reference_has_the_wrong_subjects_that_are_made_of_it() -> None:
    """Each is tried for its own check; another subject has none."""
    found = {item.id: item for item in shipped_mutants(SPEC, "common")}
    assert found["mini-common-ignores-retry-after"].only_for == "retries.floor"
    assert found["mini-common-ignores-retry-after"].shown_by == ID
    assert not any(id_.startswith("mini-afk") for id_ in found)
    assert list(shipped_mutants("client.py:subject", "common")) == []
    assert list(step_mutants("client.py:subject", {})) == []


def test_a_row_kills_the_sentence_that_no_step_breaks() -> None:
    """Every step of the reference gives a request its deadline; that it has one is a rule."""
    spec, id_ = "reference-runtime", "mini-runtime-waits-without-end"
    (row,) = (item for item in shipped_mutants(spec, "stud-cli") if item.id == id_)
    assert row.shown_by is not None
    judge = Judge(load_error_model("stud-cli"))
    binding = ready(spec)
    played = play(judge, binding, scenario(row.shown_by))
    trial = try_mutant(judge, binding, row, played, all_seeds=False)
    assert ("approvals.deadline", "STUD-INT-11") in played.kept & trial.kills


def test_the_table_of_references_names_shipped_subjects() -> None:
    """And each reference that rows are made of."""
    assert set(SUBJECTS) <= set(SHIPPED)
    assert sorted(SUBJECTS.values()) == sorted(REFERENCES)
