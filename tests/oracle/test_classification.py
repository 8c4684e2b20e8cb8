"""What the subject says a failure is, and what it did about it."""

from __future__ import annotations

import pytest

from faultclock.load.error_model import load_error_model
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.finding import Finding, Verdict
from faultclock.oracle.judge import judge
from tests.oracle.trace_builder import TraceBuilder, link

RATE = "ProviderTransient/RateLimited"
WINDOW = "ProviderCapability/ContextWindowTooSmall"


def found(model: ErrorModel, check: str, built: TraceBuilder) -> list[Finding]:
    """Return the findings of one check that are not a pass, or its one pass."""
    findings = [item for item in judge(model, built.build()).findings if item.check == check]
    return [item for item in findings if item.verdict is not Verdict.PASS] or findings[:1]


def test_an_untyped_error_declares_neither_class_nor_code(model: ErrorModel) -> None:
    """The subject whose binding names nothing fails, and is told how to name it."""
    built = TraceBuilder().start().fails(400, "context_length_exceeded").raises(link(None))
    (finding,) = found(model, "classification.declared", built)
    assert (finding.verdict, finding.requirement) == (Verdict.FAIL, "STUD-CODE-00")
    assert finding.observed == "the error declares neither class nor code"
    assert "classify" in finding.hint


def test_a_wrong_code_is_told_with_the_right_one(model: ErrorModel) -> None:
    """Expected and observed are class and code."""
    built = TraceBuilder().start().fails(400, "context_length_exceeded").raises(RATE)
    (finding,) = found(model, "classification.declared", built)
    assert finding.expected == f"{WINDOW} for 400 context_length_exceeded"
    assert finding.observed == f"the error declares {RATE}"
    assert finding.requirement == "STUD-CODE-03"


def test_a_failure_without_a_class_is_unmapped_and_not_judged(model: ErrorModel) -> None:
    """Whatever is declared for a 401 is neither right nor wrong."""
    built = TraceBuilder().start().fails(401, "invalid_api_key").raises("Whatever/AtAll")
    (finding,) = found(model, "classification.declared", built)
    assert finding.verdict is Verdict.NOT_APPLICABLE
    assert "no class for 401 invalid_api_key" in finding.reason


def test_the_last_failure_is_what_counts(model: ErrorModel) -> None:
    """A 503 that was got over is not what the call failed with."""
    built = TraceBuilder().start().fails(503).wait("1s").fails(400, "context_length_exceeded")
    (finding,) = found(model, "classification.declared", built.raises(WINDOW))
    assert finding.verdict is Verdict.PASS


def test_an_earlier_error_in_the_context_is_not_the_origin(model: ErrorModel) -> None:
    """A retry inside `except` leaves the failure before it as context, and that is no wrapping."""
    built = TraceBuilder().start().fails(503).wait("1s").fails(400, "context_length_exceeded")
    built.raises(link(WINDOW), link("ProviderTransient/Provider5xx", how="context"))
    (finding,) = found(model, "classification.declared", built)
    assert finding.verdict is Verdict.PASS
    (finding,) = found(model, "wrapping.identity", built)
    assert finding.verdict is Verdict.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("status", "code", "message"),
    [
        (400, "invalid_value", "429 rate limit exceeded"),
        (401, "invalid_api_key", "try again"),
        (400, "context_length_exceeded", "timeout"),
    ],
)
def test_retrying_what_is_terminal_fails(
    model: ErrorModel, status: int, code: str, message: str
) -> None:
    """Whatever the message says: callers match on class and code."""
    built = TraceBuilder().start().fails(status, code, message=message).wait("1s").good().returns()
    (finding,) = found(model, "classification.disposition", built)
    assert finding.verdict is Verdict.FAIL
    assert finding.expected.startswith(f"no retry: {status} {code}")
    assert finding.observed == "attempt 2 was made"


def test_not_retrying_what_is_transient_fails(model: ErrorModel) -> None:
    """A 429 whose message never says so is a rate limit still."""
    built = TraceBuilder().start().fails(429, message="please slow down").raises(RATE)
    (finding,) = found(model, "classification.disposition", built)
    assert finding.expected == f"a retry: 429 is {RATE}, up to 6 attempts"
    assert finding.observed == "the call gave up after attempt 1, without a retry"


def test_a_409_may_be_retried_or_not(model: ErrorModel) -> None:
    """The document says nothing of it."""
    for built in (
        TraceBuilder().start().fails(409).raises(link(None)),
        TraceBuilder().start().fails(409).wait("9s").good().returns(),
    ):
        (finding,) = found(model, "classification.disposition", built)
        assert finding.verdict is Verdict.NOT_APPLICABLE


def test_a_quota_429_is_retried_by_the_letter_and_terminal_by_the_other_reading() -> None:
    """The switch decides, and nothing else of the trace."""
    for option, verdict in (("rate-limited", Verdict.FAIL), ("terminal", Verdict.PASS)):
        model = load_error_model("stud-cli", {"quota-429": option})
        built = TraceBuilder().start().fails(429, "insufficient_quota").raises(RATE)
        (finding,) = found(model, "classification.disposition", built)
        assert finding.verdict is verdict


def test_a_good_answer_that_is_thrown_away_fails(model: ErrorModel) -> None:
    """Whether it is asked for again or turned into an error."""
    again = TraceBuilder().start().good().good().returns()
    (finding,) = found(model, "classification.disposition", again)
    assert (finding.verdict, finding.observed) == (Verdict.FAIL, "attempt 2 was made")
    thrown = TraceBuilder().start().good().raises(RATE)
    (finding,) = found(model, "classification.disposition", thrown)
    assert (finding.verdict, finding.observed) == (Verdict.FAIL, "the call ended with an error")


def test_a_hang_and_a_swallowed_failure_are_told_by_their_own_checks(model: ErrorModel) -> None:
    """One cause, one finding."""
    hung = TraceBuilder().start().fails(429).build("virtual_time_limit")
    failed = {item.check for item in judge(model, hung).findings if item.verdict is Verdict.FAIL}
    assert failed == {"ordering.call-ends-once"}
    swallowed = TraceBuilder().start().fails(429).returns("").build()
    findings = judge(model, swallowed).findings
    assert {item.check for item in findings if item.verdict is Verdict.FAIL} == {"swallow.silent"}
