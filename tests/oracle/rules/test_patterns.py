"""One pass over the events agrees with the definitions; its proofs are as small as can be."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultclock.model.error_model.event_sets import EventPattern
from faultclock.model.error_model.ordering import OrderingRule
from faultclock.model.trace.trace import TraceEvent
from faultclock.oracle.rules.match import matches
from faultclock.oracle.rules.patterns import RuleSet, evaluate
from tests.oracle.brute_force import faults, violated_keys
from tests.oracle.rules.random_rules import (
    APART,
    NAMES,
    OVERLAPPING,
    SETTINGS,
    events_of,
    rule,
    rules,
    traces,
)


@settings(max_examples=500, deadline=None)
@given(rules(bounds=APART | OVERLAPPING), traces(), st.sampled_from([None, "when", "unless"]))
def test_one_pass_agrees_with_the_definitions(
    tested: OrderingRule, events: list[TraceEvent], guard: str | None
) -> None:
    """For every pattern, scope, key, join, bound, guard and history: the same is violated."""
    if guard is not None:
        tested = tested.model_copy(update={guard: EventPattern(kinds=("c",))})
    result = evaluate(tested, events, NAMES, SETTINGS)
    violated = violated_keys(tested, events, NAMES, SETTINGS)
    assert sorted(item.key for item in result.witnesses) == violated
    assert result.judged >= len(result.witnesses)
    assert not (result.silent and result.judged)
    for witness in result.witnesses:
        assert any(not step.agrees for step in witness.order)
        assert all(event in events for event in (*witness.events, *witness.near))


@settings(max_examples=500, deadline=None)
@given(rules(bounds=APART), traces())
def test_a_proof_proves_it_alone_and_nothing_less_does(
    tested: OrderingRule, events: list[TraceEvent]
) -> None:
    """The events of a witness are a violating trace; without any one of them it is none.

    For an automaton, without any one of them another event is wrong, or none.
    """
    first = tested.model_copy(update={"report": "first"})
    for witness in evaluate(tested, events, NAMES, SETTINGS).witnesses:
        (fault,) = faults(first, witness.events, NAMES, SETTINGS)
        assert fault.key == witness.key
        for left_out in witness.events:
            rest = [event for event in witness.events if event is not left_out]
            left = faults(first, rest, NAMES, SETTINGS)
            assert fault not in left if tested.pattern == "automaton" else left == []


@settings(max_examples=100, deadline=None)
@given(st.lists(rules(bounds=APART | OVERLAPPING), max_size=6), traces())
def test_rules_do_not_disturb_each_other(
    tested: list[OrderingRule], events: list[TraceEvent]
) -> None:
    """All rules in one pass come to what each comes to by itself."""
    alone = tuple(evaluate(each, events, NAMES, SETTINGS) for each in tested)
    assert RuleSet(tested, NAMES).evaluate(events, SETTINGS) == alone


@pytest.mark.parametrize(
    ("pattern", "history", "proof", "near"),
    [
        ("absence", "bcaa", [3], []),
        ("existence", "bc", [], []),
        ("exactly_one", "bab", [], []),
        ("exactly_one", "abaa", [1, 3], []),
        ("universality", "abcac", [3], []),
        ("precedence", "caba", [2], []),
        ("response", "abaca", [3], []),
        ("last", "abacb", [4], [3]),
        ("sequence", "aabacb", [3, 4], []),
    ],
)
def test_the_proof_of_each_pattern(
    pattern: str, history: str, proof: list[int], near: list[int]
) -> None:
    """Worked by hand; what only helps to understand is kept apart."""
    events = events_of(*((kind, "ask/1", 0) for kind in history))
    witnesses = evaluate(rule(pattern, per=None), events).witnesses
    assert [event.seq for witness in witnesses for event in witness.events] == proof
    assert [event.seq for witness in witnesses for event in witness.near] == near


@pytest.mark.parametrize(
    ("gap_free", "numbers", "proof"),
    [
        (False, [1, 5, 5], [2, 3]),
        (False, [1, 5, 9], []),
        (True, [0, 1, 3], [2, 3]),
        (True, [7, 8, 9], []),
        (False, [1, None, 0], [2]),
        (False, [True], [1]),
    ],
)
def test_numbers_have_to_rise(gap_free: bool, numbers: list[Any], proof: list[int]) -> None:
    """By more than nothing, or by exactly one; what is no number cannot rise."""
    events = [
        TraceEvent(seq, 0, "x", "a", {"number": number})
        for seq, number in enumerate(numbers, start=1)
    ]
    witnesses = evaluate(rule("increasing", per=None, gap_free=gap_free), events).witnesses
    assert [event.seq for witness in witnesses for event in witness.events] == proof


def test_a_late_answer_is_shown_beside_the_proof() -> None:
    """What was not answered in time is the proof; the answer that came too late explains it."""
    late = rule("response", within="5ns")
    (witness,) = evaluate(late, events_of(("a", "k", 0), ("b", "k", 6))).witnesses
    assert [event.seq for event in witness.events] == [1]
    assert [event.seq for event in witness.near] == [2]
    assert witness.observed == "b came only 6ns after a"
    assert not evaluate(late, events_of(("a", "k", 0), ("b", "k", 5))).witnesses


def test_an_answer_that_comes_too_soon_is_none() -> None:
    """A window has two ends, and a later answer within it is good."""
    slow = rule("response", no_sooner="5ns", within="9ns")
    (witness,) = evaluate(slow, events_of(("a", "k", 0), ("b", "k", 4))).witnesses
    assert witness.observed == "b came already 4ns after a"
    assert not evaluate(slow, events_of(("a", "k", 0), ("b", "k", 4), ("b", "k", 9))).witnesses


def test_what_came_before_may_be_too_old_or_too_fresh() -> None:
    """The same window holds for a precedence, seen from its other end."""
    tested = rule("precedence", no_sooner="2ns", within="4ns")
    (old,) = evaluate(tested, events_of(("b", "k", 0), ("a", "k", 5))).witnesses
    assert old.observed == "b came as long as 5ns before a"
    (fresh,) = evaluate(tested, events_of(("b", "k", 0), ("a", "k", 1))).witnesses
    assert fresh.observed == "b came only 1ns before a"
    assert not evaluate(tested, events_of(("b", "k", 0), ("a", "k", 4))).witnesses


def test_expected_and_observed_stand_side_by_side() -> None:
    """The bounds agree; the first step that does not is where the orders part."""
    tested = rule("existence", scope={"after": {"kinds": ["open"]}, "before": {"kinds": ["close"]}})
    events = events_of(("open", "k", 1), ("b", "k", 2), ("close", "k", 3))
    (witness,) = evaluate(tested, events).witnesses
    rows = [(step.expected, step.observed, step.seq, step.agrees) for step in witness.order]
    assert rows == [
        ("open", "open", 1, True),
        ("a", "", None, False),
        ("close", "close", 3, True),
    ]


def test_a_kill_forgives_what_was_due_and_no_more() -> None:
    """A dead process answers nothing; what it did wrong before stays wrong."""
    killed = TraceEvent(9, 9, "harness", "process.crashed", {"life": 1})
    open_ = events_of(("a", "k", 0))
    assert not evaluate(rule("response"), [*open_, killed]).witnesses
    assert evaluate(rule("response"), open_).witnesses
    assert evaluate(rule("response", scope={"lives": "all"}), [*open_, killed]).witnesses
    assert evaluate(rule("absence"), [*open_, killed]).witnesses


def test_a_graceful_restart_forgives_nothing() -> None:
    """Whoever was told to close had the time to finish."""
    reborn = TraceEvent(9, 9, "harness", "process.started", {"life": 2})
    assert evaluate(rule("response"), [*events_of(("a", "k", 0)), reborn]).witnesses


def test_a_guard_says_why_a_rule_is_silent() -> None:
    """A rule that does not apply judges nothing, whatever happened."""
    events = events_of(("a", "k", 0))
    wanted = evaluate(rule("absence", when={"kinds": ["c"]}), events)
    assert (wanted.judged, wanted.witnesses) == (0, ())
    assert wanted.silent.startswith("c did not happen")
    unwanted = evaluate(rule("absence", unless={"kinds": ["a"]}), events)
    assert unwanted.silent.startswith("a happened")


def test_a_pattern_matches_by_kind_and_by_nested_fields() -> None:
    """Fields are named by dotted paths; a true is not a one, and a null is not there."""
    event = TraceEvent(
        1, 0, "x", "k", {"record": {"attempt": 1, "code": None}, "retry": True, "chain": [{"c": 7}]}
    )
    assert matches(EventPattern(kinds=("k",), where={"record.attempt": 1}), event)
    assert matches(EventPattern(kinds=("k",), where={"record.attempt": (3, 1)}), event)
    assert matches(EventPattern(kinds=("k",), where={"chain.0.c": 7}), event)
    assert not matches(EventPattern(kinds=("k",), where={"chain.1.c": 7}), event)
    assert matches(EventPattern(kinds=("k",), where={"retry": True}), event)
    assert not matches(EventPattern(kinds=("k",), where={"retry": 1}), event)
    assert not matches(EventPattern(kinds=("k",), where={"record": "x"}), event)
    assert not matches(EventPattern(kinds=("k",), where={"record.attempt": 2}), event)
    assert matches(EventPattern(kinds=("k",), has=("record.attempt",)), event)
    assert not matches(EventPattern(kinds=("k",), has=("record.code",)), event)
    assert not matches(EventPattern(kinds=("k",), has=("record.attempt.deeper",)), event)
    assert not matches(EventPattern(kinds=("other",)), event)


def test_a_star_stands_for_anything_and_nothing_else_is_special() -> None:
    """Dots and brackets in a name mean themselves."""
    event = TraceEvent(1, 0, "x", "k", {"stage": "sm:draft.1:Setup", "number": 1})
    assert matches(EventPattern(kinds=("k",), like={"stage": "sm:*:Setup"}), event)
    assert matches(EventPattern(kinds=("k",), like={"stage": "sm:draft.1:*"}), event)
    assert not matches(EventPattern(kinds=("k",), like={"stage": "sm:draft?1:*"}), event)
    assert not matches(EventPattern(kinds=("k",), like={"number": "*"}), event)


def test_a_rule_that_uses_no_names_needs_none() -> None:
    """Its sets of events say all of it."""
    result = evaluate(rule("absence"), events_of(("a", "x", 0)))
    assert [len(witness.events) for witness in result.witnesses] == [1]


def test_what_comes_after_a_kill_belongs_to_no_life() -> None:
    """Until the next life begins nothing is judged; from then on everything is, once more."""
    killed = TraceEvent(1, 1, "harness", "process.crashed", {"life": 1})
    reborn = TraceEvent(4, 4, "harness", "process.started", {"life": 2})
    after = [TraceEvent(2, 2, "x", "a", {"call": "k"}), TraceEvent(3, 3, "x", "b", {"call": "k"})]
    later = TraceEvent(5, 5, "x", "a", {"call": "k"})
    assert not evaluate(rule("absence"), [killed, *after]).witnesses
    (witness,) = evaluate(rule("absence"), [killed, *after, reborn, later]).witnesses
    assert witness.events == (later,)
    both = evaluate(rule("absence", scope={"lives": "all"}), [killed, *after]).witnesses
    assert [item.events for item in both] == [(after[0],)]
