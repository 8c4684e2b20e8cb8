"""What `replay` says about two lines that differ."""

from __future__ import annotations

from faultclock.model.trace.trace import SubjectInfo, Trace
from faultclock.run.compare import differences, other_circumstances
from tests.oracle.trace_builder import TraceBuilder

LINE = '{"actor":"network","at_ns":5,"kind":"net.sent","payload":{"n":[1,2]},"seq":3}\n'


def test_only_the_fields_that_differ_are_told() -> None:
    """A trace line is long; the eye should not search it."""
    assert differences(LINE, LINE.replace('"at_ns":5', '"at_ns":6').replace("2]", "3]")) == [
        "event 3: network net.sent",
        "at_ns: recorded 5, observed 6",
        "payload.n.1: recorded 2, observed 3",
    ]


def test_a_field_that_one_side_lacks_is_absent() -> None:
    """Null would be a value."""
    assert differences(LINE, LINE.replace('"n":[1,2]', '"n":[1]'))[1:] == [
        "payload.n.1: recorded 2, observed absent"
    ]


def test_a_line_that_one_side_lacks_is_shown_whole() -> None:
    """One of the traces ended earlier."""
    assert differences(LINE, None) == [f"only the recorded trace has it: {LINE.rstrip()}"]
    assert differences(None, LINE) == [f"only the observed trace has it: {LINE.rstrip()}"]


def made_by(subject: SubjectInfo) -> Trace:
    """Return a trace of nothing, made by `subject`."""
    built = TraceBuilder()
    built.header = built.header.model_copy(update={"subject": subject})
    return built.build()


def test_another_library_or_file_is_told_beside_the_first_event_that_differs() -> None:
    """It is most likely the cause, and no event says so."""
    was = SubjectInfo(
        id="s",
        role="provider_adapter",
        style="async",
        source_digest="1" * 64,
        distributions={"openai": "3.52.0"},
    )
    now = was.model_copy(update={"source_digest": "2" * 64, "distributions": {"openai": "3.54.0"}})
    assert other_circumstances(made_by(was), made_by(now)) == [
        'subject.distributions.openai: recorded "3.52.0", observed "3.54.0"',
        "the subject's file is not the one that was recorded",
    ]
    assert other_circumstances(made_by(was), made_by(was)) == []
