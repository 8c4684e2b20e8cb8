"""No check passes by having looked at nothing, and nothing that was cut off is blamed."""

from __future__ import annotations

import pytest

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.finding import Verdict
from faultclock.oracle import judge
from tests.oracle.failure_builder import (
    NOTHING,
    called,
    found,
    model_of,
    paired,
    verdicts,
)

CHECKS = (
    "failures.redone",
    "failures.wait",
    "failures.outcome",
    "failures.classified",
    "failures.told-model",
    "failures.told-operator",
    "failures.told-user",
    "failures.kept",
)
_ALL = {"applies_to": ["*/*"]}
WHOLE = model_of(
    consequences=[_ALL | {"run": "ends"}],
    telling=[_ALL | {"id": name, "audience": name} for name in ("model", "operator", "user")],
    kept=[_ALL | {"file": "*"}],
)


@pytest.mark.parametrize("check", CHECKS)
def test_a_turn_without_a_failure_earns_nothing(check: str) -> None:
    """The check says why it judged nothing."""
    builder = called().runs("c1").tells("c1", "{}").says().ends()
    (finding,) = found(WHOLE, builder, check)
    assert (finding.verdict, finding.judged) == (Verdict.NOT_APPLICABLE, 0)
    assert finding.reason


@pytest.mark.parametrize("check", CHECKS)
def test_a_failure_of_which_the_model_says_nothing_earns_nothing(check: str) -> None:
    """It has no class there."""
    builder = called().runs("c1", "Tool/CapabilityAbsent").tells("c1", "{}").says().ends()
    assert verdicts(WHOLE, builder, check) == NOTHING


@pytest.mark.parametrize("check", CHECKS)
def test_a_trace_that_was_cut_off_earns_nothing(check: str) -> None:
    """What the subject would have done next is not known."""
    builder = called().raises_in("c1")
    assert verdicts(WHOLE, builder.build("watchdog"), check) <= {
        Verdict.NOT_APPLICABLE,
        Verdict.INCONCLUSIVE,
    }


@pytest.mark.parametrize("check", CHECKS)
def test_a_turn_that_was_killed_earns_nothing(check: str) -> None:
    """A crash gives nothing up."""
    builder = called().raises_in("c1").crashes().opens(resume=True)
    assert verdicts(WHOLE, builder, check) == NOTHING


@pytest.mark.parametrize("check", CHECKS)
def test_a_model_without_such_sections_earns_nothing(check: str, model: ErrorModel) -> None:
    """Whatever failed."""
    (judging,) = (item for item in judge.CHECKS if item.id == check)
    outcome = judging.outcome(paired(called().raises_in("c1").ends("Never/Broken")), model)
    assert not outcome.judged
    assert outcome.reason
