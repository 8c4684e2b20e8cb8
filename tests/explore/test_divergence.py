"""Where a failing run parts from the nearest one that passes."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultclock.explore.divergence import AFTER, BEFORE, FROM_IT_ON, divergence
from faultclock.explore.facts import facts_of
from faultclock.load.scenario import find_scenarios
from faultclock.model.report.exploration import Divergence
from faultclock.model.scenario.scenario import ProviderAdapterScenario, scenario_digest
from faultclock.model.tape import Chance, Schedule
from faultclock.model.trace.trace import (
    SubjectInfo,
    Trace,
    TraceEvent,
    TraceFooter,
    TraceHeader,
    trace_digest,
)
from faultclock.run.prepare import prepare
from faultclock.run.suite import run_one

SCENARIO = ProviderAdapterScenario(id="tests/parts", title="Parts", why="For a test.")
#: (milliseconds, kind, payload).
Fact = tuple[int, str, dict[str, Any]]


def run_of(*facts: Fact, seed: int = 0) -> Trace:
    """Return a run in which this happened."""
    events = tuple(
        TraceEvent(seq, at_ms * 1_000_000, "network", kind, payload)
        for seq, (at_ms, kind, payload) in enumerate(facts, 1)
    )
    header = TraceHeader(
        scenario=SCENARIO,
        scenario_digest=scenario_digest(SCENARIO),
        subject=SubjectInfo(id="by-hand", role="runtime", style="async"),
        seed=seed,
    )
    return Trace(
        header=header,
        events=events,
        footer=TraceFooter(
            events=len(events),
            ended_at_ns=events[-1].at_ns if events else 0,
            ending="completed",
            digest=trace_digest(header, events),
        ),
    )


def sent(at_ms: int, connection: str, bytes_count: int) -> Fact:
    """Return one fact of a connection."""
    return at_ms, "net.sent", {"connection": connection, "bytes_count": bytes_count}


def parts(failing: Trace, *passing: Trace) -> Divergence:
    """Return where these runs part; candidates are named by their number."""
    found = divergence(failing, [(str(number), one) for number, one in enumerate(passing)])
    assert found is not None
    return found


def marked(found: Divergence) -> list[tuple[int | None, int | None, bool]]:
    """Return the rows as numbers."""
    return [(row.failing, row.passing, row.agrees) for row in found.rows]


def test_the_first_event_that_says_something_else_is_the_difference() -> None:
    """What agrees before it stands beside it, and so does what follows."""
    start = [sent(number, "c1", number) for number in range(10)]
    failing = run_of(*start, sent(20, "c1", 77), sent(21, "c1", 5))
    found = parts(failing, run_of(*start, sent(20, "c1", 78), sent(21, "c1", 5)))
    assert (found.agree, found.first, found.cut) == (10, BEFORE, 0)
    assert marked(found)[BEFORE - 1 :] == [(10, 10, True), (11, 11, False), (12, 12, True)]
    assert found.rows[found.first].failing_text == "c1 sends 77 bytes"
    assert found.rows[found.first].passing_text == "c1 sends 78 bytes"


def test_an_event_that_only_one_run_has_stands_alone() -> None:
    """And what both have after it is beside each other again."""
    a, b, c = sent(1, "c1", 1), sent(2, "c1", 2), sent(3, "c1", 3)
    assert marked(parts(run_of(a, b, c), run_of(a, c))) == [
        (1, 1, True),
        (2, None, False),
        (3, 2, True),
    ]
    assert marked(parts(run_of(a, c), run_of(a, b, c))) == [
        (1, 1, True),
        (None, 2, False),
        (2, 3, True),
    ]


def test_a_run_that_goes_on_after_the_other_has_ended_says_so() -> None:
    """The end of a run is what the other is set beside."""
    found = parts(run_of(sent(1, "c1", 1)), run_of(sent(1, "c1", 1), sent(2, "c1", 2)))
    assert marked(found) == [(1, 1, True), (None, 2, False)]
    assert found.rows[1].failing_text == "the run has ended: completed"


def test_a_shift_in_time_is_shown_and_is_no_difference_while_anything_else_is() -> None:
    """Whoever looks for a cause wants the event, not everything that came later for it."""
    failing = run_of(sent(1, "c1", 1), sent(5, "c1", 2), sent(9, "c1", 3))
    found = parts(failing, run_of(sent(1, "c1", 1), sent(4, "c1", 2), sent(8, "c1", 4)))
    assert (found.agree, found.by_time, found.times_part) == (2, False, 2)
    assert (found.rows[1].failing_ns, found.rows[1].passing_ns) == (5_000_000, 4_000_000)
    assert found.rows[1].agrees


def test_where_all_events_agree_the_first_wait_that_differs_is_the_difference() -> None:
    """Those after it agree again when they come as long after the one before."""
    failing = run_of(*(sent(at, "c1", at) for at in (1, 2)), sent(9, "c1", 7), sent(10, "c1", 8))
    found = parts(
        failing, run_of(*(sent(at, "c1", at) for at in (1, 2)), sent(8, "c1", 7), sent(9, "c1", 8))
    )
    assert (found.agree, found.by_time, found.times_part) == (2, True, None)
    assert [agrees for _, _, agrees in marked(found)] == [True, True, False, True]


def test_a_wait_that_is_to_take_another_time_differs_by_time_alone() -> None:
    """A duration in a fact is a time as well."""
    failing = run_of((0, "sleep", {"delay_ns": 5}), sent(1, "c1", 1))
    found = parts(failing, run_of((0, "sleep", {"delay_ns": 6}), sent(1, "c1", 1)))
    assert (found.by_time, found.first, found.agree) == (True, 0, 0)


def test_how_often_a_clock_was_read_is_told_last() -> None:
    """It stands at the end of a run, and differs whenever anything does."""

    def touched(number: int, reads: int) -> Trace:
        return run_of(sent(1, "c1", number), (2, "world.touched", {"monotonic": reads}))

    assert marked(parts(touched(1, 5), touched(2, 6))) == [(1, 1, False), (2, 2, True)]
    assert parts(touched(1, 5), touched(1, 6)).by_time


def test_names_that_count_are_a_difference_once() -> None:
    """After it, what is the same but for being one number on is the same."""
    start = [sent(0, "c1", 1)]
    failing = run_of(*start, sent(1, "c2", 9), sent(2, "c2", 8), sent(3, "c2", 7))
    found = parts(failing, run_of(*start, sent(1, "c1", 9), sent(2, "c1", 8), sent(3, "c1", 7)))
    assert marked(found) == [(1, 1, True), (2, 2, False), (3, 3, True), (4, 4, True)]


def test_names_of_another_seed_need_only_be_used_alike() -> None:
    """Of the same seed they are the same, so another one is a difference."""

    def called(name: str, seed: int, last: str) -> Trace:
        facts = [(1, "tool.called", _tool(name)), (2, "tool.stopped", _tool(name))]
        return run_of(*facts, (3, "tool.stopped", _tool(last)), seed=seed)

    one, two, three = "call_0123456789ab", "call_ba9876543210", "call_00ff00ff00ff"
    assert divergence(called(one, 0, one), [("", called(two, 1, two))]) is None
    assert parts(called(one, 0, one), called(two, 1, three)).agree == 2
    assert parts(called(one, 0, one), called(two, 0, two)).agree == 0


def test_the_run_that_agrees_for_the_longest_is_the_nearest() -> None:
    """Then the one with the fewest strangers, then the one that was given first."""
    facts = [sent(number, "c1", number) for number in range(8)]
    other = (9, "net.eof", {"connection": "c1"})
    early = run_of(*facts[:2], other, *facts[3:])
    late = run_of(*facts[:5], other, *facts[6:])
    later_and_short = run_of(*facts[:5], other)
    failing = run_of(*facts)
    assert parts(failing, early, late).nearest == "1"
    assert parts(failing, later_and_short, late, late).nearest == "1"
    assert parts(failing, late, late).nearest == "0"


def test_nothing_is_said_of_a_run_without_a_neighbour() -> None:
    """Neither of no candidate, nor of one that is the same event by event."""
    failing = run_of(sent(1, "c1", 1))
    assert divergence(failing, []) is None
    assert divergence(failing, [("the same", run_of(sent(1, "c1", 1), seed=5))]) is None


def test_what_the_line_about_an_event_does_not_show_is_added_to_it() -> None:
    """Two rows that read alike and are marked would help nobody."""
    failing = run_of((1, "tool.called", _tool("t", path="a.txt")))
    row = parts(failing, run_of((1, "tool.called", _tool("t", path="b.txt")))).rows[0]
    assert row.failing_text == "t1 ls is called [arguments.path: a.txt]"
    assert row.passing_text == "t1 ls is called [arguments.path: b.txt]"


def test_a_long_rest_is_cut_and_counted() -> None:
    """Every row is shown or counted, and of what agrees again no more than shows that it does."""
    start = [sent(0, "c1", 0)] * 20
    rest = [sent(1, "c1", number) for number in range(1_000)]
    found = parts(run_of(*start, *rest), run_of(*start, sent(1, "c9", 5), *rest[1:]))
    assert len(found.rows) == BEFORE + 1 + AFTER
    assert found.agree - BEFORE + len(found.rows) + found.cut == 1_020
    other = parts(run_of(*start, *rest), run_of(*start, *(sent(1, "c1", -1) for _ in rest)))
    assert len(other.rows) == BEFORE + FROM_IT_ON
    assert other.agree - BEFORE + len(other.rows) + other.cut == 1_020


def test_two_runs_of_a_real_subject_part_at_the_fault() -> None:
    """The same scenario with its fault and without it, and in another order of ties."""
    binding = prepare("reference")
    (item,) = find_scenarios(("rate-limits/retry-after-integer",))
    scenario = item.scenario
    healthy = scenario.model_copy(
        update={"provider": scenario.provider.model_copy(update={"faults": ()})}
    )
    failing = run_one(scenario, binding, 0, isolate=True)
    shuffled = Chance(schedule=Schedule(kind="random", seed=3))
    again = run_one(scenario, binding, 9, isolate=True, chance=shuffled)
    assert divergence(failing, [("another seed", again)]) is None
    found = parts(failing, run_one(healthy, binding, 9, isolate=True))
    row = found.rows[found.first]
    assert (row.failing_text, row.passing_text) == ("fault limited (http error)", "answers 200")


_FACTS = st.lists(
    st.tuples(
        st.integers(0, 5),
        st.sampled_from(["net.sent", "net.delivered"]),
        st.fixed_dictionaries(
            {"connection": st.sampled_from(["c1", "c2"]), "bytes_count": st.integers(0, 2)}
        ),
    ),
    max_size=12,
)


@given(_FACTS, _FACTS)
def test_every_event_is_in_one_row_and_the_first_difference_is_one(
    here: Sequence[Fact], there: Sequence[Fact]
) -> None:
    """Whatever two runs are made of."""
    failing, passing = run_of(*here), run_of(*there)
    found = divergence(failing, [("it", passing)])
    if found is None:
        assert [facts_of(one) for one in failing.events] == [
            facts_of(one) for one in passing.events
        ]
        return
    assert not found.rows[found.first].agrees
    assert all(row.agrees for row in found.rows[: found.first])
    shown_from = found.agree - found.first + 1
    for run, numbers in (
        (failing, [row.failing for row in found.rows if row.failing]),
        (passing, [row.passing for row in found.rows if row.passing]),
    ):
        assert numbers == list(range(shown_from, shown_from + len(numbers)))
        if not found.cut:
            assert len(numbers) == max(len(run.events) - shown_from + 1, 0)
    # The same question has the same answer.
    assert divergence(failing, [("it", passing)]) == found


@pytest.mark.parametrize("kinds", [2, 500])
def test_runs_of_five_thousand_events_are_compared_in_no_time(kinds: int) -> None:
    """Also where they have nothing in common but the kinds of their events."""
    drawn = random.Random(1)
    facts = [sent(number, f"c{number}", drawn.randrange(kinds)) for number in range(5_000)]
    mixed = list(facts)
    drawn.shuffle(mixed)
    middle = [*facts[:2_500], sent(2_500, "c1", kinds), *facts[2_501:]]
    failing, candidates = run_of(*facts), [run_of(*mixed), run_of(*middle)]
    before_s = time.process_time()
    assert parts(failing, *candidates).agree == 2_500
    assert time.process_time() - before_s < 5


def _tool(name: str, **arguments: str) -> dict[str, Any]:
    return {"execution": "t1", "tool": "ls", "tool_call": name, "arguments": arguments}
