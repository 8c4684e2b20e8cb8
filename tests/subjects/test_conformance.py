"""In the simulated world: what is right passes every check, each miniature fails its own.

These tests cross all rooms on purpose. They are the proof that every check can fail, and that
none of them asks for what a correct adapter cannot give.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from harness.load.error_model import load_error_model
from harness.load.payloads import load_payloads
from harness.load.resources import scenarios_root
from harness.load.scenario import load_scenario, shipped_scenarios
from harness.model.error_model import ErrorModel
from harness.model.finding import Finding
from harness.model.payload import ErrorPayload
from harness.model.scenario import Scenario
from harness.oracle.judge import checks_of, judge, judge_seeds
from harness.run.execute import execute
from harness.sim.patches import installed
from harness.subjects.miniatures import MINIATURES
from harness.subjects.registry import load_subject

#: A scenario that shows each defect, and nothing else of the miniature.
SHOWN_BY = {
    "429-is-terminal": "rate-limits/retry-after-absent",
    "accepts-cut-stream": "provider-transient/stream-cut-by-close",
    "audit-without-code": "provider-transient/context-length-exceeded",
    "ignores-retry-after": "rate-limits/retry-after-integer",
    "jitters-retry-after": "rate-limits/retry-after-integer",
    "leaks-secret-to-user": "provider-transient/context-length-exceeded",
    "loses-cause": "provider-transient/error-500-three-times",
    "loses-code-on-wrapping": "provider-transient/error-500-three-times",
    "matches-message-text": "rate-limits/message-never-says-rate-limit",
    "matches-nothing": "rate-limits/retry-after-absent",
    "never-calls": "provider-transient/healthy-call",
    "never-ends": "provider-transient/stall-before-headers",
    "never-streams": "provider-transient/stream-server-error",
    "no-jitter": "rate-limits/jitter-over-seeds",
    "one-attempt-less": "rate-limits/six-failures-then-terminal",
    "one-attempt-more": "rate-limits/six-failures-then-terminal",
    "one-sided-jitter": "rate-limits/jitter-over-seeds",
    "retries-400": "provider-transient/context-length-exceeded",
    "retries-after-the-end": "provider-transient/statuses-without-a-rule",
    "sleeps-short": "rate-limits/retry-after-integer",
    "stack-to-model": "provider-transient/context-length-exceeded",
    "starts-a-process": "provider-transient/healthy-call",
    "swallows-error": "provider-transient/context-length-exceeded",
    "unaudited-retry": "rate-limits/retry-after-absent",
    "waits-too-long": "rate-limits/jitter-over-seeds",
    "wrong-code": "provider-transient/error-500-three-times",
}


@pytest.fixture(scope="module", autouse=True)
def _patched() -> Iterator[None]:
    with installed():
        yield


@pytest.fixture(scope="module")
def payloads() -> Mapping[str, ErrorPayload]:
    """Error bodies of the fake provider."""
    return load_payloads("openai-chat")


@pytest.fixture(scope="module")
def model() -> ErrorModel:
    """The stud-cli model in its default reading."""
    return load_error_model("stud-cli")


def wrong(
    subject: str, scenario: Scenario, model: ErrorModel, payloads: Mapping[str, ErrorPayload]
) -> list[Finding]:
    """Return the findings that are not green, over all seeds of the scenario."""
    binding = load_subject(subject)
    seeds = range(scenario.seed, scenario.seed + scenario.seeds)
    traces = tuple(execute(scenario, binding, seed, payloads) for seed in seeds)
    findings = [finding for trace in traces for finding in judge(model, trace).findings]
    findings += judge_seeds(model, traces)
    green = {"PASS", "NOT_APPLICABLE"}
    return [finding for finding in findings if finding.verdict.name not in green]


@pytest.mark.parametrize("subject", ["reference", "reference-sync", "openai-stud"])
def test_a_correct_adapter_passes_every_shipped_scenario(
    subject: str, model: ErrorModel, payloads: Mapping[str, ErrorPayload]
) -> None:
    """Async, blocking, and around the real SDK."""
    told = [
        f"{scenario.id}: {finding.check}: {finding.expected}, but {finding.observed}"
        for scenario in map(load_scenario, shipped_scenarios().values())
        for finding in wrong(subject, scenario, model, payloads)
    ]
    assert told == []


def test_every_miniature_has_a_scenario_that_shows_it() -> None:
    """A new one cannot be forgotten here."""
    assert set(SHOWN_BY) == {id_.removeprefix("mini-") for id_ in MINIATURES}


def test_every_check_has_a_miniature_that_fails_it(model: ErrorModel) -> None:
    """No subject can make a trace that is not whole: that check is tested on damaged traces."""
    checks = {check.id for check in checks_of(model)} - {"evidence.whole"}
    assert checks == {item.fails for item in MINIATURES.values()}


@pytest.mark.parametrize("name", sorted(SHOWN_BY))
def test_a_miniature_fails_its_check_and_no_other(
    name: str, model: ErrorModel, payloads: Mapping[str, ErrorPayload]
) -> None:
    """Its one defect is found, and found once: by the check that it is made for."""
    scenario = load_scenario(scenarios_root() / f"{SHOWN_BY[name]}.yaml")
    found = {finding.check for finding in wrong(f"mini-{name}", scenario, model, payloads)}
    assert MINIATURES[f"mini-{name}"].fails in found
    # A leak spoils the run: what else was found in it proves nothing.
    if name != "starts-a-process":
        assert found == {MINIATURES[f"mini-{name}"].fails}
