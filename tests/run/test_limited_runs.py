"""Whole runs against a provider with a memory: its refusals are judged like any other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from faultclock.load.error_model import load_error_model
from faultclock.model.report.finding import Report, Verdict
from faultclock.model.trace.events import describe
from faultclock.model.trace.trace import Trace
from faultclock.run.suite import SuiteRequest, run_one, run_suite
from faultclock.subjects.binding import Binding
from tests.run.conftest import shipped, shipped_scenario, small

Bound = Callable[[str], Binding]


def judged(binding: Binding, **changes: Any) -> Report:
    """Return the report of a small scenario."""
    request = SuiteRequest(
        scenarios=(small(**changes),),
        binding=binding,
        subject_spec=binding.id,
        model=load_error_model("stud-cli"),
    )
    return run_suite(request)


def told(report: Report) -> dict[str, str]:
    """Return what the checks that are not content say first."""
    good = (Verdict.PASS, Verdict.NOT_APPLICABLE)
    findings = [finding for run in report.runs for finding in run.findings]
    return {item.check: item.observed for item in reversed(findings) if item.verdict not in good}


def fired(trace: Trace) -> list[tuple[int, str, int | None]]:
    """Return when each refusal came, in seconds, for whom, and how early that was."""
    return [
        (event.at_ns // 10**9, event.payload["call"], event.payload.get("early_ns"))
        for event in trace.of_kind("fault.fired")
    ]


@pytest.mark.parametrize("subject", ["reference", "reference-sync"])
def test_a_reference_waits_until_it_was_told_and_is_never_early(subject: str, bound: Bound) -> None:
    """In every scenario of the family that has limits."""
    for scenario in shipped():
        if scenario.family != "provider-limits" or scenario.provider.limits is None:
            continue
        trace = run_one(scenario, bound(subject), scenario.seed, isolate=False)
        assert [early for _, _, early in fired(trace) if early is not None] == [], scenario.id


def test_a_client_that_comes_early_is_told_so_in_the_trace_and_fails(bound: Bound) -> None:
    """Its own schedule begins with five seconds, and each attempt pushes the answer away."""
    scenario = shipped_scenario("provider-limits/early-retry-is-punished")
    trace = run_one(scenario, bound("mini-ignores-retry-after"), scenario.seed, isolate=False)
    early = [refusal for refusal in fired(trace) if refusal[2] is not None]
    assert len(early) >= 3
    lines = [event for event in trace.of_kind("fault.fired") if event.payload.get("early_ns")]
    assert all(event.payload["pushed_back_ns"] == 30 * 10**9 for event in lines)
    assert describe(lines[0]).startswith("fault requests-per-minute (rate limited, ")
    assert describe(lines[0]).endswith("s too early)")


def test_a_retry_before_the_told_instant_fails_as_it_always_does(bound: Bound) -> None:
    """The oracle needs no rule of its own for it."""
    limits = {"requests": {"per_minute": 6, "burst": 1}}
    tasks = [{"id": "ask", "copies": 2}]
    for subject, failing in (
        ("reference", set()),
        ("mini-sleeps-short", {"backoff.retry-after"}),
        ("mini-ignores-retry-after", {"backoff.retry-after"}),
    ):
        report = judged(bound(subject), provider={"limits": limits}, tasks=tasks)
        assert told(report).keys() == failing, subject


@pytest.mark.parametrize(
    "provider",
    [
        {"limits": {"requests": {"per_minute": 60}}},
        {"limits": {"quota": {"tokens": 10_000}}},
        {"overload": {"at_once": 5}},
    ],
)
def test_a_limit_that_never_bit_spoils_the_pass_unless_it_is_optional(
    provider: dict[str, Any], bound: Bound
) -> None:
    """As a fault does that nobody met."""
    report = judged(bound("reference"), provider=provider)
    assert told(report).keys() == {"evidence.faults-met"}
    assert report.verdict is Verdict.INCONCLUSIVE
    ((section, rules),) = provider.items()
    if section == "overload":
        optional: dict[str, Any] = {section: rules | {"optional": True}}
    else:
        optional = {section: {name: rule | {"optional": True} for name, rule in rules.items()}}
    assert judged(bound("reference"), provider=optional).verdict is Verdict.PASS


def test_two_keys_are_two_accounts_on_the_wire(bound: Bound) -> None:
    """And the trace has neither of them."""
    scenario = shipped_scenario("provider-limits/two-keys-do-not-share")
    trace = run_one(scenario, bound("openai-async"), scenario.seed, isolate=False)
    accounts = {
        (event.payload["call"].split("/")[0], event.payload["account"])
        for event in trace.of_kind("fault.fired")
    }
    assert accounts == {("crowd", 1)}
    assert "sk-simulated" not in repr(trace.events)


def test_a_tail_is_the_same_for_every_subject(bound: Bound) -> None:
    """The delay of the first answer follows from the seed alone."""
    scenario = shipped_scenario("provider-limits/slow-model-in-time")
    first = set()
    for subject in ("reference", "reference-sync", "openai-async"):
        trace = run_one(scenario, bound(subject), scenario.seed, isolate=False)
        asked = next(iter(trace.of_kind("http.request"))).at_ns
        answered = next(
            event.at_ns
            for event in trace.of_kind("http.response")
            if event.payload["exchange"] == "x1"
        )
        first.add(answered - asked)
    assert len(first) == 1
