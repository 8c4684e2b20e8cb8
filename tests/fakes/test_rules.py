"""Numbered rules: the first that fits decides, and what never fired is told at the end."""

from __future__ import annotations

import pickle
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from faultclock.fakes.rules import RulesMet, first_for, seal
from faultclock.model.scenario.store_script import StoreRule
from faultclock.model.scenario.tool_script import ToolRule


class Facts:
    """Takes facts as a kernel does."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str, dict[str, Any]]] = []

    def record(self, actor: str, kind: str, /, **payload: Any) -> int:
        """Take one fact."""
        self.told.append((actor, kind, payload))
        return len(self.told)


def rule(name: str, executions: object = "every", *, optional: bool = False) -> ToolRule:
    """Return a rule as a file says it."""
    return ToolRule.model_validate(
        {
            "id": name,
            "when": {"executions": executions},
            "then": {"fault": {"kind": "hang"}},
            "optional": optional,
        }
    )


def chosen(rules: tuple[ToolRule, ...], number: int) -> str | None:
    """Return the id of the rule for execution `number`."""
    found = first_for(rules, number, arguments={})
    return None if found is None else found.id


def test_the_first_rule_that_is_for_the_number_decides() -> None:
    """Later rules are asked only where the earlier ones do not fit."""
    rules = (rule("second", 2), rule("to-three", "1-3"), rule("rest", "5+"))
    assert [chosen(rules, number) for number in range(1, 7)] == [
        "to-three",
        "second",
        "to-three",
        None,
        "rest",
        "rest",
    ]


def test_a_rule_whose_other_conditions_fail_claims_nothing() -> None:
    """The next one gets its chance."""
    rules = tuple(
        StoreRule.model_validate({"id": name, "when": when, "then": {"kind": "unavailable"}})
        for name, when in (("reads", {"operation": "read"}), ("third", {"calls": "3+"}))
    )
    found = first_for(rules, 3, operation="write", task=None, life=1)
    assert found is not None
    assert found.id == "third"
    assert first_for(rules, 2, operation="write", task=None, life=1) is None


def test_a_rule_that_fires_is_met_and_told_each_time() -> None:
    """The fact says whose rule it is and on which occasion it fired."""
    facts, met = Facts(), RulesMet()
    for call in ("ask/1", "ask/2"):
        met.fire(facts, rule("one"), "hang", actor="tool", of="tool send", call=call, life=1)
    assert list(met.ids) == ["one"]
    assert facts.told[1] == (
        "tool",
        "fault.fired",
        {"fault": "one", "fault_kind": "hang", "of": "tool send", "call": "ask/2", "life": 1},
    )


def test_what_was_met_survives_a_pickle() -> None:
    """It goes from one life of the subject to the next, which may be another process."""
    met = RulesMet()
    met.fire(Facts(), rule("one"), "hang", actor="tool")
    assert pickle.loads(pickle.dumps(met)) == met


@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=6))
def test_exactly_the_unmet_rules_are_told_at_the_end(plan: list[tuple[bool, bool]]) -> None:
    """In the order of the plan, each with whether it had to be met."""
    rules = tuple(rule(f"r{n}", optional=optional) for n, (_, optional) in enumerate(plan))
    facts, met = Facts(), RulesMet()
    for item, (fires, _) in zip(rules, plan, strict=True):
        if fires:
            met.fire(Facts(), item, "hang", actor="tool")
    seal(facts, rules, met, actor="tool", of="tool send", call=None, life=2)
    assert facts.told == [
        (
            "tool",
            "fault.unmet",
            {
                "fault": f"r{n}",
                "optional": optional,
                "of": "tool send",
                "call": None,
                "life": 2,
            },
        )
        for n, (fires, optional) in enumerate(plan)
        if not fires
    ]
