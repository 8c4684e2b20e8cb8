"""Waits are two-sided with one microsecond of slack; attempts are not more and not fewer."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultclock.load.error_model import load_error_model
from faultclock.model.duration import parse_duration
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.finding import Finding, Verdict
from faultclock.model.retry_policy import Backoff, Jitter, RetryPolicy
from faultclock.model.trace.trace import header_line
from faultclock.oracle.judge import judge
from tests.oracle.small_model import small_model
from tests.oracle.trace_builder import TraceBuilder

RATE = "ProviderTransient/RateLimited"
SERVER = "ProviderTransient/Provider5xx"


def found(model: ErrorModel, check: str, built: TraceBuilder) -> tuple[Finding, ...]:
    """Return the findings of one check."""
    findings = judge(model, built.build()).findings
    return tuple(finding for finding in findings if finding.check == check)


def verdicts(findings: tuple[Finding, ...]) -> set[Verdict]:
    """Return the set of their verdicts."""
    return {finding.verdict for finding in findings}


@pytest.mark.parametrize(
    ("status", "wait", "legal"),
    [
        (429, "4s", True),
        (429, "6s", True),
        (429, "3.999999s", True),
        (429, "6.000001s", True),
        (429, "3.999998999s", False),
        (429, "6.000001001s", False),
        (429, "0s", False),
        (500, "800ms", True),
        (500, "1.2s", True),
        (500, "799.998ms", False),
        (500, "1.200002s", False),
    ],
)
def test_a_first_wait_is_legal_within_its_interval(
    model: ErrorModel, status: int, wait: str, legal: bool
) -> None:
    """5 s or 1 s, ±20 %, and exactly one microsecond on both sides."""
    built = TraceBuilder().start().fails(status).wait(wait).good().returns()
    expected = {Verdict.PASS} if legal else {Verdict.FAIL}
    assert verdicts(found(model, "backoff.wait", built)) == expected


@pytest.mark.parametrize(
    ("header", "wait", "legal"),
    [
        ("7", "7s", True),
        ("7", "6.999999s", True),
        ("7", "7.000001s", True),
        ("7", "6.999998s", False),
        ("7", "7.35s", False),
        ("7", "6.65s", False),
        ("0", "0s", True),
        ("0", "1s", False),
        ("1.5", "1.5s", True),
        ("1.5", "1s", False),
        # The answer arrives at 0.12 s, so 29.88 s are left of the 30.
        ("Thu, 01 Jan 2026 00:00:30 GMT", "29.88s", True),
        ("Thu, 01 Jan 2026 00:00:30 GMT", "30s", False),
        ("Wed, 31 Dec 2025 23:59:30 GMT", "0s", True),
    ],
)
def test_retry_after_is_exact(model: ErrorModel, header: str, wait: str, legal: bool) -> None:
    """No cap, no jitter, no margin: to one microsecond."""
    built = TraceBuilder().start().fails(429, retry_after=header).wait(wait).good().returns()
    expected = {Verdict.PASS} if legal else {Verdict.FAIL}
    assert verdicts(found(model, "backoff.retry-after", built)) == expected
    assert verdicts(found(model, "backoff.wait", built)) == {Verdict.NOT_APPLICABLE}


@pytest.mark.parametrize(
    ("header", "wait", "steps", "legal"),
    [
        # A timer of Node never rings at once, and counts whole milliseconds.
        ("0", "1ms", "0ms", False),
        ("0", "1ms", "1ms", True),
        ("0", "1.001ms", "1ms", False),
        ("Thu, 01 Jan 2026 00:00:30 GMT", "29.879s", "0ms", False),
        ("Thu, 01 Jan 2026 00:00:30 GMT", "29.879s", "1ms", True),
        ("Thu, 01 Jan 2026 00:00:30 GMT", "29.8789s", "1ms", False),
        ("7", "6.985s", "15ms", True),
        ("7", "6.984s", "15ms", False),
    ],
)
def test_a_wait_may_miss_its_ends_by_the_step_of_the_hosts_timers(
    model: ErrorModel, header: str, wait: str, steps: str, legal: bool
) -> None:
    """As much as the binding says, and no more; what was expected names it."""
    granularity_ns = parse_duration(steps)
    built = TraceBuilder(timer_granularity_ns=granularity_ns).start()
    built.fails(429, retry_after=header).wait(wait).good().returns()
    of_waits = found(model, "backoff.retry-after", built)
    assert verdicts(of_waits) == ({Verdict.PASS} if legal else {Verdict.FAIL})
    if not legal:
        assert (f", within {steps}" in of_waits[0].expected) == bool(granularity_ns)


def test_a_trace_of_a_host_without_steps_has_no_such_field() -> None:
    """Traces from before there was one keep their bytes."""
    plain = header_line(TraceBuilder().header)
    assert "timer_granularity_ns" not in plain
    assert '"timer_granularity_ns":1000000' in header_line(
        TraceBuilder(timer_granularity_ns=1_000_000).header
    )


@pytest.mark.parametrize("header", ["soon", "-7", ""])
def test_an_unusable_retry_after_leaves_the_schedule(model: ErrorModel, header: str) -> None:
    """It is judged as a scheduled wait, and not as a header that was ignored."""
    built = TraceBuilder().start().fails(429, retry_after=header).wait("5s").good().returns()
    assert verdicts(found(model, "backoff.wait", built)) == {Verdict.PASS}
    assert verdicts(found(model, "backoff.retry-after", built)) == {Verdict.NOT_APPLICABLE}


def test_a_finding_says_in_words_what_was_waited_and_what_was_legal(model: ErrorModel) -> None:
    """Numbers with units, the retry, and where the interval comes from."""
    built = TraceBuilder().start().fails(429).wait("3.75s").good().returns()
    (finding,) = found(model, "backoff.wait", built)
    assert finding.observed == "waited 3.75s before retry 1"
    assert finding.expected == "a wait of 4s to 6s (5s ±20 %)"
    assert finding.requirement == "STUD-RATE-02"
    built = TraceBuilder().start().fails(429, retry_after="7").wait("8s").good().returns()
    (finding,) = found(model, "backoff.retry-after", built)
    assert finding.observed == "waited 8s before retry 1"
    assert finding.expected == "exactly 7s (Retry-After: 7)"


def test_a_retry_that_is_not_the_calls_own_number_says_which_attempt_it_is(
    model: ErrorModel,
) -> None:
    """The first retry of a server error may be the second of the call."""
    built = TraceBuilder().start().fails(429, retry_after="3").wait("3s").fails(500)
    (finding,) = found(model, "backoff.wait", built.wait("2s").good().returns())
    assert finding.observed == "waited 2s before retry 1 (attempt 3 of the call)"
    assert "other policies" in finding.hint


@pytest.mark.parametrize(
    ("attempts", "hint"), [(3, "default of a library"), (7, "retries rather"), (9, "two layers")]
)
def test_a_wrong_number_of_attempts_has_a_fitting_hint(
    model: ErrorModel, attempts: int, hint: str
) -> None:
    """One too many is a matter of counting, many too many one of layers."""
    built = TraceBuilder().start()
    for wait in ("5s", "10s", "20s", "40s", "80s", "160s", "1s", "1s")[: attempts - 1]:
        built.fails(429).wait(wait)
    built.fails(429).raises("ProviderTransient/RateLimited")
    (finding,) = found(model, "backoff.attempts", built)
    assert hint in finding.hint


def test_counting_from_the_status_or_from_the_end_of_the_body_is_legal(model: ErrorModel) -> None:
    """The head came 60 ms before the body; whoever needs only the status may count from there."""
    for wait in ("6.94s", "7s"):
        built = TraceBuilder().start()
        connection = built.connect()
        exchange = built.ask(connection)
        built.answer(connection, exchange, status=429, headers={"retry-after": "7"})
        built.deliver(connection)
        built.wait("50ms").end_exchange(connection, exchange, "complete")
        built.deliver(connection)
        built.wait(wait).good().returns()
        assert verdicts(found(model, "backoff.retry-after", built)) == {Verdict.PASS}


def test_what_began_before_the_failure_was_known_is_no_retry_of_it(model: ErrorModel) -> None:
    """A hedged request does not wait for the failure at all: it is another request."""
    built = TraceBuilder().start()
    connection = built.connect()
    exchange = built.ask(connection)
    second = built.connect()
    built.ask(second)
    built.answer(connection, exchange, status=500)
    built.end_exchange(connection, exchange, "complete")
    built.deliver(connection)
    built.raises(SERVER)
    assert verdicts(found(model, "backoff.wait", built)) == {Verdict.NOT_APPLICABLE}


def exhausting(attempts: int) -> TraceBuilder:
    """Return a call that is limited `attempts` times, waits as it should, and raises."""
    built = TraceBuilder().start()
    for number in range(1, attempts + 1):
        built.fails(429)
        if number < attempts:
            built.wait(f"{min(5 * 2 ** (number - 1), 160)}s")
    return built.raises(RATE)


@pytest.mark.parametrize(
    ("attempts", "observed"),
    [
        (2, "gave up after 2"),
        (5, "gave up after 5"),
        (6, None),
        (7, "7 attempts were made"),
        (12, "12 attempts were made"),
    ],
)
def test_six_attempts_not_more_and_not_fewer(
    model: ErrorModel, attempts: int, observed: str | None
) -> None:
    """One finding a call, with the total, however many attempts are too many."""
    findings = found(model, "backoff.attempts", exhausting(attempts))
    failed = [item.observed for item in findings if item.verdict is Verdict.FAIL]
    assert failed == ([] if observed is None else [observed])
    if observed is None:
        assert {item.requirement for item in findings} == {
            "STUD-RATE-03",
            "STUD-RETRY-02",
            "STUD-RATE-04",
        }


def test_seven_attempts_are_right_under_the_other_reading() -> None:
    """Six waits need seven attempts."""
    model = load_error_model("stud-cli", {"schedule-length": "six-waits"})
    assert verdicts(found(model, "backoff.attempts", exhausting(7))) == {Verdict.PASS}
    assert Verdict.FAIL in verdicts(found(model, "backoff.attempts", exhausting(6)))


def test_never_retrying_is_a_matter_of_disposition_alone(model: ErrorModel) -> None:
    """Attempts are counted only of a call that retried at least once."""
    built = TraceBuilder().start().fails(429).raises(RATE)
    assert verdicts(found(model, "backoff.attempts", built)) == {Verdict.NOT_APPLICABLE}
    assert Verdict.FAIL in verdicts(found(model, "classification.disposition", built))


def test_giving_up_early_after_two_kinds_of_failure_is_counted_by_their_policy(
    model: ErrorModel,
) -> None:
    """A 503 and a refusal share a policy: giving up at the second is one attempt too few."""
    built = TraceBuilder().start().fails(503).wait("1s").refused()
    built.raises("ProviderTransient/NetworkTimeout")
    (finding,) = found(model, "backoff.attempts", built)
    assert (finding.verdict, finding.observed) == (Verdict.FAIL, "gave up after 2")
    assert verdicts(found(model, "classification.disposition", built)) == {Verdict.PASS}


def test_a_call_that_recovered_used_up_nothing(model: ErrorModel) -> None:
    """There was no limit to meet, so nothing is claimed of it."""
    built = TraceBuilder().start().fails(429).wait("5s").good().returns()
    assert verdicts(found(model, "backoff.attempts", built)) == {Verdict.NOT_APPLICABLE}


def test_a_call_that_still_waits_at_the_end_is_not_blamed_for_its_attempts(
    model: ErrorModel,
) -> None:
    """What it would have done is not known."""
    built = TraceBuilder().start().fails(429).wait("5s").fails(429)
    assert verdicts(found(model, "backoff.attempts", built)) == {Verdict.NOT_APPLICABLE}


def test_a_declared_policy_is_judged_and_named(model: ErrorModel) -> None:
    """Two attempts, three seconds apart: legal because the subject said so before."""
    own = RetryPolicy.model_validate(
        {
            "id": "own",
            "applies_to": [RATE],
            "attempts_max": 2,
            "backoff": {"kind": "fixed", "base": "3s"},
        }
    )
    built = TraceBuilder(retry_policies=(own,)).start().fails(429).wait("3s").fails(429)
    findings = found(model, "backoff.wait", built.raises(RATE))
    assert verdicts(findings) == {Verdict.PASS}
    assert "STUD-RATE-05" in {finding.requirement for finding in findings}
    built = TraceBuilder(retry_policies=(own,)).start().fails(429).wait("5s").fails(429)
    (finding, *_) = found(model, "backoff.wait", built.raises(RATE))
    assert finding.expected == "exactly 3s (3s, declared by the subject)"
    honoring = own.model_copy(update={"retry_after": "honor"})
    built = TraceBuilder(retry_policies=(honoring,)).start().fails(429, retry_after="7")
    (finding, *_) = found(model, "backoff.retry-after", built.wait("8s").fails(429).raises(RATE))
    assert finding.expected == "exactly 7s (Retry-After: 7, declared by the subject)"


def test_a_declared_policy_shows_nothing_of_the_default(model: ErrorModel) -> None:
    """Waiting a millisecond in place of a Retry-After is no credit for the row that it replaces."""
    own = RetryPolicy.model_validate(
        {
            "id": "wild",
            "applies_to": ["ProviderTransient/*"],
            "attempts_max": 1_000,
            "backoff": {"kind": "fixed", "base": "1ms"},
            "jitter": {"kind": "proportional", "percent": 100},
        }
    )
    built = TraceBuilder(retry_policies=(own,), copies=2)
    for call in ("ask/1", "ask/2"):
        built.start(call).fails(429, call=call, retry_after="7").wait("1ms")
        built.good(call=call).returns(call=call)
    findings = judge(model, built.build()).findings
    passed = {item.requirement for item in findings if item.verdict is Verdict.PASS}
    assert "STUD-RATE-05" in passed
    assert not passed & {"STUD-RATE-01", "STUD-RATE-02", "STUD-RATE-03", "STUD-DEFAULT-01"}
    # Its own policy is jittered, and both calls waited alike: that is still red.
    (finding,) = found(model, "backoff.jitter", built)
    assert (finding.verdict, finding.requirement) == (Verdict.FAIL, "STUD-RATE-02")


def test_a_wait_after_an_attempt_that_was_left_open_is_inconclusive(model: ErrorModel) -> None:
    """Two requests at once, of which the first is never answered or closed, show no wait."""
    built = TraceBuilder().start()
    built.ask(built.connect())
    built.wait("1ms").good().returns()
    (finding,) = found(model, "backoff.wait", built)
    assert (finding.verdict, finding.requirement) == (Verdict.INCONCLUSIVE, "STUD-DEFAULT-01")
    assert "attempt 1 was left open" in finding.observed
    both = [event.seq for event in built.events if event.kind in ("net.connect", "http.request")]
    assert set(both) <= set(finding.events)
    # A wait that nobody can measure is no wait that an answer asked for.
    assert verdicts(found(model, "backoff.retry-after", built)) == {Verdict.NOT_APPLICABLE}


def test_what_follows_a_good_answer_is_judged_like_anything_else(model: ErrorModel) -> None:
    """A client that asks again after a good answer has not earned a wait that is too short."""
    built = TraceBuilder().start().asks_for("{}").good().fails(429).wait("1s").good().returns()
    (finding,) = found(model, "backoff.wait", built)
    assert finding.observed == "waited 1s before retry 1 (attempt 3 of the call)"


def test_a_declared_policy_for_what_the_model_leaves_open_is_judged() -> None:
    """There is no policy of the model that it could replace, so no sentence is cited."""
    own = RetryPolicy.model_validate(
        {
            "id": "own",
            "applies_to": ["Llm/Rate"],
            "attempts_max": 2,
            "backoff": {"kind": "fixed", "base": "3s"},
        }
    )
    model = small_model(policy={"applies_to": ["Llm/Overload"]}, declared_policies="allowed")
    built = TraceBuilder(retry_policies=(own,)).start().fails(429).wait("5s").fails(429)
    (finding,) = found(model, "backoff.wait", built.raises("Llm/Rate"))
    assert (finding.verdict, finding.requirement) == (Verdict.FAIL, None)


def test_a_violation_of_less_than_a_must_is_a_warning(model: ErrorModel) -> None:
    """SHOULD and MAY never make a run red."""
    requirements = tuple(
        item.model_copy(update={"level": "SHOULD"}) if item.id == "STUD-RATE-02" else item
        for item in model.requirements
    )
    softer = model.model_copy(update={"requirements": requirements})
    built = TraceBuilder().start().fails(429).wait("1s").good().returns()
    assert verdicts(found(softer, "backoff.wait", built)) == {Verdict.WARN}


@given(
    st.sampled_from(["fixed", "linear", "exponential"]),
    st.integers(1, 10**11),
    st.integers(1, 4),
    st.integers(0, 100),
    st.integers(1, 200),
)
def test_intervals_surround_the_nominal_wait_and_never_shrink(
    kind: str, base_ns: int, factor: int, percent: int, retry_number: int
) -> None:
    """low <= nominal <= high for every policy, and no later wait has a lower bound."""
    jitter = Jitter(kind="proportional", percent=percent) if percent else Jitter()
    backoff = Backoff.model_validate({"kind": kind, "base": f"{base_ns}ns", "factor": factor})
    policy = RetryPolicy(
        id="p", applies_to=("A/B",), attempts_max=9, backoff=backoff, jitter=jitter
    )
    now, later = policy.interval(retry_number), policy.interval(retry_number + 1)
    nominal_ns = backoff.nominal_ns(retry_number)
    assert now.low_ns <= nominal_ns <= now.high_ns
    assert now.low_ns <= later.low_ns
    assert now.high_ns <= later.high_ns


@given(st.timedeltas(timedelta(0), timedelta(seconds=10)))
def test_a_wait_is_legal_exactly_when_it_lies_within_the_bounds(wait: timedelta) -> None:
    """Tried with any wait to the microsecond: 4 s to 6 s, one microsecond beyond."""
    model = load_error_model("stud-cli")
    microseconds = wait // timedelta(microseconds=1)
    built = TraceBuilder().start().fails(429).wait(f"{microseconds}us").good().returns()
    legal = 3_999_999 <= microseconds <= 6_000_001
    expected = {Verdict.PASS} if legal else {Verdict.FAIL}
    assert verdicts(found(model, "backoff.wait", built)) == expected
