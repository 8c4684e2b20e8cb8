"""A framework that hands no ids to the application is judged as one that does."""

from __future__ import annotations

import dataclasses
import json

import pytest
from msgspec.structs import replace

from faultclock.load.error_model import load_error_model
from faultclock.load.scenario import find_scenarios
from faultclock.model.report.finding import Verdict
from faultclock.model.trace.trace import Trace, TraceEvent, trace_digest
from faultclock.oracle.facts.pairing import with_tool_calls
from faultclock.oracle.judge import judge
from faultclock.run.execute import execute
from faultclock.subjects.registry import load_subject
from tests.oracle.turn_builder import TurnBuilder

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
    return dataclasses.replace(
        trace, events=events, footer=trace.footer.model_copy(update={"digest": digest})
    )


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
    paired = with_tool_calls(dataclasses.replace(trace, events=unasked))
    assert {event.payload["tool_call"] for event in paired.of_kind("tool.called")} == {""}


def paired(built: TurnBuilder, *kinds: str) -> list[str | None]:
    """Return the tool calls of some events, by the name of each."""
    events = with_tool_calls(built.build()).events
    return [event.tool_call for event in events if event.kind in kinds]


def asked_for(*calls: str) -> TurnBuilder:
    """Return a turn in which the model asks for tools."""
    return TurnBuilder().turn().wants(*calls)


def test_a_tool_call_is_found_by_its_tool_and_its_arguments() -> None:
    """Where arguments are known; else by the tool, in the order of the answer."""
    built = asked_for('c1 ls {"path": "a"}', 'c2 ls {"path": "b"}', "c3 rm")
    built.calls("", "ls", path="b")
    built.calls("", "ls", path="a")
    built.calls("", "rm")
    assert paired(built, "tool.called") == ["c2", "c1", "c3"]
    shown = asked_for('c1 rm {"path": "a"}', 'c2 rm {"path": "b"}')
    for request in ("r1", "r2"):
        shown.shows(request, None)
        shown.events[-1].payload["tool"] = "rm"  # type: ignore[index]
    assert paired(shown, "interaction.shown") == ["c1", "c2"]


def test_added_arguments_leave_a_call_what_it_is() -> None:
    """A framework fills in what the schema of a tool has as defaults."""
    built = asked_for('c1 ls {"path": "a"}', 'c2 ls {"path": "b"}')
    built.calls("", "ls", path="b", text="")
    built.calls("", "ls", path="a", text="")
    assert paired(built, "tool.called") == ["c2", "c1"]


def test_changed_arguments_fit_the_only_call_of_their_tool() -> None:
    """Of two calls it could be either, so it is neither."""
    one = asked_for('c1 ls {"path": "a"}')
    one.calls("", "ls", path="other")
    assert paired(one, "tool.called") == ["c1"]
    two = asked_for('c1 ls {"path": "a"}', 'c2 ls {"path": "b"}')
    two.calls("", "ls", path="other")
    assert paired(two, "tool.called") == [""]


def test_all_events_of_an_execution_have_the_id_that_was_found_first() -> None:
    """A second execution of the same call goes to the next call that fits, or to the last."""
    built = asked_for("c1 ls", "c2 ls")
    for _ in range(3):
        execution = built.calls("", "ls")
        built.replies(execution, "")
    ids = paired(built, "tool.called")
    assert ids == ["c1", "c2", "c2"]
    assert paired(built, "tool.replied") == ids


def test_a_call_of_the_same_turn_comes_first() -> None:
    """What an earlier turn asked for is taken where the own turn asked for nothing of the kind."""
    tasks = ({"id": "ask"}, {"id": "next"})
    both = TurnBuilder(tasks=tasks).turn().wants("c1 ls").tells("c1", "{}").says().ends()
    both.begins("next/1").wants("c2 ls")
    both.calls("", "ls")
    assert paired(both, "tool.called") == ["c2"]
    earlier = TurnBuilder(tasks=tasks).turn().wants("c1 ls").tells("c1", "{}").says().ends()
    earlier.begins("next/1")
    earlier.calls("", "ls")
    assert paired(earlier, "tool.called") == ["c1"]


@pytest.mark.parametrize("absent", [None, "", "None"], ids=["null", "empty", "text"])
def test_an_id_is_absent_in_each_of_its_forms(absent: str | None) -> None:
    """Any other text is an id, also one that the model did not give."""
    built = asked_for("c1 ls")
    built.calls(absent, "ls")  # type: ignore[arg-type]
    built.calls("mine", "ls")
    assert paired(built, "tool.called") == ["c1", "mine"]
