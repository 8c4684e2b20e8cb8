"""Every kind of fact has a short text for a person."""

from __future__ import annotations

from collections.abc import Callable

from harness.run.suite import run_one
from harness.run.timeline import MARKS_MAX, timeline
from harness.subjects.binding import Binding
from tests.run.conftest import Payloads, limited, shipped_scenario, small


def test_a_retry_reads_as_a_story(bound: Callable[[str], Binding], payloads: Payloads) -> None:
    """What was sent, what came back, what went wrong."""
    scenario = small(provider=limited(retry_after="7"))
    trace = run_one(scenario, bound("reference"), 0, payloads, isolate=True)
    marks, cut = timeline(trace, frozenset())
    texts = [mark.text for mark in marks]
    assert "answers 429, rate_limit_exceeded, Retry-After: 7" in texts
    assert "fault limited (http error)" in texts
    assert "ask/1 returned" in texts
    assert cut == 0


def test_a_long_trace_is_cut_but_keeps_what_proves_a_finding(
    bound: Callable[[str], Binding], payloads: Payloads
) -> None:
    """A finding may cite the last event of fifty clients."""
    scenario = shipped_scenario("rate-limits/fifty-clients-desynchronise")
    trace = run_one(scenario, bound("reference"), 0, payloads, isolate=True)
    last = trace.events[-1].seq
    marks, cut = timeline(trace, frozenset({last}))
    assert marks[-1].seq == last
    assert len(marks) == MARKS_MAX + 1
    assert cut == len(trace.events) - len(marks)
