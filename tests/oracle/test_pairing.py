"""A framework that hands no ids to the application is judged as one that does."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from faultclock.load.error_model import load_error_model
from faultclock.load.scenario import find_scenarios
from faultclock.model.finding import Verdict
from faultclock.model.trace import Trace, TraceEvent, trace_digest
from faultclock.oracle.judge import judge
from faultclock.oracle.pairing import with_tool_calls
from faultclock.run.execute import execute
from faultclock.subjects.registry import load_subject

SCENARIOS = [
    "approvals/denial-is-a-typed-result",
    "approvals/one-approval-approves-one-call",
    "approvals/second-of-two-is-denied",
    "approvals/three-at-once-in-order",
    "approvals/two-approvals-in-a-row",
    "approvals/two-interactors-first-answer-wins",
    "approvals/unanswered-is-denied-after-two-minutes",
]


def traced(scenario: str) -> Trace:
    """Return the trace of the reference in a shipped scenario."""
    (played,) = find_scenarios((scenario,))[0].runnable
    return execute(played, load_subject("reference-runtime"), played.seed)


def without_ids(trace: Trace) -> Trace:
    """Return the trace that a runtime leaves whose tools and dialogs are handed no ids."""
    given = {
        item["id"]: json.loads(item["arguments"])
        for event in trace.of_kind("http.exchange_ended")
        for item in event.payload.get("tool_calls") or ()
    }

    def stripped(event: TraceEvent) -> TraceEvent:
        if not event.kind.startswith(("interaction.", "tool.")):
            return event
        payload = dict(event.payload)
        call = payload.get("tool_call")
        payload["tool_call"] = None if event.kind.startswith("interaction.") else ""
        if event.kind == "interaction.shown" and call in given:
            payload["arguments"] = given[call]
        return replace(event, payload=payload)

    events = tuple(stripped(event) for event in trace.events)
    digest = trace_digest(trace.header, events)
    return replace(trace, events=events, footer=trace.footer.model_copy(update={"digest": digest}))


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("model", ["stud-cli", "common"])
def test_ids_that_are_missing_change_no_verdict(scenario: str, model: str) -> None:
    """Tool and arguments say which call was approved, denied and executed."""
    trace, by = traced(scenario), load_error_model(model)
    bare = without_ids(trace)
    assert bare.events != trace.events
    whole = [(item.check, item.verdict, item.judged) for item in judge(by, trace).findings]
    assert [(item.check, item.verdict, item.judged) for item in judge(by, bare).findings] == whole
    assert Verdict.FAIL not in {verdict for _, verdict, _ in whole}


def test_the_same_call_twice_is_two_calls() -> None:
    """The order in which the model asked separates equal arguments."""
    trace = traced("approvals/one-approval-approves-one-call")
    paired = with_tool_calls(without_ids(trace))
    for kind in ("interaction.shown", "tool.called"):
        ids = [event.payload["tool_call"] for event in trace.of_kind(kind)]
        assert [event.payload["tool_call"] for event in paired.of_kind(kind)] == ids


def test_a_trace_in_which_no_id_lacks_is_left_alone() -> None:
    """It is the very same object, and costs nothing."""
    trace = traced("approvals/two-approvals-in-a-row")
    assert with_tool_calls(trace) is trace


def test_a_call_that_the_model_never_made_gets_no_id() -> None:
    """An execution that the model did not ask for gets no id."""
    trace = without_ids(traced("approvals/two-approvals-in-a-row"))
    unasked = tuple(
        replace(event, payload={**event.payload, "tool_calls": []})
        if event.kind == "http.exchange_ended"
        else event
        for event in trace.events
    )
    paired = with_tool_calls(replace(trace, events=unasked))
    assert {event.payload["tool_call"] for event in paired.of_kind("tool.called")} == {""}
