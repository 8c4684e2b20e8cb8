"""A trace is canonical text: equal facts, equal bytes."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from faultclock.model.scenario.scenario import ProviderAdapterScenario, scenario_digest
from faultclock.model.trace.trace import (
    SubjectInfo,
    Trace,
    TraceEvent,
    TraceFooter,
    TraceHeader,
    trace_digest,
    trace_lines,
)


def trace(payload: dict[str, object]) -> Trace:
    """Return a trace of one event with `payload`."""
    scenario = ProviderAdapterScenario(id="a/b", title="t", why="w")
    header = TraceHeader(
        scenario=scenario,
        scenario_digest=scenario_digest(scenario),
        subject=SubjectInfo(id="s", role="provider_adapter", style="sync"),
        seed=1,
    )
    events = (TraceEvent(1, 0, "harness", "run.started", payload),)
    footer = TraceFooter(
        events=1, ended_at_ns=0, ending="completed", digest=trace_digest(header, events)
    )
    return Trace(header=header, events=events, footer=footer)


def test_a_trace_is_a_header_its_events_and_a_footer() -> None:
    """One JSON object a line."""
    lines = [json.loads(line) for line in trace_lines(trace({}))]
    assert [sorted(line)[0] for line in lines] == ["header", "actor", "footer"]


def test_the_order_of_payload_fields_does_not_show() -> None:
    """A dict's order is an accident of the code that built it."""
    assert list(trace_lines(trace({"a": 1, "b": 2}))) == list(trace_lines(trace({"b": 2, "a": 1})))


def test_a_sealed_trace_that_is_changed_has_another_digest_than_its_footer() -> None:
    """A digest that was made once is that of the trace that it was made of."""
    made = trace({"a": 1})
    sealed = Trace.sealed(made.header, made.events, ended_at_ns=0, ending="completed")
    assert sealed == made
    assert sealed.digest == sealed.footer.digest
    changed = replace(sealed, events=trace({"a": 2}).events)
    assert changed.digest == trace({"a": 2}).footer.digest != changed.footer.digest


def test_a_changed_fact_changes_the_digest() -> None:
    """The footer seals what stands before it."""
    assert trace({"a": 1}).footer.digest != trace({"a": 2}).footer.digest


def test_events_are_found_by_kind() -> None:
    """The oracle reads a trace by kinds."""
    assert [event.seq for event in trace({}).of_kind("run.started", "other")] == [1]


def test_a_trace_is_of_virtual_time_unless_it_says_so() -> None:
    """What was there before real time looks as it did; only real time has an epoch of its own."""
    header = trace({}).header
    written = header.model_dump(mode="json")
    assert {"time_base", "epoch_ns"} & written.keys() == set()
    real = TraceHeader.model_validate({**written, "time_base": "wall", "epoch_ns": 5})
    assert real.model_dump(mode="json") == {**written, "time_base": "wall", "epoch_ns": 5}
    with pytest.raises(ValueError, match="epoch_ns goes with time_base: wall"):
        TraceHeader.model_validate({**written, "epoch_ns": 5})
