"""The attempts of a turn are sorted by the answer that they are for, and judged by that."""

from __future__ import annotations

import pytest

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.finding import Verdict
from faultclock.model.trace.trace import Trace
from faultclock.oracle.facts.history import History
from faultclock.oracle.judge import judge
from faultclock.oracle.wire.attempts import Request, observe
from tests.oracle.planted_turns import CANCELLED, RETRY, STAGED
from tests.oracle.trace_builder import TraceBuilder
from tests.oracle.turn_builder import TurnBuilder, value

RATE = "ProviderTransient/RateLimited"


def requests(trace: Trace) -> tuple[Request, ...]:
    """Return the requests of the turn."""
    (call,) = (call for call in observe(trace).calls if call.is_turn)
    return call.requests


def failed(model: ErrorModel, trace: Trace) -> set[str]:
    """Return the checks that fail."""
    return {item.check for item in judge(model, trace).findings if item.verdict is Verdict.FAIL}


def _limited_twice() -> TurnBuilder:
    built = TurnBuilder().turn()
    built.fails(429, call="ask/1").after("5s").wants("c1 ls").runs("c1")
    built.tells("c1", value())
    return built.fails(429, call="ask/1").after("5s").says()


def test_a_good_answer_ends_a_request_and_the_next_attempt_begins_one(model: ErrorModel) -> None:
    """Two failures in a turn, each the first of its request, so that both waits are the first."""
    trace = _limited_twice().ends().build()
    first, second = requests(trace)
    assert [attempt.number for attempt in first.attempts] == [1, 2]
    assert [attempt.number for attempt in second.attempts] == [1, 2]
    assert (first.outcome, second.outcome) == ("good", "returned")
    assert failed(model, trace) == set()


def test_a_wait_that_counts_over_the_whole_turn_is_too_long(model: ErrorModel) -> None:
    """The second request begins its schedule anew."""
    built = TurnBuilder().turn()
    built.fails(429, call="ask/1").after("5s").wants("c1 ls").runs("c1").tells("c1", value())
    built.fails(429, call="ask/1").after("10s").says()
    assert failed(model, built.ends().build()) == {"backoff.wait"}


def test_the_same_body_after_a_good_answer_asks_for_that_answer_again(model: ErrorModel) -> None:
    """A retry of what was good is no request of its own."""
    built = TurnBuilder().turn().says()
    built.messages.pop()
    trace = built.says().ends().build()
    (only,) = requests(trace)
    assert [attempt.number for attempt in only.attempts] == [1, 2]
    assert failed(model, trace) == {"classification.disposition"}


def test_a_stage_that_is_tried_again_begins_a_request(model: ErrorModel) -> None:
    """The transport's retries were used up before, and are counted from one again."""
    built = TurnBuilder(session=STAGED).turn()
    built.staged("check_gate", "proceed", 1)
    for wait in ("1s", "2s", "0s"):
        built.fails(500, call="ask/1").after(wait)
    built.staged("assess", "retry", 1).after("3s").staged("check_gate", "proceed", 2)
    built.fails(500, call="ask/1").after("1s").says()
    trace = built.staged("assess", "ok", 2).staged("next", "end", 2).ends().build()
    first, second = requests(trace)
    assert (len(first.attempts), first.outcome) == (3, "given_up")
    assert second.begins_stage
    assert failed(model, trace) == set()


def test_a_workflow_retry_does_not_stand_for_the_transports(model: ErrorModel) -> None:
    """The first failure had to be tried again at once, not from Setup."""
    built = TurnBuilder(session=STAGED).turn().staged("check_gate", "proceed", 1)
    built.fails(500, call="ask/1").staged("assess", "retry", 1).after("3s")
    built.staged("check_gate", "proceed", 2).says().staged("assess", "ok", 2)
    trace = built.staged("next", "end", 2).ends().build()
    assert failed(model, trace) == {"classification.disposition"}


@pytest.mark.parametrize("stop", ["crash", "cancel", "dismissal", "wall time"])
def test_what_stops_a_turn_during_backoff_is_no_missing_retry(model: ErrorModel, stop: str) -> None:
    """Nothing more was due of it."""
    budgets = {"budgets": {"wall_time": "2s"}} if stop == "wall time" else {}
    built = TurnBuilder(session=budgets).turn()
    built.fails(429, call="ask/1")
    if stop == "crash":
        built.after("1s").crashes().opens()
    elif stop == "cancel":
        built.after("1s").cancels("turn").ends(CANCELLED)
    elif stop == "dismissal":
        built.shows("r1", None, kind="Ask").after("1s").answers("r1", "dismissed", None)
        built.ends(CANCELLED)
    else:
        built.now_ns = 2_000_000_000
        built.ends(CANCELLED)
    trace = built.build()
    (request,) = requests(trace)
    assert request.outcome == "cut"
    assert failed(model, trace) <= {"resume.decision"}


def test_what_a_cancel_closed_has_not_failed(model: ErrorModel) -> None:
    """The attempt is open: its deadline had not passed."""
    built = TurnBuilder().turn()
    connection = built.connect("ask/1")
    built.ask(connection, "ask/1")
    built.after("1s").cancels("turn").close(connection)
    trace = built.ends(CANCELLED).build()
    (request,) = requests(trace)
    assert request.attempts[0].outcome == "open"
    assert failed(model, trace) == set()


def test_a_turn_that_gives_up_too_soon_is_judged_by_its_last_request(model: ErrorModel) -> None:
    """A tool ran before, and the failure comes in the second request."""
    built = TurnBuilder().turn().wants("c1 ls").runs("c1").tells("c1", value())
    built.fails(429, call="ask/1")
    assert failed(model, built.ends(RATE).build()) == {"classification.disposition"}


def test_a_turn_returns_its_last_answer(model: ErrorModel) -> None:
    """What was said on the way is not what was asked for."""
    built = TurnBuilder(tools=({"name": "ls", "retry": RETRY},)).turn().wants("c1 ls").runs("c1")
    built.tells("c1", value()).says("All done.")
    assert failed(model, built.ends(text="Working on it.").build()) == {"swallow.silent"}


def test_a_stage_begins_with_its_gate_and_no_other_phase(model: ErrorModel) -> None:
    """A second answer within the stage, or after its assessment, begins none."""
    built = TurnBuilder(session=STAGED).turn().staged("check_gate", "proceed", 1)
    built.wants("c1 ls").runs("c1").tells("c1", value()).says()
    built.staged("assess", "ok", 1)
    built.messages.append({"role": "user", "content_sha256": "more"})
    trace = built.says().staged("next", "end", 1).ends().build()
    first, second, third = requests(trace)
    assert first.begins_stage
    assert not second.begins_stage
    assert not third.begins_stage


def test_a_failure_that_ends_a_request_or_a_call_is_its_last_one() -> None:
    """The failures before it were tried again; a good last attempt is no failure."""
    built = TraceBuilder().start().asks_for("{}").fails(503).wait("1s").fails(429)
    (call,) = observe(built.raises("A/B").build()).calls
    for last in (call.last_failure, call.requests[0].last_failure):
        assert last is not None
        assert last.signal is not None
        assert last.signal.status == 429
    (call,) = observe(TraceBuilder().start().fails(503).good().returns().build()).calls
    assert call.last_failure is None
    assert call.requests[0].last_failure is None
    (call,) = observe(TraceBuilder().start().raises("A/B").build()).calls
    assert call.last_failure is None
    assert call.requests[0].last_failure is None


def program(*bodies: str | None) -> tuple[Request, ...]:
    """Return the requests of a program that exits; None is an attempt that was refused."""
    built = TraceBuilder().start()
    for body in bodies:
        if body is None:
            built.refused()
        else:
            built.asks_for(body).fails(503)
        built.wait("1s")
    (call,) = observe(built.leaves(0).build()).calls
    return call.requests


@pytest.mark.parametrize(
    ("bodies", "sizes"),
    [
        (("a", "a"), [2]),
        (("a", "b"), [1, 1]),
        ((None, "a"), [2]),
        (("a", None, "b"), [3]),
        ((None, None), [2]),
        ((), [0]),
    ],
)
def test_a_program_asks_again_with_the_same_body(
    bodies: tuple[str | None, ...], sizes: list[int]
) -> None:
    """An attempt that did not reach the provider shows no body, and may be for any."""
    own = program(*bodies)
    assert [len(request.attempts) for request in own] == sizes
    assert [request.number for request in own] == [*range(1, len(sizes) + 1)]


def test_a_program_that_exits_or_goes_on_has_given_up() -> None:
    """What came of an answer that was good is not known, and of one that is open neither."""
    assert [request.outcome for request in program("a", "b")] == ["given_up", "given_up"]
    assert [request.outcome for request in program()] == ["cut"]
    good = TraceBuilder().start().asks_for("{}").good().leaves(0)
    (call,) = observe(good.build()).calls
    assert [request.outcome for request in call.requests] == ["good"]
    unwatched = TraceBuilder().start().asks_for("{}").fails(503).leaves(None)
    (call,) = observe(unwatched.build()).calls
    assert [request.outcome for request in call.requests] == ["cut"]


def test_a_good_answer_in_a_turn_that_raises_was_not_returned() -> None:
    """The request was good, and nothing shows how it was over."""
    (request,) = requests(TurnBuilder().turn().says().ends(RATE).build())
    assert (request.outcome, request.end) == ("good", None)


def test_an_attempt_that_a_cancel_left_open_has_not_failed() -> None:
    """It was not closed either; one whose deadline had passed before has failed."""
    built = TurnBuilder().turn()
    built.ask(built.connect("ask/1"), "ask/1")
    (request,) = requests(built.after("1s").cancels("turn").ends(CANCELLED).build())
    assert [attempt.outcome for attempt in request.attempts] == ["open"]
    late = TurnBuilder().turn().stalls("ask/1").after("1s").cancels("turn").ends(CANCELLED)
    (request,) = requests(late.build())
    assert [attempt.outcome for attempt in request.attempts] == ["failed"]


def test_a_program_that_goes_on_after_an_answer_with_tools_has_a_next_answer() -> None:
    """It has no stages that could begin between the two."""
    built = TraceBuilder().start().asks_for("a").good("", finish_reason="tool_calls")
    ended = next(item for item in built.events if item.kind == "http.exchange_ended")
    ended.payload["tool_calls"] = [  # type: ignore[index]
        {"id": "c1", "name": "ls", "arguments": "{}"}
    ]
    built.asks_for("b").good().leaves(0)
    (answer,) = History(built.build()).answers
    assert answer.next is not None
    assert answer.next.start.seq > ended.seq
