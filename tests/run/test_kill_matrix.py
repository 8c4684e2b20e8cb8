"""Every check can fail: a miniature fails it, and the reference passes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from harness.model.error_model import ErrorModel
from harness.model.finding import Verdict
from harness.oracle.judge import checks_of
from harness.run.suite import SuiteRequest, run_suite
from harness.subjects.binding import Binding
from harness.subjects.registry import SubjectEntry, catalog
from tests.run.conftest import shipped

MINIATURES = [entry for entry in catalog() if entry.kind == "miniature"]
BAD = (Verdict.FAIL, Verdict.INCONCLUSIVE)


@pytest.mark.parametrize("entry", MINIATURES, ids=[entry.id for entry in MINIATURES])
def test_a_miniature_is_caught_by_the_check_it_was_made_for(
    entry: SubjectEntry, model: ErrorModel, bound: Callable[[str], Binding]
) -> None:
    """Over the shipped scenarios, so a scenario exists that shows the defect."""
    report = run_suite(
        SuiteRequest(
            scenarios=shipped(),
            binding=bound(entry.id),
            subject_spec=entry.id,
            model=model,
            wall_limit_s=5.0,
        )
    )
    findings = [*report.seeds_findings, *(f for run in report.runs for f in run.findings)]
    caught = {finding.check for finding in findings if finding.verdict in BAD}
    assert entry.fails in caught
    assert report.verdict is not Verdict.PASS


#: A subject that fails it ends or hangs its process, so it is no miniature that a person should
#: start: `test_suite` has two.
ELSEWHERE = {"evidence.whole"}


def test_every_check_has_a_miniature(model: ErrorModel) -> None:
    """A check without a subject that fails it may be one that cannot fail."""
    planted = {entry.fails for entry in MINIATURES}
    assert {check.id for check in checks_of(model)} - planted == ELSEWHERE
