"""A stored trace is run again, and the first difference is named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from harness.model.trace import Trace, TraceEvent
from harness.run.replay import compare, replay
from harness.run.suite import run_one
from harness.subjects.binding import Binding
from tests.run.conftest import limited, small


def recorded(bound: Callable[[str], Binding]) -> Trace:
    """Return the trace of one small run of the reference."""
    scenario = small(provider=limited())
    return run_one(scenario, bound("reference"), 4, isolate=True)


def test_the_same_subject_replays_identically(bound: Callable[[str], Binding]) -> None:
    """Every line, byte for byte."""
    trace = recorded(bound)
    result = replay(trace, bound("reference"))
    assert result.identical
    assert result.line_number is None


def test_another_subject_differs_at_the_first_event_that_does(
    bound: Callable[[str], Binding],
) -> None:
    """Not at the header, which only names it."""
    result = replay(recorded(bound), bound("mini-no-jitter"))
    assert not result.identical
    assert result.line_number is not None
    assert result.line_number > 1
    assert result.recorded != result.observed


def test_a_difference_in_the_header_alone_is_named_as_such(bound: Callable[[str], Binding]) -> None:
    """Line 1: another version, or another file of the subject."""
    trace = recorded(bound)
    changed = trace.header.model_copy(update={"versions": {"python": "2.7"}})
    assert compare(replace(trace, header=changed), trace).line_number == 1


def test_a_longer_run_differs_where_the_shorter_one_ends(bound: Callable[[str], Binding]) -> None:
    """What was not recorded is shown as missing."""
    trace = recorded(bound)
    more = TraceEvent(len(trace.events) + 1, trace.footer.ended_at_ns, "subject", "sleep", {})
    longer = replace(trace, events=(*trace.events, more))
    result = compare(trace, longer)
    assert result.line_number == len(trace.events) + 2
    assert result.observed is not None
    assert '"sleep"' in result.observed
