"""Reported bugs: each row is shown by a scenario that names it, and found in a miniature."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

import pytest

from faultclock.load.error_model import load_error_model
from faultclock.load.scenario import find_scenarios
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.finding import Verdict
from faultclock.model.scenario.scenario import Scenario
from faultclock.subjects.binding import Binding
from faultclock.subjects.registry import catalog
from tests.run.real_bugs import BUGS, OTHERS, RECOMMENDED, issues
from tests.run.test_kill_matrix import run

ENTRIES = {entry.id: entry for entry in catalog()}
PASS = Verdict.PASS
_MC4 = "limit-worded-as-quota"
FAMILIES = {"RL", "MC", "AM", "ST", "TO", "CA", "AP", "RS", "TL", "SS", "BU", "CB", "SA", "EV"}


@cache
def scenarios() -> dict[str, Scenario]:
    """Return all shipped scenarios by id."""
    return {item.scenario.id: item.scenario for item in find_scenarios(())}


@cache
def model(id_: str) -> ErrorModel:
    """Return a shipped error model."""
    return load_error_model(id_)


@pytest.mark.parametrize("row", BUGS)
def test_a_row_names_one_issue_in_its_scenario_and_in_its_miniature(row: str) -> None:
    """Whoever reads either of them finds the report, and through it the other one."""
    bug = BUGS[row]
    entry = ENTRIES[bug.miniature]
    assert re.fullmatch(r"[A-Z]{2}\d+", row)
    assert list(issues(bug.origin)) == [bug.origin]
    assert bug.origin in issues(scenarios()[bug.scenario].origin or "")
    assert list(issues(entry.origin or "")) == [bug.origin]
    assert entry.kind == "miniature"
    assert entry.shown_by == bug.scenario


@pytest.mark.parametrize("row", BUGS)
def test_the_bug_of_a_row_fails_its_scenario(row: str, bound: Callable[[str], Binding]) -> None:
    """By the check that the miniature is made for; a warning where a rule is a recommendation."""
    bug = BUGS[row]
    entry = ENTRIES[bug.miniature]
    report = run(model(entry.model), bound(entry.id), scenarios()[bug.scenario])
    verdict = Verdict.WARN if row in RECOMMENDED else Verdict.FAIL
    assert report.verdict is verdict
    findings = [*report.seeds_findings, *(item for each in report.runs for item in each.findings)]
    failed = {finding.check for finding in findings if finding.verdict is verdict}
    assert entry.fails in failed


def test_to_retry_a_used_up_quota_is_a_bug_by_the_other_reading(
    bound: Callable[[str], Binding],
) -> None:
    """The reverse of MC4, which both readings have: which of them is in force, decides MC1."""
    terminal = load_error_model("stud-cli", {"quota-429": "terminal"})
    pair = {name: scenarios()[f"rate-limits/{name}"] for name in ("quota-as-429", _MC4)}
    retried = run(terminal, bound("reference"), pair["quota-as-429"])
    failed = {item.check for each in retried.runs for item in each.findings if item.verdict != PASS}
    assert retried.verdict is Verdict.FAIL
    assert "classification.disposition" in failed
    assert run(terminal, bound("reference"), pair[_MC4]).verdict is PASS
    given_up = run(terminal, bound(BUGS["MC4"].miniature), pair[_MC4])
    assert given_up.verdict is Verdict.FAIL


def test_there_are_rows_of_every_family() -> None:
    """Sixty are what was asked for; one miniature stands for one row."""
    assert len(BUGS.keys() - RECOMMENDED) >= 60
    assert {row.rstrip("0123456789") for row in BUGS} == FAMILIES
    assert len({bug.miniature for bug in BUGS.values()}) == len(BUGS)
    assert len({bug.origin for bug in BUGS.values()}) == len(BUGS)


def test_every_issue_that_a_scenario_names_is_a_row_or_said_to_be_none() -> None:
    """An origin without a subject that has the bug would be decoration."""
    named = {issue for item in scenarios().values() for issue in issues(item.origin or "")}
    rows = {bug.origin for bug in BUGS.values()}
    # As they are written these scenarios show nothing: `test_planted_bugs` explores them.
    explored = {
        issue
        for entry in ENTRIES.values()
        if entry.found_by == "explore"
        for issue in issues(entry.origin or "")
    }
    assert named - rows - explored == OTHERS.keys()
    assert not rows & OTHERS.keys()
    assert all(len(reason) >= 40 for reason in OTHERS.values())


def test_every_issue_that_a_miniature_has_is_named_by_its_scenario() -> None:
    """Also where another miniature stands for the row."""
    for entry in ENTRIES.values():
        if entry.origin is None or entry.shown_by is None:
            continue
        scenario = scenarios()[entry.shown_by]
        assert set(issues(entry.origin)) <= set(issues(scenario.origin or "")), entry.id
