"""An event asks only the rules that speak of it."""

from __future__ import annotations

from faultclock.model.error_model.event_sets import EventPattern
from faultclock.model.trace.trace import TraceEvent
from faultclock.oracle.rules.match import EventIndex, described, field_of, matches


def declared(name: object, **fields: object) -> TraceEvent:
    """Return an event that a subject declares."""
    return TraceEvent(1, 0, "subject", "declared.event", {"name": name, "fields": fields})


def test_an_event_leads_to_the_owners_of_its_kind_and_name() -> None:
    """Of owners of other kinds and names nothing is asked, and nothing is told."""
    index: EventIndex[str] = EventIndex()
    index.add("any", 1, EventPattern(kinds=("declared.event",)))
    index.add("one", 2, EventPattern(kinds=("declared.event",), where={"name": "One"}))
    index.add("two", 4, EventPattern(kinds=("declared.event",), where={"name": "Two"}))
    index.add("net", 8, EventPattern(kinds=("net.sent",)))
    assert list(index.roles(declared("One"))) == [("any", 1), ("one", 2)]
    assert list(index.roles(declared("Three"))) == [("any", 1)]
    assert list(index.roles(declared(["One"]))) == [("any", 1)]
    assert list(index.roles(TraceEvent(1, 0, "network", "net.connect", {}))) == []


def test_all_roles_of_an_event_come_together() -> None:
    """An owner is met once for an event, also where a general and a special pattern match."""
    index: EventIndex[str] = EventIndex()
    index.add("rule", 1, EventPattern(kinds=("declared.event",), has=("fields.turn",)))
    index.add("rule", 2, EventPattern(kinds=("declared.event",), where={"name": "One"}))
    index.add("rule", 4, EventPattern(kinds=("declared.event",), where={"name": ("One", "Two")}))
    assert list(index.roles(declared("One", turn="t1"))) == [("rule", 7)]
    assert list(index.roles(declared("One"))) == [("rule", 6)]
    assert list(index.roles(declared("Two"))) == [("rule", 4)]
    assert list(index.roles(declared("Three"))) == []


def test_a_pattern_that_is_added_late_is_asked_too() -> None:
    """What was looked up before is not remembered for ever."""
    index: EventIndex[str] = EventIndex()
    index.add("one", 1, EventPattern(kinds=("declared.event",), where={"name": "One"}))
    assert list(index.roles(declared("Two"))) == []
    index.add("two", 1, EventPattern(kinds=("declared.event",), where={"name": "Two"}))
    assert list(index.roles(declared("Two"))) == [("two", 1)]


def test_an_event_is_called_what_the_subject_calls_it() -> None:
    """An observed fact has no name but its kind, whatever is in it."""
    assert described(declared("One")) == "One"
    assert described(declared(None)) == "declared.event"
    assert described(TraceEvent(1, 0, "tool", "tool.called", {"name": "x"})) == "tool.called"


def test_an_event_is_in_a_set_that_it_meets_in_every_field() -> None:
    """One field of two is not enough, nor the fields of another kind."""
    pattern = EventPattern(kinds=("declared.event",), where={"name": "One"}, has=("fields.turn",))
    assert matches(pattern, declared("One", turn="t1"))
    assert not matches(pattern, declared("One"))
    assert not matches(pattern, declared("Two", turn="t1"))
    assert not matches(pattern, TraceEvent(1, 0, "tool", "tool.called", {"name": "One"}))


def test_a_number_in_a_path_picks_from_a_list_and_from_a_tuple() -> None:
    """A trace that was read has lists, and one made by hand may have tuples."""
    for items in (["p", "q"], ("p", "q")):
        assert field_of({"x": items}, "x.1") == "q"
        event = TraceEvent(1, 0, "x", "k", {"x": items})
        assert matches(EventPattern(kinds=("k",), has=("x.1",)), event)
        assert not matches(EventPattern(kinds=("k",), has=("x.2",)), event)
