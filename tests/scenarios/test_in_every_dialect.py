"""The scenarios that leave the dialect open are fair in each of them, and find what is wrong.

The runs are in this process: `any_dialect` keeps no state, and they are more than a thousand.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

import pytest

from faultclock.load.error_model import load_error_model
from faultclock.model.report.finding import Finding, Verdict, verdict_of
from faultclock.model.scenario.scenario import Scenario
from faultclock.oracle.judge import Judge
from faultclock.run.bind_scenario import cannot_be_said
from faultclock.run.suite import run_one
from faultclock.subjects.binding import Binding
from tests.scenarios.any_dialect import (
    DIALECTS,
    IgnoresRetryAfter,
    RetriesNothing,
    RetriesRefusals,
    TakesAPartForTheWhole,
    client,
)
from tests.warm.listing import all_scenarios

FAMILIES = ("rate-limits", "provider-limits", "provider-transient")
MODEL = "stud-cli"
_BAD = (Verdict.FAIL, Verdict.INCONCLUSIVE)
#: What is wrong with a client: the check that has to find it, and where it may be found.
WRONG: Mapping[str, tuple[str, tuple[str, ...]]] = MappingProxyType(
    {
        "retries nothing": (
            "classification.disposition",
            ("rate-limits/retry-after-absent", "provider-transient/error-503-then-ok"),
        ),
        "ignores Retry-After": (
            "backoff.retry-after",
            ("rate-limits/retry-after-integer", "rate-limits/retry-after-http-date"),
        ),
        "retries refusals": (
            "classification.disposition",
            ("provider-transient/bad-key", "provider-transient/invalid-request"),
        ),
        "takes a part for the whole": (
            "swallow.silent",
            (
                "provider-transient/stream-cut-by-close",
                "provider-transient/stream-ends-without-finish",
            ),
        ),
    }
)


@cache
def _portable(family: str) -> tuple[Scenario, ...]:
    scenarios = (item.scenario for item in all_scenarios())
    return tuple(
        scenario
        for scenario in scenarios
        if scenario.id.partition("/")[0] == family
        and scenario.role == "provider_adapter"
        and scenario.provider.dialect is None
        and MODEL in (scenario.models or (MODEL,))
    )


@cache
def _judge() -> Judge:
    return Judge(load_error_model(MODEL))


def _findings(binding: Binding, scenario: Scenario) -> tuple[Finding, ...]:
    trace = run_one(scenario, binding, scenario.seed, isolate=False)
    return _judge().judge(trace).findings


def _wrong(what: str, dialect: str) -> Binding:
    match what:
        case "retries nothing":
            return client(dialect, RetriesNothing)
        case "ignores Retry-After":
            return client(dialect, IgnoresRetryAfter)
        case "retries refusals":
            return client(dialect, RetriesRefusals)
        case _:
            return client(dialect, exchange_type=TakesAPartForTheWhole)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_is_right_passes_in_every_dialect(dialect: str, family: str) -> None:
    """No scenario asks for what only one provider says, and each fault is met."""
    binding = client(dialect)
    scenarios = [it for it in _portable(family) if cannot_be_said(it, binding) is None]
    # What a dialect has no error for is passed over; most can be said by everyone.
    assert len(scenarios) >= 0.8 * len(_portable(family))
    bad = {}
    for scenario in scenarios:
        findings = _findings(binding, scenario)
        if verdict_of(findings) is not Verdict.PASS:
            bad[scenario.id] = [it.check for it in findings if it.verdict in _BAD]
    assert bad == {}


@pytest.mark.parametrize("what", WRONG)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_is_wrong_is_found_in_every_dialect(dialect: str, what: str) -> None:
    """By the check that is there for it, wherever it is tried."""
    check, where = WRONG[what]
    scenarios = [it for family in FAMILIES for it in _portable(family) if it.id in where]
    assert len(scenarios) == len(where)
    binding = _wrong(what, dialect)
    missed = [
        scenario.id
        for scenario in scenarios
        if not any(
            it.check == check and it.verdict is Verdict.FAIL for it in _findings(binding, scenario)
        )
    ]
    assert missed == []
