"""Scenarios for an agent that brings its own tools: each tool stands for one of the scenario's."""

from __future__ import annotations

import json
from typing import Any

import pytest

from faultclock.model.scenario.scenario import Scenario
from faultclock.model.scenario.tool_script import ToolScript
from faultclock.run.fit_agent import NoFit, fitted_to_agent
from faultclock.subjects.schemas import misfit
from tests.run.conftest import shipped, shipped_scenario, small

TEXT = {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]}
SEND = ToolScript(name="sendMail", input_schema=TEXT)
PAY = ToolScript(name="pay", input_schema=TEXT, gated=True)
LOOK = ToolScript(name="get_weather", input_schema=TEXT, reads=True)
NONE = ToolScript(name="tick", input_schema={"type": "object", "properties": {}})
OWN = (LOOK, SEND, PAY)


def asking(*calls: tuple[str, str], tools: list[dict[str, Any]], **changes: Any) -> Scenario:
    """Return a scenario in which the model asks for tools, one after another."""
    replies: list[dict[str, Any]] = [
        {"tool_calls": [{"name": name, "arguments": arguments}]} for name, arguments in calls
    ]
    provider = {"replies": [*replies, {"text": "Done."}]}
    task = [{"id": "work", "prompt": "Work."}]
    return small(role="runtime", provider=provider, tools=tools, tasks=task, **changes)


def asked(scenario: Scenario) -> list[tuple[str, str]]:
    """Return which tools the model asks for, with which arguments."""
    return [
        (call.name, call.arguments)
        for reply in scenario.provider.replies
        for call in reply.tool_calls
    ]


def test_the_model_asks_for_the_agents_own_tool() -> None:
    """By its own name, with arguments that fit its own schema."""
    fitted = fitted_to_agent(asking(("write", '{"n": 1}'), tools=[{"name": "write"}]), OWN)
    ((name, arguments),) = asked(fitted)
    assert name in {"get_weather", "sendMail"}
    assert misfit(TEXT, json.loads(arguments)) is None
    assert {tool.name for tool in fitted.world.tools} == {"get_weather", "sendMail", "pay"}


def test_each_tool_has_its_turn() -> None:
    """One that always stood in the first place would hide what the others make of a failure."""
    scenario = asking(("write", "{}"), tools=[{"name": "write"}])
    names = set()
    for number in range(8):
        other = scenario.model_copy(update={"id": f"tests/{number}"})
        names.add(asked(fitted_to_agent(other, OWN))[0][0])
        assert asked(fitted_to_agent(other, OWN)) == asked(fitted_to_agent(other, OWN))
    assert names == {"get_weather", "sendMail"}


def test_a_tool_that_needs_an_approval_stands_for_one_that_does() -> None:
    """And never for another."""
    scenario = asking(("write", "{}"), tools=[{"name": "write", "gated": True}])
    assert asked(fitted_to_agent(scenario, OWN))[0][0] == "pay"
    with pytest.raises(NoFit, match="needs an approval"):
        fitted_to_agent(scenario, (LOOK, SEND))


@pytest.mark.parametrize(
    "changes",
    [
        {"tools": [{"name": "write", "idempotent": False}]},
        {
            "tools": [{"name": "write"}],
            "crashes": [{"id": "killed", "on": {"kind": "tool.effect"}}],
        },
        {
            "tools": [
                {
                    "name": "write",
                    "rules": [
                        {
                            "id": "lost",
                            "then": {"fault": {"kind": "timeout"}, "effect": "committed"},
                        }
                    ],
                }
            ]
        },
    ],
    ids=["not idempotent", "a crash", "acts and fails"],
)
def test_what_is_about_effects_needs_a_tool_with_effects(changes: dict[str, Any]) -> None:
    """A second look at the weather is no second payment."""
    scenario = asking(("write", "{}"), **changes)
    assert asked(fitted_to_agent(scenario, OWN))[0][0] == "sendMail"
    with pytest.raises(NoFit, match="has effects"):
        fitted_to_agent(scenario, (LOOK, PAY))


def test_equal_calls_stay_equal_and_different_ones_different() -> None:
    """What is repeated in a scenario is repeated for the agent."""
    one, two = '{"n": 1}', '{"n": 2}'
    scenario = asking(("w", one), ("w", two), ("w", one), tools=[{"name": "w"}])
    first, second, third = asked(fitted_to_agent(scenario, OWN))
    assert first == third != second
    with pytest.raises(NoFit, match="different arguments"):
        fitted_to_agent(scenario, (NONE,))


def test_a_tool_that_nobody_has_stays_one_that_nobody_has() -> None:
    """The scenario is about that."""
    scenario = asking(("wipe_disk", "{}"), ("w", "{}"), tools=[{"name": "w"}])
    assert asked(fitted_to_agent(scenario, OWN))[0] == ("wipe_disk", "{}")


def test_rules_about_a_tool_are_about_the_one_that_stands_for_it() -> None:
    """Its faults, its approvals, crashes on its events."""
    scenario = asking(
        ("w", "{}"),
        tools=[{"name": "w", "gated": True, "takes": "9s"}],
        interactors=[{"rules": [{"id": "no", "when": {"tool": "w"}, "then": {"kind": "deny"}}]}],
        crashes=[{"id": "killed", "on": {"kind": "tool.called", "where": {"tool": "w"}}}],
    )
    fitted = fitted_to_agent(scenario, OWN)
    (mine,) = (tool for tool in fitted.world.tools if tool.name == "pay")
    assert mine.takes == 9_000_000_000
    assert fitted.world.interactors[0].rules[0].when.tool == "pay"
    assert fitted.crash_rules[0].on is not None
    assert fitted.crash_rules[0].on.where == {"tool": "pay"}


@pytest.mark.parametrize(
    ("tool", "why"),
    [
        ({"output_schema": {"type": "object"}}, "output schema"),
        ({"policy": "deny"}, "policy"),
        ({"rules": [{"id": "a", "then": {"fault": {"kind": "output_malformed"}}}]}, "in parts"),
        (
            {
                "rules": [
                    {
                        "id": "a",
                        "when": {"arguments": {"n": 1}},
                        "then": {"fault": {"kind": "hang"}},
                    }
                ]
            },
            "by its arguments",
        ),
    ],
)
def test_what_no_function_declares_is_left_out(tool: dict[str, Any], why: str) -> None:
    """A scenario about a contract is none about a function."""
    with pytest.raises(NoFit, match=why):
        fitted_to_agent(asking(("w", "{}"), tools=[{"name": "w", **tool}]), OWN)


@pytest.mark.parametrize(
    ("id_", "why"),
    [
        ("afk/falls-back", "a chain of providers"),
        ("afk/queue-refuses-twice", "a queue"),
        ("afk/telemetry-raises", "telemetry"),
    ],
)
def test_what_an_agent_is_not_handed_is_left_out(id_: str, why: str) -> None:
    """An agent that was given no second provider could not ask it."""
    with pytest.raises(NoFit, match=why):
        fitted_to_agent(shipped_scenario(id_), OWN)


def test_a_call_of_a_provider_adapter_is_a_turn_of_an_agent() -> None:
    """Rate limits are met by agents, too."""
    fitted = fitted_to_agent(shipped_scenario("common/cancelled-in-a-backoff"), OWN)
    assert fitted.role == "runtime"
    assert {rule.scope for rule in fitted.cancel_rules} == {"turn"}


def test_several_clients_at_once_are_no_agent() -> None:
    """An agent answers one turn after another."""
    with pytest.raises(NoFit, match="several clients"):
        fitted_to_agent(shipped_scenario("common/crowd-without-a-hint"), OWN)


@pytest.mark.parametrize(
    ("arguments", "fits"),
    [('{"to": "Ann"}', True), ('{"to"', True), ("{}", False), ('{"to": "Ann", "n": 1}', False)],
)
def test_a_scenario_with_the_name_of_a_tool_is_fitted_where_it_cannot_be_called_so(
    arguments: str, fits: bool
) -> None:
    """It was written for another tool: this one would refuse the arguments, or drop some."""
    scenario = asking(("sendMail", arguments), tools=[{"name": "sendMail"}])
    assert (fitted_to_agent(scenario, (SEND,)) == scenario) == fits


def test_a_tool_is_not_gated_by_a_scenario_that_uses_its_name() -> None:
    """An agent that asks no person would be said to act without consent."""
    scenario = asking(("sendMail", '{"to": "Ann"}'), tools=[{"name": "sendMail", "gated": True}])
    with pytest.raises(NoFit, match="a tool that needs an approval"):
        fitted_to_agent(scenario, (SEND,))


@pytest.mark.parametrize("own", [OWN, (SEND,), (PAY, LOOK), ()], ids=len)
def test_every_shipped_scenario_fits_or_says_why_not(own: tuple[ToolScript, ...]) -> None:
    """What was fitted is fitted: a second time changes nothing."""
    fits, reasons = 0, []
    for scenario in (*shipped("runtime"), *shipped("provider_adapter")):
        try:
            fitted = fitted_to_agent(scenario, own)
        except NoFit as reason:
            reasons.append(str(reason))
            continue
        fits += 1
        assert {tool.name for tool in fitted.world.tools} == {tool.name for tool in own}
        assert fitted_to_agent(fitted, own) == fitted
        for name, arguments in asked(fitted):
            whole = arguments.startswith("{") and arguments.endswith("}")
            if name in {tool.name for tool in own} and whole:
                assert misfit(TEXT, json.loads(arguments)) is None
    assert fits > 50
    assert all(reasons)
