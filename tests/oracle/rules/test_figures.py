"""Bounds that are looked up: in the event that comes first, and in the scenario."""

from __future__ import annotations

from typing import Any

import pytest

from faultclock.model.scenario.scenario import scenario_of
from faultclock.model.trace.trace import TraceEvent
from faultclock.oracle.rules.figures import settings_of
from faultclock.oracle.rules.patterns import PatternResult, evaluate
from tests.oracle.rules.random_rules import SETTINGS, rule


def answered(after_ns: int, payload: dict[str, Any], *, within: Any) -> PatternResult:
    """Return what comes of an `a` with `payload` that is answered after so many nanoseconds."""
    events = [TraceEvent(1, 0, "x", "a", payload), TraceEvent(2, after_ns, "x", "b", {})]
    return evaluate(rule("response", per=None, within=within), events, None, SETTINGS)


@pytest.mark.parametrize(
    ("within", "payload", "bound_ns"),
    [
        ("wait", {"wait": 7}, 7),
        ("deep.wait", {"deep": {"wait": "7ns"}}, 7),
        ({"of": "wait", "plus": "2ns"}, {"wait": 5}, 7),
        ({"of": "wait", "plus": "-2ns"}, {"wait": 9}, 7),
        ({"of": "wait", "plus": "-9ns"}, {"wait": 5}, 0),
        ({"of": "wait", "default": "7ns"}, {}, 7),
        ({"of": "wait", "default": "7ns"}, {"wait": True}, 7),
        ("scenario.tools.{tool}.timeout", {"tool": "y"}, 3),
        ({"of": "scenario.tools.{tool}.timeout", "default": "7ns"}, {"tool": "z"}, 7),
        ("network.round_trip", {}, 2),
    ],
)
def test_a_bound_is_read_where_the_rule_says(
    within: Any, payload: dict[str, Any], bound_ns: int
) -> None:
    """At the bound the answer is good, and one nanosecond later it is not."""
    assert not answered(bound_ns, payload, within=within).witnesses
    (witness,) = answered(bound_ns + 1, payload, within=within).witnesses
    assert witness.observed == f"b came only {bound_ns + 1}ns after a"


def test_an_event_without_a_bound_is_not_judged() -> None:
    """Nothing is green by that, and nothing red."""
    result = answered(99, {}, within="wait")
    assert (result.judged, result.witnesses, result.silent) == (0, (), "")
    result = answered(99, {"tool": "z"}, within="scenario.tools.{tool}.timeout")
    assert (result.judged, result.witnesses) == (0, ())


def test_a_rule_whose_bound_is_not_set_says_so() -> None:
    """A setting that is the same for all events is missing for all of them."""
    result = answered(99, {}, within="scenario.session.budgets.wall_time")
    assert (result.judged, result.witnesses) == (0, ())
    assert result.silent.startswith("there is no scenario.session.budgets.wall_time")


@pytest.mark.parametrize(
    ("pattern", "bound", "setting"),
    [
        ("response", "within", "scenario.session.budgets.wall_time"),
        ("precedence", "no_sooner", "scenario.session.budgets.wall_time"),
        ("at_most", "limit", "scenario.session.budgets.tokens_max"),
    ],
)
def test_each_bound_that_is_not_set_silences_its_rule(
    pattern: str, bound: str, setting: str
) -> None:
    """Without it there is nothing to compare with."""
    tested = rule(pattern, per=None, **{bound: setting})
    result = evaluate(tested, [TraceEvent(1, 0, "x", "a", {})], None, SETTINGS)
    assert (result.judged, result.witnesses) == (0, ())
    assert result.silent.startswith(f"there is no {setting}")


@pytest.mark.parametrize("known", [True, False])
def test_what_an_unknown_window_allows_is_not_judged(known: bool) -> None:
    """An `other` that does not say how long it is good may be good for what follows."""
    before = TraceEvent(1, 0, "x", "b", {"wait": 1} if known else {})
    tested = rule("precedence", per=None, within="wait")
    result = evaluate(tested, [before, TraceEvent(2, 9, "x", "a", {})])
    assert (len(result.witnesses), result.judged) == ((1, 1) if known else (0, 0))


def test_what_waits_the_shortest_is_ready_first() -> None:
    """Each event has a time of its own, so a later one may be answered before an earlier one."""
    tested = rule("response", per=None, no_sooner="wait", one_to_one=True)
    events = [
        TraceEvent(1, 0, "x", "a", {"wait": 9}),
        TraceEvent(2, 1, "x", "a", {"wait": 1}),
        TraceEvent(3, 5, "x", "b", {}),
    ]
    (witness,) = evaluate(tested, events).witnesses
    assert [event.seq for event in witness.events] == [1]
    assert witness.observed == "b came already 5ns after a"


def test_a_round_trip_is_the_longest_way_there_and_back() -> None:
    """The latency and all of its jitter, twice."""
    provider = {"latency": "3ns", "jitter": "2ns"}
    text = {"id": "tests/far", "title": "Far", "why": "It takes long.", "role": "provider_adapter"}
    scenario = scenario_of({**text, "provider": provider})
    assert settings_of(scenario)["network"] == {"round_trip": 10}
