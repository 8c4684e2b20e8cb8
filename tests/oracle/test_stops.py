"""Stops: what ends the work of a call from outside, which calls it is for, and from when on."""

from __future__ import annotations

from typing import Any

import pytest

from faultclock.oracle.facts.history import History
from faultclock.oracle.wire.attempts import Call
from faultclock.oracle.wire.stops import acts_after, is_stop, killed_by, stopped_ns
from tests.oracle.trace_builder import TraceBuilder
from tests.oracle.turn_builder import TurnBuilder

LIMIT = {"budgets": {"wall_time": "10s"}}


def turn_of(built: TraceBuilder) -> Call:
    """Return the last call of a trace."""
    return History(built.build()).calls[-1]


def stopped_by(built: TraceBuilder) -> str | None:
    """Return the kind of event that stopped the last call."""
    stop = turn_of(built).stop
    return None if stop is None else stop.kind


@pytest.mark.parametrize(
    ("scope", "stops"),
    [("session", True), ("turn", True), ("stage", True), ("tool", False)],
)
def test_a_cancel_stops_a_turn_unless_it_is_of_a_tool(scope: str, stops: bool) -> None:
    """A tool is stopped alone."""
    built = TurnBuilder().turn().cancels(scope).ends("A/B")
    assert stopped_by(built) == ("cancel.requested" if stops else None)


@pytest.mark.parametrize(
    ("said", "refused", "stops"),
    [
        ("dismissed", None, True),
        ("dismissed", "Session/TooLate", False),
        ("denied", None, False),
        ("approved", None, False),
    ],
)
def test_a_dialog_that_is_closed_stops_its_turn(
    said: str, refused: str | None, stops: bool
) -> None:
    """Where the runtime took that as the answer."""
    built = TurnBuilder().turn().shows("r1").answers("r1", said, refused=refused).ends("A/B")
    assert stopped_by(built) == ("interaction.answered" if stops else None)


def test_a_dialog_stops_the_call_that_it_is_for_and_a_cancel_all_that_run() -> None:
    """Another turn of the same time goes on."""
    tasks = ({"id": "ask"}, {"id": "other"})

    def two() -> TurnBuilder:
        return TurnBuilder(tasks=tasks).opens().begins("ask/1").begins("other/1")

    dialog = two().shows("r1").answers("r1", "dismissed")
    calls = {call.id: call.stop for call in History(dialog.build()).calls}
    assert calls["ask/1"] is None
    assert calls["other/1"] is not None
    cancel = two().cancels("session")
    calls = {call.id: call.stop for call in History(cancel.build()).calls}
    assert calls["ask/1"] is calls["other/1"] is not None


def test_a_cancel_of_calls_stops_those_that_it_names() -> None:
    """And no other."""
    built = TraceBuilder(copies=2).start().start("ask/2")
    built.event(
        "harness", "cancel.requested", call="ask/1", calls=["ask/1"], scope="call", cancel="c"
    )
    stops = [call.stop for call in History(built.build()).calls]
    assert stops[0] is not None
    assert stops[1] is None


def test_what_comes_before_a_call_or_after_its_end_does_not_stop_it() -> None:
    """Only what comes while it runs."""
    before = TurnBuilder().opens().cancels("turn").begins("ask/1").ends()
    assert stopped_by(before) is None
    after = TurnBuilder().turn().ends().cancels("turn")
    assert stopped_by(after) is None
    assert stopped_by(TurnBuilder().turn().crashes()) == "process.crashed"


def test_the_first_stop_counts() -> None:
    """A dialog that is closed after the cancel changes nothing."""
    built = TurnBuilder().turn().shows("r1").cancels("turn").answers("r1", "dismissed").ends("A/B")
    assert stopped_by(built) == "cancel.requested"


@pytest.mark.parametrize(("after", "stops"), [("9.999999999s", False), ("10s", True)])
def test_a_turn_that_has_used_up_its_time_is_stopped_by_its_end(after: str, stops: bool) -> None:
    """Counted from its start; and stopped it was when the time was over."""
    built = TurnBuilder(session=LIMIT).after("1m").turn().after(after).ends("A/B")
    assert stopped_by(built) == ("call.raised" if stops else None)
    late = TurnBuilder(session=LIMIT).after("1m").turn().after("15s").ends("A/B").build()
    call = History(late).calls[-1]
    assert call.stop is not None
    assert stopped_ns(late, call.start, call.stop) == 70_000_000_000


def test_a_cancel_before_the_time_is_over_stops_the_turn_when_it_comes() -> None:
    """The sooner of both counts; without a limit the stop itself does."""
    for session in (LIMIT, {}):
        trace = TurnBuilder(session=session).turn().after("4s").cancels("turn").ends("A/B").build()
        call = History(trace).calls[-1]
        assert call.stop is not None
        assert stopped_ns(trace, call.start, call.stop) == 4_000_000_000


def test_the_start_of_a_session_has_no_limit_of_time() -> None:
    """A turn has."""
    built = TurnBuilder(session=LIMIT)
    built.event("harness", "process.started", resume=False, call=None)
    assert stopped_by(built.begins("start/1", "start").after("11s").ends("A/B")) is None


def test_a_process_is_killed_from_its_crash_on() -> None:
    """The life counts, and the instant."""
    trace = TurnBuilder().turn().after("1s").crashes().opens(resume=True).build()
    second = 1_000_000_000
    assert killed_by(trace, 1, second)
    assert not killed_by(trace, 1, second - 1)
    assert not killed_by(trace, 2, second)


def test_acts_after_a_cancel_are_those_of_the_call_from_a_time_on() -> None:
    """Acts at the same instant, and later than the cancel, count."""
    built: Any = TraceBuilder(copies=2).start().start("ask/2")
    built.dial()
    cancel_seq = built.event("harness", "cancel.requested", call="ask/1", cancel="c")
    built.dial()
    built.dial("ask/2")
    built.wait("1s").dial()
    trace = built.build()
    cancel = trace.events[cancel_seq - 1]
    acts = [event for event in trace.events if event.kind == "net.connect"]
    assert is_stop(cancel)
    assert [event.at_ns for event in acts_after(acts, "ask/1", cancel)] == [0, 1_000_000_000]
    assert [event.at_ns for event in acts_after(acts, "ask/1", cancel, 1_000_000_000)] == [
        1_000_000_000
    ]
