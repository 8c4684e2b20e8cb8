"""What happened in a run: which events are shown, and where the log stands among them."""

from __future__ import annotations

from faultclock.model.report.finding import EventMark, Verdict
from faultclock.model.trace.notes import OutputLine, RunNotes
from faultclock.render.moments import (
    EVENTS_MAX,
    EVENTS_MAX_ASIDE,
    EVENTS_MAX_PASSED,
    moments_of,
)
from tests.render import sample_report as sample


def test_cited_events_stay_when_events_are_left_out() -> None:
    """A long trace is cut where no finding points, and the cut is counted."""
    run = sample.crowd()
    for aside, most in ((False, EVENTS_MAX), (True, EVENTS_MAX_ASIDE)):
        moments, left_out = moments_of(run, (35, 70, 350), aside=aside)
        assert len(moments) == most
        assert left_out == len(run.timeline) - most + run.timeline_cut
        cited = {item.seq for item in moments if item.cited}
        assert cited == {35, 70, 350} & {event.seq for event in run.timeline}


def test_a_run_that_passed_shows_fewer_events() -> None:
    """It is seldom read, and forty of them must stay a small file."""
    run = sample.crowd().model_copy(update={"verdict": Verdict.PASS})
    moments, _ = moments_of(run, (), aside=True)
    assert len(moments) == EVENTS_MAX_PASSED


def test_connections_and_bytes_are_left_out_unless_they_failed_or_are_cited() -> None:
    """One looks for the request, the fault, the answer, and what the subject did then."""
    kinds = ("net.connect", "net.sent", "net.resolve", "http.request", "http.exchange_ended")
    events = [
        EventMark(seq=seq, at_ns=seq, lane="network", kind=kind, text=kind)
        for seq, kind in enumerate(kinds, 1)
    ]
    failed = {"kind": "net.resolve", "payload": {"error": "no such host"}, "seq": 6}
    cut = {"kind": "http.exchange_ended", "payload": {"how": "reset"}, "seq": 7}
    events += [events[0].model_copy(update=failed), events[0].model_copy(update=cut)]
    run = sample.retry_after().model_copy(update={"timeline": tuple(events), "notes": None})
    moments, left_out = moments_of(run, (2,), aside=False)
    assert {item.seq for item in moments} == {2, 4, 6, 7}
    assert left_out == 3 + run.timeline_cut


def test_what_was_logged_stands_among_the_events_at_its_time() -> None:
    """A line of the log after the event of the same instant, and before the end of its call."""
    line = OutputLine(at_ns=2, stream="log", text="retrying", level="WARNING", logger="my.client")
    events = tuple(
        EventMark(seq=seq, at_ns=seq, lane="provider", kind="http.request", text="POST")
        for seq in (1, 2, 3)
    )
    run = sample.sdk_schedule().model_copy(
        update={"timeline": events, "notes": RunNotes(output=(line,))}
    )
    moments, _ = moments_of(run, (), aside=False)
    assert [item.seq for item in moments] == [1, 2, None, 3]
    assert (moments[2].lane, moments[2].text) == ("log", "WARNING my.client: retrying")
    ended = (*events[:1], events[1].model_copy(update={"kind": "call.raised"}))
    moments, _ = moments_of(run.model_copy(update={"timeline": ended}), (), aside=False)
    assert [item.seq for item in moments] == [1, None, 2]
