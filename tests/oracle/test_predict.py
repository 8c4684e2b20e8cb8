"""What had to happen after each failure: schedules worked by hand, counting, declared policies."""

from __future__ import annotations

import pytest

from faultclock.load.error_model import load_error_model
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.error_model.signal_rules import SignalRule
from faultclock.model.retry_policy import RetryPolicy
from faultclock.oracle.facts.history import History
from faultclock.oracle.judge import judge
from faultclock.oracle.retries.plans import plans_of
from faultclock.oracle.retries.predict import Step
from tests.oracle.chain_builder import ChainBuilder
from tests.oracle.small_model import small_model
from tests.oracle.trace_builder import TraceBuilder

SECOND = 1_000_000_000


def steps_of(model: ErrorModel, built: TraceBuilder) -> tuple[Step, ...]:
    """Return the steps of the one call of a trace."""
    ((_, steps),) = plans_of(History(built.raises("A/B").build()), model)
    return steps


def failing(*statuses: int, **options: object) -> TraceBuilder:
    """Return a trace of one attempt for each status, a second apart."""
    built = TraceBuilder(**options).start()  # type: ignore[arg-type]
    for status in statuses:
        built.fails(status).wait("1s")
    return built


def intervals_s(steps: tuple[Step, ...]) -> list[tuple[float, float] | str]:
    """Return the legal wait after each step in seconds, or what else had to come."""
    return [
        step.act
        if step.wait is None
        else (step.wait.interval.low_ns / SECOND, step.wait.interval.high_ns / SECOND)
        for step in steps
    ]


@pytest.mark.parametrize(
    ("readings", "statuses", "expected"),
    [
        ({}, (429,) * 6, [(4, 6), (8, 12), (16, 24), (32, 48), (64, 96), "exhausted"]),
        (
            {"schedule-length": "six-waits"},
            (429,) * 7,
            [(4, 6), (8, 12), (16, 24), (32, 48), (64, 96), (128, 192), "exhausted"],
        ),
        ({}, (500,) * 3, [(0.8, 1.2), (1.6, 2.4), "exhausted"]),
        (
            {"schedule-length": "six-waits"},
            (503,) * 4,
            [(0.8, 1.2), (1.6, 2.4), (3.2, 4.8), "exhausted"],
        ),
        ({"unspecified-jitter": "fifty"}, (500,) * 3, [(0.5, 1.5), (1, 3), "exhausted"]),
        ({"unspecified-jitter": "full"}, (500,) * 3, [(0, 2), (0, 4), "exhausted"]),
        ({}, (401,), ["end"]),
        ({}, (409,), ["unjudged"]),
        # Failures of one policy do not use up the attempts, or the schedule, of another.
        ({}, (503, 429, 503, 429), [(0.8, 1.2), (4, 6), (1.6, 2.4), (8, 12)]),
        (
            {"mixed-failures": "per-call"},
            (503, 429, 503, 429),
            [(0.8, 1.2), (8, 12), "exhausted", (32, 48)],
        ),
    ],
)
def test_the_schedule_of_each_reading(
    readings: dict[str, str], statuses: tuple[int, ...], expected: list[object]
) -> None:
    """Worked by hand from 5 → 10 → 20 → 40 → 80 → 160 and 1 → 2 → 4, ±20 %."""
    model = load_error_model("stud-cli", readings)
    assert intervals_s(steps_of(model, failing(*statuses))) == expected


def test_retry_after_takes_the_place_of_the_schedule(model: ErrorModel) -> None:
    """It is exact, it holds for every transient failure, and its step is used up."""
    built = TraceBuilder().start().fails(429, retry_after="7").wait("7s").fails(429).wait("1s")
    built.fails(503, retry_after="2").wait("2s")
    assert intervals_s(steps_of(model, built)) == [(7, 7), (8, 12), (2, 2)]


def test_retry_after_under_the_other_readings() -> None:
    """On RateLimited alone; and without using up a step of the schedule."""
    readings = {"retry-after-scope": "rate-limited", "retry-after-step": "does-not-count"}
    built = TraceBuilder().start().fails(429, retry_after="7").wait("7s").fails(429).wait("1s")
    built.fails(503, retry_after="2").wait("2s")
    steps = steps_of(load_error_model("stud-cli", readings), built)
    assert intervals_s(steps) == [(7, 7), (4, 6), (0.8, 1.2)]


OWN = RetryPolicy.model_validate(
    {
        "id": "own",
        "applies_to": ["ProviderTransient/*"],
        "attempts_max": 2,
        "backoff": {"kind": "fixed", "base": "3s"},
    }
)


def test_a_declared_policy_replaces_the_default_and_says_so(model: ErrorModel) -> None:
    """Two attempts, 3 s apart, whatever Retry-After says; the requirement stays the model's."""
    first, second = steps_of(model, failing(429, 429, retry_policies=(OWN,)))
    assert intervals_s((first, second)) == [(3, 3), "exhausted"]
    assert first.wait is not None
    assert first.wait.basis == "3s, declared by the subject"
    assert first.ruling is not None
    assert first.ruling.requirements is not None
    assert first.ruling.requirements.wait == "STUD-RATE-02"


def test_a_declared_policy_is_not_asked_where_the_model_refuses_it(model: ErrorModel) -> None:
    """The document decides whether an adapter may declare one."""
    strict = model.model_copy(update={"declared_policies": "refused"})
    assert intervals_s(steps_of(strict, failing(429, retry_policies=(OWN,)))) == [(4, 6)]


def test_a_declared_policy_makes_nothing_terminal_retryable(model: ErrorModel) -> None:
    """It covers the class, and the class is not retried."""
    wide = OWN.model_copy(update={"applies_to": ("ProviderCapability/*",)})
    built = TraceBuilder(retry_policies=(wide,)).start().fails(400, "context_length_exceeded")
    assert intervals_s(steps_of(model, built)) == ["end"]


def test_a_wait_runs_from_what_could_be_known_to_the_next_act(model: ErrorModel) -> None:
    """The answer arrived at 120 ms, the next connect began at 4.62 s."""
    built = TraceBuilder().start().fails(429).wait("4.5s").good()
    first, _ = steps_of(model, built)
    assert first.waited_ns == 4_500_000_000


def test_a_failure_without_a_class_has_no_policy_even_where_it_is_to_be_retried() -> None:
    """The model says that it may be tried again, and no policy says how often."""
    unmapped = {"id": "late", "when": {"statuses": ["504"]}, "unmapped": "no class fits"}
    model = small_model()
    rule = SignalRule.model_validate(
        {**unmapped, "disposition": "retry", "requirement": "SMALL-CLASS"}
    )
    model = model.model_copy(update={"signals": (rule, *model.signals)})
    assert intervals_s(steps_of(model, failing(504))) == ["unjudged"]


def test_a_policy_with_its_own_number_of_attempts_keeps_it() -> None:
    """What the chain grants a provider counts only for a policy that says so."""
    for attempts_from, acts in (("policy", ["retry", "exhausted"]), ("entry", ["exhausted"])):
        policy = {"applies_to": ["Llm/Rate"], "attempts_from": attempts_from, "attempts_max": 2}
        built = ChainBuilder(attempts=(1, 1, 1)).turn().bad(*[429] * len(acts)).ends("Llm/Rate")
        ((_, steps),) = plans_of(History(built.build()), small_model(policy=policy))
        assert [step.act for step in steps] == acts


def test_a_wait_after_a_good_answer_has_the_number_of_its_attempt(model: ErrorModel) -> None:
    """No failure counts before it."""
    built = TraceBuilder().start().asks_for("{}").fails(429).wait("5s").good()
    built.wait("1s").good().returns()
    assert [mark.retry_number for mark in judge(model, built.build()).waits] == [1, 2]
