"""The kill matrix: every check can fail, each miniature fails its own, the references fail none.

These tests cross all rooms on purpose. They are the proof that no check is for show, and that none
of them asks for what a correct subject cannot give.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from faultclock.load.error_model import load_error_model, model_ids
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.finding import Finding, Report, Verdict
from faultclock.model.report.kill_matrix import broken_rules
from faultclock.model.scenario.scenario import Scenario
from faultclock.oracle.judge import checks_of
from faultclock.run.suite import SuiteRequest, run_suite
from faultclock.subjects.binding import Binding
from faultclock.subjects.registry import SubjectEntry, catalog
from tests.docs.reference_checks import example_of, shown_by, stored_finding, without_lines
from tests.each import for_each
from tests.run.conftest import loaded_model, shipped, shipped_scenario
from tests.run.kills import BESIDES, SPOILED
from tests.run.kills_of_agents import BESIDES_OF_AGENTS
from tests.run.kills_of_common import BESIDES_OF_COMMON

#: Those that only exploration finds are in `test_planted_bugs`.
MINIATURES = [entry for entry in catalog() if entry.kind == "miniature" and entry.found_by == "run"]
#: The other style of each; those that the command runs by default are in `test_conformance`.
REFERENCES = [
    entry
    for entry in catalog()
    if entry.id in ("reference-tool-sync", "reference-extension-sync", "reference-store-async")
]
ALL_BESIDES = BESIDES | BESIDES_OF_AGENTS | BESIDES_OF_COMMON
GOOD = (Verdict.PASS, Verdict.NOT_APPLICABLE)


def model_of(entry: SubjectEntry) -> ErrorModel:
    """Return the model by which a subject is right, or fails its check."""
    return loaded_model(entry.model)


def run(model: ErrorModel, binding: Binding, *scenarios: Scenario) -> Report:
    """Run a subject through scenarios."""
    request = SuiteRequest(
        scenarios=scenarios,
        binding=binding,
        subject_spec=binding.id,
        model=model,
        wall_limit_s=5.0,
        # All of them fail, and `test_suite` shows that what fails is run a second time.
        confirm=False,
    )
    return run_suite(request)


def all_findings(report: Report) -> list[Finding]:
    """Return the findings of all runs, and of the groups of seeds."""
    return [*report.seeds_findings, *(item for each in report.runs for item in each.findings)]


def bad(report: Report) -> dict[str, str]:
    """Return each check that has something against the subject, with what it says first."""
    told: dict[str, str] = {}
    for finding in all_findings(report):
        if finding.verdict not in GOOD:
            told.setdefault(finding.check, f"{finding.expected}, but {finding.observed}")
    return told


@pytest.mark.parametrize("entry", MINIATURES, ids=[entry.id for entry in MINIATURES])
def test_a_miniature_is_caught_by_the_check_it_was_made_for(
    entry: SubjectEntry, bound: Callable[[str], Binding]
) -> None:
    """In a shipped scenario, and by no other check but where it cannot be otherwise.

    What the reference of the checks shows of it is what it says.
    """
    report = run(model_of(entry), bound(entry.id), shipped_scenario(shown_by(entry)))
    told = bad(report)
    # What is said of the evidence itself is no rule of a document, and most of it is inconclusive.
    is_rule = entry.id not in SPOILED and not str(entry.fails).startswith("evidence.")
    assert entry.fails in (
        {check for check, _ in broken_rules(all_findings(report))} if is_rule else told
    )
    assert report.verdict is not Verdict.PASS
    if entry.id not in SPOILED:
        assert told.keys() - {entry.fails} == ALL_BESIDES.get(entry.id, set()), told
    if example_of(entry) is not None:
        shown = ", but ".join(stored_finding(entry))
        assert without_lines(told[entry.fails]) == shown, "python -m tests.docs.reference"


@pytest.mark.parametrize("entry", REFERENCES, ids=[entry.id for entry in REFERENCES])
def test_a_reference_of_the_other_style_passes_every_shipped_scenario(
    entry: SubjectEntry, bound: Callable[[str], Binding]
) -> None:
    """Zero findings that are not a pass: what fails a miniature is its defect."""
    model = model_of(entry)
    scenarios = [item for item in shipped(entry.role) if model.id in (item.models or (model.id,))]
    report = run(model, bound(entry.id), *scenarios)
    assert bad(report) == {}
    assert report.verdict is Verdict.PASS


#: A subject that fails the first ends or hangs its process, so it is no miniature that a person
#: should start: `test_suite` has two. The second judges logs, which no subject of ours writes:
#: `fixtures/foreign-logs` has those that fail it.
ELSEWHERE = {"evidence.whole", "backoff.declared"}


def test_every_check_has_a_miniature() -> None:
    """A check without a subject that fails it may be one that cannot fail."""
    known = {check.id for id_ in model_ids() for check in checks_of(load_error_model(id_))}
    assert known ^ {entry.fails for entry in MINIATURES} == ELSEWHERE


def test_what_else_fails_is_noted_of_miniatures_alone() -> None:
    """A note that no miniature has any more would hide what a later one of that name fails."""
    assert {entry.id for entry in MINIATURES} >= ALL_BESIDES.keys() | SPOILED


@for_each(MINIATURES, name=lambda entry: entry.id)
def test_a_miniature_and_its_scenario_are_of_one_role(entry: SubjectEntry) -> None:
    """Another one would be refused before it shows anything."""
    assert shipped_scenario(shown_by(entry)).role == entry.role
