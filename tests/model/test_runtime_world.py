"""What a runtime may have around it is checked when a scenario is made."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from faultclock.model.scenario.provider_script import FallbackProvider
from faultclock.model.scenario.scenario import RuntimeWorld, Scenario, scenario_digest, scenario_of

FAULT: dict[str, Any] = {"id": "down", "then": {"kind": "connect_refused"}}
#: One value for each section that only a runtime has.
SECTIONS: dict[str, Any] = {
    "session": {},
    "tools": [{"name": "read"}],
    "interactors": [{}],
    "store": {},
    "fallbacks": [{"id": "second"}],
    "attempts_per_provider": 2,
    "programs": [{"name": "codex"}],
    "workflow": {"nodes": [{"id": "a", "do": "agent"}]},
    "hooks": [{"id": "audit", "slot": "pre_tool"}],
    "telemetry": {},
    "queue": {},
}


def scenario(role: str = "runtime", **changes: Any) -> Scenario:
    """Return a small scenario, changed as asked."""
    values: dict[str, Any] = {"id": "family/slug", "title": "A title", "why": "A reason."}
    if role == "session_store":
        values["tasks"] = [{"id": "ask", "do": "read"}]
    return scenario_of({**values, "role": role, **changes})


def refused(words: str, **changes: Any) -> None:
    """Check that the change is refused with these words."""
    with pytest.raises(ValidationError, match=words):
        scenario(**changes)


def test_every_section_of_a_runtime_alone_is_tried_here() -> None:
    """A new one must not be forgotten."""
    assert set(SECTIONS) == set(RuntimeWorld.model_fields)


@pytest.mark.parametrize("role", ["provider_adapter", "tool", "session_store", "extension"])
@pytest.mark.parametrize("section", sorted(SECTIONS))
def test_only_a_runtime_has_them(role: str, section: str) -> None:
    """To a subject of another role they would say nothing."""
    with pytest.raises(ValidationError, match=rf"{section}\n *Extra inputs"):
        scenario(role, **{section: SECTIONS[section]})
    assert getattr(scenario(**{section: SECTIONS[section]}), section)


def test_they_are_not_written_where_they_are_not_used() -> None:
    """A trace from before they existed keeps its digest."""
    assert not SECTIONS.keys() & set(scenario().model_dump(mode="json"))
    assert "models" not in scenario().model_dump(mode="json")
    session = scenario(session={"budgets": {"steps_max": 1}}).model_dump(mode="json")["session"]
    assert not {"policies", "join", "quorum", "denials_max"} & set(session)
    assert not {"cost_max_usd", "usd_per_million_tokens"} & set(session["budgets"])


@pytest.mark.parametrize("models", [["Relavium"], ["a model"], [""], ["relavium", "relavium"]])
def test_models_are_named_by_their_ids_each_once(models: list[str]) -> None:
    """A model of somebody's own may be named; something that is no id may not."""
    refused("models", models=models)
    assert scenario(models=["relavium", "my-own"]).models == ("relavium", "my-own")


def test_a_fallback_has_a_host_of_its_own() -> None:
    """Named after it, unless it says another one."""
    named, other = scenario(
        fallbacks=[{"id": "second"}, {"id": "third", "host": "llm.third.dev"}]
    ).world.fallbacks
    assert (named.host_name, named.base_url) == (
        "second.example.com",
        "https://second.example.com/v1",
    )
    assert other.base_url == "https://llm.third.dev/v1"


@pytest.mark.parametrize(
    ("fallbacks", "words"),
    [
        ([{"id": "a"}, {"id": "a", "host": "b.dev"}], "two fallbacks have the same name 'a'"),
        ([{"id": "a"}, {"id": "b", "host": "a.example.com"}], "two hosts have the same name"),
        ([{"id": "a", "host": "api.openai.com"}], "host of another service"),
        ([{"id": "a", "host": "localhost"}], "host of another service"),
        ([{"id": "a", "host": "10.0.0.7"}], "host"),
        ([{"id": "a", "host": "llm.dev."}], "host"),
        ([{"id": "a", "dialect": "http-json"}], "another dialect"),
        ([{"id": "a", "latency": "11ms"}], "the latency is the whole network's"),
        ([{"id": "a", "faults": [FAULT, FAULT]}], "two faults have the id 'down'"),
        ([{"id": "a", "faults": [{**FAULT, "when": {"task": "x"}}]}], "the unknown task 'x'"),
        ([{"id": "a", "attempts_max": 0}], "attempts_max"),
    ],
)
def test_a_chain_that_could_not_be_walked_is_refused(
    fallbacks: list[dict[str, Any]], words: str
) -> None:
    """Each of these would play something else than it says."""
    refused(words, fallbacks=fallbacks)


def test_the_latency_of_a_fallback_may_repeat_that_of_the_network() -> None:
    """And what is read back from a trace is the same scenario."""
    slow = scenario(provider={"latency": "50ms"}, fallbacks=[{"id": "a"}])
    assert scenario_of(slow.model_dump(mode="json")) == slow
    said = scenario(provider={"latency": "50ms"}, fallbacks=[{"id": "a", "latency": "50ms"}])
    assert said.world.fallbacks[0].latency == slow.provider.latency
    assert scenario_digest(scenario_of(said.model_dump(mode="json"))) == (scenario_digest(said))
    assert isinstance(said.world.fallbacks[0], FallbackProvider)


@pytest.mark.parametrize(
    "changes",
    [
        {"fallbacks": [{"id": "a", "faults": [FAULT]}]},
        {"hooks": [{"id": "h", "slot": "pre_tool", "rules": [{"id": "down"}]}]},
        {"telemetry": {"rules": [{"id": "down"}]}},
        {"queue": {"rules": [{"id": "down"}]}},
        {"programs": [{"name": "codex", "rules": [{"id": "down", "then": {}}]}]},
        {
            "workflow": {
                "nodes": [
                    {
                        "id": "n",
                        "do": "handler",
                        "rules": [{"id": "down", "then": {"kind": "exception"}}],
                    }
                ]
            }
        },
    ],
)
def test_rules_of_all_that_is_around_have_ids_of_their_own(changes: dict[str, Any]) -> None:
    """The ledger counts by id."""
    refused("two rules have the same name 'down'", provider={"faults": [FAULT]}, **changes)


@pytest.mark.parametrize(
    ("node", "words"),
    [
        ({"do": "tool"}, "`tool` goes with do: tool"),
        ({"do": "agent", "tool": "x"}, "`tool` goes with do: tool"),
        ({"do": "program"}, "`argv` goes with"),
        ({"do": "handler", "argv": ["x"]}, "`argv` goes with"),
        ({"do": "agent", "rules": [{"id": "r", "then": {"kind": "exception"}}]}, "`rules` go"),
        (
            {
                "do": "handler",
                "rules": [{"id": "r", "then": {"kind": "sandbox", "cause": "type"}}],
            },
            "only an expression is evaluated in the sandbox",
        ),
        ({"do": "agent", "needs": ["b"]}, "there is no node 'b' before it"),
        ({"do": "agent", "needs": ["a"]}, "there is no node 'a' before it"),
    ],
)
def test_a_node_says_what_belongs_to_its_kind(node: dict[str, Any], words: str) -> None:
    """What would be ignored is a mistake."""
    refused(words, workflow={"nodes": [{"id": "a", **node}, {"id": "b", "do": "agent"}]})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"session": {"quorum": 2}}, "quorum goes with join: quorum"),
        (
            {"programs": [{"name": "a", "good": {"status": 1, "signal": "SIGKILL"}}]},
            "by its status or by a signal",
        ),
        ({"tools": [{"name": "x", "required": False}]}, "required goes with agent: true"),
        ({"session": {"policies": {"llm": "shrug"}}}, "policies"),
        ({"session": {"budgets": {"cost_max_usd": 0}}}, "cost_max_usd"),
        ({"hooks": [{"id": "a", "slot": "pre_tool"}] * 2}, "two hooks have the same name 'a'"),
        ({"programs": [{"name": "a"}] * 2}, "two programs have the same name 'a'"),
        ({"workflow": {"nodes": []}}, "nodes"),
        ({"attempts_per_provider": 0}, "attempts_per_provider"),
    ],
)
def test_what_cannot_be_meant_is_refused(changes: dict[str, Any], words: str) -> None:
    """Before anything runs."""
    refused(words, **changes)
