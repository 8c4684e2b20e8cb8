"""Which rule of a model is for a failure, and which policy it is done again by."""

from __future__ import annotations

from typing import Any

import pytest

from faultclock.oracle.failures.engine import failures_of
from faultclock.oracle.failures.failure import Failure
from tests.oracle.failure_builder import FailureBuilder, called, model_of, paired


def rule(**changes: Any) -> dict[str, Any]:
    """Return a rule for an exception of a tool."""
    values = {"id": "mine", "class": "Again", "code": "Busy", "requirement": "BY-SIGNAL"}
    return values | {"when": {"kinds": ["tool_exception"]}} | changes


def the(builder: FailureBuilder, **sections: Any) -> Failure:
    """Return the one thing that failed."""
    (failure,) = failures_of(paired(builder.ends()), model_of(**sections))
    return failure


@pytest.mark.parametrize(
    "more", [{"statuses": ["500"]}, {"error_codes": ["busy"]}, {"error_types": ["server"]}]
)
def test_a_rule_that_looks_at_a_response_is_for_requests_alone(more: dict[str, Any]) -> None:
    """A tool that raises has neither a status nor an error object."""
    when = {"kinds": ["tool_exception"], **more}
    assert the(called().raises_in("c1"), signals=[rule()]).pair == ("Again", "Busy")
    assert the(called().raises_in("c1"), signals=[rule(when=when)]).pair is None


def test_a_failure_that_the_document_does_not_map_has_no_pair() -> None:
    """It has the reason instead, also where its class is named."""
    changes = {"code": None, "unmapped": "the document is silent"}
    failure = the(called().raises_in("c1"), signals=[rule(**changes)])
    assert failure.pair is None
    assert failure.classification is not None
    assert failure.classification.unmapped == "the document is silent"


def test_what_no_policy_covers_has_no_ruling() -> None:
    """A policy for something else says nothing of it; one of another layer may cover it."""
    policy: dict[str, Any] = {
        "id": "mine",
        "layer": "queue",
        "attempts_max": 3,
        "backoff": {"kind": "fixed", "base": "1s"},
        "requirements": {"attempts": "BY-ATTEMPTS", "wait": "BY-WAIT"},
    }
    for pair, limit in (("Again/Queue", None), ("Again/Busy", 3)):
        policies = [policy | {"applies_to": [pair]}]
        ruling = the(called().raises_in("c1"), signals=[rule()], policies=policies).ruling
        assert (None if ruling is None else ruling.policy.attempts_max) == limit
