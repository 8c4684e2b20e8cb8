"""The page on ordering rules is true: each of its examples is run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from faultclock.model.error_model.event_sets import EventPattern
from faultclock.model.error_model.lookup import CountLookup, TimeLookup
from faultclock.model.error_model.ordering import Move, OrderingRule, Pattern, Scope
from faultclock.model.scenario.scenario import scenario_of
from faultclock.model.trace.events import DERIVED_KINDS, EVENTS
from faultclock.oracle.checks.rules.rows import EXTENSION_CHECKS, RUNTIME_CHECKS, TOOL_CHECKS
from faultclock.oracle.rules.figures import settings_of
from faultclock.oracle.rules.patterns import evaluate
from tests.oracle.brute_force import violated_keys
from tests.oracle.mini_trace import NAMES, events_of

PAGE = (Path(__file__).parents[2] / "docs" / "ordering.md").read_text("utf-8")
_BODY = r"((?:(?!```).)*)"
EXAMPLES = re.findall(
    rf"^```yml\n{_BODY}^```\n```text\npasses: {_BODY}\nfails: {_BODY}\nproof: {_BODY}\n```$",
    PAGE,
    re.MULTILINE | re.DOTALL,
)
RULES = [yaml.safe_load(text) for text in re.findall(r"^```yml\n(.*?)^```$", PAGE, re.M | re.S)]

#: The scenario that the page speaks of.
SETTINGS = settings_of(
    scenario_of(
        {
            "id": "tests/page",
            "title": "The page",
            "why": "Its examples look figures up.",
            "role": "runtime",
            "tools": [{"name": "ls", "timeout": "5s"}],
            "session": {"budgets": {"steps_max": 2}},
        }
    )
)


def rule(values: dict[str, Any]) -> OrderingRule:
    """Return a rule of the page, complete."""
    missing = {"id": "example", "says": "It holds.", "requirement": "X-1"}
    return OrderingRule.model_validate(missing | values)


@pytest.mark.parametrize(("text", "passes", "fails", "proof"), EXAMPLES)
def test_an_example_does_what_the_page_says(text: str, passes: str, fails: str, proof: str) -> None:
    """The first trace keeps the rule, having been judged; the second breaks it, with that proof."""
    tested = rule(yaml.safe_load(text))
    kept = evaluate(tested, events_of(passes), NAMES, SETTINGS)
    assert (kept.witnesses, kept.judged > 0) == ((), True)
    (witness,) = evaluate(tested, events_of(fails), NAMES, SETTINGS).witnesses
    assert [event.seq for event in witness.events] == [int(number) for number in proof.split()]
    assert violated_keys(tested, events_of(fails), NAMES, SETTINGS) == [witness.key]


def test_each_pattern_has_its_example() -> None:
    """None is left to be guessed."""
    shown = {yaml.safe_load(example[0])["pattern"] for example in EXAMPLES}
    assert shown == set(get_args(Pattern))


def test_each_key_of_the_language_is_on_the_page() -> None:
    """A rule's author finds every word there."""
    for model in (OrderingRule, Scope, EventPattern, Move, TimeLookup, CountLookup):
        for name in (field.alias or name for name, field in model.model_fields.items()):
            assert re.search(rf"[`{{ ]{name}[`:]|^{name}:", PAGE, re.MULTILINE), name


def test_each_derived_event_is_on_the_page() -> None:
    """With its fields, so that a rule can speak of it."""
    rows = dict(re.findall(r"^\| `([a-z]+\.[a-z]+)` \| ([^|]+) \|", PAGE, re.MULTILINE))
    called = EVENTS["tool.called"].fields
    fields = {
        kind: {name for name in re.split(r", ", said.strip()) if "`" not in name}
        | (set(called) if "`tool.called`" in said else set())
        for kind, said in rows.items()
    }
    assert fields == DERIVED_KINDS


def test_the_checks_that_are_rows_are_on_the_page() -> None:
    """A reader who looks for their code finds what they are instead."""
    (named,) = re.findall(r"The checks ([^.]+(?:\.[^.]+)*?) are such rules", PAGE)
    assert set(re.findall(r"`([^`]+)`", named)) == {
        check.id for check in (*RUNTIME_CHECKS, *TOOL_CHECKS, *EXTENSION_CHECKS)
    }


def test_the_names_on_the_page_are_those_of_the_model() -> None:
    """The map that is shown is a piece of the shipped one."""
    (events,) = (values["events"] for values in RULES if "events" in values)
    for name, pattern in events.items():
        assert EventPattern.model_validate(pattern) == NAMES[name]
