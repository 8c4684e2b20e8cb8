"""Jitter is judged between the calls of a run and over seeds, each at its stated bound."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.finding import Finding, Verdict
from faultclock.model.trace.trace import Trace
from faultclock.oracle.judge import judge, judge_seeds
from tests.oracle.trace_builder import TraceBuilder


def run(seed: int, first_ms: int, second_ms: int = 10_000) -> Trace:
    """Return a run that was limited twice and waited that long."""
    built = TraceBuilder(seed=seed).start().fails(429).wait(f"{first_ms}ms").fails(429)
    return built.wait(f"{second_ms}ms").good().returns().build()


def over_seeds(model: ErrorModel, count: int, draw: Callable[[int], int]) -> tuple[Finding, ...]:
    """Return the findings on `count` seeds whose first wait is `draw(seed)` milliseconds."""
    return judge_seeds(model, tuple(run(seed, draw(seed), 2 * draw(seed)) for seed in range(count)))


def uniform(seed: int) -> int:
    """Draw as the document asks: 5 s ±20 %."""
    return random.Random(seed).randint(4_000, 6_000)


@pytest.mark.parametrize("seeds", [2, 5, 16, 50])
def test_jitter_that_is_drawn_passes(model: ErrorModel, seeds: int) -> None:
    """Uniform draws pass at every number of seeds, and the finding names the scenario."""
    (finding,) = over_seeds(model, seeds, uniform)
    assert finding.verdict is Verdict.PASS
    assert finding.requirement == "STUD-RATE-02"
    assert finding.observed.endswith(f"; over {seeds} seeds of tests/by-hand")


@pytest.mark.parametrize(
    ("draw", "seeds", "words"),
    [
        (lambda seed: 5_000, 2, "in all of 2 waits"),
        (lambda seed: 5_000, 16, "in all of 16 waits"),
        (lambda seed: 5_000 + 60 * seed, 16, "0 of 32 waits were below it"),
        (lambda seed: 4_000 + 60 * seed, 16, "0 above"),
        (lambda seed: 4_970 + 4 * seed, 16, "between -0.6 % and +0.6 %"),
        # A wait of just the nominal length lies on neither side.
        (lambda seed: 4_100 + 60 * seed, 16, "30 of 32 waits were below it, 0 above"),
    ],
)
def test_jitter_that_is_not_what_was_asked_fails(
    model: ErrorModel, draw: Callable[[int], int], seeds: int, words: str
) -> None:
    """Constant, to one side only, or far too narrow."""
    (finding,) = over_seeds(model, seeds, draw)
    assert finding.verdict is Verdict.FAIL
    assert words in finding.observed


def test_the_shape_is_not_judged_of_few_seeds(model: ErrorModel) -> None:
    """15 seeds on one side prove too little."""
    (finding,) = over_seeds(model, 15, lambda seed: 5_000 + 60 * seed)
    assert finding.verdict is Verdict.PASS


def test_one_seed_says_nothing(model: ErrorModel) -> None:
    """There is no distribution of one run."""
    assert judge_seeds(model, (run(0, 5_000),)) == ()


def test_runs_with_one_seed_say_nothing_either(model: ErrorModel) -> None:
    """A subject that draws by its seed waits alike in both."""
    (finding,) = judge_seeds(model, (run(0, 4_500), run(0, 4_500)))
    assert finding.verdict is Verdict.NOT_APPLICABLE


def test_what_was_expected_of_waits_to_one_side_names_the_nominal_ones(model: ErrorModel) -> None:
    """The width says how far on each side."""
    (finding,) = over_seeds(model, 16, lambda seed: 5_000 + 60 * seed)
    assert finding.expected == "waits on both sides of the nominal ones (±20 %)"


def test_seeds_without_a_scheduled_wait_have_nothing_to_vary(model: ErrorModel) -> None:
    """Not applicable, with the reason and the scenario."""
    traces = tuple(TraceBuilder(seed=seed).start().good().returns().build() for seed in (0, 1))
    (finding,) = judge_seeds(model, traces)
    assert finding.verdict is Verdict.NOT_APPLICABLE
    assert "tests/by-hand" in finding.reason


def test_a_run_that_proves_nothing_makes_the_group_inconclusive(model: ErrorModel) -> None:
    """Two sound runs of three are not the group that was asked for."""
    broken = TraceBuilder(seed=2).start().good().returns().build("watchdog")
    (finding,) = judge_seeds(model, (run(0, 4_500), run(1, 5_500), broken))
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "1 of 3 runs" in finding.reason


def test_a_run_that_proves_nothing_is_no_seed(model: ErrorModel) -> None:
    """One sound run of two has nothing to be compared with."""
    broken = TraceBuilder(seed=1).start().fails(429).wait("5s").good().returns().build("watchdog")
    (finding,) = judge_seeds(model, (run(0, 4_500), broken))
    assert finding.verdict is Verdict.NOT_APPLICABLE


def test_one_wait_over_all_seeds_cannot_vary(model: ErrorModel) -> None:
    """The other run had no failure to wait after."""
    once = TraceBuilder(seed=0).start().fails(429).wait("5s").good().returns().build()
    quiet = TraceBuilder(seed=1).start().good().returns().build()
    (finding,) = judge_seeds(model, (once, quiet))
    assert finding.verdict is Verdict.PASS


def crowd(model: ErrorModel, waits_ms: list[int]) -> tuple[Finding, ...]:
    """Return the jitter findings of one run with a call for each wait."""
    calls = [f"ask/{number}" for number in range(1, len(waits_ms) + 1)]
    built = TraceBuilder(copies=len(calls))
    for call in calls:
        built.start(call)
    for call, wait_ms in zip(calls, waits_ms, strict=True):
        built.fails(429, call=call).wait(f"{wait_ms}ms").good(call=call).returns(call=call)
    findings = judge(model, built.build()).findings
    return tuple(finding for finding in findings if finding.check == "backoff.jitter")


def test_fifty_calls_that_come_back_together_fail(model: ErrorModel) -> None:
    """A shared or equally seeded generator shows within one run."""
    (finding,) = crowd(model, [4_700] * 50)
    assert finding.verdict is Verdict.FAIL
    assert finding.observed == "1 different waits in 50 calls: 4.7s"
    (finding,) = crowd(model, [4_700, 5_300] * 25)
    assert finding.verdict is Verdict.FAIL
    (finding,) = crowd(model, [4_000, 4_500, 5_000, 5_500] * 2)
    assert finding.observed == "4 different waits in 8 calls: 4.5s, 4s, 5.5s"
    (finding,) = crowd(model, [4_000, 4_500, 5_000, 5_500, 4_700] + [4_000] * 4)
    assert finding.verdict is Verdict.PASS


def test_fifty_calls_that_draw_milliseconds_pass(model: ErrorModel) -> None:
    """Some of fifty whole milliseconds out of two thousand are equal by chance; that is jitter."""
    draws = random.Random(7)
    waits = [draws.randint(4_000, 6_000) for _ in range(50)]
    waits[1] = waits[0]
    (finding,) = crowd(model, waits)
    assert finding.verdict is Verdict.PASS
