"""Several providers in one world: who answers, with which faults, and how that is told."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from faultclock.errors import UnknownNameError
from faultclock.fakes.provider.providers import ProvidersState
from faultclock.model.scenario.provider_script import FallbackProvider
from faultclock.sim.net.fates import Accept, Blackhole, Refuse, Resolve, ResolveFails

MakeChain = Callable[..., Any]
SECOND = "second.example.com"


def fails(id_: str, kind: str = "http_error", **when: Any) -> dict[str, Any]:
    """Return a fault, an overloaded provider unless told otherwise."""
    then: dict[str, Any] = {"kind": kind}
    if kind == "http_error":
        then |= {"status": 503, "error": "overloaded"}
    return {"id": id_, "when": when, "then": then}


def answer(endpoint: Any, wire: Any) -> Any:
    """Return the text of the answer that came."""
    body = wire.parse(wire.received(endpoint)).body
    return json.loads(body)["choices"][0]["message"]["content"]


def test_each_fallback_answers_at_its_own_host(make_chain: MakeChain, wire: Any) -> None:
    """With its own script; the first provider answers everywhere else."""
    rig = make_chain(
        provider={"reply": "From the first."},
        fallbacks=[
            {"id": "second", "reply": "From the second."},
            {"id": "third", "host": "llm.third.dev", "reply": "From the third."},
        ],
    )
    assert set(rig.network.services) == {None, SECOND, "llm.third.dev"}
    assert answer(rig.exchange(), wire) == "From the first."
    assert answer(rig.exchange(host=SECOND), wire) == "From the second."
    assert answer(rig.exchange(host="llm.third.dev"), wire) == "From the third."


def test_only_the_facts_of_a_fallback_name_it(make_chain: MakeChain) -> None:
    """A trace with one provider looks as it always did; exchanges are numbered over all."""
    rig = make_chain(
        provider={"faults": [fails("first-down")]},
        fallbacks=[{"id": "second", "faults": [fails("second-down")]}],
    )
    rig.exchange()
    rig.exchange(host=SECOND)
    told = [
        (kind, payload.get("exchange"), payload.get("provider"))
        for _, _, kind, payload in rig.kernel.facts
    ]
    kinds = ("http.request", "fault.fired", "http.response", "http.exchange_ended")
    assert sorted(told, key=str) == sorted(
        [(kind, "x1", None) for kind in kinds] + [(kind, "x2", "second") for kind in kinds],
        key=str,
    )


def test_each_counts_its_own_attempts(make_chain: MakeChain) -> None:
    """The first request to a fallback is its attempt 1, however often the first was asked."""
    rig = make_chain(
        provider={"faults": [fails("first-down", attempts="every")]},
        fallbacks=[{"id": "second", "faults": [fails("second-down", attempts=1)]}],
    )
    for host in (None, None, SECOND, SECOND):
        rig.exchange(host=host)
    asked = [(item.get("provider"), item["attempt"]) for item in rig.of_kind("http.request")]
    assert asked == [(None, 1), (None, 2), ("second", 1), ("second", 2)]
    fired = [(item["fault"], item["attempt"]) for item in rig.of_kind("fault.fired")]
    assert fired == [("first-down", 1), ("first-down", 2), ("second-down", 1)]
    statuses = [item["status"] for item in rig.of_kind("http.response")]
    assert statuses == [503, 503, 503, 200]


def test_a_fault_of_the_network_is_at_its_own_host(make_chain: MakeChain) -> None:
    """In any spelling of the host; the others are reached as ever."""
    rig = make_chain(
        provider={"faults": [fails("first-silent", "connect_timeout", attempts="every")]},
        fallbacks=[
            {"id": "second", "faults": [fails("second-refuses", "connect_refused", attempts=1)]},
            {"id": "third", "faults": [fails("third-unknown", "dns_failure", attempts=1)]},
        ],
    )
    policy = rig.network.policy
    assert isinstance(policy.on_connect("api.openai.com", 443, "ask/1", 0), Blackhole)
    assert isinstance(policy.on_connect(SECOND, 443, "ask/1", 0), Refuse)
    assert isinstance(policy.on_connect("Second.Example.com.", 443, "ask/1", 0), Accept)
    assert isinstance(policy.on_resolve("third.example.com", 443, "ask/1", 0), ResolveFails)
    assert isinstance(policy.on_resolve(SECOND, 443, "ask/1", 0), Resolve)
    fired = [(item["fault"], item.get("provider")) for item in rig.of_kind("fault.fired")]
    assert fired == [
        ("first-silent", None),
        ("second-refuses", "second"),
        ("third-unknown", "third"),
    ]


def test_a_fault_may_be_for_one_task(make_chain: MakeChain) -> None:
    """As one of the first provider may."""
    rig = make_chain(
        tasks=[{"id": "ask"}, {"id": "later"}],
        fallbacks=[{"id": "second", "faults": [fails("second-down", task="later")]}],
    )
    for call in ("ask/1", "later/1"):
        rig.exchange(host=SECOND, call=call)
    (fired,) = rig.of_kind("fault.fired")
    assert (fired["call"], fired["provider"]) == ("later/1", "second")


def test_a_rule_of_a_fallback_that_was_never_asked_is_unmet(make_chain: MakeChain) -> None:
    """A chain that nobody walked down proves nothing."""
    rig = make_chain(
        provider={"faults": [fails("first-down", attempts=9)]},
        fallbacks=[{"id": "second", "faults": [{**fails("second-down"), "optional": True}]}],
    )
    rig.provider.seal()
    assert rig.of_kind("fault.unmet") == [
        {"fault": "first-down", "optional": False},
        {"fault": "second-down", "optional": True, "provider": "second"},
    ]


def test_the_numbers_of_all_go_on_over_the_lives(make_chain: MakeChain) -> None:
    """They share one count of exchanges, also on the other side of a process."""
    second = {"id": "second", "faults": [fails("second-down", attempts=2)]}
    state = ProvidersState.initial([FallbackProvider.model_validate(second)])
    numbers = []
    for _ in (1, 2):
        rig = make_chain(fallbacks=[second], state=state)
        rig.exchange()
        rig.exchange(host=SECOND)
        numbers += [item["exchange"] for item in rig.of_kind("http.request")]
        state = pickle.loads(pickle.dumps(state))
    assert numbers == ["x1", "x2", "x3", "x4"]
    assert [item["provider"] for item in rig.of_kind("fault.fired")] == ["second"]


def test_a_stream_error_of_a_fallback_names_it(make_chain: MakeChain) -> None:
    """And so does what it could not read."""
    broken = fails("second-breaks", "stream_error")
    broken["then"] |= {"error": "server_error", "after_chunks": 1}
    rig = make_chain(fallbacks=[{"id": "second", "faults": [broken]}])
    rig.exchange(host=SECOND, stream=True)
    rig.exchange(b"NONSENSE\r\n\r\n", host=SECOND)
    for kind in ("http.stream_error", "http.malformed"):
        assert [item["provider"] for item in rig.of_kind(kind)] == ["second"]


def test_a_script_that_cannot_be_played_is_refused_before_anything_runs(
    make_chain: MakeChain,
) -> None:
    """The same checks as for the first provider."""
    unknown = fails("second-down")
    unknown["then"]["error"] = "no_such_payload"
    with pytest.raises(UnknownNameError, match="no_such_payload"):
        make_chain(fallbacks=[{"id": "second", "faults": [unknown]}])
