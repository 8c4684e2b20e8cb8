"""What a client did is read off its trace: attempts, waits, what came out, and what broke."""

from __future__ import annotations

import pytest

from faultclock.model.report.census import BrokenAnswer, CallConduct, WaitSeen
from faultclock.model.report.finding import Finding, RunReport, Verdict
from faultclock.profile.census import behaviour, with_verdict
from tests.oracle.trace_builder import REPLY, TraceBuilder, link

HALF = REPLY[:9]
CALL = {"name": "weather", "arguments": '{"city": "Bern"}'}


def only_call(built: TraceBuilder) -> CallConduct:
    """Return what the one call of a trace did."""
    (call,) = behaviour(built.build()).calls
    return call


def broken(built: TraceBuilder) -> BrokenAnswer:
    """Return what the one call of a trace did about an answer that broke."""
    found = only_call(built).broken
    assert found is not None
    return found


def stalled_stream(deadline: str = "30s") -> TraceBuilder:
    """Return a trace whose one stream begins, falls silent, and is closed after `deadline`."""
    built = TraceBuilder(stream=True).start()
    connection = built.connect()
    exchange = built.ask(connection)
    built.answer(connection, exchange)
    built.deliver(connection)
    return built.wait(deadline).close(connection)


def test_a_good_call_is_one_attempt_and_the_whole_answer() -> None:
    """Nothing is waited for, nothing broke."""
    call = only_call(TraceBuilder().start().good().returns())
    assert [attempt.ended for attempt in call.attempts] == ["ok"]
    assert (call.outcome, call.answer, call.waits, call.broken) == ("returned", "whole", (), None)


def test_each_wait_is_from_the_known_failure_to_the_next_act() -> None:
    """In nanoseconds and in words, with what Retry-After had asked for."""
    built = TraceBuilder().start().fails(429, "rate_limit_exceeded", retry_after="7").wait("7s")
    call = only_call(built.fails(500).wait("1500ms").good().returns())
    assert call.waits == (
        WaitSeen(after=1, ns=7_000_000_000, text="7s", asked="7"),
        WaitSeen(after=2, ns=1_500_000_000, text="1.5s"),
    )
    assert call.attempts[0].ended == "429 rate_limit_exceeded"
    assert call.attempts[0].retry_after == "7"


def test_the_finer_header_is_told_beside_it() -> None:
    """OpenAI sends both."""
    built = TraceBuilder().start().fails(retry_after="2", retry_after_ms="1500").wait("1500ms")
    (wait,) = only_call(built.good().returns()).waits
    assert (wait.asked, wait.asked_ms) == ("2", "1500")


def test_noise_below_a_microsecond_is_left_out_of_the_words() -> None:
    """Float seconds make it; the nanoseconds keep it."""
    call = only_call(TraceBuilder().start().fails().wait("1000000001ns").good().returns())
    assert call.waits == (WaitSeen(after=1, ns=1_000_000_001, text="1s"),)


def test_a_wait_after_an_attempt_that_nobody_ended_is_unknown() -> None:
    """The connection stays open while the next attempt is made."""
    built = TraceBuilder().start()
    built.ask(built.connect())
    call = only_call(built.wait("5s").good().returns())
    assert call.waits == (WaitSeen(after=1, ns=None, text="unknown"),)


def test_an_exception_is_told_with_its_causes_and_its_first_line() -> None:
    """What `raise … from None` hides is no cause."""
    chain = [
        link(None, kind="tenacity.RetryError") | {"message": "gave up\nafter 7"},
        link(None, how="cause", kind="httpx2.HTTPStatusError"),
        link(None, how="suppressed", kind="h11.RemoteProtocolError"),
    ]
    call = only_call(TraceBuilder().start().fails().raises(*chain))
    assert (call.outcome, call.answer) == ("raised", None)
    assert (call.error, call.causes) == ("tenacity.RetryError", ("httpx2.HTTPStatusError",))
    assert call.message == "gave up"


def test_a_long_message_is_cut() -> None:
    """A page of HTML is in the report, not here."""
    chain = link(None) | {"message": "x" * 5_000}
    assert len(only_call(TraceBuilder().start().fails().raises(chain)).message) == 200


def test_a_call_that_never_ends_says_so() -> None:
    """Neither returned nor raised."""
    call = only_call(TraceBuilder().start().fails())
    assert (call.outcome, call.answer, call.error) == ("never_ended", None, None)


@pytest.mark.parametrize(
    ("text", "answer"),
    [(REPLY, "whole"), (HALF, "partial"), ("", "empty"), (None, "empty"), ("Bye.", "other")],
)
def test_what_is_returned_is_held_against_what_was_said(text: str | None, answer: str) -> None:
    """Whatever the attempts look like, and whoever returns it."""
    assert only_call(TraceBuilder().start().fails(500).returns(text)).answer == answer


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [('{"city":"Bern"}', "whole"), ('{"city": "Be', "partial"), ('{"city": "Bonn"}', "partial")],
)
def test_tool_calls_are_compared_as_json(arguments: str, answer: str) -> None:
    """SDKs that parse the arguments write them with other spaces."""
    built = TraceBuilder(provider={"tool_calls": [CALL]}).start()
    built.good(text="", finish_reason="tool_calls")
    returned = built.returns("", tool_calls=({**CALL, "arguments": arguments},))
    assert only_call(returned).answer == answer


def test_a_tool_call_that_nobody_made_is_no_answer() -> None:
    """The provider said a text."""
    assert (
        only_call(TraceBuilder().start().good().returns("", tool_calls=(CALL,))).answer == "other"
    )


def test_a_cut_stream_that_is_returned_is_silently_truncated() -> None:
    """The caller gets no error."""
    found = broken(TraceBuilder(stream=True).start().cut_stream("net.delivered").returns(HALF))
    assert found.kind == "stream"
    assert found.how == "the stream was cut off"
    assert found.steps == ("returned_partial",)
    assert found.text == "returned a part of the answer without an error"


def test_a_cut_stream_that_raises_is_told_with_the_exception() -> None:
    """By its class."""
    built = TraceBuilder(stream=True).start().cut_stream("net.reset")
    found = broken(built.raises(link(None, kind="httpx2.ReadError")))
    assert (found.steps, found.text) == (("raised",), "raised httpx2.ReadError")


def test_a_cut_stream_that_is_asked_for_again_is_told_in_order() -> None:
    """Two retries, and then the whole of it."""
    built = TraceBuilder(stream=True).start().cut_stream().wait("1s").cut_stream().wait("1s")
    found = broken(built.good().returns())
    assert found.steps == ("retried", "returned_whole")
    assert found.text == "retried 2 times, returned the whole answer"


def test_a_silent_stream_is_told_with_how_long_it_was_sat_on() -> None:
    """From the last byte to the client's own close."""
    call = only_call(stalled_stream().raises(link(None, kind="openai.APITimeoutError")))
    assert call.attempts[0].hung_ns == 30_000_000_000
    assert call.broken is not None
    assert call.broken.steps == ("hung", "raised")
    assert call.broken.text == "hung 30s, raised openai.APITimeoutError"


def test_a_silent_stream_that_nobody_closes_hangs_until_the_end() -> None:
    """The trace ends, the call does not."""
    built = TraceBuilder(stream=True).start()
    connection = built.connect()
    exchange = built.ask(connection)
    built.answer(connection, exchange)
    built.deliver(connection)
    built.wait("10m")
    call = only_call(built)
    assert (call.outcome, call.attempts[0].ended) == ("never_ended", "open")
    assert call.broken is not None
    assert call.broken.steps == ("never_ended",)


def test_an_answer_that_never_began_hung_since_its_request() -> None:
    """And is no broken answer: there was none."""
    call = only_call(TraceBuilder().start().stalls(deadline="30s").raises(link(None)))
    assert call.attempts[0].hung_ns == 30_010_000_000
    assert call.broken is None


def test_an_error_status_is_no_broken_answer() -> None:
    """Even when its body never comes to an end."""
    built = TraceBuilder().start()
    connection = built.connect()
    exchange = built.ask(connection)
    built.answer(connection, exchange, status=500)
    built.deliver(connection)
    assert only_call(built.wait("30s").close(connection).raises(link(None))).broken is None


def test_an_error_object_in_a_200_is_a_broken_answer() -> None:
    """Of the plain kind."""
    built = TraceBuilder().start()
    connection = built.connect()
    exchange = built.ask(connection)
    built.answer(connection, exchange, error={"code": "rate_limit_exceeded"})
    built.end_exchange(connection, exchange, "complete")
    built.deliver(connection)
    found = broken(built.close(connection).returns(""))
    assert (found.kind, found.steps) == ("body", ("returned_empty",))
    assert found.how == "200 with an error object: rate_limit_exceeded"


def test_calls_are_told_apart_and_in_order() -> None:
    """Each has its own attempts."""
    built = TraceBuilder(copies=2).start().start("ask/2")
    built.good().returns().fails(call="ask/2").raises(link(None), call="ask/2")
    calls = behaviour(built.build()).calls
    assert [(call.call, call.outcome) for call in calls] == [
        ("ask/1", "returned"),
        ("ask/2", "raised"),
    ]


def test_what_leaked_in_and_how_a_run_ended_are_troubles() -> None:
    """Then nothing that it shows proves anything."""
    built = TraceBuilder().start()
    built.event("harness", "leak", what="a real thread", site="lib.py:3")
    leaked = behaviour(built.good().returns().build())
    assert leaked.leaks == ("a real thread at lib.py:3",)
    assert leaked.trouble == "something real leaked in: a real thread at lib.py:3"
    hung = behaviour(TraceBuilder().build("watchdog", "no end after 30 s of real time"))
    assert hung.trouble == "watchdog: no end after 30 s of real time"
    dead = behaviour(TraceBuilder().start().build("deadlock", "task 1 waits"))
    assert (dead.trouble, dead.ending_detail) == ("", ("task 1 waits",))


def test_verdicts_are_counted_beside_the_conduct() -> None:
    """With the checks that fail; nothing else of the run changes."""
    conduct = behaviour(TraceBuilder().start().good().returns().build())
    findings = (
        Finding(check="backoff.wait", verdict=Verdict.FAIL),
        Finding(check="backoff.wait", verdict=Verdict.FAIL),
        Finding(check="swallow", verdict=Verdict.PASS),
    )
    run = RunReport(
        scenario="tests/by-hand",
        title="By hand",
        why="For a test.",
        seed=0,
        verdict=Verdict.FAIL,
        ending="completed",
        virtual_ns=1,
        trace_digest="0" * 64,
        replay="faultclock run",
        findings=findings,
    )
    judged = with_verdict(conduct, run)
    assert (judged.verdict, judged.findings) == ("FAIL", {"PASS": 1, "FAIL": 2})
    assert judged.failed == ("backoff.wait",)
    assert judged.calls == conduct.calls
