"""Every kind of fact has a short text for a person."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from faultclock.model.trace.events import describe
from faultclock.model.trace.trace import TraceEvent
from faultclock.run.suite import run_one
from faultclock.run.timeline import MARKS_MAX, timeline
from faultclock.subjects.binding import Binding
from tests.run.conftest import limited, shipped_scenario, small


def test_a_retry_reads_as_a_story(bound: Callable[[str], Binding]) -> None:
    """What was sent, what came back, what went wrong."""
    scenario = small(provider=limited(retry_after="7"))
    trace = run_one(scenario, bound("reference"), 0, isolate=True)
    marks, cut = timeline(trace, frozenset())
    texts = [mark.text for mark in marks]
    assert "answers 429, rate_limit_exceeded, Retry-After: 7" in texts
    assert "fault limited (http error)" in texts
    assert "ask/1 returned" in texts
    assert cut == 0


def test_a_long_trace_is_cut_but_keeps_what_proves_a_finding(
    bound: Callable[[str], Binding],
) -> None:
    """A finding may cite the last event of fifty clients."""
    scenario = shipped_scenario("rate-limits/fifty-clients-desynchronise")
    trace = run_one(scenario, bound("reference"), 0, isolate=True)
    last = trace.events[-1].seq
    marks, cut = timeline(trace, frozenset({last}))
    assert marks[-1].seq == last
    assert len(marks) == MARKS_MAX + 1
    assert cut == len(trace.events) - len(marks)


@pytest.mark.parametrize(
    ("exit_code", "signal", "line"),
    [
        (3, None, "the program of ask/1 ended with code 3"),
        (None, "SIGKILL", "the program of ask/1 was ended by SIGKILL"),
        (None, None, "ask/1 was not watched any longer"),
    ],
)
def test_how_a_program_left_is_told(exit_code: int | None, signal: str | None, line: str) -> None:
    """What is known of its end, and no more."""
    payload = {"call": "ask/1", "exit_code": exit_code, "signal": signal}
    assert describe(TraceEvent(1, 0, "harness", "call.left", payload)) == line
