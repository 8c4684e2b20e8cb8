"""The last event of a set, and numbers that rise: what is judged, and what is said of it."""

from __future__ import annotations

from typing import Any

import pytest

from faultclock.model.trace.trace import TraceEvent
from faultclock.oracle.rules.patterns import PatternResult, evaluate
from tests.oracle.rules.random_rules import events_of, rule


def ended(history: str, **changes: Any) -> PatternResult:
    """Return what comes of a history whose last `a` or `c` has to be an `a`."""
    kinds = {"!": "process.crashed"}
    events = events_of(*((kinds.get(letter, letter), "k", 0) for letter in history))
    return evaluate(rule("last", per=None, **changes), events)


@pytest.mark.parametrize(
    ("history", "is_right"), [("ca", True), ("ac", False), ("c", False), ("aca", True)]
)
def test_the_last_one_of_a_set_is_the_one_that_is_wanted(history: str, is_right: bool) -> None:
    """It is one judgement, however many there were."""
    found = ended(history)
    assert (found.judged, not found.witnesses) == (1, is_right)


def test_only_an_event_of_the_set_can_be_its_last() -> None:
    """What is wanted may be wider than the set of which it is to be the last."""
    (witness,) = ended("ab", event={"kinds": ["b"]}).witnesses
    assert witness.observed == "the last one was a"
    assert [step.expected for step in witness.order] == ["b at the end"]
    (witness,) = ended("ac").witnesses
    assert [step.expected for step in witness.order] == ["a", "nothing more"]


@pytest.mark.parametrize("history", ["", "b", "ac!", "c!"])
def test_a_last_one_that_never_came_or_that_a_crash_cut_off_is_not_judged(history: str) -> None:
    """More of them might have followed."""
    found = ended(history)
    assert (found.judged, found.witnesses) == (0, ())


@pytest.mark.parametrize(
    ("gap_free", "wanted"), [(True, "a with the next number"), (False, "a with a greater number")]
)
@pytest.mark.parametrize("by", ["number", "deep.number"])
def test_the_words_name_the_field_and_what_its_number_should_be(
    gap_free: bool, wanted: str, by: str
) -> None:
    """The field by its own name, however deep it lies."""
    payload: dict[str, Any] = {"number": 4, "deep": {"number": 4}}
    events = [TraceEvent(seq, 0, "x", "a", payload) for seq in (1, 2)]
    (witness,) = evaluate(rule("increasing", per=None, by=by, gap_free=gap_free), events).witnesses
    assert witness.observed == "4 came after 4"
    assert [(step.expected, step.agrees) for step in witness.order] == [
        ("a", True),
        (wanted, False),
    ]


def test_what_begins_a_stretch_needs_no_number_when_it_comes_again() -> None:
    """Only the events that are to rise have one."""
    events = [
        TraceEvent(seq, 0, "x", kind, {"number": seq} if kind == "a" else {})
        for seq, kind in enumerate(["open", "a", "open", "a"], start=1)
    ]
    found = evaluate(rule("increasing", per=None, scope={"after": {"kinds": ["open"]}}), events)
    assert (found.judged, found.witnesses) == (1, ())
