"""A history: events by kind, errors that are ignored on purpose, requests about a tool call."""

from __future__ import annotations

from faultclock.oracle.facts.history import History
from tests.oracle.trace_builder import TraceBuilder
from tests.oracle.turn_builder import TurnBuilder


def test_events_of_some_kinds_come_in_their_order() -> None:
    """Of one kind or of several; a kind that is named twice counts once."""
    history = History(TraceBuilder().start().fails(429).good().returns().build())
    both = history.of("net.connect", "http.request")
    assert [event.kind for event in both] == ["net.connect", "http.request"] * 2
    assert history.of("http.request", "net.connect", "http.request") == both
    assert [event.kind for event in history.of("net.connect")] == ["net.connect"] * 2
    assert history.of("no.such.kind") == []


def test_an_error_is_ignored_on_purpose_where_an_event_of_that_name_has_a_reason() -> None:
    """Another event with a reason says nothing of it."""
    for name, reason, expected in (
        ("SuppressedError", "on purpose", {"ask/1"}),
        ("SuppressedError", "", set()),
        ("Other", "on purpose", set()),
    ):
        built = TraceBuilder().start()
        built.event("subject", "declared.event", call="ask/1", name=name, fields={"reason": reason})
        assert History(built.build()).suppressed == expected


def test_a_request_is_about_the_call_that_was_asked_for_last_under_its_id() -> None:
    """A later call of another id changes nothing; one of the same id takes what comes after it."""
    built = (
        TurnBuilder().turn().wants("c1 rm").shows("r1").answers("r1", "denied").tells("c1", "{}")
    )
    built.wants("c2 rm").shows("r2").answers("r2", "denied").tells("c2", "{}")
    built.wants("c1 rm").shows("r3").answers("r3", "denied").tells("c1", "{}")
    history = History(built.says().ends().build())
    about = [[prompt.id for prompt in history.prompts_about(call)] for call in history.tool_calls]
    assert about == [["r1", "r2"], [], ["r3"]]
