"""Layers that retry multiply; what is not declared shows in the number of requests."""

from __future__ import annotations

from typing import Any

import pytest

from faultclock.oracle.facts.history import History
from faultclock.oracle.retries.plans import plans_of
from tests.oracle.chain_builder import ChainBuilder
from tests.oracle.small_model import CHAIN, found, judged, small_model
from tests.oracle.trace_builder import TraceBuilder, sha256
from tests.oracle.turn_builder import TurnBuilder

ENTRY = {"layers": ["chain", "node"], "requirement": "SMALL-PRODUCT"}
MODEL = small_model(chain=CHAIN, amplification=ENTRY)
OWN: dict[str, Any] = {"attempts_from": "policy", "attempts_max": 3}


def workflow(attempts: int, do: str = "agent", **more: Any) -> dict[str, Any]:
    """Return a workflow of one node that may be done so often."""
    node = {"id": "draft", "do": do, "prompt": "Say hello.", "retry": {"attempts_max": attempts}}
    return {"nodes": [{**node, **more}]}


def chain_round(built: ChainBuilder) -> ChainBuilder:
    """Let the whole chain fail once: one, two and one attempts."""
    return built.at().bad(500).at("second").bad(500, 500).at("third").bad(500)


@pytest.mark.parametrize(("times", "findings"), [(1, []), (2, []), (3, ["12 requests"])])
def test_a_chain_times_a_node(times: int, findings: list[str]) -> None:
    """Four requests in a chain, done twice, are eight and no more."""
    built = ChainBuilder(attempts=(1, 2, 1), workflow=workflow(2))
    built.turn()
    for _ in range(times):
        chain_round(built)
    built.results("failed", "Llm/Overload")
    assert found(MODEL, built, "amplification.requests") == findings


def test_a_node_that_is_done_again_begins_its_chain_anew() -> None:
    """That is no step back in the chain, and no retry of the request."""
    built = ChainBuilder(attempts=(1, 2, 1), workflow=workflow(2))
    built.turn()
    chain_round(chain_round(built)).results("failed", "Llm/Overload")
    assert judged(MODEL, built, "amplification.requests") == 1
    for check in ("chain.advances", "backoff.attempts", "classification.disposition"):
        assert found(MODEL, built, check) == []
    plans = plans_of(History(built.build()), MODEL)
    assert [len(request.attempts) for request, _ in plans] == [4, 4]
    assert [request.outcome for request, _ in plans] == ["given_up", "raised"]


def test_a_node_at_one_provider_is_done_again_when_its_attempts_are_used_up() -> None:
    """Two nodes' worth of three attempts; the seventh is one too many."""
    model = small_model(policy=OWN, amplification={**ENTRY, "layers": ["request", "node"]})
    for statuses, findings in (((500,) * 6, []), ((500,) * 7, ["7 requests"])):
        built = TurnBuilder(workflow=workflow(2))
        built.turn()
        for status in statuses:
            built.fails(status, call=built.call).after("1s")
        built.ends("Llm/Overload")
        assert found(model, built, "amplification.requests") == findings
        counts = [len(request.attempts) for request, _ in plans_of(History(built.build()), model)]
        assert counts == ([3, 3] if not findings else [3, 4])


def test_what_the_document_says_nothing_of_is_held_against_nobody() -> None:
    """A 404 has no class here, so nobody can say how many requests it may cost."""
    model = small_model(policy=OWN, amplification={**ENTRY, "layers": ["request"]})
    built = TurnBuilder()
    built.turn()
    for _ in range(5):
        built.fails(404, call=built.call).after("1s")
    built.ends("Llm/Overload")
    assert found(model, built, "amplification.requests") == []
    assert judged(model, built, "amplification.requests") == 0


def test_what_is_fatal_is_not_done_again_by_a_node() -> None:
    """No redo explains an attempt after it."""
    built = TurnBuilder(workflow=workflow(3))
    built.turn().fails(401, call=built.call).fails(401, call=built.call).ends("Llm/Auth")
    assert found(small_model(), built, "classification.disposition") == ["attempt 2 was made"]


def test_the_requests_of_two_nodes_are_apart() -> None:
    """Their prompts tell them from each other."""
    nodes = [
        {"id": "first", "do": "agent", "prompt": "One."},
        {"id": "second", "do": "agent", "prompt": "Two."},
    ]
    model = small_model(amplification={**ENTRY, "layers": ["request"]})
    built = TurnBuilder(workflow={"nodes": nodes})
    built.opens().begins("ask/1", prompt="One.").fails(500, call="ask/1")
    built.messages.append({"role": "user", "content_sha256": sha256("Two.")})
    built.fails(500, call="ask/1").ends("Llm/Overload")
    plans = plans_of(History(built.build()), model)
    nodes_of = [[attempt.node for attempt in request.attempts] for request, _ in plans]
    assert nodes_of == [["first"], ["second"]]
    assert [request.outcome for request, _ in plans] == ["given_up", "raised"]
    assert judged(model, built, "amplification.requests") == 2


def test_a_hidden_layer_shows() -> None:
    """An SDK that retries below a runner makes more requests than anybody declared."""
    model = small_model(policy=OWN, amplification={**ENTRY, "layers": ["request"]})
    for count, findings in ((3, []), (9, ["9 requests"])):
        built = TraceBuilder().start()
        for _ in range(count):
            built.fails(500).wait("1s")
        assert found(model, built.raises("Llm/Overload"), "amplification.requests") == findings


def test_an_adapter_that_only_classifies_makes_one_request() -> None:
    """A runner owns the retries, so every failure ends its call, whatever it is."""
    model = small_model(
        policy=OWN,
        adapter_retries="forbidden",
        rules={"disposition.adapter": "SMALL-ADAPTER"},
        amplification={**ENTRY, "layers": ["request"]},
    )
    once = TraceBuilder().start().fails(500).raises("Llm/Overload")
    assert judged(model, once, "classification.disposition") == 1
    assert found(model, once, "backoff.attempts") == []
    twice = TraceBuilder().start().fails(500).wait("1s").fails(500).raises("Llm/Overload")
    assert found(model, twice, "classification.disposition") == ["attempt 2 was made"]
    assert found(model, twice, "amplification.requests") == ["2 requests"]
    unknown = TraceBuilder().start().fails(418).wait("1s").fails(418).raises("Llm/Overload")
    assert found(model, unknown, "classification.disposition") == ["attempt 2 was made"]


def test_a_stage_has_its_attempts_as_well() -> None:
    """The workflow's redo comes on top, where the rule names that layer."""
    session = {"entry_stage": "a", "stages": [{"id": "a", "retry": {"attempts_max": 2}}]}
    for layers, findings in ((["request"], ["2 requests"]), (["request", "stage"], [])):
        model = small_model(
            policy={"attempts_from": "policy", "attempts_max": 1},
            amplification={**ENTRY, "layers": layers},
        )
        built = TurnBuilder(session=session)
        built.turn().staged("check_gate", "proceed")
        built.fails(500, call=built.call).after("1s").fails(500, call=built.call)
        built.staged("assess", "fail").ends("Llm/Overload")
        assert found(model, built, "amplification.requests") == findings


def test_what_shows_nothing_earns_nothing() -> None:
    """Nothing failed, nothing was asked, or the model is silent."""
    good = TurnBuilder().turn().says().ends()
    for built in (good, TurnBuilder().turn().ends(), TurnBuilder()):
        assert judged(MODEL, built, "amplification.requests") == 0
    failed = TurnBuilder().turn()
    failed.fails(500, call=failed.call).ends("Llm/Overload")
    assert judged(small_model(), failed, "amplification.requests") == 0
