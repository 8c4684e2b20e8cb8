"""The one pass over the events agrees with the definition of each pattern, read naively."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.model.error_model import EventPattern, OrderingRule
from harness.model.trace import TraceEvent
from harness.oracle.patterns import evaluate, matches

KINDS = ("a", "b", "c", "open", "close")


def rule(pattern: str, **changes: Any) -> OrderingRule:
    """Return a rule about `a`, with `b` as its other and `a`, `c` as what it is among."""
    values: dict[str, Any] = {
        "id": "r",
        "pattern": pattern,
        "event": {"kinds": ["a"]},
        "other": {"kinds": ["b"]},
        "among": {"kinds": ["a", "c"]},
        "says": "It holds.",
        "requirement": "X-1",
    }
    return OrderingRule.model_validate(values | changes)


def events_of(*items: tuple[str, str, int]) -> list[TraceEvent]:
    """Return events of (kind, call, time)."""
    return [
        TraceEvent(seq, at_ns, "x", kind, {"call": call})
        for seq, (kind, call, at_ns) in enumerate(items, start=1)
    ]


# The definitions, read naively: a list of stretches for each key, then a quantifier over each.


def stretches(rule_: OrderingRule, events: list[TraceEvent]) -> list[list[TraceEvent]]:
    """Return every stretch of one key's events in which the rule holds."""
    scope = rule_.scope
    if scope.after is None and scope.before is None:
        return [events] if events else []
    found, index = [], 0
    if scope.after is None:
        assert scope.before is not None
        ends = [i for i, event in enumerate(events) if matches(scope.before, event)]
        if ends:
            return [events[: ends[0]]]
        return [events] if events and scope.until_end else []
    while True:
        starts = [i for i in range(index, len(events)) if matches(scope.after, events[i])]
        if not starts:
            return found
        start = starts[0]
        if scope.before is None:
            return [events[start + 1 :]]
        ends = [i for i in range(start + 1, len(events)) if matches(scope.before, events[i])]
        if not ends:
            return [*found, events[start + 1 :]] if scope.until_end else found
        found.append(events[start + 1 : ends[0]])
        # The event that closes one stretch may open the next.
        index = ends[0]


def holds(rule_: OrderingRule, stretch: list[TraceEvent]) -> bool:
    """Return whether the rule holds in a stretch, by its definition."""

    def is_event(event: TraceEvent) -> bool:
        return event.kind == "a"

    def is_other(event: TraceEvent) -> bool:
        return event.kind == "b"

    def is_among(event: TraceEvent) -> bool:
        return event.kind in ("a", "c")

    count = sum(map(is_event, stretch))
    match rule_.pattern:
        case "absence":
            return count == 0
        case "existence":
            return count > 0
        case "exactly_one":
            return count == 1
        case "universality":
            return all(is_event(event) for event in stretch if is_among(event))
        case "precedence":
            return all(
                any(is_other(earlier) for earlier in stretch[:index])
                for index, event in enumerate(stretch)
                if is_event(event)
            )
        case "response":
            return all(
                any(
                    is_other(later)
                    and (rule_.within is None or later.at_ns - event.at_ns <= rule_.within)
                    for later in stretch[index + 1 :]
                )
                for index, event in enumerate(stretch)
                if is_event(event)
            )
        case "last":
            among = [event for event in stretch if is_among(event)]
            return not among or is_event(among[-1])


scopes = st.sampled_from(
    [
        {},
        {"after": {"kinds": ["open"]}},
        {"before": {"kinds": ["close"]}},
        {"before": {"kinds": ["close"]}, "until_end": True},
        {"after": {"kinds": ["open"]}, "before": {"kinds": ["close"]}},
        {"after": {"kinds": ["open"]}, "before": {"kinds": ["close"]}, "until_end": True},
        {"after": {"kinds": ["open"]}, "before": {"kinds": ["open", "close"]}},
    ]
)
patterns = st.sampled_from(
    ["absence", "existence", "exactly_one", "universality", "precedence", "response", "last"]
)
histories = st.lists(
    st.tuples(st.sampled_from(KINDS), st.sampled_from(("ask/1", "ask/2")), st.integers(0, 3)),
    max_size=14,
)


@given(patterns, scopes, histories, st.sampled_from([None, "2ns"]), st.booleans())
def test_one_pass_agrees_with_the_definition(
    pattern: str,
    scope: dict[str, Any],
    history: list[tuple[str, str, int]],
    within: str | None,
    keyed: bool,
) -> None:
    """For every pattern, scope and history: the same keys are violated, each with a witness."""
    changes: dict[str, Any] = {"scope": scope, "per": "call" if keyed else None}
    if within is not None:
        changes["within"] = within
    tested = rule(pattern, **changes)
    at_ns, items = 0, []
    for kind, call, delta in history:
        at_ns += delta
        items.append((kind, call, at_ns))
    events = events_of(*items)
    keys = {event.payload["call"] for event in events} if keyed else {""}
    expected = sorted(
        key
        for key in keys
        for stretch in stretches(
            tested, [event for event in events if not keyed or event.payload["call"] == key]
        )
        if not holds(tested, stretch)
    )
    result = evaluate(tested, events)
    assert sorted(witness.key for witness in result.witnesses) == expected
    assert result.judged >= len(result.witnesses)
    for witness in result.witnesses:
        assert len(witness.events) <= 3
        assert all(event in events for event in witness.events)


@pytest.mark.parametrize(
    ("pattern", "history", "proof"),
    [
        ("absence", "bcaa", [3]),
        ("exactly_one", "bab", []),
        ("exactly_one", "abaa", [1, 3]),
        ("universality", "abcac", [3]),
        ("precedence", "caba", [2]),
        ("response", "abaca", [3]),
        ("last", "abacb", [3, 4]),
    ],
)
def test_the_proof_is_as_small_as_it_can_be(pattern: str, history: str, proof: list[int]) -> None:
    """The events that are shown suffice to see the violation; none could be left out."""
    result = evaluate(rule(pattern), events_of(*((kind, "ask/1", 0) for kind in history)))
    assert [event.seq for witness in result.witnesses for event in witness.events] == proof


def test_a_late_answer_is_shown_with_what_it_answers() -> None:
    """Both ends of the window are the proof."""
    late = rule("response", within="5ns")
    result = evaluate(late, events_of(("a", "k", 0), ("b", "k", 6)))
    assert [event.seq for event in result.witnesses[0].events] == [1, 2]
    assert not evaluate(late, events_of(("a", "k", 0), ("b", "k", 5))).witnesses


def test_a_pattern_matches_by_kind_and_by_nested_fields() -> None:
    """Fields are named by dotted paths; a true is not a one, and a null is not there."""
    event = TraceEvent(1, 0, "x", "k", {"record": {"attempt": 1, "code": None}, "retry": True})
    assert matches(EventPattern(kinds=("k",), where={"record.attempt": 1}), event)
    assert matches(EventPattern(kinds=("k",), where={"retry": True}), event)
    assert not matches(EventPattern(kinds=("k",), where={"retry": 1}), event)
    assert not matches(EventPattern(kinds=("k",), where={"record.attempt": 2}), event)
    assert matches(EventPattern(kinds=("k",), has=("record.attempt",)), event)
    assert not matches(EventPattern(kinds=("k",), has=("record.code",)), event)
    assert not matches(EventPattern(kinds=("k",), has=("record.attempt.deeper",)), event)
    assert not matches(EventPattern(kinds=("other",)), event)
