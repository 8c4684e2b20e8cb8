"""The model `common`: each requirement is broken by a wrong subject, and kept by a reference.

A requirement that no subject breaks may be one that cannot be broken; one that the reference does
not exercise there may be broken by everybody.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.finding import Finding, Report, Verdict
from faultclock.model.report.kill_matrix import broken_rules, killed_rules
from faultclock.model.scenario.scenario import Scenario
from faultclock.run.suite import SuiteRequest, run_suite
from faultclock.subjects.binding import Binding
from faultclock.subjects.registry import catalog
from tests.run.conftest import loaded_model, shipped, shipped_scenario
from tests.run.kills_of_common import AGENTS, CLIENTS, ENDINGS, REFERENCES, WHOLE_AGENTS

ROWS = {**CLIENTS, **AGENTS}
_AGENTS = "common/agents/"


@cache
def common() -> ErrorModel:
    """Return the model."""
    return loaded_model("common")


def findings(binding: Binding, *scenarios: Scenario) -> tuple[Finding, ...]:
    """Return what the model says of a subject in these scenarios."""
    request = SuiteRequest(
        scenarios=scenarios,
        binding=binding,
        subject_spec=binding.id,
        model=common(),
        wall_limit_s=20.0,
        confirm=False,
    )
    report: Report = run_suite(request)
    return (*report.seeds_findings, *(item for each in report.runs for item in each.findings))


@pytest.mark.parametrize("requirement", ROWS)
def test_a_wrong_subject_breaks_the_requirement_and_the_reference_keeps_it(
    requirement: str, bound: Callable[[str], Binding]
) -> None:
    """In the same scenario: a failure of a MUST, a warning of a SHOULD, and a judged pass."""
    wrong, scenario_id = ROWS[requirement]
    scenario = shipped_scenario(scenario_id)
    right = findings(bound(REFERENCES.get(requirement, REFERENCES[scenario.role])), scenario)
    kept = [item for item in right if _is(item, requirement)]
    assert {item.verdict for item in kept} == {Verdict.PASS}
    assert all(item.judged for item in kept)
    against = findings(bound(wrong), scenario)
    killed = killed_rules(broken_rules(right), against)
    assert requirement in {of for _, of in killed}
    wanted = Verdict.FAIL if common().requirement(requirement).level == "MUST" else Verdict.WARN
    assert wanted in {item.verdict for item in against if _is(item, requirement)}


@pytest.mark.parametrize("name", WHOLE_AGENTS)
def test_a_scenario_for_whole_agents_is_failed_by_a_wrong_one_and_passed_by_the_reference(
    name: str, bound: Callable[[str], Binding]
) -> None:
    """In one of its variants; the reference passes them all."""
    wrong, requirement = WHOLE_AGENTS[name]
    variants = [item for item in shipped("runtime") if item.id == f"{_AGENTS}{name}"]
    bad = (Verdict.FAIL, Verdict.WARN)
    against = findings(bound(wrong), *variants)
    assert requirement in {item.requirement for item in against if item.verdict in bad}
    right = findings(bound("reference-runtime"), *variants)
    assert {item.verdict for item in right} <= {Verdict.PASS, Verdict.NOT_APPLICABLE}


def test_each_scenario_for_whole_agents_has_its_wrong_one() -> None:
    """One that nothing fails may be one that cannot be failed."""
    found = {item.id for item in shipped("runtime") if item.id.startswith(_AGENTS)}
    assert {f"{_AGENTS}{name}" for name in WHOLE_AGENTS} == found


@pytest.mark.parametrize("scenario_id", ENDINGS)
def test_what_is_no_answer_is_passed_on_by_one_client_and_not_by_another(
    scenario_id: str, bound: Callable[[str], Binding]
) -> None:
    """An error in a choice, an answer without a body, and one that the provider paused."""
    wrong, right = ENDINGS[scenario_id]
    variants = [item for item in shipped() if item.id == scenario_id]
    found = {item.verdict for item in findings(bound(wrong), *variants) if _is_whole(item)}
    assert Verdict.FAIL in found
    kept = [item for item in findings(bound(right), *variants) if _is_whole(item)]
    assert {item.verdict for item in kept} <= {Verdict.PASS, Verdict.NOT_APPLICABLE}


def _is_whole(finding: Finding) -> bool:
    return finding.check == "answers.whole"


def _is(finding: Finding, requirement: str) -> bool:
    return finding.requirement == requirement


def test_every_requirement_has_a_row() -> None:
    """A new requirement cannot be forgotten."""
    assert {item.id for item in common().requirements} == ROWS.keys()


def test_each_row_is_for_subjects_of_one_role(bound: Callable[[str], Binding]) -> None:
    """Another one would be refused before it shows anything."""
    roles = {entry.id: entry.role for entry in catalog()}
    for wrong, scenario_id in ROWS.values():
        role = roles[wrong] if wrong in roles else bound(wrong).role
        assert role == shipped_scenario(scenario_id).role, wrong
