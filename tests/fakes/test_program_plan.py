"""Which rule an execution of a program meets: by its words, and by how often it had such words."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultclock.fakes.ports.program_plan import (
    ProgramCounts,
    ProgramPlan,
    counted,
    decide,
    fault_kind_of,
)
from faultclock.model.scenario.program_script import ProgramOutcome, ProgramScript


def script(*rules: dict[str, Any]) -> ProgramScript:
    """Return a program named `agent`; its rules are r1, r2..."""
    named = [{"id": f"r{number}", "then": {}, **rule} for number, rule in enumerate(rules, 1)]
    return ProgramScript.model_validate({"name": "agent", "rules": named})


def rules_met(program: ProgramScript, *executions: str) -> list[str | None]:
    """Return the id of the rule of each execution, whose arguments are given as one text."""
    counts = ProgramCounts()
    met: list[str | None] = []
    for arguments in executions:
        counts, plan = decide(program, counts, arguments.split())
        met.append(None if plan.rule is None else plan.rule.id)
    return met


def test_without_a_rule_it_does_what_is_good() -> None:
    """And is numbered among its own executions, and among all runs."""
    counts, plan = decide(script(), ProgramCounts(runs=4, executions={"agent": 1}), ())
    assert plan == ProgramPlan(run="p5", number=2, rule=None, outcome=script().good)
    assert counts == ProgramCounts(runs=5, executions={"agent": 2})


def test_the_first_rule_that_matches_decides() -> None:
    """By number, from the top."""
    program = script({"executions": "2"}, {"executions": "1-3"})
    assert rules_met(program, *[""] * 4) == ["r2", "r1", "r2", None]


def test_a_rule_counts_only_executions_with_its_words() -> None:
    """The second review is the third execution."""
    program = script({"executions": "2", "arguments": ["review"]})
    assert rules_met(program, "review", "test", "review", "review") == [None, None, "r1", None]


def test_a_rule_counts_executions_that_another_rule_decided() -> None:
    """Its number is that of the occasion, not of its own turns."""
    program = script({"executions": "1", "arguments": ["a"]}, {"executions": "2"})
    assert rules_met(program, "a", "b", "b") == ["r1", "r2", None]


@pytest.mark.parametrize(
    ("arguments", "matches"),
    [
        (["-p", "please review it"], True),
        (["-p", "please  review\nit"], True),
        (["review"], True),
        (["reviewer"], False),
        (["--mode=review"], False),
        ([], False),
    ],
)
def test_a_word_is_an_argument_or_a_word_of_one(arguments: list[str], matches: bool) -> None:
    """A prompt is one argument of many words; a part of a word is none."""
    _, plan = decide(script({"arguments": ["review"]}), ProgramCounts(), arguments)
    assert (plan.rule is not None) is matches


def test_a_rule_may_name_a_whole_argument_with_spaces() -> None:
    """As it was given."""
    _, plan = decide(script({"arguments": ["say hello"]}), ProgramCounts(), ["-p", "say hello"])
    assert plan.rule is not None


def test_all_words_of_a_rule_must_be_there() -> None:
    """In any order, and with others between them."""
    program = script({"arguments": ["b", "a"]})
    assert rules_met(program, "a", "b", "a x b") == [None, None, "r1"]


def test_a_missing_program_is_an_execution_and_no_run() -> None:
    """There is nothing that could be told of by a number."""
    counts, plan = decide(script({"then": {"missing": True}}), ProgramCounts(), ())
    assert (plan.run, plan.number, counts.runs, counts.executions) == ("", 1, 0, {"agent": 1})


def test_a_program_that_nobody_knows_is_counted_too() -> None:
    """By its name."""
    assert counted(counted(ProgramCounts(), "x"), "x").executions == {"x": 2}


@pytest.mark.parametrize(
    ("outcome", "kind"),
    [
        ({"missing": True, "hangs": True}, "missing"),
        ({"hangs": True, "means": "cut"}, "hang"),
        ({"signal": "SIGKILL"}, "signal"),
        ({"means": "quota", "status": 1}, "quota"),
        ({"status": 2}, "exit"),
        ({}, "output"),
    ],
)
def test_a_fault_has_the_name_of_what_is_wrong(outcome: dict[str, Any], kind: str) -> None:
    """The gravest first."""
    assert fault_kind_of(ProgramOutcome.model_validate(outcome)) == kind


_WORDS = st.sampled_from(["a", "b", "c"])
_RULES = st.lists(
    st.fixed_dictionaries(
        {
            "executions": st.sampled_from(["every", "1", "2", "1-2", "2+"]),
            "arguments": st.lists(_WORDS, max_size=2),
            "then": st.fixed_dictionaries({"missing": st.booleans()}),
        }
    ),
    max_size=4,
)


@given(_RULES, st.lists(st.lists(_WORDS, max_size=3), max_size=8))
def test_every_decision_follows_from_the_executions_before_it(
    rules: list[dict[str, Any]], executions: list[list[str]]
) -> None:
    """Said in another way: look back over all executions, and count."""
    program = script(*rules)
    counts = ProgramCounts()
    runs = 0
    for index, words in enumerate(executions):
        expected = None
        for rule in program.rules:
            occasions = [
                past for past in executions[: index + 1] if set(rule.arguments) <= set(past)
            ]
            if set(rule.arguments) <= set(words) and len(occasions) in rule.executions:
                expected = rule
                break
        counts, plan = decide(program, counts, words)
        runs += not plan.outcome.missing
        assert plan.rule == expected
        assert plan.number == index + 1
        assert plan.run == ("" if plan.outcome.missing else f"p{runs}")
        assert counts.runs == runs
