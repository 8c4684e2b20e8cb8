"""Joins and one-to-one: which event is good for which, and what a finding says of a near miss."""

from __future__ import annotations

from typing import Any

import pytest

from faultclock.model.trace.trace import TraceEvent
from faultclock.oracle.rules.patterns import PatternResult, evaluate
from tests.oracle.rules.random_rules import rule

#: A kind and a payload.
Item = tuple[str, dict[str, Any]]


def judged(pattern: str, *items: Item, **changes: Any) -> PatternResult:
    """Return what a rule about `a` and `b` comes to; items are (kind, payload), 1 ns apart."""
    events = [TraceEvent(seq, seq, "x", *item) for seq, item in enumerate(items, start=1)]
    return evaluate(rule(pattern, per=None, **changes), events)


@pytest.mark.parametrize(
    ("event", "other", "joined"),
    [
        ({"x": 1}, {"x": 1}, True),
        ({"x": 1}, {"x": 2}, False),
        ({"x": 1}, {"x": True}, False),
        ({"x": "1"}, {"x": 1}, False),
        ({}, {"x": 1}, False),
        ({"x": None}, {"x": None}, False),
        ({"x": {"y": 1}}, {"x": {"y": 1}}, True),
        ({"x": {"y": 1}}, {"x": {"y": 2}}, False),
        ({"x": {"y": 1, "z": 2}}, {"x": {"z": 2, "y": 1}}, True),
        ({"x": ["p", "q"]}, {"x": "q"}, True),
        ({"x": ("p", "q")}, {"x": "q"}, True),
        ({"x": ["p", "q"]}, {"x": ["q", "r"]}, True),
        ({"x": []}, {"x": []}, False),
    ],
)
@pytest.mark.parametrize("pattern", ["precedence", "response"])
def test_two_events_are_joined_by_equal_values(
    pattern: str, event: dict[str, Any], other: dict[str, Any], joined: bool
) -> None:
    """A list has each of its items as a value; what is missing equals nothing."""
    items: list[Item] = [("a", event), ("b", other)]
    if pattern == "precedence":
        items.reverse()
    result = judged(pattern, *items, same=["x"])
    assert (not result.witnesses) is joined
    assert result.judged == 1


@pytest.mark.parametrize(
    ("event", "other", "joined"),
    [
        ({"class": "C", "target": "t"}, {"record": {"class": "C"}, "about": "t"}, True),
        ({"class": "C", "target": "t"}, {"record": {"class": "C"}, "about": "u"}, False),
        ({"class": "C"}, {"record": {"class": "C"}, "about": "u"}, True),
        ({"class": "C", "target": "t"}, {"record": {"class": "C"}}, False),
        ({"target": "t"}, {"record": {}, "about": "t"}, False),
    ],
)
def test_an_optional_field_asks_for_nothing_where_it_is_missing(
    event: dict[str, Any], other: dict[str, Any], joined: bool
) -> None:
    """A failure without a target needs no record of a certain one; the other way round it does."""
    same = {"record.class": "class", "about": "target"}
    result = judged("response", ("a", event), ("b", other), same=same, optional=["target"])
    assert (not result.witnesses) is joined


@pytest.mark.parametrize("pattern", ["precedence", "response"])
def test_a_field_that_both_events_may_lack(pattern: str) -> None:
    """The same name on both sides is optional on both."""
    items: list[Item] = [("b", {}), ("a", {"x": 1}), ("b", {})]
    assert not judged(pattern, *items, same=["x"], optional=["x"]).witnesses
    assert judged(pattern, *items, same=["x"]).witnesses
    other: list[Item] = [("b", {"x": 2}), ("a", {"x": 1}), ("b", {"x": 2})]
    assert judged(pattern, *other, same=["x"], optional=["x"]).witnesses


def test_one_other_may_be_good_for_one_event_only() -> None:
    """Without `one_to_one` a single answer is good for both; with it the later one has none."""
    items: list[Item] = [("a", {}), ("a", {}), ("b", {})]
    assert not judged("response", *items).witnesses
    (witness,) = judged("response", *items, one_to_one=True).witnesses
    assert [event.seq for event in witness.events] == [2]
    assert [event.seq for event in witness.near] == [3]
    assert witness.observed == "no b followed a that is not used up: b is"
    twice: list[Item] = [("b", {}), ("a", {}), ("a", {})]
    assert not judged("precedence", *twice).witnesses
    (witness,) = judged("precedence", *twice, one_to_one=True).witnesses
    assert [event.seq for event in witness.events] == [3]
    assert witness.observed == "no b came before a that is not used up: b is"


def test_an_answer_that_is_too_late_for_one_event_is_kept_for_another() -> None:
    """What has run out does not use up what another one still needs."""
    items: list[Item] = [("a", {}), ("c", {}), ("c", {}), ("a", {}), ("b", {})]
    (witness,) = judged("response", *items, one_to_one=True, within="2ns").witnesses
    assert [event.seq for event in witness.events] == [1]


@pytest.mark.parametrize("pattern", ["precedence", "response"])
def test_a_near_miss_says_what_differs(pattern: str) -> None:
    """The nearest other is cited beside the proof, with the field that keeps it from counting."""
    items: list[Item] = [("a", {"class": "Session"}), ("b", {"record": {"class": "Cancellation"}})]
    if pattern == "precedence":
        items.reverse()
    (witness,) = judged(pattern, *items, same={"record.class": "class"}).witnesses
    assert len(witness.events) == len(witness.near) == 1
    assert witness.observed.startswith("no b with the same class ")
    assert witness.observed.endswith("b has record.class Cancellation and not Session")
    assert [step.agrees for step in witness.order].count(False) == 1


def test_every_violation_can_be_a_finding() -> None:
    """Each event without an answer is named, and not the first one of its stretch."""
    items: list[Item] = [("a", {"x": 1}), ("a", {"x": 2}), ("a", {"x": 3}), ("b", {"x": 2})]
    found = judged("response", *items, same=["x"], report="every")
    assert [witness.events[0].seq for witness in found.witnesses] == [1, 3]
    assert found.judged == 3
    assert len(judged("response", *items, same=["x"]).witnesses) == 1


def test_a_sequence_compares_only_what_is_the_same() -> None:
    """Two of them may overlap, each is in order by itself, and what has no field is passed over."""
    fine: list[Item] = [("a", {"x": 1}), ("b", {"x": 1}), ("a", {"x": 2}), ("a", {})]
    assert not judged("sequence", *fine, same=["x"]).witnesses
    assert judged("sequence", *fine).witnesses
    (witness,) = judged("sequence", *fine, ("a", {"x": 1}), same=["x"]).witnesses
    assert [event.seq for event in witness.events] == [2, 5]


def test_of_events_under_several_keys_the_one_that_was_ready_first_is_answered() -> None:
    """In whatever order the other names its values."""
    for first, second in (("p", "q"), ("q", "p")):
        items: list[Item] = [("a", {"x": first}), ("a", {"x": second}), ("b", {"x": ["p", "q"]})]
        (witness,) = judged("response", *items, same=["x"], one_to_one=True).witnesses
        assert [event.seq for event in witness.events] == [2]


def test_the_words_speak_of_a_bound_only_where_it_is_broken() -> None:
    """An answer in time that another event has used up is not late, whenever that is."""
    items: list[Item] = [("c", {}), ("a", {}), ("a", {}), ("b", {})]
    for changes in ({}, {"within": "3ns"}, {"no_sooner": "1ns"}):
        (witness,) = judged("response", *items, one_to_one=True, **changes).witnesses
        assert witness.observed == "no b followed a that is not used up: b is"
        assert [step.expected for step in witness.order] == ["a", "b"]
