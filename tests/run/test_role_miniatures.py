"""Miniatures of tools and extensions: each fails its check and no other, the references none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.finding import Finding, Verdict
from faultclock.model.scenario.scenario import Role
from faultclock.mutants.registry import MUTANTS
from faultclock.oracle.judge import CHECKS, judge
from faultclock.run.execute import execute
from faultclock.subjects.binding import Binding
from faultclock.subjects.registry import load_subject
from tests.architecture.source_tree import PROJECT
from tests.run.conftest import shipped

TOOL_CHECKS, EXTENSION_CHECKS = (
    tuple(check for check in CHECKS if check.role == role) for role in ("tool", "extension")
)
MINIATURES = {
    id_: item for id_, item in MUTANTS.items() if item.binding.role in ("tool", "extension")
}
REFERENCES = [
    *("reference-tool", "reference-tool-sync"),
    *("reference-extension", "reference-extension-sync"),
]
#: What the model `common` alone asks for; `test_kills_of_common` has who exercises it.
OF_COMMON = {"tool.repeats"}
FINE = (Verdict.PASS, Verdict.NOT_APPLICABLE)


def findings(model: ErrorModel, binding: Binding) -> dict[str, list[Finding]]:
    """Return all findings over the shipped scenarios of its role, by scenario."""
    found = {}
    for scenario in shipped(binding.role):
        trace = execute(scenario, binding, scenario.seed)  # type: ignore[arg-type]
        found[scenario.id] = list(judge(model, trace).findings)
    return found


@pytest.mark.parametrize(
    "id_", sorted(id_ for id_, item in MINIATURES.items() if item.model == "stud-cli")
)
def test_a_miniature_fails_its_check_and_no_other(model: ErrorModel, id_: str) -> None:
    """What it leaves unmet is beside the point: it stopped before that, or went on after it."""
    item = MINIATURES[id_]
    failed = {
        finding.check
        for of_scenario in findings(model, item.binding).values()
        for finding in of_scenario
        if finding.verdict in (Verdict.FAIL, Verdict.WARN)
    }
    assert failed == {item.fails}


@pytest.mark.parametrize("id_", REFERENCES)
def test_a_reference_has_nothing_against_it(model: ErrorModel, id_: str) -> None:
    """Not even something that proves nothing."""
    bad = [
        (scenario, finding.check, finding.observed)
        for scenario, of_scenario in findings(model, load_subject(id_)).items()
        for finding in of_scenario
        if finding.verdict not in FINE
    ]
    assert bad == []


@pytest.mark.parametrize(
    ("id_", "checks"), [("reference-tool", TOOL_CHECKS), ("reference-extension", EXTENSION_CHECKS)]
)
def test_every_check_of_the_role_is_exercised(
    model: ErrorModel, id_: str, checks: tuple[object, ...]
) -> None:
    """A check that never judges the reference would pass anything."""
    judged = {
        finding.check
        for of_scenario in findings(model, load_subject(id_)).values()
        for finding in of_scenario
        if finding.verdict is Verdict.PASS
    }
    assert {check.id for check in checks} - OF_COMMON <= judged  # type: ignore[attr-defined]


def test_every_check_of_a_role_has_a_miniature() -> None:
    """A check without a subject that fails it may be one that cannot fail."""
    planted = {item.fails for item in MINIATURES.values()}
    assert planted == {check.id for check in (*TOOL_CHECKS, *EXTENSION_CHECKS)}


@pytest.mark.parametrize(
    ("page", "role", "number", "unshown"),
    [("tools", "tool", 1, 3), ("extensions", "extension", 1, 6)],
)
def test_the_whole_example_of_a_page_conforms(
    model: ErrorModel,
    tmp_path: Path,
    page: str,
    role: Role,
    number: int,
    unshown: int,
    examples: Callable[[str], list[str]],
) -> None:
    """Whoever copies it has nothing to mend; what it cannot show, the page says."""
    file = tmp_path / "example.py"
    file.write_text(examples(page)[number], "utf-8")
    binding = load_subject(f"{file}:subject")
    assert binding.role == role
    verdicts = {
        scenario: {finding.verdict for finding in of_scenario} - set(FINE)
        for scenario, of_scenario in findings(model, binding).items()
    }
    assert not any(Verdict.FAIL in found or Verdict.WARN in found for found in verdicts.values())
    assert sum(bool(found) for found in verdicts.values()) == unshown


@pytest.fixture
def examples() -> Callable[[str], list[str]]:
    """Return the Python examples of a page of the documentation."""

    def read(page: str) -> list[str]:
        text = (PROJECT / "docs" / f"{page}.md").read_text("utf-8")
        return [part.split("```", 1)[0] for part in text.split("```python\n")[1:]]

    return read
