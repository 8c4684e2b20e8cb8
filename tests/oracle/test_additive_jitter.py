"""Jitter that only adds: a wait lies between the nominal one and so much more, and varies."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultclock.model.duration import MILLISECOND_NS
from faultclock.model.report.finding import Finding, Verdict
from faultclock.model.retry_policy import RetryPolicy
from faultclock.model.trace.trace import Trace
from faultclock.oracle.facts.history import History
from faultclock.oracle.judge import judge_seeds
from faultclock.oracle.retries.plans import plans_of
from tests.oracle.small_model import found, judged, small_model
from tests.oracle.trace_builder import TraceBuilder

#: 0.5 s, 1 s, 2 s and up to 150 ms more.
POLICY = {
    "attempts_from": "policy",
    "attempts_max": 4,
    "backoff": {"kind": "exponential", "base": "500ms"},
    "jitter": {"kind": "additive", "up_to": "150ms"},
}
MODEL = small_model(policy=POLICY)


def waited(*waits_ms: int, seed: int = 0) -> TraceBuilder:
    """Return a call that waited so long before its retries."""
    built = TraceBuilder(seed=seed).start().fails(500)
    for place, wait_ms in enumerate(waits_ms, 1):
        built.wait(f"{wait_ms}ms")
        if place < len(waits_ms):
            built.fails(500)
    return built.good().returns()


@pytest.mark.parametrize("waits", [(500, 1_000), (650, 1_150), (575, 1_075)])
def test_a_wait_may_be_longer_by_so_much(waits: tuple[int, ...]) -> None:
    """Both ends belong to it."""
    assert judged(MODEL, waited(*waits), "backoff.wait") == 2


@pytest.mark.parametrize("waits", [(499, 1_000), (651, 1_000), (500, 1_151), (400, 1_000)])
def test_nothing_is_taken_away_and_no_more_is_added(waits: tuple[int, ...]) -> None:
    """Whatever the nominal wait is, the width is the same."""
    assert len(found(MODEL, waited(*waits), "backoff.wait")) == 1


def test_the_basis_says_what_may_be_added() -> None:
    """Readers see where the interval comes from."""
    (_, steps), *_ = plans_of(History(waited(600).build()), MODEL)
    assert steps[0].wait is not None
    assert steps[0].wait.basis == "500ms and up to 150ms more"
    assert str(steps[0].wait.interval) == "500ms to 650ms"


@given(
    st.sampled_from(["fixed", "linear", "exponential"]),
    st.integers(0, 5_000),
    st.integers(1, 2_000),
    st.integers(1, 12),
    st.integers(0, 8_000),
)
def test_an_interval_holds_exactly_what_may_be_drawn(
    kind: str, base_ms: int, up_to_ms: int, retry: int, cap_ms: int
) -> None:
    """Nominal plus a draw from zero to the most, for each kind of schedule, capped or not."""
    policy = RetryPolicy.model_validate(
        {
            "id": "p",
            "applies_to": ["A/B"],
            "attempts_max": 20,
            "backoff": {"kind": kind, "base": f"{base_ms}ms", "cap": f"{cap_ms}ms"},
            "jitter": {"kind": "additive", "up_to": f"{up_to_ms}ms"},
        }
    )
    grown = {"fixed": base_ms, "linear": base_ms * retry, "exponential": base_ms * 2 ** (retry - 1)}
    nominal_ns = min(grown[kind], cap_ms) * MILLISECOND_NS
    up_to_ns = up_to_ms * MILLISECOND_NS
    interval = policy.interval(retry)
    assert nominal_ns in interval
    assert nominal_ns + up_to_ns // 2 in interval
    assert nominal_ns + up_to_ns in interval
    assert nominal_ns - 1 not in interval
    assert nominal_ns + up_to_ns + 1 not in interval


def over_seeds(count: int, draw: Callable[[int], int]) -> Finding:
    """Return the finding on seeds whose first wait has `draw(seed)` milliseconds added to it."""
    traces: tuple[Trace, ...] = tuple(
        waited(500 + draw(seed), 1_000 + draw(seed), seed=seed).build() for seed in range(count)
    )
    findings = judge_seeds(MODEL, traces)
    return next(item for item in findings if item.check == "backoff.jitter")


@pytest.mark.parametrize("seeds", [2, 16, 50])
def test_additive_jitter_that_is_drawn_passes(seeds: int) -> None:
    """Uniform draws from nothing to the most."""
    finding = over_seeds(seeds, lambda seed: random.Random(seed).randint(0, 150))
    assert finding.verdict is Verdict.PASS
    assert finding.requirement == "SMALL-JITTER"


@pytest.mark.parametrize(
    ("draw", "words"),
    [
        (lambda seed: 0, "it was 500ms in all of 16 waits"),
        (lambda seed: 2 + seed, "0 above"),
        (lambda seed: 149 - seed, "0 of 32 waits were below it"),
        (lambda seed: 67 + seed, "between +67ms and +82ms"),
    ],
)
def test_additive_jitter_that_is_not_what_was_asked_fails(
    draw: Callable[[int], int], words: str
) -> None:
    """Never drawn, drawn from one half only, or far too narrow."""
    finding = over_seeds(16, draw)
    assert finding.verdict is Verdict.FAIL
    assert words in finding.observed


def test_calls_that_come_back_together_fail() -> None:
    """A schedule without a nominal wait has to vary as well."""
    model = small_model(policy={**POLICY, "backoff": {"kind": "fixed", "base": "0s"}})
    for added, verdicts in ((lambda n: 40, [Verdict.FAIL]), (lambda n: 10 * n, [Verdict.PASS])):
        built = TraceBuilder(copies=5)
        calls = [f"ask/{number}" for number in range(1, 6)]
        for call in calls:
            built.start(call)
        for number, call in enumerate(calls):
            built.fails(500, call=call).wait(f"{added(number)}ms").good(call=call)
            built.returns(call=call)
        bad = found(model, built, "backoff.jitter")
        assert bool(bad) is (verdicts == [Verdict.FAIL])
