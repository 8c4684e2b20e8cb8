"""A provider with limits on its rig: headers, words, facts, keys, lives, and what comes first."""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Callable
from decimal import Decimal
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest

from faultclock.errors import UnknownNameError
from faultclock.fakes.dialects import dialect_named, dialect_names
from faultclock.fakes.provider.accounts import Refused
from faultclock.fakes.provider.doorkeeper import cost_of, key_digest
from faultclock.fakes.provider.provider import FakeProvider, ProviderState
from faultclock.fakes.provider.providers import ProvidersState
from faultclock.fakes.provider.refusal_words import truthful
from faultclock.fakes.wire.answer import Answer
from faultclock.fakes.wire.dialect import Asked, Exchange, Meter, RateStanding
from faultclock.load.payloads import load_payloads
from faultclock.model.duration import MILLISECOND_NS, SECOND_NS
from faultclock.model.scenario.payload import ErrorPayload
from faultclock.model.scenario.provider_limits import Overload, RequestLimit, TokenLimit
from faultclock.model.scenario.provider_script import FallbackProvider, ProviderScript

MakeRig = Callable[..., Any]
MS, S = MILLISECOND_NS, SECOND_NS
#: From a request to its answer, where nothing else is said.
THINK = 100 * MS


def request(target: str = "/v1/x", **headers: str) -> Any:
    """Return what of a request says whose it is."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return SimpleNamespace(target=target, headers=named)


def test_a_key_is_the_same_wherever_it_is_shown() -> None:
    """In any of the headers that providers use, in the address, or inside an AWS signature."""
    assert key_digest(request()) == ""
    assert key_digest(request(x_api_key="one")) == key_digest(request(api_key="one"))
    assert key_digest(request(x_api_key="one")) == key_digest(request(x_goog_api_key="one"))
    assert key_digest(request(x_api_key="one")) == key_digest(request("/v1/x?key=one&alt=sse"))
    assert key_digest(request(x_api_key="one")) != key_digest(request(x_api_key="two"))
    signed = "AWS4-HMAC-SHA256 Credential={}/20260101/us-east-1/bedrock/aws4_request, Signature={}"
    first, again = signed.format("AKIA1", "aaaa"), signed.format("AKIA1", "bbbb")
    assert key_digest(request(authorization=first)) == key_digest(request(authorization=again))
    other = signed.format("AKIA2", "aaaa")
    assert key_digest(request(authorization=first)) != key_digest(request(authorization=other))
    assert "one" not in key_digest(request(x_api_key="one"))


def test_a_request_costs_what_its_usage_says_or_what_its_words_have() -> None:
    """Wherever a dialect puts its words; names and numbers beside them cost nothing."""
    whole = Answer(status=200, headers=(), chunks=(b"{}",), text="one two", usage=None)
    told = Answer(status=200, headers=(), chunks=(b"{}",), usage={"total_tokens": 77})
    chat = {"model": "gpt", "messages": [{"role": "user", "content": "three more words"}]}
    parts = {"contents": [{"role": "user", "parts": [{"text": "three more words"}]}], "n": 3}

    def asked(body: dict[str, Any]) -> Asked:
        return Asked(model=None, stream=False, refusal=None, body=body)

    assert cost_of(asked(chat), told) == 77
    assert cost_of(asked(chat), whole) == cost_of(asked(parts), whole) == 3 + 4 + 2
    deep: Any = "x"
    for _ in range(10_000):
        deep = [deep]
    assert cost_of(asked({"messages": deep}), whole) == 2


def test_every_answer_tells_how_full_the_buckets_are(make_rig: MakeRig, wire: Any) -> None:
    """A good one too, in the provider's own headers."""
    rig = make_rig(limits={"requests": {"per_minute": 20, "burst": 3}})
    got = [wire.parse(wire.received(rig.exchange())).headers for _ in range(2)]
    shown = [
        tuple(headers[f"x-ratelimit-{what}-requests"] for what in ("limit", "remaining", "reset"))
        for headers in got
    ]
    # The second one comes when the first was answered.
    assert shown == [("20", "2", "3s"), ("20", "1", "5.9s")]
    assert "retry-after" not in got[0]


def test_a_refusal_tells_the_truth_in_headers_words_and_facts(make_rig: MakeRig, wire: Any) -> None:
    """What its fixture says of another day is gone."""
    rig = make_rig(limits={"requests": {"per_minute": 7, "burst": 1}})
    rig.exchange()
    got = wire.parse(wire.received(rig.exchange(call="ask/2")))
    assert got.status == 429
    # A bucket of seven a minute: 8.571428572 s, counted again from nothing at 100 ms.
    assert (got.headers["retry-after"], got.headers["retry-after-ms"]) == ("9", "8572")
    assert got.headers["x-ratelimit-limit-requests"] == "7"
    error = json.loads(got.body)["error"]
    assert error["code"] == "rate_limit_exceeded"
    assert "Limit 7, Used 7, Requested 1. Please try again in 8.572s" in error["message"]
    (fired,) = rig.of_kind("fault.fired")
    assert fired == {
        "fault": "requests-per-minute",
        "fault_kind": "rate_limited",
        "call": "ask/2",
        "attempt": 1,
        "exchange": "x2",
        "account": 1,
        "retry_after_ns": 8_571_428_572,
    }
    rig.provider.seal()
    assert rig.of_kind("fault.unmet") == []


def test_who_comes_too_early_is_noted(make_rig: MakeRig) -> None:
    """With how early it was, and what it cost."""
    limits = {"requests": {"per_minute": 1}, "early_penalty": "30s"}
    rig = make_rig(limits=limits)
    for _ in range(3):
        rig.exchange()
    told, early = rig.of_kind("fault.fired")
    assert "early_ns" not in told
    assert (early["early_ns"], early["pushed_back_ns"]) == (60 * S - THINK, 30 * S)
    assert early["retry_after_ns"] == 90 * S - THINK


def test_a_key_is_nowhere_in_the_facts_nor_in_the_state(make_rig: MakeRig, wire: Any) -> None:
    """Only which account it was."""
    rig = make_rig(limits={"requests": {"per_minute": 1}})
    for key in ("sk-first-key-of-two", "sk-other-key-of-two", "sk-first-key-of-two"):
        rig.exchange(wire.request(authorization=f"Bearer {key}"))
    (fired,) = rig.of_kind("fault.fired")
    assert fired["account"] == 1
    kept = repr(rig.kernel.facts) + repr(pickle.dumps(rig.provider._state))
    assert "key-of-two" not in kept


def test_a_limit_that_never_bit_is_told_like_a_fault_nobody_met(make_rig: MakeRig) -> None:
    """Whether it is optional is told with it."""
    limits = {
        "requests": {"per_minute": 600, "optional": True},
        "tokens": {"per_minute": 100_000},
        "quota": {"requests": 1},
    }
    rig = make_rig(limits=limits, overload={"at_once": 5})
    rig.exchange()
    rig.exchange()
    rig.provider.seal()
    assert rig.of_kind("fault.unmet") == [
        {"fault": "overload", "optional": False},
        {"fault": "requests-per-minute", "optional": True},
        {"fault": "tokens-per-minute", "optional": False},
    ]


def test_a_quota_refuses_with_its_own_payload_and_tells_no_wait(
    make_rig: MakeRig, wire: Any
) -> None:
    """A 429 like the others, by its status."""
    rig = make_rig(limits={"quota": {"requests": 1}})
    rig.exchange()
    got = wire.parse(wire.received(rig.exchange()))
    assert (got.status, json.loads(got.body)["error"]["code"]) == (429, "insufficient_quota")
    assert not {"retry-after", "retry-after-ms"} & got.headers.keys()
    (fired,) = rig.of_kind("fault.fired")
    assert (fired["fault_kind"], fired["retry_after_ns"]) == ("quota_exhausted", None)


def test_an_overload_by_load_counts_what_is_under_way(make_rig: MakeRig, wire: Any) -> None:
    """And is over when an answer is, or when its reader has left."""
    rig = make_rig(overload={"at_once": 1})
    first = rig.connect("ask/1")
    first.arrive(wire.request())
    second = rig.connect("ask/2")
    second.arrive(wire.request())
    first.client_closes()
    third = rig.connect("ask/3")
    third.arrive(wire.request())
    rig.kernel.run()
    assert wire.parse(wire.received(second)).status == 503
    assert wire.parse(wire.received(third)).status == 200
    (fired,) = rig.of_kind("fault.fired")
    assert (fired["fault_kind"], fired["call"]) == ("overloaded", "ask/2")


def test_a_fault_of_the_plan_wins_over_every_limit(make_rig: MakeRig, wire: Any) -> None:
    """It was written for that attempt; the request counts as a failed one all the same."""
    fault = wire.rule(
        {"kind": "http_error", "status": 500, "error": "server_error"}, when={"attempts": 2}
    )
    rig = make_rig(fault, limits={"requests": {"per_minute": 60, "burst": 1}})
    got = [wire.parse(wire.received(rig.exchange())) for _ in range(3)]
    assert [answer.status for answer in got] == [200, 500, 429]
    assert got[1].headers["x-ratelimit-remaining-requests"] == "0"
    assert "retry-after" not in got[1].headers
    assert [fact["fault"] for fact in rig.of_kind("fault.fired")] == [
        "fault",
        "requests-per-minute",
    ]


def test_a_request_that_is_nonsense_is_not_counted(make_rig: MakeRig, wire: Any) -> None:
    """Nobody knows whose it would be."""
    rig = make_rig(limits={"requests": {"per_minute": 1}})
    rig.exchange(wire.request(authorization=None))
    rig.exchange(wire.request(target="/v1/nowhere"))
    assert wire.parse(wire.received(rig.exchange())).status == 200


def test_a_fresh_life_finds_the_buckets_as_they_were(
    payloads: Any, make_rig: MakeRig, wire: Any
) -> None:
    """And nothing under way: the connections of the dead process are gone."""
    script = ProviderScript.model_validate(
        {"limits": {"requests": {"per_minute": 2}}, "overload": {"at_once": 1}}
    )
    kept, new_rig = ProviderState(), type(make_rig())
    rig = new_rig(FakeProvider(script, payloads, state=kept))
    rig.connect().arrive(wire.request())
    rig = new_rig(FakeProvider(script, payloads, state=pickle.loads(pickle.dumps(kept))))
    rig.connect().arrive(wire.request())
    rig.connect().arrive(wire.request())
    rig.kernel.run()
    assert [fact["fault"] for fact in rig.of_kind("fault.fired")] == ["requests-per-minute"]


def test_a_fallback_has_limits_of_its_own(make_chain: MakeRig, wire: Any) -> None:
    """Its facts say whose they are, and the first provider's buckets are untouched."""
    second = {"id": "second", "limits": {"requests": {"per_minute": 1}}}
    state = ProvidersState.initial([FallbackProvider.model_validate(second)])
    chain = make_chain(fallbacks=[second], state=state)
    host = "second.example.com"
    statuses = [
        wire.parse(wire.received(chain.exchange(host=where))).status
        for where in (host, host, None, None)
    ]
    assert statuses == [200, 429, 200, 200]
    (fired,) = chain.of_kind("fault.fired")
    assert (fired["provider"], fired["fault_kind"]) == ("second", "rate_limited")


def test_an_error_that_the_dialect_has_not_stops_before_the_run(payloads: Any) -> None:
    """By its name."""
    some = {name: value for name, value in payloads.items() if name != "insufficient_quota"}
    script = ProviderScript.model_validate({"limits": {"quota": {"requests": 1}}})
    with pytest.raises(UnknownNameError, match="insufficient_quota"):
        FakeProvider(script, some)


def test_a_paced_answer_takes_its_time_and_a_refusal_does_not(make_rig: MakeRig) -> None:
    """The model did nothing for a refusal."""
    rig = make_rig(
        limits={"requests": {"per_minute": 1}},
        pace={"first_token": {"kind": "constant", "value": "4s"}},
    )
    ((good_ns, _),) = rig.exchange().sent
    ((refused_ns, _),) = rig.exchange().sent
    assert (good_ns, refused_ns) == (4 * S, 4 * S + THINK)


def test_a_paced_stream_keeps_its_pace_on_the_wire(make_rig: MakeRig) -> None:
    """One chunk each twentieth of a second."""
    rig = make_rig(reply="one two three", pace={"tokens_per_second": 20})
    times = [at for at, _ in rig.exchange(stream=True).sent]
    assert {late - early for early, late in pairwise(times)} == {50 * MS}
    assert times[0] == THINK


@pytest.mark.parametrize(
    ("rule", "words", "true_words"),
    [
        (
            RequestLimit(per_minute=20),
            "Limit 3, Used 3, Requested 1. Please try again in 20s.",
            "Limit 20, Used 20, Requested 1. Please try again in 2.5s.",
        ),
        (
            TokenLimit(per_minute=9_000),
            "Limit 10000, Used 8554, Requested 3082. Please try again in 1m2.5s, if you can.",
            "Limit 9000, Used 8000, Requested 700. Please try again in 2.5s, if you can.",
        ),
        (RequestLimit(per_minute=20), "Please retry after 20 seconds.", "retry after 3 seconds."),
        (
            RequestLimit(per_minute=20),
            "the rate limit for your organization of 5 requests per minute",
            "organization of 20 requests per minute",
        ),
        (
            TokenLimit(per_minute=9_000),
            "of 20,000 input tokens per minute; limit: 10, model: x",
            "of 9000 input tokens per minute; limit: 9000, model: x",
        ),
        (
            RequestLimit(per_minute=20),
            "a Trial key, which is limited to 10 API calls / minute",
            "which is limited to 20 API calls / minute",
        ),
        (Overload(at_once=1), "limit: 10, overloaded", "limit: 10, overloaded"),
    ],
)
def test_figures_in_words_are_those_of_the_limit(rule: Any, words: str, true_words: str) -> None:
    """Wherever in the body they stand; the words around them stay."""
    refused = Refused(
        rule=rule,
        asked=700 if isinstance(rule, TokenLimit) else 1,
        retry_after_ns=2_500 * MS - 1,
        early_ns=None,
        pushed_back_ns=0,
    )
    standing = RateStanding(
        requests=Meter(limit=20, remaining=0, reset_ns=0),
        tokens=Meter(limit=9_000, remaining=1_000, reset_ns=0),
    )
    body = {"error": {"details": [{"message": words}], "code": 429}}
    told = truthful(ErrorPayload(status=429, body=body, source="test"), refused, standing)
    assert told.body is not None
    assert true_words in told.body["error"]["details"][0]["message"]
    assert told.body["error"]["code"] == 429
    page = ErrorPayload(status=429, text=words, content_type="text/html", source="test")
    assert true_words in (truthful(page, refused, standing).text or "")


def test_a_payload_promises_nothing_that_nobody_knows() -> None:
    """A wait that was written into it belongs to another day."""
    refused = Refused(
        rule=Overload(at_once=1),
        asked=1,
        retry_after_ns=None,
        early_ns=None,
        pushed_back_ns=0,
    )
    payload = ErrorPayload(
        status=503, body={}, headers={"Retry-After": "20", "x-other": "1"}, source="test"
    )
    assert truthful(payload, refused, RateStanding()).headers == {"x-other": "1"}


#: Dialects whose providers tell nothing in a refusal: there is no such header, and no field.
_SILENT = {"deepseek", "http-json", "mcp", "ollama", "openai-compatible"}


@pytest.mark.parametrize("name", sorted(set(dialect_names()) - _SILENT))
def test_no_dialect_tells_a_time_that_is_too_early(name: str) -> None:
    """In whichever of its own forms: seconds, milliseconds, an instant, a field of the body."""
    wait_ns, unix_s = 2_500 * MS + 1, 1_767_225_600
    empty = Meter(limit=20, remaining=0, reset_ns=9 * S)
    standing = RateStanding(requests=empty, tokens=empty, retry_after_ns=wait_ns)
    exchange = Exchange(number=1, seed=0, unix_s=unix_s, think_ms=1, standing=standing)
    payload = load_payloads(name)["rate_limit_exceeded"]
    answer = dialect_named(name).error_answer(payload, payload.status, exchange, {})
    headers = {key: value for key, value in answer.headers if isinstance(value, str)}
    told_ns = [
        int(headers[header]) * unit_ns - since_ns
        for header, unit_ns, since_ns in (
            ("retry-after", S, 0),
            ("retry-after-ms", MS, 0),
            ("x-amz-retry-after", MS, 0),
            ("x-ratelimit-reset", S if name == "cohere" else MS, unix_s * S),
        )
        if header in headers
    ]
    told_ns += [
        int(Decimal(delay) * S)
        for delay in re.findall(r'"retryDelay": ?"([\d.]+)s"', b"".join(answer.chunks).decode())
    ]
    assert told_ns
    assert min(told_ns) >= wait_ns
