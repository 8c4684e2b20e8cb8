"""The provider's side of a real connection: what is recorded of it, when, and for which call."""

from __future__ import annotations

import socket
import struct

import pytest

from tests.live.wires import Bench, Wire, post, scenario

_STATUS = {"kind": "http_error", "status": 429, "error": "rate_limit_exceeded"}
_CONNECTION = ["net.connect", "net.connected", "net.sent"]


@pytest.fixture
def bench() -> Bench:
    """Return a server to which nothing goes wrong, with two calls."""
    return Bench(scenario(tasks=[{"id": "ask", "copies": 2}]))


def test_an_answer_goes_out_as_in_the_simulation(bench: Bench) -> None:
    """After the provider has thought, and one latency later; then the client may ask again."""
    wire = bench.connect()
    wire.says(post())
    bench.time.pass_ms(29)
    assert wire.received == b""
    bench.time.pass_ms(2)
    assert wire.received.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"Hello from the simulated provider." in wire.received
    wire.received.clear()
    wire.says(post())
    bench.time.pass_ms(30)
    assert wire.received.startswith(b"HTTP/1.1 200 OK\r\n")
    assert wire.ended == ""
    assert [fact["exchange"] for fact in bench.facts("http.response")] == ["x1", "x2"]


def test_the_path_tells_the_call_and_the_trace_has_it_without(bench: Bench) -> None:
    """What the provider and the trace see is the path that clients of the real one ask for."""
    wire = bench.connect()
    wire.says(post("/call/ask-2/v1/chat/completions"))
    (request,) = bench.facts("http.request")
    assert (request["call"], request["target"]) == ("ask/2", "/v1/chat/completions")
    assert [fact["call"] for fact in bench.facts("call.started")] == ["ask/2"]
    assert {fact["call"] for kind in _CONNECTION for fact in bench.facts(kind)} == {"ask/2"}
    assert request["headers"]["authorization"] == "<scrubbed>"


def test_what_names_no_call_belongs_to_the_first(bench: Bench) -> None:
    """A program with one base URL need not know of calls."""
    bench.connect().says(post())
    assert bench.facts("http.request")[0]["call"] == "ask/1"


def test_what_names_an_unknown_call_belongs_to_none(bench: Bench) -> None:
    """So the trace proves nothing, rather than something of another call."""
    bench.connect().says(post("/call/ask-3/v1/chat/completions"))
    assert bench.facts("http.request")[0]["call"] is None
    assert bench.facts("net.sent")[0]["call"] is None
    assert bench.facts("call.started") == []


def test_calls_may_share_a_connection(bench: Bench) -> None:
    """A pool gives it to whoever asks next."""
    wire = bench.connect()
    for copy in (1, 2):
        wire.says(post(f"/call/ask-{copy}/v1/chat/completions"))
        bench.time.pass_ms(30)
    assert [fact["call"] for fact in bench.facts("net.sent")] == ["ask/1", "ask/2"]
    assert [fact["call"] for fact in bench.facts("net.delivered")] == ["ask/1", "ask/2"]
    assert len(bench.facts("net.connect")) == 1


def test_what_came_before_the_call_was_known_has_its_own_time(bench: Bench) -> None:
    """A connection is recorded when the first line of a request is there, for when it was made."""
    wire = bench.connect()
    bench.time.pass_ms(40)
    whole = post("/call/ask-2/v1/chat/completions")
    wire.says(whole[:10])
    assert bench.kinds() == ["run.started"]
    bench.time.pass_ms(3)
    wire.says(whole[10:])
    assert [fact["ms"] for fact in bench.facts("net.connect")] == [0]
    assert [fact["ms"] for fact in bench.facts("net.sent")] == [40, 43]
    assert bench.kinds()[:4] == ["run.started", "call.started", "net.connect", "net.connected"]


def test_a_connection_that_is_never_used_is_no_fact(bench: Bench) -> None:
    """Clients open spare ones, and health checks connect and go."""
    for leave in (Wire.hangs_up, Wire.breaks):
        leave(bench.connect())
    assert bench.kinds() == ["run.started"]


def test_bytes_are_recorded_just_before_they_go_out(bench: Bench) -> None:
    """So nobody can have them earlier than the trace says."""
    wire = bench.connect()
    bench.time.pass_ms(7)
    wire.says(post())
    bench.time.pass_ms(100)
    (delivered,) = bench.facts("net.delivered")
    assert delivered["ms"] == 37
    assert delivered["bytes_count"] == len(wire.received)


def test_a_client_that_goes_away_ends_the_exchange(bench: Bench) -> None:
    """A close and a reset are told apart; what was on its way is never delivered."""
    for leave, how in ((Wire.hangs_up, "close"), (Wire.breaks, "abort")):
        wire = bench.connect()
        wire.says(post())
        bench.time.pass_ms(25)
        leave(wire)
        bench.time.pass_ms(100)
        assert bench.facts("net.closed")[-1]["how"] == how
        assert wire.received == b""
    # The provider had sent all of it: nothing of that arrived.
    assert bench.facts("net.delivered") == []


def test_a_client_that_leaves_while_the_provider_thinks_has_abandoned_it(bench: Bench) -> None:
    """The provider's own record says so, as in the simulation."""
    wire = bench.connect()
    wire.says(post())
    wire.hangs_up()
    assert [fact["how"] for fact in bench.facts("http.exchange_ended")] == ["abandoned"]
    assert wire.ended == "close"


def test_a_reset_comes_behind_what_was_sent() -> None:
    """The system must have taken the bytes; then the socket lingers for no time at all."""
    fault = {"kind": "truncate", "how": "reset", "after_body_bytes": 10}
    bench = Bench(scenario({"then": fault}))
    wire = bench.connect()
    wire.unsent = 5
    wire.says(post())
    bench.time.pass_ms(36)
    assert wire.received.endswith(b'{"id": "ch')
    assert wire.ended == ""
    wire.unsent = 0
    bench.time.pass_ms(2)
    assert wire.ended == "abort"
    assert wire.socket.options == [(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))]
    assert bench.kinds()[-1] == "net.reset"
    assert bench.facts("net.closed") == []


def test_an_end_comes_behind_what_was_sent() -> None:
    """A cut answer arrives as far as it goes, then the stream ends."""
    fault = {"kind": "truncate", "how": "eof", "after_body_bytes": 10}
    bench = Bench(scenario({"then": fault}))
    wire = bench.connect()
    wire.says(post())
    bench.time.pass_ms(40)
    assert wire.ended == "close"
    assert bench.kinds()[-2:] == ["net.delivered", "net.eof"]
    assert bench.facts("net.eof")[0]["ms"] == 35


def test_a_stall_leaves_the_connection_open() -> None:
    """Until the client has had enough."""
    bench = Bench(scenario({"then": {"kind": "stall"}}))
    wire = bench.connect()
    wire.says(post())
    bench.time.pass_ms(60_000)
    assert (wire.ended, bytes(wire.received)) == ("", b"")
    wire.hangs_up()
    assert bench.facts("net.closed")[0]["ms"] == 60_000


def test_a_body_behind_100_continue_belongs_to_its_request(bench: Bench) -> None:
    """The interim answer ends no request."""
    whole = post("/call/ask-2/v1/chat/completions")
    head, body = whole[: whole.index(b"\r\n\r\n")], whole[whole.index(b"\r\n\r\n") + 4 :]
    wire = bench.connect()
    wire.says(head + b"\r\nexpect: 100-continue\r\n\r\n")
    bench.time.pass_ms(10)
    assert wire.received.startswith(b"HTTP/1.1 100 ")
    wire.says(body)
    bench.time.pass_ms(30)
    assert b"HTTP/1.1 200 OK" in wire.received
    assert {fact["call"] for fact in bench.facts("net.sent")} == {"ask/2"}


@pytest.mark.parametrize("noise", [b"\x16\x03\x01\x02\x00\x01", b"hello\r\n\r\n", b"A" * 70_000])
def test_what_is_no_http_is_told_so(bench: Bench, noise: bytes) -> None:
    """A client that speaks TLS, or anything else, gets a 400 and no silence."""
    wire = bench.connect()
    wire.says(noise)
    bench.time.pass_ms(20)
    assert wire.received.startswith(b"HTTP/1.1 4")
    assert wire.ended == "close"
    assert len(bench.facts("http.malformed")) == 1


def test_a_fault_that_fired_and_one_that_did_not_are_recorded() -> None:
    """The ledger is the provider's own."""
    bench = Bench(
        scenario(
            {"when": {"attempts": 1}, "then": _STATUS},
            {"when": {"attempts": 9}, "then": _STATUS},
        )
    )
    wire = bench.connect()
    wire.says(post())
    bench.time.pass_ms(30)
    assert wire.received.startswith(b"HTTP/1.1 429 ")
    assert [fact["fault"] for fact in bench.facts("fault.fired")] == ["f1"]


def test_what_is_abandoned_at_the_end_of_the_serving_is_no_fact(bench: Bench) -> None:
    """That the provider went away is none of the subject's doing."""
    wire = bench.connect()
    wire.says(post())
    before = bench.kinds()
    wire.endpoint.abandon()
    assert wire.ended == "abort"
    assert bench.kinds() == before
    with pytest.raises(BrokenPipeError):
        wire.endpoint.send(b"more")
