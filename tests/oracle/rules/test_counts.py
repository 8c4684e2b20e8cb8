"""Counting: no more than so many, of each key, stretch and combination of values."""

from __future__ import annotations

from typing import Any

import pytest

from faultclock.model.trace.trace import TraceEvent
from faultclock.oracle.rules.patterns import PatternResult, evaluate
from tests.oracle.rules.random_rules import SETTINGS, events_of, rule


def counted(*payloads: dict[str, Any], **changes: Any) -> PatternResult:
    """Return what a rule comes to over one `a` with each payload."""
    events = [TraceEvent(seq, 0, "x", "a", item) for seq, item in enumerate(payloads, start=1)]
    return evaluate(rule("at_most", per=None, **changes), events, None, SETTINGS)


@pytest.mark.parametrize("limit", [0, 1, 3])
def test_the_proof_is_what_was_allowed_and_one_more(limit: int) -> None:
    """So many are fine; of any more the first one is enough for the proof."""
    assert not counted(*[{}] * limit, limit=limit).witnesses
    (witness,) = counted(*[{}] * (limit + 4), limit=limit).witnesses
    assert [event.seq for event in witness.events] == [*range(1, limit + 2)]
    assert witness.observed == f"there were more than {limit} a"


def test_each_one_beyond_the_limit_can_be_a_finding() -> None:
    """With `report: every` each has a proof of its own."""
    found = counted({}, {}, {}, limit=1, report="every").witnesses
    assert [[event.seq for event in witness.events] for witness in found] == [[1, 2], [1, 3]]


def test_what_differs_is_counted_by_itself() -> None:
    """A combination that has too many is named; one without a field is not counted."""
    calls = [{"tool": "ls"}, {"tool": "rm"}, {}, {}, {"tool": "ls"}]
    (witness,) = counted(*calls, limit=1, same=["tool"]).witnesses
    assert [event.seq for event in witness.events] == [1, 5]
    assert witness.observed == "there were more than 1 a, tool ls"
    assert counted(*calls[:2], limit=1, same=["tool"]).judged == 2


def test_a_stretch_without_any_keeps_the_limit() -> None:
    """It was looked at: there was nothing too many."""
    after = {"after": {"kinds": ["open"]}}
    events = events_of(("open", "k", 0))
    assert evaluate(rule("at_most", scope=after), events).judged == 1


def test_the_event_that_begins_a_stretch_may_set_the_limit() -> None:
    """Each stretch has its own; one that sets none is not judged."""
    scope = {"after": {"kinds": ["open"]}, "before": {"kinds": ["close"]}}
    tested = rule("at_most", per=None, limit="most", scope=scope)

    def of(payload: dict[str, Any]) -> PatternResult:
        kinds = ("open", "a", "a", "close")
        return evaluate(tested, [TraceEvent(n, 0, "x", k, payload) for n, k in enumerate(kinds)])

    assert len(of({"most": 1}).witnesses) == 1
    assert (of({"most": 2}).witnesses, of({"most": 2}).judged) == ((), 1)
    assert (of({}).witnesses, of({}).judged) == ((), 0)


def test_the_scenario_may_set_the_limit() -> None:
    """A turn may take as many steps as its session says; without that the rule is silent."""
    steps = {"of": "scenario.session.budgets.steps_max", "plus": 1}
    assert not counted({}, {}, {}, limit=steps).witnesses
    assert counted({}, {}, {}, {}, limit=steps).witnesses
    silent = counted({}, limit="scenario.session.budgets.tokens_max")
    assert silent.silent.startswith("there is no scenario.session.budgets.tokens_max")


def test_what_was_announced_in_one_life_sets_the_limit_of_the_next() -> None:
    """The restart that begins the stretch has no limit to look up."""
    scope = {"after": {"kinds": ["open"]}, "lives": "later"}
    tested = rule("at_most", per=None, limit="most", scope=scope)
    lives = [
        TraceEvent(1, 0, "x", "open", {"most": 1}),
        TraceEvent(2, 0, "x", "process.crashed", {"life": 1}),
        TraceEvent(3, 0, "x", "process.started", {"life": 2}),
        *(TraceEvent(seq, 0, "x", "a", {}) for seq in (4, 5)),
    ]
    (witness,) = evaluate(tested, lives).witnesses
    assert [event.seq for event in witness.events][-2:] == [4, 5]
