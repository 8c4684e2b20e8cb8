"""The accessors of what an event holds follow the catalogue of event kinds."""

from __future__ import annotations

from faultclock.model.trace.event_fields import EventFields, Field
from faultclock.model.trace.events import EVENTS
from faultclock.model.trace.trace import TraceEvent


def test_every_field_of_the_catalogue_has_one_accessor_and_no_accessor_is_for_another() -> None:
    """A field that is added to a kind can be read by its name at once."""
    fields = {
        name: field.name for name, field in vars(EventFields).items() if isinstance(field, Field)
    }
    known = {name for kind in EVENTS.values() for name in kind.fields}

    assert set(fields.values()) == known
    assert len(fields) == len(known)
    assert {name for name, field in fields.items() if name != field} == {"error_class"}


def test_an_accessor_reads_the_field_and_none_where_the_event_has_none() -> None:
    """A life that an event does not name is the first one."""
    event = TraceEvent(1, 0, "tool", "tool.called", {"tool": "write_file", "life": 2})
    bare = TraceEvent(1, 0, "subject", "sleep", {"delay_ns": 5})

    assert (event.tool, event.life, event.call) == ("write_file", 2, None)
    assert (bare.delay_ns, bare.life, bare.error_class) == (5, 1, None)
