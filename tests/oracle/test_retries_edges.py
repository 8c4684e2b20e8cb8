"""Retries at their edges: what counts as a retry, until when, and what a violation says."""

from __future__ import annotations

import pytest

from tests.oracle.common_model import found, verdict
from tests.oracle.trace_builder import TraceBuilder


def with_host_header(built: TraceBuilder, *hosts: str | None) -> TraceBuilder:
    """Have the requests of a trace say in their headers which hosts they are for, in order."""
    asked = [event for event in built.events if event.kind == "http.request"]
    for event, host in zip(asked, hosts, strict=True):
        if host is not None:
            event.payload["headers"] = {"host": host}  # type: ignore[index]
    return built


def early() -> TraceBuilder:
    """Return a call that comes back a second after an answer that asks for seven."""
    built = TraceBuilder().start().asks_for("{}").fails(retry_after="7")
    return built.wait("1s").good().returns()


# ----------------------------------------------------------------------- what is a retry


def test_an_attempt_that_does_not_reach_the_provider_is_a_retry_too() -> None:
    """The refused connection shows no body, and came too early all the same."""
    built = TraceBuilder().start().asks_for("{}").fails(retry_after="7")
    built.wait("1s").refused().raises("A/B")
    assert verdict(built, "retries.floor") == "FAIL"


def test_the_host_header_says_whom_a_request_is_for() -> None:
    """Two hosts behind one proxy are two; a port and capital letters make no other host."""
    two = with_host_header(early(), "one.example.com", "two.example.com")
    assert verdict(two, "retries.floor") == "NOT_APPLICABLE"
    one = with_host_header(early(), "one.example.com", "One.Example.com:443")
    assert verdict(one, "retries.floor") == "FAIL"
    also_named = with_host_header(early(), None, "api.openai.com")
    assert verdict(also_named, "retries.floor") == "FAIL"


def test_a_request_that_was_sent_before_the_failure_was_known_is_no_retry() -> None:
    """It cannot answer what its sender did not know yet; at that very instant it can."""
    for ahead, seen in (("20ms", "NOT_APPLICABLE"), ("0ms", "FAIL")):
        built = TraceBuilder().start().asks_for("{}")
        first = built.connect()
        exchange = built.ask(first)
        built.answer(first, exchange, status=429, headers={"retry-after": "7"}, error={})
        built.end_exchange(first, exchange, "complete")
        if ahead == "20ms":
            second = built.connect()
            other = built.ask(second)
            built.deliver(first)
        else:
            built.deliver(first)
            second = built.connect()
            other = built.ask(second)
        built.answer(second, other)
        built.end_exchange(second, other, "complete", finish_reason="stop", text="x")
        built.deliver(second)
        assert verdict(built.returns("x"), "retries.floor") == seen


@pytest.mark.parametrize(
    ("says", "seen"), [("true", "NOT_APPLICABLE"), ("false", "FAIL"), ("", "FAIL")]
)
def test_x_should_retry_asks_for_another_attempt(says: str, seen: str) -> None:
    """Only `true` does."""
    headers = {"x_should_retry": says} if says else {}
    built = TraceBuilder().start().asks_for("{}").fails(403, **headers)
    assert verdict(built.wait("1s").good().returns(), "retries.pointless") == seen


# ----------------------------------------------------------------- what a violation says


def test_a_key_may_be_renewed_once_and_what_follows_is_shown_with_that() -> None:
    """Whether it is another key is in no trace, so the first repetition may be right."""
    built = TraceBuilder().start().asks_for("{}").fails(401).wait("1s").fails(401)
    assert found(built, "retries.pointless").verdict.value != "FAIL"
    finding = found(built.wait("1s").fails(401).raises("A/B"), "retries.pointless")
    assert finding.observed == "it sent the same request again, twice"
    assert finding.expected.startswith("at most one retry, with a new key: ")


def test_a_pointless_retry_is_shown_with_all_that_followed() -> None:
    """One violation names how often the request was sent again."""
    for times, said in ((1, "once"), (2, "twice"), (3, "3 times")):
        built = TraceBuilder().start().asks_for("{}").fails(400)
        for _ in range(times):
            built.wait("1s").fails(400)
        finding = found(built.raises("A/B"), "retries.pointless")
        assert finding.observed == f"it sent the same request again, {said}"
        begun = {event.seq for event in built.events if event.kind == "net.connect"}
        assert begun <= set(finding.events)


def test_what_is_sent_to_another_model_is_no_repetition() -> None:
    """It has another body: only what was sent unchanged is counted."""
    built = TraceBuilder().start().asks_for("{}").fails(400).wait("1s").fails(400)
    built.asks_for('{"model": "another"}').wait("1s").fails(400)
    finding = found(built.raises("A/B"), "retries.pointless")
    assert finding.observed == "it sent the same request again, once"


def test_a_call_that_is_still_open_may_yet_give_up() -> None:
    """Whether it sends a refused request again is not known."""
    built = TraceBuilder().start().fails(400)
    assert verdict(built, "retries.pointless", "virtual_time_limit") == "NOT_APPLICABLE"


@pytest.mark.parametrize(
    ("wait", "said"),
    [
        ("0s", "no wait at all"),
        ("1ns", "1ms"),
        ("999900us", "999ms"),
        ("1s", "1s"),
        ("1009ms", "1s"),
        ("1010ms", "1.01s"),
    ],
)
def test_a_wait_that_was_too_short_is_said_as_people_read_it(wait: str, said: str) -> None:
    """Hundredths of a second from a second on, milliseconds below."""
    built = TraceBuilder().start().fails(retry_after="7").wait(wait).good().returns()
    observed = found(built, "retries.floor").observed
    assert observed == f"attempt 2 came after {said}, earlier than Retry-After asked"


def test_an_endless_call_is_shown_by_its_first_attempts_and_its_last() -> None:
    """How long it went on counts from its first attempt."""
    built = TraceBuilder().wait("10s").start().asks_for("{}").refused()
    for _ in range(64):
        built.wait("1s").refused()
    finding = found(built.raises("A/B"), "retries.bounded")
    assert finding.observed == "65 attempts in 1m5.2s, without giving up"
    begun = [event.seq for event in built.events if event.kind == "net.connect"]
    assert finding.events == (*begun[:5], begun[-1])


# ------------------------------------------------------------------- who may give up


@pytest.mark.parametrize(("asked", "seen"), [("14", "WARN"), ("15", "NOT_APPLICABLE")])
def test_a_client_that_is_asked_for_fifteen_seconds_may_give_up(asked: str, seen: str) -> None:
    """With the second that the clocks may differ by, people do not wait that long."""
    built = TraceBuilder().start().fails(429, retry_after=asked).raises("A/B")
    assert verdict(built, "retries.tried") == seen


@pytest.mark.parametrize(("lasts", "seen"), [("15s", "WARN"), ("15001ms", "NOT_APPLICABLE")])
def test_a_client_whose_attempt_took_long_may_give_up(lasts: str, seen: str) -> None:
    """After more than fifteen seconds the person has waited long enough."""
    built = TraceBuilder().wait("60s").start()
    connection = built.dial()
    built.wait(lasts)
    built.event("network", "net.connect_failed", connection=connection, error="refused")
    assert verdict(built.raises("A/B"), "retries.tried") == seen


def test_a_passing_failure_that_was_retried_is_judged_however_long_it_took() -> None:
    """Patience excuses a call that gave up, and says nothing against one that did not."""
    built = TraceBuilder().start().fails(429, retry_after="20").wait("20s").good().returns()
    assert verdict(built, "retries.tried") == "PASS"


def test_a_call_that_ends_in_an_accident_owes_no_retry() -> None:
    """What it would have done after that is not known."""
    built = TraceBuilder().start().fails(503)
    built.raises({"type": "X", "message": "", "class": None, "code": None, "link": "outer"})
    assert verdict(built, "retries.tried") == "WARN"
    crashed = TraceBuilder().start().fails(503)
    broken = {"type": "X", "message": "", "class": None, "code": None, "link": "outer"}
    crashed.raises({**broken, "accident": True})
    assert verdict(crashed, "retries.tried") == "NOT_APPLICABLE"


# ---------------------------------------------------------------- content and cancels


def test_a_failure_after_content_that_is_raised_is_right() -> None:
    """The call ended with the answer that it had half of."""
    built = TraceBuilder(stream=True).start().cut_stream("net.reset")
    built.event("subject", "declared.content", call="ask/1", length=4)
    assert verdict(built.raises("A/B"), "retries.after-content") == "PASS"


def test_content_counts_for_its_own_call_and_from_its_own_attempt_on() -> None:
    """What another call passed on, or an earlier attempt, or a later one, is another matter."""
    other = TraceBuilder(stream=True, copies=2).start().start("ask/2").cut_stream("net.reset")
    other.event("subject", "declared.content", call="ask/2", length=4)
    other.wait("1s").good().returns()
    assert verdict(other, "retries.after-content") == "NOT_APPLICABLE"
    later = TraceBuilder(stream=True).start().cut_stream("net.reset").wait("1s").good()
    later.event("subject", "declared.content", call="ask/1", length=4)
    assert verdict(later.returns(), "retries.after-content") == "NOT_APPLICABLE"


def test_a_cancel_of_what_is_over_or_unknown_asks_for_nothing() -> None:
    """Only a call that runs can be cancelled."""
    over = TraceBuilder().start().good().returns()
    over.event("harness", "cancel.requested", call="ask/1", cancel="stop")
    assert verdict(over, "retries.after-cancel") == "NOT_APPLICABLE"
    unknown = TraceBuilder().start().good()
    unknown.event("harness", "cancel.requested", call="ask/7", cancel="stop")
    assert verdict(unknown.returns(), "retries.after-cancel") == "NOT_APPLICABLE"


def test_a_cancelled_call_that_never_ends_is_a_violation() -> None:
    """It is shown by the cancel; a call that ends too late, by its end as well."""
    built = TraceBuilder().start().fails(503)
    cancel = built.event("harness", "cancel.requested", call="ask/1", cancel="stop")
    finding = found(built, "retries.after-cancel", "deadlock")
    assert (finding.observed, finding.events) == ("the call never ended", (cancel,))
    built = TraceBuilder().wait("60s").start().fails(503)
    cancel = built.event("harness", "cancel.requested", call="ask/1", cancel="stop")
    built.wait("3s").raises("A/B")
    finding = found(built, "retries.after-cancel")
    assert finding.observed == "the call ended 3s after the cancel"
    assert finding.events == (cancel, built.events[-1].seq)


# ------------------------------------------------------------------------ long sleeps


def test_a_wait_for_a_failure_that_was_never_known_is_no_sleep() -> None:
    """A client that goes on without an answer has known of no failure to wait after."""
    built = TraceBuilder().start()
    built.ask(built.connect())
    built.wait("2h").good().returns()
    assert verdict(built, "retries.long-wait") == "NOT_APPLICABLE"


def test_giving_up_at_an_hour_is_right_and_below_an_hour_shows_nothing() -> None:
    """An answer that asks for an hour is answered by an error that says until when."""
    for asked, seen in (("3600", "PASS"), ("3599", "NOT_APPLICABLE")):
        built = TraceBuilder().start().fails(429, retry_after=asked).raises("A/B")
        assert verdict(built, "retries.long-wait") == seen


def test_a_run_that_ends_before_the_hour_shows_no_long_sleep() -> None:
    """The call may have ended in time; a call that is over sleeps no more."""
    built = TraceBuilder().wait("10m").start().fails(503)
    built.wait("59m")
    assert verdict(built, "retries.long-wait", "virtual_time_limit") == "NOT_APPLICABLE"
    built.wait("1m")
    finding = found(built, "retries.long-wait", "virtual_time_limit")
    assert finding.observed == "it slept for 1h before it asked again"
    over = TraceBuilder().start().fails(503).raises("A/B").wait("2h")
    assert verdict(over, "retries.long-wait", "virtual_time_limit") == "NOT_APPLICABLE"
