"""Attempts are built from what the world saw: when they began, how they ended, when known."""

from __future__ import annotations

import pytest

from faultclock.model.duration import MILLISECOND_NS
from faultclock.oracle.wire.attempts import Attempt, Call, observe
from tests.oracle.trace_builder import TraceBuilder, sha256
from tests.oracle.turn_builder import TurnBuilder


def only_call(built: TraceBuilder) -> Call:
    """Return the one call of a trace."""
    (call,) = observe(built.build()).calls
    return call


def only_attempt(built: TraceBuilder) -> Attempt:
    """Return the one attempt of the one call of a trace."""
    (attempt,) = only_call(built).attempts
    return attempt


def kind_and_known_ms(built: TraceBuilder) -> tuple[str | None, int | None]:
    """Return the signal's kind and when it was known, in milliseconds."""
    attempt = only_attempt(built)
    known = None if attempt.known_ns is None else attempt.known_ns // MILLISECOND_NS
    return None if attempt.signal is None else attempt.signal.kind, known


def begun(stream: bool = False) -> tuple[TraceBuilder, str, str]:
    """Return a trace whose one call has sent its request, the connection and the exchange."""
    built = TraceBuilder(stream=stream).start()
    connection = built.connect()
    return built, connection, built.ask(connection)


def test_a_good_answer_is_known_with_its_last_byte() -> None:
    """120 ms: 10 there, 100 at the provider, 10 back."""
    attempt = only_attempt(TraceBuilder().start().good("Hi").returns("Hi"))
    assert (attempt.outcome, attempt.signal, attempt.known_ns) == ("ok", None, 120_000_000)


def test_an_error_status_is_known_with_its_last_byte_and_knowable_with_its_first() -> None:
    """The head tells the status; the body comes 50 ms later."""
    built, connection, exchange = begun()
    built.answer(connection, exchange, status=503, error={"code": "server_error"})
    built.deliver(connection)
    built.wait("50ms").end_exchange(connection, exchange, "complete")
    built.deliver(connection)
    attempt = only_attempt(built.raises("A/B"))
    assert str(attempt.signal) == "503 server_error"
    assert (attempt.knowable_ns, attempt.known_ns) == (120_000_000, 180_000_000)


def test_an_error_body_that_never_came_whole_has_no_code() -> None:
    """What was cut off could not be read by the subject either."""
    built, connection, exchange = begun()
    built.answer(connection, exchange, status=429, error={"code": "insufficient_quota"})
    built.deliver(connection)
    built.end_exchange(connection, exchange, "eof")
    built.deliver(connection, "net.eof")
    attempt = only_attempt(built.raises("A/B"))
    assert attempt.signal is not None
    assert (attempt.signal.kind, attempt.signal.error_code) == ("http_error", None)


def test_a_failed_resolution_is_an_attempt() -> None:
    """No connect follows; the resolution itself is act and end."""
    built = TraceBuilder().start()
    built.event("network", "net.resolve", host="h", call="ask/1", address=None, error="no such")
    assert kind_and_known_ms(built.raises("A/B")) == ("dns_failure", 0)


def test_a_resolution_that_leads_to_the_connect_is_the_start() -> None:
    """Its time counts as the act, and it is no attempt of its own."""
    built = TraceBuilder().start().wait("1s")
    built.event("network", "net.resolving", host="h", call="ask/1")
    built.wait("30ms")
    built.event("network", "net.resolve", host="h", call="ask/1", address="10.0.0.1", error=None)
    attempt = only_attempt(built.good().returns())
    assert attempt.start.at_ns == 1_000_000_000


def test_a_resolution_long_before_the_connect_does_not_begin_it() -> None:
    """Who looks the name up in time and then dawdles, begins when it connects."""
    built = TraceBuilder().start()
    built.event("network", "net.resolve", host="h", call="ask/1", address="10.0.0.1", error=None)
    assert only_attempt(built.wait("7s").good().returns()).start.at_ns == 7_000_000_000


def test_a_connection_that_stands_ready_begins_an_attempt_when_it_is_used() -> None:
    """Neither an early connect nor a request that follows a connect late can hide a wait."""
    built = TraceBuilder().start()
    spare = built.connect()
    built.fails(429).wait("5s")
    built.ask(spare)
    built.wait("1s").close(spare).raises("A/B")
    first, second = only_call(built).attempts
    assert first.number == 1
    assert first.known_ns is not None
    assert second.start.at_ns - first.known_ns == 5_000_000_000


def test_a_refused_and_an_unanswered_connect() -> None:
    """A refusal is known when it comes, an unanswered connect when the subject gives it up."""
    assert kind_and_known_ms(TraceBuilder().start().refused().raises("A/B")) == (
        "connect_refused",
        20,
    )
    built = TraceBuilder().start()
    connection = built.dial()
    built.wait("5s").close(connection).raises("A/B")
    assert kind_and_known_ms(built) == ("connect_timeout", 5_000)


def test_a_deadline_is_known_when_the_subject_closes() -> None:
    """A stall is no failure until then."""
    built = TraceBuilder().start().stalls(deadline="30s").raises("A/B")
    assert kind_and_known_ms(built) == ("deadline", 30_010)


def test_what_was_never_closed_is_given_up_without_a_time() -> None:
    """The call went on without it: a deadline, but nobody can say when it passed."""
    built, *_ = begun()
    built.wait("30s").good().returns()
    first, second = only_call(built).attempts
    assert first.signal is not None
    assert (first.signal.kind, first.known_ns) == ("deadline", None)
    assert second.outcome == "ok"


def test_an_attempt_that_the_trace_ends_in_is_open() -> None:
    """Nothing is known of it, so it neither failed nor succeeded."""
    built, *_ = begun()
    assert only_attempt(built).outcome == "open"


def test_a_connection_that_ends_before_the_answer() -> None:
    """FIN and RST are told apart."""
    for kind, signal in (("net.eof", "connection_closed"), ("net.reset", "connection_reset")):
        built, connection, _ = begun()
        built.deliver(connection, kind)
        assert kind_and_known_ms(built.raises("A/B")) == (signal, 20)


def test_an_answer_that_stops_in_the_middle() -> None:
    """Known with the FIN, the RST, or the last byte of a stream that ends without its end."""
    for how in ("net.eof", "net.reset", "net.delivered"):
        built = TraceBuilder(stream=True).start().cut_stream(how).raises("A/B")
        assert kind_and_known_ms(built) == ("stream_cut", 130)
    assert kind_and_known_ms(TraceBuilder().start().cut_stream().raises("A/B"))[0] == "body_cut"


def test_a_stream_without_a_finish_reason_is_cut() -> None:
    """The message ended properly and said nothing of its end."""
    built = TraceBuilder(stream=True).start()
    built.good(finish_reason=None)  # type: ignore[arg-type]
    assert kind_and_known_ms(built.raises("A/B"))[0] == "stream_cut"


def test_a_reader_that_closes_a_stream_after_its_end_has_it_whole() -> None:
    """The last bytes of the transfer coding carry nothing that it needs."""
    built, connection, exchange = begun(stream=True)
    built.answer(connection, exchange)
    built.deliver(connection)
    built.close(connection)
    built.end_exchange(connection, exchange, "abandoned", finish_reason="stop", text="Hi")
    assert only_attempt(built.returns("Hi")).outcome == "ok"


@pytest.mark.parametrize("how", ["abandoned", "eof", "reset", "stalled"])
@pytest.mark.parametrize(("later", "outcome"), [("0s", "ok"), ("1s", "failed")])
def test_a_reader_that_waits_on_after_the_finish_reason_gave_up(
    how: str, later: str, outcome: str
) -> None:
    """Whatever the provider meant to do next: to close at once is to be content."""
    built, connection, exchange = begun(stream=True)
    built.answer(connection, exchange)
    built.end_exchange(connection, exchange, how, finish_reason="stop", text="Hi")
    built.deliver(connection)
    built.wait(later).close(connection)
    assert only_attempt(built.returns("Hi")).outcome == outcome


@pytest.mark.parametrize(
    ("finish", "later", "outcome"),
    [("stop", "0s", "ok"), ("stop", "1s", "failed"), (None, "0s", "failed")],
)
def test_an_error_behind_the_finish_reason_is_none_for_who_has_left(
    finish: str | None, later: str, outcome: str
) -> None:
    """It never arrived; who was still waiting for something gave up, and who left early, too."""
    built, connection, exchange = begun(stream=True)
    built.answer(connection, exchange)
    built.deliver(connection)
    built.wait(later).close(connection)
    built.event(
        "provider",
        "http.stream_error",
        exchange=exchange,
        connection=connection,
        call="ask/1",
        error={"code": None, "type": "server_error", "message": "no"},
    )
    built.end_exchange(connection, exchange, "complete", finish_reason=finish, text="Hi")
    assert only_attempt(built.returns("Hi")).outcome == outcome


def test_an_answer_that_was_still_on_its_way_when_the_subject_closed_is_a_deadline() -> None:
    """The provider had sent all of it, 5 ms before the subject gave up."""
    built, connection, exchange = begun()
    built.answer(connection, exchange)
    built.deliver(connection)
    built.end_exchange(connection, exchange, "complete", finish_reason="stop", text="Hi")
    built.wait("5ms").close(connection)
    assert kind_and_known_ms(built.raises("A/B")) == ("deadline", 125)


def test_an_error_object_inside_a_stream_is_known_when_it_arrives() -> None:
    """Chunks that were under way before it do not tell it; what comes later does not delay it."""
    built, connection, exchange = begun(stream=True)
    built.answer(connection, exchange)
    built.deliver(connection)
    built.wait("95ms")
    built.event(
        "provider",
        "http.stream_error",
        exchange=exchange,
        connection=connection,
        error={"code": None, "type": "server_error", "message": "m"},
    )
    built.wait("5ms").event("network", "net.delivered", connection=connection, bytes_count=1)
    built.wait("5ms").event("network", "net.delivered", connection=connection, bytes_count=2)
    built.wait("20ms").end_exchange(connection, exchange, "complete")
    built.event("network", "net.delivered", connection=connection, bytes_count=3)
    attempt = only_attempt(built.raises("A/B"))
    assert attempt.signal is not None
    assert (attempt.signal.kind, attempt.signal.error_type) == ("stream_error", "server_error")
    assert (attempt.knowable_ns, attempt.known_ns) == (225_000_000, 245_000_000)


def test_an_error_object_in_a_200_and_a_corrupt_body() -> None:
    """Both are failures behind a good status."""
    built, connection, exchange = begun()
    built.answer(connection, exchange, error={"code": "rate_limit_exceeded", "type": "requests"})
    built.end_exchange(connection, exchange, "complete")
    built.deliver(connection)
    assert kind_and_known_ms(built.raises("A/B")) == ("error_body", 120)
    built, connection, exchange = begun()
    built.event("provider", "fault.fired", fault="f", fault_kind="corrupt_body", exchange=exchange)
    built.answer(connection, exchange)
    built.end_exchange(connection, exchange, "complete", finish_reason="stop", text="Hi")
    built.deliver(connection)
    assert kind_and_known_ms(built.raises("A/B")) == ("malformed_body", 120)


def test_a_page_in_place_of_an_answer_is_no_answer() -> None:
    """Its status is good and its body is whole, and nothing in it is the provider's."""
    built, connection, exchange = begun()
    kind = "ok_with_error_body"
    built.event("provider", "fault.fired", fault="f", fault_kind=kind, exchange=exchange)
    built.answer(connection, exchange)
    built.end_exchange(connection, exchange, "complete")
    built.deliver(connection)
    assert kind_and_known_ms(built.raises("A/B")) == ("malformed_body", 120)


def test_a_kept_connection_begins_an_attempt_with_its_first_byte() -> None:
    """Once an answer has begun, bytes that are sent belong to the next request."""
    built = TraceBuilder().start()
    connection = built.connect()
    for status in (503, 200):
        exchange = built.ask(connection)
        built.answer(connection, exchange, status=status)
        built.end_exchange(connection, exchange, "complete", finish_reason="stop", text="Hi")
        built.deliver(connection)
        built.wait("1s")
    first, second = only_call(built.returns("Hi")).attempts
    assert (str(first.signal), second.signal) == ("503", None)
    assert second.start.kind == "net.sent"
    assert second.start.at_ns == 1_120_000_000


def test_two_connections_at_once_are_two_attempts() -> None:
    """A hedged request is kept apart by its connection."""
    built = TraceBuilder().start()
    first, second = built.connect(), built.connect()
    one, two = built.ask(first), built.ask(second)
    built.answer(second, two)
    built.end_exchange(second, two, "complete", finish_reason="stop", text="Hi")
    built.deliver(second)
    built.answer(first, one, status=500)
    built.end_exchange(first, one, "complete")
    built.deliver(first)
    slow, fast = only_call(built.returns("Hi")).attempts
    assert (slow.outcome, fast.outcome) == ("failed", "ok")
    assert slow.known_ns == 240_000_000


def test_a_spare_connection_that_was_never_used_is_no_attempt() -> None:
    """It was opened and closed, and asked nothing."""
    built = TraceBuilder().start()
    spare = built.connect()
    built.good().close(spare).returns()
    assert len(only_call(built).attempts) == 1


def test_what_begins_after_the_end_is_no_attempt() -> None:
    """An ordering rule speaks of it; counting it here would blame it twice."""
    assert len(only_call(TraceBuilder().start().good().returns().wait("1s").good()).attempts) == 1


def test_an_act_of_no_call_is_a_problem_of_the_evidence() -> None:
    """Whose attempt it was cannot be said, so it is not guessed."""
    built = TraceBuilder().start()
    built.dial(call=None)
    seen = observe(built.good().returns().build())
    assert seen.problems == ("net.connect was made by no call",)
    assert seen.problem_events == (3,)


def nodes_of(built: TurnBuilder) -> list[str]:
    """Return the node that each attempt of the turn is for."""
    (call,) = (call for call in observe(built.build()).calls if call.is_turn)
    return [attempt.node for attempt in call.attempts]


def agents(*names: str) -> TurnBuilder:
    """Return a turn of a workflow whose nodes ask the model, each with a prompt of its own."""
    script = [{"id": name, "do": "agent", "prompt": f"You are {name}."} for name in names]
    return TurnBuilder(workflow={"nodes": script}).turn()


def asks_as(built: TurnBuilder, node: str, status: int = 200) -> TurnBuilder:
    """Add an attempt of a node, which is answered with a status."""
    built.messages = [{"role": "system", "content_sha256": sha256(f"You are {node}.")}]
    if status == 200:
        return built.says()
    built.fails(status, call=built.call)
    return built


def test_the_prompt_in_a_request_says_which_node_it_is_for() -> None:
    """A request without any of the prompts is for no known node."""
    built = asks_as(asks_as(agents("one", "two"), "one"), "two")
    built.messages = [{"role": "user", "content_sha256": "other"}]
    assert nodes_of(built.says().ends()) == ["one", "two", ""]
    assert nodes_of(TurnBuilder().turn().says().ends()) == [""]


def test_the_last_prompt_in_a_request_counts() -> None:
    """A node may be given what an earlier one was asked."""
    built = agents("one", "two")
    built.messages = [
        {"role": "system", "content_sha256": sha256(f"You are {name}.")} for name in ("one", "two")
    ]
    assert nodes_of(built.says().ends()) == ["two"]


def test_what_never_reached_the_provider_is_for_the_node_of_its_neighbour() -> None:
    """Of the failure before it; else of the next attempt that shows one."""
    built = agents("one", "two").refused().refused()
    assert nodes_of(asks_as(built, "one").ends()) == ["one", "one", "one"]
    built = asks_as(agents("one", "two"), "one", 503).refused()
    assert nodes_of(asks_as(built, "two").ends()) == ["one", "one", "two"]
    built = asks_as(agents("one", "two"), "one").refused()
    assert nodes_of(asks_as(built, "two").ends()) == ["one", "two", "two"]
    assert nodes_of(agents("one", "two").refused().ends("A/B")) == [""]


def test_a_spare_connection_comes_in_the_order_of_its_use() -> None:
    """It was opened first and used last."""
    built = TraceBuilder().start()
    spare = built.connect()
    built.fails(429)
    built.ask(spare)
    built.close(spare).raises("A/B")
    first, second = only_call(built).attempts
    assert (first.number, second.number) == (1, 2)
    assert first.start.seq < second.start.seq


def attempts_by_request(built: TurnBuilder) -> list[int]:
    """Return how many attempts each request of the turn has."""
    (turn,) = (call for call in observe(built.build()).calls if call.is_turn)
    return [len(request.attempts) for request in turn.requests]


def test_a_request_with_another_result_is_no_retry_of_one_that_failed() -> None:
    """An agent gave up, and its failure is the result of a tool in the request of its caller."""
    built = TurnBuilder().opens().turn().wants("c1 ls")
    of_caller, built.messages = built.messages, [{"role": "user", "content_sha256": sha256("Do")}]
    built.fails(503).fails(503)
    built.messages = of_caller
    built.tells("c1", "it failed").fails(503).says().ends()
    assert attempts_by_request(built) == [1, 2, 2]


def test_a_retry_may_leave_out_what_the_conversation_began_with() -> None:
    """It is shortened where it was too long, and its results are no new ones."""
    built = TurnBuilder().opens().turn().wants("c1 ls").tells("c1", "a.py").fails(400)
    built.messages = built.messages[1:]
    built.says().ends()
    assert attempts_by_request(built) == [1, 2]
