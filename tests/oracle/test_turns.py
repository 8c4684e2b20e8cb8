"""Every check of whole turns can fail and can pass, and one planted defect fails one check."""

from __future__ import annotations

import pytest

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.finding import Finding, Verdict
from faultclock.model.trace.trace import Trace, trace_lines
from faultclock.oracle.judge import CHECKS, judge
from tests.oracle.planted_turns import TURNS
from tests.oracle.trace_builder import TraceBuilder

#: What the model of these traces says nothing of; planted in the tests of those checks.
_ELSEWHERE = (
    *("failures.", "chain.", "breaker.", "joins.", "limits."),
    *("approvals.consent", "tools.failure-told", "tools.result-kept", "tools.secrets"),
)


def by_check(model: ErrorModel, trace: Trace) -> dict[str, list[Finding]]:
    """Return the findings of each check."""
    found: dict[str, list[Finding]] = {}
    for finding in judge(model, trace).findings:
        found.setdefault(finding.check, []).append(finding)
    return found


def test_every_check_is_planted() -> None:
    """A check that is added needs a trace that fails it and one that passes it."""
    own = {
        check.id
        for check in CHECKS
        if check.role == "runtime" and not check.id.startswith(_ELSEWHERE)
    }
    assert own == set(TURNS)


@pytest.mark.parametrize("check", sorted(TURNS))
def test_each_planted_defect_fails_its_check_alone(model: ErrorModel, check: str) -> None:
    """One wrong behaviour is blamed once, and the run is evidence of it."""
    found = by_check(model, TURNS[check][0]())
    bad = {name for name, own in found.items() for item in own if item.verdict is Verdict.FAIL}
    assert bad == {check}
    doubt = {item.verdict for own in found.values() for item in own} - {Verdict.FAIL, Verdict.PASS}
    assert doubt <= {Verdict.NOT_APPLICABLE}


@pytest.mark.parametrize("check", sorted(TURNS))
def test_each_check_passes_what_is_as_it_should_be(model: ErrorModel, check: str) -> None:
    """It has judged something, and nothing else is blamed."""
    found = by_check(model, TURNS[check][1]())
    assert {item.verdict for item in found[check]} == {Verdict.PASS}
    assert sum(item.judged for item in found[check]) > 0
    verdicts = {item.verdict for own in found.values() for item in own}
    assert verdicts <= {Verdict.PASS, Verdict.NOT_APPLICABLE}


@pytest.mark.parametrize("check", sorted(TURNS))
def test_each_violation_cites_its_sentence_and_its_events(model: ErrorModel, check: str) -> None:
    """A FAIL has expected, observed, a requirement that names the check, and events that exist."""
    trace = TURNS[check][0]()
    for finding in by_check(model, trace)[check]:
        if finding.verdict is Verdict.FAIL:
            assert finding.requirement is not None
            assert check in model.requirement(finding.requirement).checks
            assert finding.expected
            assert finding.observed
            assert finding.events
            assert all(1 <= seq <= len(trace.events) for seq in finding.events)


@pytest.mark.parametrize("check", sorted(TURNS))
def test_what_passes_is_cited_by_a_requirement_that_names_the_check(
    model: ErrorModel, check: str
) -> None:
    """Else a report would list a sentence under a check that does not judge it."""
    for finding in by_check(model, TURNS[check][1]())[check]:
        if finding.requirement is not None:
            assert check in model.requirement(finding.requirement).checks


def test_a_provider_adapter_has_no_turns(model: ErrorModel) -> None:
    """Its traces are judged as before: nothing of this applies."""
    found = by_check(model, TraceBuilder().start().good().returns().build())
    for check in TURNS:
        (finding,) = found[check]
        assert finding.verdict is Verdict.NOT_APPLICABLE
        assert finding.reason == "the subject is not a runtime"


@pytest.mark.parametrize("check", sorted(TURNS))
def test_judging_changes_nothing(model: ErrorModel, check: str) -> None:
    """The oracle is a pure function of model and trace."""
    trace = TURNS[check][0]()
    before = list(trace_lines(trace))
    assert judge(model, trace) == judge(model, trace)
    assert list(trace_lines(trace)) == before
