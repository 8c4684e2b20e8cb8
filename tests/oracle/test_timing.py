"""In real time a wait can be too short and never too long, and nothing else turns green."""

from __future__ import annotations

import pytest

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.finding import Finding, Verdict, verdict_of
from faultclock.model.trace.trace import WALL_EPOCH_NS
from faultclock.oracle.judge import judge, judge_seeds
from faultclock.oracle.wire.timing import MEASUREMENT_NS
from tests.oracle.trace_builder import TraceBuilder

_ONE_HOUR_NS = 3_600_000_000_000


def real() -> TraceBuilder:
    """Return the beginning of a trace in real time."""
    return TraceBuilder(time_base="wall")


def of_check(model: ErrorModel, built: TraceBuilder, check: str) -> tuple[Finding, ...]:
    """Return what a check finds."""
    return tuple(item for item in judge(model, built.build()).findings if item.check == check)


def verdict(model: ErrorModel, built: TraceBuilder, check: str) -> set[Verdict]:
    """Return the verdicts of a check."""
    return {item.verdict for item in of_check(model, built, check)}


@pytest.mark.parametrize(
    ("wait", "legal"),
    [
        ("4s", True),
        ("3.995s", True),
        ("3.994999s", False),
        ("3.99s", False),
        ("0s", False),
        ("6.1s", True),
        ("1h", True),
    ],
)
def test_a_scheduled_wait_has_a_lower_bound_alone(
    model: ErrorModel, wait: str, legal: bool
) -> None:
    """4 s to 6 s become at least 4 s, with 5 ms for the clocks."""
    assert MEASUREMENT_NS == 5_000_000
    built = real().start().fails(429).wait(wait).good().returns()
    expected = {Verdict.PASS} if legal else {Verdict.FAIL}
    assert verdict(model, built, "backoff.wait") == expected


@pytest.mark.parametrize(
    ("wait", "legal"), [("7s", True), ("6.995s", True), ("6.99s", False), ("9s", True)]
)
def test_retry_after_has_a_lower_bound_alone(model: ErrorModel, wait: str, legal: bool) -> None:
    """Exactly 7 s become at least 7 s."""
    built = real().start().fails(429, retry_after="7").wait(wait).good().returns()
    expected = {Verdict.PASS} if legal else {Verdict.FAIL}
    assert verdict(model, built, "backoff.retry-after") == expected


@pytest.mark.parametrize(("wait", "legal"), [("29.9s", True), ("29s", False), ("40s", True)])
def test_a_date_counts_from_the_clock_on_the_wall(
    model: ErrorModel, wait: str, legal: bool
) -> None:
    """The trace says when it began, and Retry-After is a date after that."""
    built = TraceBuilder(time_base="wall", epoch_ns=WALL_EPOCH_NS + _ONE_HOUR_NS)
    # The answer arrives 0.12 s after the hour.
    date = "Thu, 01 Jan 2026 01:00:30 GMT"
    built.start().fails(429, retry_after=date).wait(wait).good().returns()
    expected = {Verdict.PASS} if legal else {Verdict.FAIL}
    assert verdict(model, built, "backoff.retry-after") == expected


def test_a_wait_after_a_deadline_may_be_short_by_how_late_the_world_was(model: ErrorModel) -> None:
    """The subject closed before it was seen to; nothing else is excused by that."""
    for late_ms, stalled, expected in (
        (0, True, Verdict.FAIL),
        (50, True, Verdict.PASS),
        (50, False, Verdict.FAIL),
    ):
        built = real().start()
        built.event("harness", "clock.late", late_ns=late_ms * 1_000_000)
        _ = built.stalls() if stalled else built.fails(500)
        # The first wait after a deadline, and after a 500, is 800 ms to 1.2 s.
        built.wait("760ms").good().returns()
        assert verdict(model, built, "backoff.wait") == {expected}


def test_findings_say_that_it_was_real_time(model: ErrorModel) -> None:
    """A failure names the lower bound; a pass says that it is but half of one."""
    short = real().start().fails(429).wait("1s").good().returns()
    (finding,) = of_check(model, short, "backoff.wait")
    assert finding.expected == "a wait of at least 4s (5s ±20 %), in real time"
    assert finding.observed == "waited 1s before retry 1"
    fine = real().start().fails(429).wait("5s").good().returns()
    assert {item.observed for item in of_check(model, fine, "backoff.wait")} == {
        "no wait was too short; in real time a wait is never too long"
    }
    (mark,) = judge(model, fine.build()).waits
    assert mark.at_least
    assert mark.legal


def test_in_virtual_time_nothing_has_changed(model: ErrorModel) -> None:
    """The same waits are held against both ends there, to one microsecond."""
    built = TraceBuilder().start().fails(429).wait("6.1s").good().returns()
    assert verdict(model, built, "backoff.wait") == {Verdict.FAIL}
    (mark,) = judge(model, built.build()).waits
    assert not mark.at_least


def test_what_needs_the_virtual_clock_is_not_applicable(model: ErrorModel) -> None:
    """Jitter and leaks are not judged: neither green nor red, and with the reason."""
    built = TraceBuilder(copies=2, time_base="wall")
    for call in ("ask/1", "ask/2"):
        built.start(call).fails(429, call=call).wait("5s").good(call=call).returns(call=call)
    for check in ("backoff.jitter", "evidence.no-leaks"):
        (finding,) = of_check(model, built, check)
        assert finding.verdict is Verdict.NOT_APPLICABLE
        assert "real" in finding.reason
    trace = built.build()
    assert judge_seeds(model, (trace, trace)) == ()


def test_only_what_real_time_can_show_is_green(model: ErrorModel) -> None:
    """Of a good run, the checks that pass in real time are among these, and no other is."""
    built = real().start().fails(429).wait("5s").good().returns()
    passed = {
        item.check for item in judge(model, built.build()).findings if item.verdict is Verdict.PASS
    }
    virtual = TraceBuilder().start().fails(429).wait("5s").good().returns()
    in_virtual = {
        item.check
        for item in judge(model, virtual.build()).findings
        if item.verdict is Verdict.PASS
    }
    # Whether a refusal was planned is asked in virtual time alone, and this one was made by hand.
    in_virtual.add("evidence.exercised")
    assert passed <= in_virtual - {"evidence.no-leaks"}
    assert {"backoff.wait", "classification.disposition", "swallow.silent"} <= passed


def test_another_role_than_a_provider_adapter_is_not_judged(model: ErrorModel) -> None:
    """Whatever a trace in real time says of a tool, the oracle has no bounds for it."""
    built = TraceBuilder(time_base="wall", role="tool")
    built.start().fails(429).wait("5s").good().returns()
    findings = judge(model, built.build()).findings
    judged = {item.check for item in findings if item.verdict is not Verdict.NOT_APPLICABLE}
    assert judged <= {"evidence.whole", "evidence.faults-met", "evidence.exercised"}
    assert verdict_of(findings) is Verdict.NOT_APPLICABLE


# ---------------------------------------------------------------------- programs


def test_a_program_that_ends_has_given_up(model: ErrorModel) -> None:
    """Its exit shows that no retry came, whatever its code is."""
    for code in (0, 1):
        built = real().start().fails(429).leaves(code)
        assert verdict(model, built, "classification.disposition") == {Verdict.FAIL}


def test_a_program_that_nobody_watched_to_its_end_is_not_said_to_have_given_up(
    model: ErrorModel,
) -> None:
    """It may still wait: of what it would have done nothing is known."""
    built = real().start().fails(429).leaves(None)
    assert verdict(model, built, "classification.disposition") == {Verdict.NOT_APPLICABLE}


@pytest.mark.parametrize("code", [0, 3, None])
def test_what_depends_on_how_a_call_came_out_is_not_judged_of_a_program(
    model: ErrorModel, code: int | None
) -> None:
    """An exit code is neither a reply nor an error with a class."""
    built = real().start().fails(429).wait("5s").good().leaves(code)
    for check in ("swallow.silent", "classification.declared", "ordering.call-ends-once"):
        assert verdict(model, built, check) == {Verdict.NOT_APPLICABLE}, check
    assert verdict(model, built, "backoff.wait") == {Verdict.PASS}
    assert verdict_of(judge(model, built.build()).findings) is Verdict.PASS


def test_a_program_may_ask_for_several_things_at_one_address(model: ErrorModel) -> None:
    """Another body after a good answer is something else, and no attempt too many."""
    built = real().start().asks_for("a").fails(429).wait("5s").good()
    built = built.asks_for("b").good().leaves(0)
    assert verdict_of(judge(model, built.build()).findings) is Verdict.PASS


def test_a_program_that_turns_to_something_else_has_given_up(model: ErrorModel) -> None:
    """What failed before was not asked for again."""
    built = real().start().asks_for("a").fails(429).asks_for("b").good().leaves(0)
    assert verdict(model, built, "classification.disposition") == {Verdict.FAIL}


def test_a_program_that_asks_again_for_what_it_has_is_told(model: ErrorModel) -> None:
    """The same body after a good answer is an attempt too many."""
    built = real().start().asks_for("a").good().wait("5s").good().leaves(0)
    assert verdict(model, built, "classification.disposition") == {Verdict.FAIL}


def test_a_retry_of_a_program_still_has_to_wait(model: ErrorModel) -> None:
    """Whichever of its requests it is for."""
    built = real().start().asks_for("a").good().asks_for("b").fails(429).wait("1s").good().leaves(0)
    assert verdict(model, built, "backoff.wait") == {Verdict.FAIL}


def test_a_program_that_asked_nobody_proves_nothing(model: ErrorModel) -> None:
    """It ended without a single request."""
    built = real().start().leaves(0)
    assert verdict_of(judge(model, built.build()).findings) is Verdict.INCONCLUSIVE


def test_a_call_says_how_it_was_left(model: ErrorModel) -> None:
    """The report tells an exit code from a call that was not watched to its end."""
    words = {
        code: judge(model, real().start().good().leaves(code).build()).calls[0].outcome
        for code in (0, 3, None)
    }
    assert words == {
        0: "exited with code 0",
        3: "exited with code 3",
        None: "not watched to its end",
    }


def test_only_virtual_time_can_be_certified() -> None:
    """A trace in real time can never be had again."""
    assert TraceBuilder().build().is_virtual
    assert not real().build().is_virtual
