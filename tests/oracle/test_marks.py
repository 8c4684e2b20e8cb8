"""Marks: how each call, attempt and wait of a run is shown in a report."""

from __future__ import annotations

from typing import Any

import pytest

from faultclock.model.duration import SECOND_NS
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.finding import Judgement
from faultclock.oracle.judge import judge
from tests.oracle.common_model import common, waits
from tests.oracle.trace_builder import TraceBuilder
from tests.oracle.turn_builder import TurnBuilder


def outcome(built: TraceBuilder, ending: Any = "completed") -> str:
    """Return how the last call came out, in words."""
    return judge(common(), built.build(ending)).calls[-1].outcome


def test_how_a_call_came_out_is_said_in_words() -> None:
    """By its end, or by what stands in its place."""
    assert outcome(TraceBuilder().start().returns()) == "returned"
    assert outcome(TraceBuilder().start().raises("A/B")) == "raised TypedError"
    bare = {"type": "ValueError", "message": "", "class": None, "code": None, "link": "outer"}
    assert outcome(TraceBuilder().start().raises(bare)) == "raised ValueError"
    assert outcome(TraceBuilder().start().leaves(None)) == "not watched to its end"
    assert outcome(TraceBuilder().start().leaves(3)) == "exited with code 3"
    assert outcome(TraceBuilder().start(), "deadlock") == "never ended"
    assert outcome(TurnBuilder().turn().crashes()) == "crashed"


def attempts(built: TraceBuilder, model: ErrorModel, ending: Any = "completed") -> Judgement:
    """Return the judgement of a trace."""
    return judge(model, built.build(ending))


def test_an_attempt_is_drawn_until_its_end_was_known(model: ErrorModel) -> None:
    """What the subject had no sign of lasts until it went on, or until the run ended."""
    built = TraceBuilder().start()
    built.ask(built.connect())
    built.wait("5s").fails(429).wait("1s").good().returns()
    (call,) = attempts(built, model).calls
    first, second, third = call.attempts
    assert first.known_ns == second.started_ns
    assert second.known_ns - second.started_ns == 120_000_000
    assert [item.ended for item in call.attempts][2] == "ok"
    assert (third.classification, second.classification) == (
        None,
        "ProviderTransient/RateLimited",
    )
    open_ = TraceBuilder().start()
    open_.ask(open_.connect())
    (call,) = attempts(open_.wait("5s"), model, "deadlock").calls
    assert (call.attempts[0].known_ns, call.attempts[0].ended) == (5_010_000_000, "not ended")
    over = TraceBuilder().start()
    over.ask(over.connect())
    over.wait("5s").raises("A/B").wait("5s")
    (call,) = attempts(over, model).calls
    assert call.attempts[0].known_ns == 5_010_000_000
    assert call.ended_ns == 5_010_000_000


@pytest.mark.parametrize(
    ("status", "basis"),
    [
        (401, "no retry: ProviderTerminal/AuthFailed ends the call"),
        (409, "the document does not say"),
    ],
)
def test_a_wait_without_an_interval_says_why(model: ErrorModel, status: int, basis: str) -> None:
    """The document forbids the retry, or is silent."""
    built = TraceBuilder().start().fails(status).wait("1s").good().returns()
    (mark,) = judge(model, built.build()).waits
    assert (mark.low_ns, mark.high_ns) == (None, None)
    if status == 409:
        assert mark.basis == basis
    else:
        assert mark.basis.startswith("no retry: ")
        assert mark.basis.endswith(" ends the call")


def test_a_wait_after_the_last_attempt_or_after_a_good_one_says_so(model: ErrorModel) -> None:
    """Neither is a wait before a retry that was due."""
    built = TraceBuilder().start().asks_for("{}")
    for wait in ("1s", "2s", "4s"):
        built.fails(500).wait(wait)
    built.good().wait("1s").good().returns()
    marks = judge(model, built.build()).waits
    assert [mark.basis for mark in marks[2:]] == [
        "no retry: the attempts are used up",
        "no retry: the attempt was good",
    ]
    assert [mark.legal for mark in marks] == [True, True, False, True]


def test_a_wait_by_a_policy_has_the_interval_of_its_retry(model: ErrorModel) -> None:
    """With what it comes from; the hint of an answer is not looked at then."""
    built = TraceBuilder().start().fails(429).wait("5s").fails(429).wait("5s").good().returns()
    first, second = judge(model, built.build()).waits
    assert (first.low_ns, first.high_ns) == (4 * SECOND_NS, 6 * SECOND_NS)
    assert (first.retry_number, first.basis, first.legal) == (1, "5s ±20 %", True)
    assert (second.low_ns, second.high_ns) == (8 * SECOND_NS, 12 * SECOND_NS)
    assert (second.retry_number, second.at_least, second.legal) == (2, False, False)


# ----------------------------------------------------------------- by the hint of an answer


def hinted(wait: str, retry_after: str = "7", **builder: Any) -> TraceBuilder:
    """Return a call that waits after an answer that asks for a time."""
    built = TraceBuilder(**builder).start().asks_for("{}").fails(retry_after=retry_after)
    return built.wait(wait).good().returns()


@pytest.mark.parametrize(
    ("wait", "legal"), [("7s", True), ("6999999us", True), ("6999998us", False), ("8s", True)]
)
def test_a_wait_by_a_hint_is_legal_from_there_on(wait: str, legal: bool) -> None:
    """It has a lower end, and a microsecond of slack."""
    (mark,) = waits(hinted(wait))
    assert (mark.low_ns, mark.high_ns, mark.at_least) == (7 * SECOND_NS, None, True)
    assert mark.basis == "Retry-After: 7"
    assert mark.legal is legal


def test_an_endless_wait_has_an_upper_end_too() -> None:
    """An hour; where the answer asked for more than that, nothing was legal."""
    (mark,) = waits(hinted("1h"))
    assert (mark.low_ns, mark.high_ns) == (7 * SECOND_NS, 3_600 * SECOND_NS)
    assert (mark.at_least, mark.legal) == (False, False)
    assert mark.basis == "Retry-After: 7; no wait of 1h and more"
    (mark,) = waits(hinted("1h", "3600"))
    assert (mark.low_ns, mark.high_ns, mark.legal) == (None, None, False)
    (mark,) = waits(hinted("1h", "3599"))
    assert (mark.low_ns, mark.high_ns) == (3_599 * SECOND_NS, 3_600 * SECOND_NS)
    unasked = TraceBuilder().start().asks_for("{}").fails(503).wait("1h").good().returns()
    (mark,) = waits(unasked)
    assert (mark.low_ns, mark.high_ns) == (0, 3_600 * SECOND_NS)
    assert mark.basis == "no wait of 1h and more"


def test_a_hint_counts_from_the_head_of_the_answer_and_the_mark_from_its_end() -> None:
    """The body took a second: so much of the seven was over when it had come."""
    built = TraceBuilder().start().asks_for("{}")
    connection = built.connect()
    exchange = built.ask(connection)
    built.answer(connection, exchange, status=429, headers={"retry-after": "7"})
    built.deliver(connection)
    built.wait("990ms").end_exchange(connection, exchange, "complete")
    built.deliver(connection)
    (mark,) = waits(built.wait("6s").good().returns())
    assert (mark.observed_ns, mark.low_ns, mark.legal) == (6 * SECOND_NS, 6 * SECOND_NS, True)
