"""The policy engine allows and denies, and each decision is a fact."""

from __future__ import annotations

from typing import Any

from faultclock.fakes.ports.policy import FakePolicy
from faultclock.model.scenario.tool_script import ToolScript
from tests.fakes.used_life import BOTH, UsedLife


def policy(**decisions: str) -> Any:
    """Return a maker of an engine that decides so by tool name."""
    tools = [
        ToolScript.model_validate({"name": name, "policy": decision})
        for name, decision in decisions.items()
    ]
    return lambda kernel, style, life: FakePolicy(tools, kernel, life)


def ask(tool: str) -> Any:
    """Return a use that asks about a call of `tool`."""
    return lambda fake: fake.decide(tool, {"path": "a"}, call_id="call_1")


@BOTH
def test_it_says_what_the_tools_script_says(style: str) -> None:
    """At once, for every style; what it was never told about is allowed."""
    life = UsedLife(policy(remove="deny", write="allow", read=""), style)
    tools = ("remove", "write", "read", "unheard_of")
    assert life.run(*map(ask, tools)) == ["deny", "allow", "allow", "allow"]
    assert life.facts() == [
        (0, "policy.decided", {"tool": tool, "tool_call": "call_1", "decision": decision})
        for tool, decision in zip(tools, ("deny", "allow", "allow", "allow"), strict=True)
    ]


def test_a_decision_belongs_to_its_call_and_life() -> None:
    """So that it is judged with what came after it."""
    life = UsedLife(policy(remove="deny"), number=2)
    life.run(ask("remove"))
    ((_, _, actor, _, payload),) = life.events()
    assert (actor, payload["call"], payload["life"]) == ("policy", "ask/1", 2)


def test_what_is_asked_cannot_spoil_the_trace() -> None:
    """A runtime may hand over anything."""
    life = UsedLife(policy(remove="deny"))
    life.run(lambda fake: fake.decide("sk-0123456789abcdef", {}, call_id=None))
    assert life.facts()[0][2] == {"tool": "<secret>", "tool_call": None, "decision": "allow"}
