"""The wire at its edges: which events make an attempt, and by which instant its end was known."""

from __future__ import annotations

from typing import Any

import pytest

from faultclock.oracle.wire.attempts import observe
from tests.oracle.test_attempts import begun, kind_and_known_ms, only_attempt, only_call
from tests.oracle.trace_builder import TraceBuilder

US = 1_000


def last(built: TraceBuilder, kind: str) -> dict[str, Any]:
    """Return the payload of the last event of a kind, to be changed."""
    event = next(event for event in reversed(built.events) if event.kind == kind)
    return event.payload  # type: ignore[return-value]


# ------------------------------------------------------------------ what makes an attempt


def test_a_connection_that_breaks_before_it_is_used_is_an_attempt() -> None:
    """One that is closed unused was a spare; a reset is a failure that the subject sees."""
    built = TraceBuilder().start()
    built.deliver(built.connect(), "net.reset")
    assert kind_and_known_ms(built.raises("A/B")) == ("connection_reset", 10)
    for kind in ("net.eof", "net.closed"):
        built = TraceBuilder().start()
        built.deliver(built.connect(), kind)
        assert only_call(built.raises("A/B")).attempts == ()


def test_a_connect_that_is_still_under_way_is_an_attempt() -> None:
    """It is open while the call runs; a call that ends has given it up."""
    built = TraceBuilder().start()
    built.dial()
    assert only_attempt(built).outcome == "open"
    assert kind_and_known_ms(built.raises("A/B")) == ("connect_timeout", None)


def test_a_connect_that_timed_out_by_itself_is_no_refusal() -> None:
    """The network says which of both it was."""
    built = TraceBuilder().start()
    connection = built.dial()
    built.wait("3s").event(
        "network", "net.connect_failed", connection=connection, error="timed_out"
    )
    assert kind_and_known_ms(built.raises("A/B")) == ("connect_timeout", 3_000)


def test_an_act_before_its_call_began_belongs_to_no_call() -> None:
    """A call has no attempts before its start."""
    built = TraceBuilder()
    built.dial("ask/1")
    built.start().good().returns()
    call = only_call(built)
    assert [attempt.outcome for attempt in call.attempts] == ["ok"]


@pytest.mark.parametrize(("after_ns", "begins_ns"), [(US, 0), (US + 1, 30_000_000 + US + 1)])
def test_a_lookup_begins_the_attempt_that_follows_within_a_microsecond(
    after_ns: int, begins_ns: int
) -> None:
    """A connect that comes later begins it itself."""
    built = TraceBuilder().start()
    built.event("network", "net.resolving", host="h", call="ask/1")
    built.wait("30ms")
    built.event("network", "net.resolve", host="h", call="ask/1", address="10.0.0.1", error=None)
    built.now_ns += after_ns
    assert only_attempt(built.good().returns()).start.at_ns == begins_ns


def test_a_lookup_begins_one_attempt_only() -> None:
    """The second connect at the same instant is an act of its own."""
    built = TraceBuilder().start()
    built.event("network", "net.resolving", host="h", call="ask/1")
    built.wait("30ms")
    built.event("network", "net.resolve", host="h", call="ask/1", address="10.0.0.1", error=None)
    for connection in (built.dial(), built.dial()):
        built.event("network", "net.connect_failed", connection=connection, error="refused")
    starts = [item.start.kind for item in only_call(built.raises("A/B")).attempts]
    assert starts == ["net.resolving", "net.connect"]


def test_a_lookup_that_fails_is_over_and_begins_nothing_later() -> None:
    """Its start is that of the failed attempt; the next connect has its own."""
    built = TraceBuilder().start()
    built.event("network", "net.resolving", host="h", call="ask/1")
    built.wait("30ms")
    built.event("network", "net.resolve", host="H", call="ask/1", address=None, error="no such")
    first, second = only_call(built.good().returns()).attempts
    assert (first.start.kind, first.start.at_ns, first.known_ns) == ("net.resolving", 0, 30_000_000)
    assert second.start.kind == "net.connect"


@pytest.mark.parametrize(("ready_ns", "kind"), [(US, "net.connect"), (US + 1, "net.sent")])
def test_a_connection_stands_ready_from_a_microsecond_on(ready_ns: int, kind: str) -> None:
    """Bytes that are sent at once belong to the connect."""
    built = TraceBuilder().start()
    connection = built.connect()
    built.now_ns += ready_ns
    built.ask(connection)
    assert only_attempt(built.raises("A/B")).start.kind == kind


def test_only_the_first_bytes_of_a_request_begin_it() -> None:
    """A body that is sent in pieces is one request."""
    built = TraceBuilder().start()
    connection = built.connect()
    built.wait("1s")
    built.event("network", "net.sent", connection=connection, call="ask/1", bytes_count=3)
    built.wait("1s")
    built.ask(connection)
    assert only_attempt(built.raises("A/B")).start.at_ns == 1_000_000_000


def test_a_pool_may_give_a_connection_to_another_call() -> None:
    """The attempt is of the call that asked over it."""
    built = TraceBuilder(copies=2).start("ask/1").start("ask/2")
    connection = built.connect("ask/1")
    built.ask(connection, "ask/2")
    built.close(connection).raises("A/B", call="ask/2").raises("A/B", call="ask/1")
    counts = {call.id: len(call.attempts) for call in observe(built.build()).calls}
    assert counts == {"ask/1": 0, "ask/2": 1}


def test_a_request_after_the_end_of_the_stream_begins_another_attempt() -> None:
    """A half-closed connection brings no answer any more; to use it is a new act."""
    built = TraceBuilder().start()
    connection = built.connect()
    built.ask(connection)
    built.deliver(connection, "net.eof")
    built.wait("1s")
    built.ask(connection)
    built.close(connection)
    first, second = only_call(built.raises("A/B")).attempts
    assert str(first.signal) == "the connection was closed before an answer"
    assert second.start.at_ns == 1_020_000_000


def test_two_requests_on_one_connection_before_an_answer_are_a_problem() -> None:
    """Which of them an answer is for cannot be said."""
    built = TraceBuilder().start()
    connection = built.connect()
    built.ask(connection)
    built.ask(connection)
    seen = observe(built.raises("A/B").build())
    assert seen.problems == ("x2 was asked before x1 was answered",)


# ------------------------------------------------------------------- by when its end is known


def test_an_error_status_whose_body_stalls_is_known_when_it_is_given_up() -> None:
    """Open while the call runs; with its head where nothing shows when it was left."""
    built, connection, exchange = begun()
    built.answer(connection, exchange, status=500, error={"code": "x"})
    built.deliver(connection)
    assert only_attempt(built.wait("5s")).outcome == "open"
    attempt = only_attempt(built.raises("A/B"))
    assert (attempt.outcome, attempt.known_ns) == ("failed", 120_000_000)
    assert attempt.signal is not None
    assert attempt.signal.error_code is None


def test_an_error_status_whose_body_breaks_is_known_with_the_break() -> None:
    """A close of the subject's own counts likewise."""
    for kind, known_ns in (("net.reset", 1_130_000_000), ("net.closed", 1_130_000_000)):
        built, connection, exchange = begun()
        built.answer(connection, exchange, status=400)
        built.deliver(connection)
        built.wait("1s").deliver(connection, kind)
        attempt = only_attempt(built)
        assert (attempt.outcome, attempt.known_ns) == ("failed", known_ns)


@pytest.mark.parametrize(("status", "outcome"), [(399, "ok"), (400, "failed")])
def test_a_status_from_400_on_is_an_error(status: int, outcome: str) -> None:
    """Anything below is an answer."""
    built, connection, exchange = begun()
    built.answer(connection, exchange, status=status)
    built.end_exchange(connection, exchange, "complete", finish_reason="stop", text="Hi")
    built.deliver(connection)
    assert only_attempt(built.returns("Hi")).outcome == outcome


def test_an_answer_that_no_byte_of_arrived_is_no_answer() -> None:
    """The provider has sent its head, and the connection broke before it came."""
    built, connection, exchange = begun()
    built.answer(connection, exchange, status=500)
    built.deliver(connection, "net.reset")
    assert kind_and_known_ms(built.raises("A/B")) == ("connection_reset", 120)


def test_an_error_in_a_good_answer_counts_once_it_is_whole() -> None:
    """Half a body holds no error that can be read."""
    for how, seen in (("complete", "error_body"), ("eof", "body_cut")):
        built, connection, exchange = begun()
        built.answer(connection, exchange, error={"code": "rate_limit_exceeded"})
        built.deliver(connection)
        built.end_exchange(connection, exchange, how)
        built.deliver(connection, "net.delivered" if how == "complete" else "net.eof")
        assert kind_and_known_ms(built.raises("A/B"))[0] == seen


def test_a_good_answer_that_stalls_is_open_until_it_is_given_up() -> None:
    """A call that goes on has given it up, and nobody can say when."""
    built, connection, exchange = begun()
    built.answer(connection, exchange)
    built.deliver(connection)
    assert only_attempt(built.wait("5s")).outcome == "open"
    assert kind_and_known_ms(built.raises("A/B")) == ("deadline", None)


@pytest.mark.parametrize(
    ("fault", "error", "seen"),
    [
        # A page that names an error is read as that error.
        ("ok_with_error_body", {"code": "x"}, "error_body"),
        ("ok_with_error_body", None, "malformed_body"),
        # A corrupt body that closes at once was read, and is not what it should be.
        ("corrupt_body", None, "malformed_body"),
    ],
)
def test_what_comes_in_place_of_an_answer(
    fault: str, error: dict[str, str] | None, seen: str
) -> None:
    """What can be read of it decides."""
    built, connection, exchange = begun()
    built.event("provider", "fault.fired", fault="f", fault_kind=fault, exchange=exchange)
    built.answer(connection, exchange, error=error)
    built.end_exchange(connection, exchange, "complete", finish_reason="stop", text="Hi")
    built.deliver(connection)
    assert kind_and_known_ms(built.raises("A/B"))[0] == seen


@pytest.mark.parametrize(("later", "seen"), [("0s", "malformed_body"), ("1s", "deadline")])
def test_a_corrupt_stream_that_the_reader_leaves_at_once_was_read(later: str, seen: str) -> None:
    """A reader that stays has not noticed, and gives up for another reason."""
    built, connection, exchange = begun(stream=True)
    kind = "corrupt_body"
    built.event("provider", "fault.fired", fault="f", fault_kind=kind, exchange=exchange)
    built.answer(connection, exchange)
    built.deliver(connection)
    built.wait(later).close(connection)
    built.end_exchange(connection, exchange, "abandoned")
    assert kind_and_known_ms(built.raises("A/B"))[0] == seen


@pytest.mark.parametrize(("on_its_way_ns", "outcome"), [(0, "ok"), (1, "failed")])
def test_an_answer_has_arrived_when_its_last_part_has_had_the_time(
    on_its_way_ns: int, outcome: str
) -> None:
    """Ten milliseconds of latency, to the nanosecond; then a close is no deadline."""
    built, connection, exchange = begun()
    built.answer(connection, exchange)
    built.end_exchange(connection, exchange, "complete", finish_reason="stop", text="Hi")
    built.now_ns += 10_000_000 - on_its_way_ns
    built.event("network", "net.delivered", connection=connection)
    built.close(connection)
    assert only_attempt(built.returns("Hi")).outcome == outcome


@pytest.mark.parametrize(("sent_early_ns", "outcome"), [(0, "ok"), (1, "failed")])
def test_a_delivery_that_says_when_it_was_sent_shows_whether_it_was_the_last(
    sent_early_ns: int, outcome: str
) -> None:
    """On a network with uneven latency the time of arrival says nothing."""
    built, connection, exchange = begun()
    built.answer(connection, exchange)
    built.end_exchange(connection, exchange, "complete", finish_reason="stop", text="Hi")
    sent_ns = built.now_ns - sent_early_ns
    built.now_ns += 1_000
    built.event("network", "net.delivered", connection=connection, sent_ns=sent_ns)
    built.close(connection)
    assert only_attempt(built.returns("Hi")).outcome == outcome


@pytest.mark.parametrize(("later_ns", "outcome"), [(US, "ok"), (US + 1, "failed")])
def test_a_reader_of_a_stream_has_left_within_a_microsecond(later_ns: int, outcome: str) -> None:
    """Later it has waited for more."""
    built, connection, exchange = begun(stream=True)
    built.answer(connection, exchange)
    built.end_exchange(connection, exchange, "stalled", finish_reason="stop", text="Hi")
    built.deliver(connection)
    built.now_ns += later_ns
    built.close(connection)
    assert only_attempt(built.returns("Hi")).outcome == outcome


def test_what_the_provider_sent_before_it_closed_arrived_before_its_close() -> None:
    """Only a close of the subject's own can come before the last part."""
    built, connection, exchange = begun()
    built.answer(connection, exchange)
    built.deliver(connection)
    built.end_exchange(connection, exchange, "complete", finish_reason="stop", text="Hi")
    built.wait("5ms").event("network", "net.eof", connection=connection)
    assert only_attempt(built.returns("Hi")).outcome == "ok"


def test_a_reader_leaves_after_the_last_part_of_a_stream() -> None:
    """How long ago the first part came says nothing."""
    built, connection, exchange = begun(stream=True)
    built.answer(connection, exchange)
    built.deliver(connection)
    built.wait("1s").end_exchange(connection, exchange, "stalled", finish_reason="stop", text="Hi")
    built.deliver(connection)
    built.close(connection)
    assert only_attempt(built.returns("Hi")).outcome == "ok"


# ------------------------------------------------------------------- content that had arrived


@pytest.mark.parametrize(("pieces", "content"), [(1, False), (2, True)])
def test_the_first_piece_of_a_stream_holds_no_content(pieces: int, content: bool) -> None:
    """It opens the answer; from the second one on there is some."""
    built, connection, exchange = begun(stream=True)
    built.answer(connection, exchange)
    for _ in range(pieces):
        built.deliver(connection)
    built.deliver(connection, "net.reset")
    assert only_attempt(built.raises("A/B")).content is content


def test_pieces_that_come_with_the_error_hold_no_content() -> None:
    """What the provider sent from its error on is the error."""
    for wait, content in (("0ms", False), ("1ms", True)):
        built, connection, exchange = begun(stream=True)
        built.answer(connection, exchange)
        built.deliver(connection)
        sent_ns = built.now_ns
        built.wait(wait)
        built.event(
            "provider",
            "http.stream_error",
            exchange=exchange,
            connection=connection,
            call="ask/1",
            error={"code": None, "type": "server_error", "message": "no"},
        )
        for _ in range(2):
            built.event("network", "net.delivered", connection=connection, sent_ns=sent_ns)
        built.event("network", "net.delivered", connection=connection, sent_ns=built.now_ns)
        built.end_exchange(connection, exchange, "complete")
        attempt = only_attempt(built.raises("A/B"))
        assert (attempt.signal is not None and attempt.signal.kind) == "stream_error"
        assert attempt.content is content


def test_an_answer_that_is_no_stream_or_an_error_holds_no_content() -> None:
    """Its body is read as a whole."""
    for stream, status in ((False, 200), (True, 500)):
        built, connection, exchange = begun(stream=stream)
        built.answer(connection, exchange, status=status)
        for _ in range(3):
            built.deliver(connection)
        built.deliver(connection, "net.reset")
        assert only_attempt(built.raises("A/B")).content is False


# ------------------------------------------------------------------------------- what it said


def test_what_an_answer_said_is_read_with_its_headers() -> None:
    """Names of headers are lower case; a Retry-After that stands apart is one of them."""
    built, connection, exchange = begun()
    built.answer(connection, exchange, status=429, headers={"X-Reset": "7"}, error={"code": 5})
    last(built, "http.response")["retry_after"] = "9"
    built.end_exchange(connection, exchange, "complete")
    built.deliver(connection)
    signal = only_attempt(built.raises("A/B")).signal
    assert signal is not None
    assert signal.headers == {"x-reset": "7", "retry-after": "9"}
    assert (signal.error_code, signal.error_type) == ("5", None)
    plain = only_attempt(TraceBuilder().start().fails(429, x_reset="7").raises("A/B")).signal
    assert plain is not None
    assert plain.headers == {"x-reset": "7"}
