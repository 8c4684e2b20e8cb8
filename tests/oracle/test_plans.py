"""Plans: what takes a retry's place, such as a redo of a node, a parked provider or a breaker."""

from __future__ import annotations

from typing import Any

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.oracle.facts.history import History
from faultclock.oracle.judge import judge
from faultclock.oracle.retries.plans import plans_of
from tests.oracle.chain_builder import ChainBuilder
from tests.oracle.small_model import CHAIN, found, judged, small_model
from tests.oracle.test_breaker import RULES, Turns
from tests.oracle.tool_traces import ExtensionTrace, ToolTrace
from tests.oracle.trace_builder import sha256
from tests.oracle.turn_builder import TurnBuilder

TWICE: dict[str, Any] = {"attempts_from": "policy", "attempts_max": 2}


def node_fails(times: int, **retries: int) -> TurnBuilder:
    """Return a turn whose node `one` fails, a second apart; nodes may be granted executions."""
    script = []
    for name in ("two", "one"):
        node: dict[str, Any] = {"id": name, "do": "agent", "prompt": f"You are {name}."}
        if name in retries:
            node["retry"] = {"attempts_max": retries[name]}
        script.append(node)
    built = TurnBuilder(workflow={"nodes": script}).turn()
    built.messages = [{"role": "system", "content_sha256": sha256("You are one.")}]
    for number in range(times):
        if number:
            built.after("1s")
        built.fails(500, call=built.call)
    return built.ends("Llm/Overload")


def test_a_node_that_may_be_done_again_has_its_attempts_again() -> None:
    """As often as its author says, and for that node alone."""
    model = small_model(policy=TWICE)
    assert judged(model, node_fails(2), "backoff.attempts") == 1
    assert judged(model, node_fails(4, one=2), "backoff.attempts") == 2
    assert found(model, node_fails(3), "backoff.attempts") == ["3 attempts were made"]
    assert found(model, node_fails(4, two=2), "backoff.attempts") == ["4 attempts were made"]
    assert found(model, node_fails(5, one=2), "backoff.attempts") == ["3 attempts were made"]
    assert found(model, node_fails(3, one=2), "backoff.attempts") == []


def test_a_redo_of_a_node_numbers_its_attempts_anew() -> None:
    """The request before it was given up when it began."""
    history = History(node_fails(4, one=2).build())
    (first, _), (second, _) = plans_of(history, small_model(policy=TWICE))
    assert [attempt.number for attempt in first.attempts] == [1, 2]
    assert [attempt.number for attempt in second.attempts] == [1, 2]
    assert (first.outcome, first.end) == ("given_up", second.attempts[0].start)
    assert second.outcome == "raised"


def test_a_provider_that_is_parked_is_not_asked_again() -> None:
    """The chain goes on to the next one in place of a retry; without a next one it is due."""
    model = small_model(chain=CHAIN, policy=TWICE)
    moved = ChainBuilder().turn().bad(429).at("second").says().ends()
    alone = ChainBuilder().turn().bad(429).ends("Llm/Rate")
    overloaded = ChainBuilder().turn().bad(500).at("second").says().ends()
    acts = [
        [step.act for _, steps in plans_of(History(built.build()), model) for step in steps]
        for built in (moved, alone, overloaded)
    ]
    assert acts == [["unjudged", "none"], ["retry"], ["retry", "none"]]


def test_what_a_service_answers_has_the_classes_of_tools(model: ErrorModel) -> None:
    """An extension has none of either."""
    tool = ToolTrace().begin().item("/a", 429).replies("ToolTransient/ResourceBusy")
    (call,) = judge(model, tool).calls
    assert call.attempts[0].classification == "ToolTransient/ResourceBusy"
    extension = ExtensionTrace().phase("activate", act=True)
    for event in extension.events:
        if event.kind == "http.response":
            event.payload["status"] = 429  # type: ignore[index]
    (call,) = judge(model, extension.build()).calls
    assert call.attempts[0].classification == "unmapped"


def test_a_breaker_that_is_open_when_a_retry_is_due_takes_its_place() -> None:
    """One that lets it by again by then does not."""
    for base, act in (("10s", "unjudged"), ("40s", "retry")):
        policy = {**TWICE, "attempts_max": 5, "backoff": {"kind": "fixed", "base": base}}
        model = small_model(breaker=RULES, policy=policy)
        history = History(Turns().turn_(500).turn_(500).build())
        acts = [step.act for _, steps in plans_of(history, model) for step in steps]
        assert acts == ["retry", act]
