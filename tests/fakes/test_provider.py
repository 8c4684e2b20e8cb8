"""The provider on its rig: wire bytes of every fault, instants, and the ledger."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest

from faultclock.errors import InputError, UnknownNameError
from faultclock.fakes.dialects import dialect_named
from faultclock.fakes.provider.provider import FakeProvider
from faultclock.fakes.wire.dialect import Asked, Exchange
from faultclock.load.payloads import load_payloads
from faultclock.model.scenario.provider_script import ProviderScript
from faultclock.sim.net.fates import Accept, Blackhole, Refuse, Resolve, ResolveFails

MakeRig = Callable[..., Any]
MS = 1_000_000


def test_a_good_answer_comes_after_the_think_time(make_rig: MakeRig, wire: Any) -> None:
    """One write, with OpenAI's headers and the date of the virtual instant."""
    rig = make_rig()
    endpoint = rig.exchange()
    ((at_ns, data),) = endpoint.sent
    got = wire.parse(data)
    assert (at_ns, got.status, got.whole) == (100 * MS, 200, True)
    assert json.loads(got.body)["choices"][0]["message"]["content"].startswith("Hello")
    assert got.headers["date"] == "Thu, 01 Jan 2026 00:00:00 GMT"
    assert got.headers["openai-processing-ms"] == "100"
    assert got.headers["x-request-id"].startswith("req_")
    for what in ("limit", "remaining", "reset"):
        assert {f"x-ratelimit-{what}-requests", f"x-ratelimit-{what}-tokens"} <= got.headers.keys()


def test_the_ledger_tells_an_exchange_whole(make_rig: MakeRig, wire: Any) -> None:
    """Request, response and end, with the key scrubbed and the reply's digest."""
    rig = make_rig(reply="Hi there.")
    data = wire.request(target="/v1/chat/completions?key=hunter2")
    rig.exchange(data)
    assert [name for _, _, name, _ in rig.kernel.facts] == [
        "http.request",
        "http.response",
        "http.exchange_ended",
    ]
    (asked,) = rig.of_kind("http.request")
    body = data.partition(b"\r\n\r\n")[2]
    assert asked == {
        "exchange": "x1",
        "connection": "c1",
        "call": "ask/1",
        "attempt": 1,
        "method": "POST",
        "target": "/v1/chat/completions?key=%3Cscrubbed%3E",
        "headers": {
            "host": "api.openai.com",
            "authorization": "<scrubbed>",
            "content-length": str(len(body)),
        },
        "body_sha256": hashlib.sha256(body).hexdigest(),
        "body_bytes": len(body),
        "model": "gpt-x",
        "stream": False,
    }
    (answered,) = rig.of_kind("http.response")
    assert answered["status"] == 200
    assert (answered["retry_after"], answered["error"]) == (None, None)
    assert rig.of_kind("http.exchange_ended") == [
        {
            "exchange": "x1",
            "connection": "c1",
            "call": "ask/1",
            "how": "complete",
            "finish_reason": "stop",
            "text_sha256": hashlib.sha256(b"Hi there.").hexdigest(),
        }
    ]


def test_a_stream_comes_chunk_by_chunk(make_rig: MakeRig, wire: Any) -> None:
    """One write per interval; the last carries the end marker and the end of the body."""
    rig = make_rig(reply="One two.")
    endpoint = rig.exchange(stream=True)
    assert [at_ns // MS for at_ns, _ in endpoint.sent] == [100, 120, 140, 160]
    got = wire.parse(wire.received(endpoint))
    assert got.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert got.whole
    assert wire.data_of(got.body)[-1] == "[DONE]"
    assert endpoint.sent[-1][1].endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n")


def test_an_error_answer_has_the_scenarios_status_and_headers(make_rig: MakeRig, wire: Any) -> None:
    """The payload's body, and a Retry-After date counted from the response's instant."""
    headers = {"Retry-After": {"http_date": "+30s"}, "retry-after-ms": "29900"}
    fault = {"kind": "http_error", "status": 429, "error": "rate_limit_exceeded"}
    rig = make_rig({**fault, "headers": headers}, think_time="1500ms")
    endpoint = rig.exchange()
    got = wire.parse(wire.received(endpoint))
    assert got.status == 429
    assert got.headers["retry-after"] == "Thu, 01 Jan 2026 00:00:31 GMT"
    assert got.headers["retry-after-ms"] == "29900"
    assert got.headers["x-ratelimit-reset-requests"] == "20s"
    error = json.loads(got.body)["error"]
    assert (error["code"], error["type"]) == ("rate_limit_exceeded", "requests")
    (fired,) = rig.of_kind("fault.fired")
    assert fired == {
        "fault": "fault-1",
        "fault_kind": "http_error",
        "call": "ask/1",
        "attempt": 1,
        "exchange": "x1",
    }
    (answered,) = rig.of_kind("http.response")
    assert answered["retry_after"] == got.headers["retry-after"]
    assert answered["error"] == {name: error[name] for name in ("code", "type", "message")}
    (ended,) = rig.of_kind("http.exchange_ended")
    assert (ended["how"], ended["finish_reason"], ended["text_sha256"]) == ("complete", None, None)


@pytest.mark.parametrize(("close", "end"), [(True, "close"), (False, None)])
def test_an_error_answer_closes_when_the_scenario_says_so(
    close: bool, end: str | None, make_rig: MakeRig, wire: Any
) -> None:
    """And says so in its headers."""
    fault = {"kind": "http_error", "status": 503, "error": "overloaded", "close": close}
    endpoint = make_rig(fault).exchange()
    assert endpoint.end == end
    got = wire.parse(wire.received(endpoint))
    assert got.headers.get("connection") == ("close" if close else None)


def test_a_200_can_carry_an_error_object(make_rig: MakeRig, wire: Any) -> None:
    """The ledger shows the error beside the good status."""
    rig = make_rig({"kind": "ok_with_error_body", "error": "server_error"})
    got = wire.parse(wire.received(rig.exchange()))
    assert got.status == 200
    assert json.loads(got.body)["error"]["type"] == "server_error"
    assert rig.of_kind("http.response")[0]["error"]["type"] == "server_error"


@pytest.mark.parametrize(
    ("kind", "fates"),
    [
        ("dns_failure", (ResolveFails(), Accept())),
        ("connect_refused", (Resolve(), Refuse())),
        ("connect_timeout", (Resolve(), Blackhole())),
    ],
)
def test_a_network_fault_is_the_answer_of_the_policy(
    kind: str, fates: tuple[object, object], make_rig: MakeRig, wire: Any
) -> None:
    """It counts as an attempt, belongs to no exchange, and is met at once."""
    rig = make_rig(wire.rule({"kind": kind}, when={"attempts": 1}))
    policy = rig.network.policy
    assert (policy.on_resolve("h", 443, "ask/1", 0), policy.on_connect("h", 443, "ask/1", 0)) == (
        fates
    )
    (fired,) = rig.of_kind("fault.fired")
    assert (fired["fault_kind"], fired["attempt"], fired["exchange"]) == (kind, 1, None)
    rig.exchange()
    assert rig.of_kind("http.request")[0]["attempt"] == 2
    rig.provider.seal()
    assert rig.of_kind("fault.unmet") == []


@pytest.mark.parametrize(
    ("how", "end"), [("eof", "close"), ("reset", "reset"), ("clean_end", None)]
)
def test_a_truncated_stream_ends_as_it_is_told(
    how: str, end: str | None, make_rig: MakeRig, wire: Any
) -> None:
    """Only a clean end has the terminal chunk; none has the finish reason."""
    rig = make_rig({"kind": "truncate", "how": how, "after_chunks": 2})
    endpoint = rig.exchange(stream=True)
    got = wire.parse(wire.received(endpoint))
    assert got.whole is (how == "clean_end")
    assert len(wire.data_of(got.body)) == 2
    assert endpoint.end == end
    (ended,) = rig.of_kind("http.exchange_ended")
    assert (ended["how"], ended["finish_reason"], ended["text_sha256"]) == (how, None, None)


@pytest.mark.parametrize("how", ["eof", "reset"])
def test_a_connection_can_end_before_any_answer_byte(how: str, make_rig: MakeRig) -> None:
    """The request was read; there is no response in the ledger."""
    rig = make_rig({"kind": "reset_before_response", "how": how})
    endpoint = rig.exchange()
    assert (endpoint.sent, endpoint.end) == ([], "close" if how == "eof" else "reset")
    assert rig.of_kind("http.response") == []
    assert rig.of_kind("http.exchange_ended")[0]["how"] == how


def test_a_body_is_cut_at_the_byte(make_rig: MakeRig, wire: Any) -> None:
    """With the length of the whole promised."""
    endpoint = make_rig({"kind": "truncate", "how": "eof", "after_body_bytes": 10}).exchange()
    got = wire.parse(wire.received(endpoint))
    assert len(got.body) == 10
    assert int(got.headers["content-length"]) > 10


def test_a_stall_for_ever_leaves_nothing_to_happen(make_rig: MakeRig) -> None:
    """No timer is left, so that the kernel can see that nothing will wake."""
    rig = make_rig({"kind": "stall", "after_chunks": 1})
    endpoint = rig.exchange(stream=True)
    assert (len(endpoint.sent), endpoint.end) == (1, None)
    (ended,) = rig.of_kind("http.exchange_ended")
    assert ended["how"] == "stalled"
    endpoint.client_closes()
    assert len(rig.of_kind("http.exchange_ended")) == 1
    assert endpoint.end == "close"


def test_a_stall_that_ends_gives_the_whole_answer_late(make_rig: MakeRig, wire: Any) -> None:
    """Nothing is missing."""
    rig = make_rig({"kind": "stall", "resume_after": "60s"})
    endpoint = rig.exchange()
    assert [at_ns for at_ns, _ in endpoint.sent] == [60_100 * MS]
    assert wire.parse(wire.received(endpoint)).whole
    (fired,) = [fact for fact in rig.kernel.facts if fact[2] == "fault.fired"]
    assert fired[0] == 100 * MS


def test_a_corrupt_body_has_the_right_length_and_is_no_json(make_rig: MakeRig, wire: Any) -> None:
    """The framing is whole."""
    got = wire.parse(wire.received(make_rig({"kind": "corrupt_body", "at_byte": 30}).exchange()))
    assert (got.status, got.whole) == (200, True)
    assert got.body[30:38] == b"\x1a" * 8
    with pytest.raises(json.JSONDecodeError):
        json.loads(got.body)


def test_a_slow_drip_takes_its_time(make_rig: MakeRig, wire: Any) -> None:
    """And gives the whole answer in the end."""
    endpoint = make_rig({"kind": "slow_drip", "bytes_per_step": 100, "every": "1s"}).exchange()
    got = wire.parse(wire.received(endpoint))
    assert got.whole
    assert endpoint.sent[-1][0] == 100 * MS + (len(got.body) - 1) // 100 * 1_000 * MS


def test_an_error_in_a_stream_is_a_data_event(make_rig: MakeRig, wire: Any) -> None:
    """No end marker follows; the ledger tells the error."""
    rig = make_rig({"kind": "stream_error", "after_chunks": 2, "error": "server_error"})
    got = wire.parse(wire.received(rig.exchange(stream=True)))
    events = wire.data_of(got.body)
    assert (got.whole, len(events), list(events[-1])) == (True, 3, ["error"])
    (told,) = rig.of_kind("http.stream_error")
    assert told["error"]["type"] == events[-1]["error"]["type"] == "server_error"
    assert (told["exchange"], told["connection"], told["call"]) == ("x1", "c1", "ask/1")
    assert rig.of_kind("http.exchange_ended")[0]["finish_reason"] is None


def test_a_fault_that_cannot_apply_is_unmet_and_the_answer_is_good(
    make_rig: MakeRig, wire: Any
) -> None:
    """A stream's error on a plain request must not pass silently."""
    rig = make_rig(
        wire.rule({"kind": "stream_error", "after_chunks": 1, "error": "server_error"}),
        wire.rule({"kind": "connect_refused"}, id="b", when={"attempts": 9}, optional=True),
    )
    assert wire.parse(wire.received(rig.exchange())).status == 200
    rig.provider.seal()
    assert rig.of_kind("fault.fired") == []
    assert rig.of_kind("fault.unmet") == [
        {"fault": "fault", "optional": False},
        {"fault": "b", "optional": True},
    ]


@pytest.mark.parametrize("leave", ["client_closes", "client_resets"])
@pytest.mark.parametrize("at_ms", [50, 130])
def test_a_client_that_leaves_abandons_the_exchange(
    leave: str, at_ms: int, make_rig: MakeRig, wire: Any
) -> None:
    """Before the answer or in the middle of it; nothing is written after that."""
    rig = make_rig(wire.rule({"kind": "truncate", "how": "eof", "after_chunks": 4}))
    endpoint = rig.connect()
    endpoint.arrive(wire.request(stream=True))
    rig.kernel.run(at_ms * MS)
    getattr(endpoint, leave)()
    sent = len(endpoint.sent)
    rig.kernel.run()
    assert len(endpoint.sent) == sent
    (ended,) = rig.of_kind("http.exchange_ended")
    assert (ended["how"], ended["finish_reason"]) == ("abandoned", None)
    rig.provider.seal()
    assert len(rig.of_kind("fault.unmet")) == 1


@pytest.mark.parametrize(("left_after_ms", "reason"), [(1, "stop"), (-1, None)])
def test_a_reader_that_leaves_once_it_has_the_reason_had_it(
    left_after_ms: int, reason: str | None, make_rig: MakeRig, wire: Any
) -> None:
    """The finish chunk was sent, the end marker was still to come."""
    rig = make_rig({"kind": "stall", "after_chunks": 3, "resume_after": "60s"}, reply="One.")
    endpoint = rig.connect()
    endpoint.arrive(wire.request(stream=True))
    rig.kernel.run((140 + left_after_ms) * MS)
    endpoint.client_closes()
    (ended,) = rig.of_kind("http.exchange_ended")
    assert (ended["how"], ended["finish_reason"]) == ("abandoned", reason)
    whole = hashlib.sha256(b"One.").hexdigest()
    assert ended["text_sha256"] == (None if reason is None else whole)


def test_a_write_into_a_dead_connection_is_no_crash(make_rig: MakeRig, wire: Any) -> None:
    """The reset that nobody told us of ends the exchange as abandoned."""
    rig = make_rig()
    endpoint = rig.connect()
    endpoint.arrive(wire.request())
    endpoint.error = BrokenPipeError(32, "gone")
    rig.kernel.run()
    assert rig.of_kind("http.exchange_ended")[0]["how"] == "abandoned"
    assert endpoint.end == "close"


def test_a_kept_connection_serves_several_calls(make_rig: MakeRig, wire: Any) -> None:
    """Each request belongs to the call that wrote it, and has its own attempt number."""
    rig = make_rig()
    endpoint = rig.connect("ask/1")
    for call in ("ask/1", "ask/2", "ask/1"):
        endpoint.arrive(wire.request(), call)
        rig.kernel.run()
    asked = rig.of_kind("http.request")
    assert [(item["exchange"], item["call"], item["attempt"]) for item in asked] == [
        ("x1", "ask/1", 1),
        ("x2", "ask/2", 1),
        ("x3", "ask/1", 2),
    ]


def test_pipelined_requests_are_answered_one_after_the_other(make_rig: MakeRig, wire: Any) -> None:
    """The second is not begun before the first has ended."""
    rig = make_rig()
    endpoint = rig.connect()
    endpoint.arrive(wire.request() * 2)
    rig.kernel.run()
    assert [at_ns // MS for at_ns, _ in endpoint.sent] == [100, 200]


def test_what_is_not_http_is_refused_and_told(make_rig: MakeRig, wire: Any) -> None:
    """It is no exchange and no attempt."""
    rig = make_rig()
    endpoint = rig.exchange(b"GARBAGE\r\n\r\n")
    assert wire.parse(wire.received(endpoint)).status == 400
    assert endpoint.end == "close"
    (fact,) = rig.kernel.facts
    assert fact[2] == "http.malformed"
    assert fact[3].keys() == {"connection", "call", "reason"}


def test_expect_100_continue_is_served(make_rig: MakeRig, wire: Any) -> None:
    """The interim answer comes at once."""
    rig = make_rig()
    head, _, body = wire.request(extra="expect: 100-continue\r\n").partition(b"\r\n\r\n")
    endpoint = rig.connect()
    endpoint.arrive(head + b"\r\n\r\n")
    assert endpoint.sent == [(0, b"HTTP/1.1 100 \r\n\r\n")]
    endpoint.arrive(body)
    rig.kernel.run()
    assert wire.parse(endpoint.sent[1][1]).status == 200


@pytest.mark.parametrize(
    ("asked", "status", "code"),
    [
        ({"target": "/v1/models"}, 404, None),
        ({"authorization": None}, 401, None),
        ({"content": b"{"}, 400, None),
        ({"messages": None}, 400, "missing_required_parameter"),
        ({"method": "PUT"}, 405, "method_not_supported"),
    ],
)
def test_a_refusal_is_an_attempt_that_no_fault_shapes(
    asked: dict[str, Any], status: int, code: str | None, make_rig: MakeRig, wire: Any
) -> None:
    """It has the provider's own error shape."""
    rig = make_rig({"kind": "http_error", "status": 500, "error": "server_error"})
    got = wire.parse(wire.received(rig.exchange(wire.request(**asked))))
    assert got.status == status
    assert json.loads(got.body)["error"]["code"] == code
    assert rig.of_kind("http.request")[0]["attempt"] == 1
    assert rig.of_kind("fault.fired") == []


def test_head_and_http_1_0_are_answered_by_the_book(make_rig: MakeRig, wire: Any) -> None:
    """No body for HEAD, no chunked coding and no kept connection for an old client."""
    head = make_rig().exchange(wire.request(method="HEAD", content=b""))
    assert wire.received(head).endswith(b"\r\n\r\n")
    old = make_rig().exchange(wire.request(version="1.0", stream=True))
    assert b"transfer-encoding" not in wire.received(old)
    assert wire.received(old).endswith(b"data: [DONE]\n\n")
    assert old.end == "close"


def test_equal_runs_have_equal_facts_and_bytes(make_rig: MakeRig, wire: Any) -> None:
    """The seed decides ids, and nothing else does."""

    def run(seed: int) -> tuple[Any, bytes]:
        rig = make_rig({"kind": "stall", "resume_after": "1s"}, seed=seed)
        return rig.kernel.facts, wire.received(rig.exchange(stream=True))

    assert run(1) == run(1)
    assert run(1)[1] != run(2)[1]


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ({"kind": "http_error", "status": 429, "error": "rate_limit"}, UnknownNameError),
        ({"kind": "stream_error", "after_chunks": 0, "error": "bad_gateway"}, InputError),
        (
            {
                "kind": "http_error",
                "status": 429,
                "error": "rate_limit_exceeded",
                "headers": {"retry-after": "3\r\nx: y"},
            },
            InputError,
        ),
        (
            {
                "kind": "http_error",
                "status": 429,
                "error": "rate_limit_exceeded",
                "headers": {"Content-Length": "3"},
            },
            InputError,
        ),
    ],
)
def test_a_script_that_cannot_be_played_is_refused_at_once(
    fault: dict[str, Any], error: type[Exception], make_rig: MakeRig
) -> None:
    """Before anything runs, naming what is wrong."""
    with pytest.raises(error, match=r"rate_limit|bad_gateway|header"):
        make_rig(fault)


def test_payloads_that_the_dialect_needs_must_be_there(payloads: Any) -> None:
    """A half payload file would otherwise be found out in the middle of a run."""
    some = {name: value for name, value in payloads.items() if name != "unknown_url"}
    with pytest.raises(UnknownNameError, match="unknown_url"):
        FakeProvider(ProviderScript(), some, seed=0)


def test_the_ledger_tells_what_an_error_means_where_its_code_does_not(
    make_rig: MakeRig, wire: Any
) -> None:
    """The name is the same in every dialect; a scenario's own errors have none."""
    own = {"recorded": {"status": 429, "body": {"error": {"code": "x"}}, "source": "made up"}}
    meant = []
    for name in ("rate_limit_exceeded", "extra_usage_required", "recorded"):
        fault = {"kind": "http_error", "status": 429, "error": name}
        rig = make_rig(fault, payloads=own)
        rig.exchange()
        (response,) = rig.of_kind("http.response")
        meant.append(response["error"].get("means"))
    assert meant == [None, "extra_usage_required", None]


@pytest.mark.parametrize(
    ("dialect", "error", "in_stream", "in_answer"),
    [
        # A finish reason, or a text, that every failure shares tells nobody which one it is.
        ("mistral", "overloaded_error", False, True),
        ("cohere", "overloaded_error", False, True),
        ("ollama", "overloaded_error", False, True),
        ("openai-responses", "overloaded_error", True, True),
        ("azure-openai", "overloaded_error", True, True),
    ],
)
def test_nobody_knows_what_an_error_means_that_says_nothing(
    dialect: str, error: str, in_stream: bool, in_answer: bool
) -> None:
    """A status tells something; without one it takes a code or a type."""
    provider = FakeProvider(ProviderScript(dialect=dialect), load_payloads(dialect))
    payload = load_payloads(dialect)[error]
    asked = Asked(model="m", stream=True, refusal=None, body={"model": "m"})
    exchange = Exchange(number=1, seed=0, unix_s=0, think_ms=0)
    spoken = dialect_named(dialect)
    _, event = spoken.error_event(payload, asked, exchange, 1)
    answer = spoken.error_answer(payload, payload.status, exchange, {})
    meant = (
        provider._meant(error, event, None),
        provider._meant(error, answer.error, payload.status),
    )
    assert tuple("means" in (facts or {}) for facts in meant) == (in_stream, in_answer)
