"""A run that shows nothing is inconclusive and never blames the subject."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.model.error_model import ErrorModel
from harness.model.finding import Finding, Verdict
from harness.model.trace import EndingReason, Trace
from harness.oracle.judge import judge
from tests.oracle.trace_builder import TraceBuilder


def good() -> Trace:
    """Return a whole trace of one good call."""
    return TraceBuilder().start().good().returns().build()


def found(model: ErrorModel, trace: Trace, check: str = "evidence.whole") -> list[Finding]:
    """Return the findings of one check."""
    return [item for item in judge(model, trace).findings if item.check == check]


@pytest.mark.parametrize("ending", ["watchdog", "harness_error", "escape", "event_limit"])
def test_endings_by_force_prove_nothing(model: ErrorModel, ending: EndingReason) -> None:
    """What the subject would have done next is not known."""
    (finding,) = found(model, TraceBuilder().start().good().returns().build(ending, "why"))
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "why" in finding.reason


@pytest.mark.parametrize("ending", ["deadlock", "livelock", "virtual_time_limit"])
def test_endings_of_a_hang_are_the_subjects_own(model: ErrorModel, ending: EndingReason) -> None:
    """The evidence is whole, and the call that never ended fails with what it waited for."""
    trace = TraceBuilder().start().fails(429).build(ending, "task ask/1 waits for a lock")
    assert [item.verdict for item in found(model, trace)] == [Verdict.PASS]
    (finding,) = found(model, trace, "ordering.call-ends-once")
    assert finding.verdict is Verdict.FAIL
    assert "waits for a lock" in finding.observed


def test_a_trace_that_was_changed_is_not_whole(model: ErrorModel) -> None:
    """A digest, a count, an order: each change is noticed and named."""
    trace = good()
    cut = replace(trace, events=trace.events[:-1])
    assert "events" in found(model, cut)[0].reason
    later = replace(trace.events[2], at_ns=trace.events[2].at_ns + 1)
    changed = replace(trace, events=(*trace.events[:2], later, *trace.events[3:]))
    assert any("digest" in item.reason for item in found(model, changed))
    swapped = replace(trace, events=(trace.events[1], trace.events[0], *trace.events[2:]))
    assert any("follows event" in item.reason for item in found(model, swapped))


def test_a_call_that_was_never_started_is_missed(model: ErrorModel) -> None:
    """A run of two calls with one of them proves half."""
    trace = TraceBuilder(copies=2).start().good().returns().build()
    assert "1 calls were started, the scenario has 2" in found(model, trace)[0].reason


def test_acts_of_no_call_make_the_trace_inconclusive(model: ErrorModel) -> None:
    """Nobody can say whose attempt it was."""
    built = TraceBuilder().start()
    built.dial(call=None)
    (finding,) = found(model, built.good().returns().build())
    assert "net.connect was made by no call" in finding.reason


def test_a_leak_is_named_once_with_its_site(model: ErrorModel) -> None:
    """However often it happened."""
    built = TraceBuilder().start()
    for _ in range(20):
        built.event("harness", "leak", what="time.time", site="adapter.py:3 now")
    findings = found(model, built.good().returns().build(), "evidence.no-leaks")
    assert [item.reason for item in findings] == ["time.time at adapter.py:3 now"]


def test_an_optional_fault_may_stay_unmet(model: ErrorModel) -> None:
    """Only a fault that the scenario relies on spoils the run."""
    fault = {"id": "f", "optional": True, "then": {"kind": "connect_refused"}}
    built = TraceBuilder(provider={"faults": [fault]}).start().good().returns()
    built.event("provider", "fault.unmet", fault="f", optional=True)
    (finding,) = found(model, built.build(), "evidence.faults-met")
    assert finding.verdict is Verdict.PASS


@pytest.mark.parametrize("streams", [True, False])
def test_an_adapter_that_never_streams_is_told_so(model: ErrorModel, streams: bool) -> None:
    """No fault inside a stream can be met by it, whatever else it does right."""
    fault = {"id": "f", "when": {"stream": True}, "then": {"kind": "connect_refused"}}
    built = TraceBuilder(stream=True, provider={"faults": [fault]}).start()
    built.stream = streams
    built.good().returns().event("provider", "fault.unmet", fault="f", optional=False)
    (finding,) = found(model, built.build(), "evidence.faults-met")
    assert ("request.stream" in finding.hint) is not streams


def test_a_call_that_asked_nobody_proves_nothing(model: ErrorModel) -> None:
    """A canned answer is as good as a real one to every other check."""
    (finding,) = found(model, TraceBuilder().start().returns().build(), "evidence.exercised")
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "without a single attempt" in finding.reason


@pytest.mark.parametrize("ending", ["deadlock", "livelock", "virtual_time_limit"])
def test_what_is_cut_short_after_the_last_call_is_not_known(
    model: ErrorModel, ending: EndingReason
) -> None:
    """A task that a call left behind and that spins must not look green."""
    trace = TraceBuilder().start().good().returns().build(ending, "task 'left' waits")
    (finding,) = found(model, trace, "evidence.exercised")
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "every call had ended" in finding.reason
    assert "task 'left' waits" in finding.reason


def test_a_call_that_the_limit_of_time_kept_from_starting_is_missed(model: ErrorModel) -> None:
    """The scenario wants two calls, and its own limit lies before the second."""
    trace = TraceBuilder(copies=2).start().good().returns().build("virtual_time_limit", "why")
    findings = found(model, trace, "evidence.exercised")
    assert {item.verdict for item in findings} == {Verdict.INCONCLUSIVE}
    assert "before 1 of 2 calls began" in findings[0].reason


def test_requests_on_top_of_each_other_cannot_be_attributed(model: ErrorModel) -> None:
    """Two requests went out on one connection before the first was answered."""
    built = TraceBuilder().start()
    connection = built.connect()
    built.ask(connection)
    exchange = built.ask(connection)
    built.answer(connection, exchange)
    built.end_exchange(connection, exchange, "complete", finish_reason="stop", text="Hi")
    built.deliver(connection)
    (finding,) = found(model, built.returns("Hi").build())
    assert finding.reason == "x2 was asked before x1 was answered"
