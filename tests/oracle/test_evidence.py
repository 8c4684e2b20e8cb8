"""A run that shows nothing is inconclusive and never blames the subject."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from msgspec.structs import replace

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.finding import Finding, Verdict
from faultclock.model.trace.trace import EndingReason, Trace
from faultclock.oracle.judge import judge
from tests.oracle.common_model import common
from tests.oracle.planted_turns import CANCELLED
from tests.oracle.trace_builder import TraceBuilder
from tests.oracle.turn_builder import TurnBuilder


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
    cut = dataclasses.replace(trace, events=trace.events[:-1])
    assert "events" in found(model, cut)[0].reason
    later = replace(trace.events[2], at_ns=trace.events[2].at_ns + 1)
    changed = dataclasses.replace(trace, events=(*trace.events[:2], later, *trace.events[3:]))
    assert any("digest" in item.reason for item in found(model, changed))
    swapped = dataclasses.replace(
        trace, events=(trace.events[1], trace.events[0], *trace.events[2:])
    )
    assert any("follows event" in item.reason for item in found(model, swapped))


def test_a_call_that_was_never_started_is_missed(model: ErrorModel) -> None:
    """A run of two calls with one of them proves half."""
    trace = TraceBuilder(copies=2).start().good().returns().build()
    assert "1 calls were started, the scenario has 2" in found(model, trace)[0].reason


def test_acts_of_no_call_make_the_trace_inconclusive(model: ErrorModel) -> None:
    """The call that the attempt belongs to is unknown."""
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
    """It can meet no fault inside a stream."""
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


def test_every_task_of_a_runtime_is_asked_or_says_why_not(model: ErrorModel) -> None:
    """A crash may have one asked again; a start that failed leaves all of them."""
    tasks = ({"id": "ask"}, {"id": "next"})
    built = TurnBuilder(tasks=tasks).turn().says().ends()
    assert "the task next was asked 0 times" in found(model, built.build())[0].reason
    built.event("harness", "call.skipped", call="next/1", task="next", why="start/2 raised")
    assert found(model, built.build())[0].verdict is Verdict.PASS
    built = TurnBuilder(tasks=tasks).turn().crashes().opens(resume=True)
    built.begins("ask/2").says().ends().begins("next/1").says().ends()
    assert found(model, built.build())[0].verdict is Verdict.PASS


def test_every_process_is_started_once(model: ErrorModel) -> None:
    """A life in which nothing was asked shows nothing."""
    built = TurnBuilder()
    built.event("harness", "process.started", resume=False, call=None)
    reason = found(model, built.begins("ask/1").says().ends().build())[0].reason
    assert reason == "process 1 was not asked to start"


@pytest.mark.parametrize("of", ["crash", "cancel", "tool ls", "interactor terminal", "store"])
def test_a_mishap_that_never_came_spoils_the_run(model: ErrorModel, of: str) -> None:
    """The finding says what would have met the fault."""
    crash = {"id": "killed", "at": "9s"}
    built = TurnBuilder(crashes=[crash]).turn().says().ends()
    built.event("harness", "fault.unmet", fault="killed", optional=False, of=of, call=None)
    (finding,) = found(model, built.build(), "evidence.faults-met")
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert {"tool ls": "execution of tool ls", "store": "the store"}.get(of, "") in finding.reason


def test_a_runtime_that_cannot_be_cancelled_shows_nothing(model: ErrorModel) -> None:
    """It was never asked, so what it would have done is not known."""
    cancel = {"id": "stop", "when": {"at": "1s"}, "scope": "turn"}
    built = TurnBuilder(cancels=[cancel]).turn()
    built.event("harness", "cancel.unsupported", cancel="stop", call=None)
    (finding,) = found(model, built.says().ends().build(), "evidence.faults-met")
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "no method `cancel`" in finding.reason


def test_a_turn_that_asked_nobody_needs_a_reason(model: ErrorModel) -> None:
    """A typed error, a cancel or a state machine is one; a canned answer is none."""
    built = TurnBuilder().turn().ends()
    assert found(model, built.build(), "evidence.exercised")[0].verdict is Verdict.INCONCLUSIVE
    for turn in (
        TurnBuilder().turn().ends("Session/StoreUnavailable"),
        TurnBuilder().turn().cancels("turn").ends(CANCELLED),
    ):
        findings = found(model, turn.build(), "evidence.exercised")
        assert [item.verdict for item in findings] == [Verdict.PASS]


def test_a_turn_is_excused_by_the_nodes_of_its_own_workflow_alone(model: ErrorModel) -> None:
    """The second turn does nothing at all."""
    nodes = [{"id": "rate", "do": "expression"}]
    tasks = ({"id": "ask"}, {"id": "again"})
    built = TurnBuilder(workflow={"nodes": nodes}, tasks=tasks).turn()
    built.event("harness", "node.called", node="rate", n=1, do="expression", call="ask/1", life=1)
    built.ends().turn("again/1").ends()
    findings = found(model, built.build(), "evidence.exercised")
    assert [(item.verdict, item.call) for item in findings if item.call] == [
        (Verdict.INCONCLUSIVE, "again/1")
    ]


@pytest.mark.parametrize(
    "scenario",
    [
        {"cancels": [{"id": "stop", "when": {"at": "1s"}, "scope": "turn"}]},
        {"crashes": [{"id": "killed", "at": "9s"}]},
        {"provider": {"faults": [{"id": "f", "then": {"kind": "connect_refused"}}]}},
        {"store": {"rules": [{"id": "f", "then": {"kind": "unavailable"}}]}},
        {"tools": [{"name": "ls", "rules": [{"id": "f", "then": {"fault": {"kind": "hang"}}}]}]},
        {},
    ],
)
def test_what_a_scenario_plans_is_judged_where_all_of_it_was_met(
    model: ErrorModel, scenario: dict[str, Any]
) -> None:
    """A scenario that plans nothing has nothing to meet."""
    options = {"tools": (), **scenario}
    trace = TurnBuilder(**options).turn().says().ends().build()
    (finding,) = found(model, trace, "evidence.faults-met")
    assert finding.verdict is (Verdict.PASS if scenario else Verdict.NOT_APPLICABLE)


def test_more_calls_than_the_scenario_has_are_not_what_was_asked_for(model: ErrorModel) -> None:
    """The other one is of another run."""
    built = TraceBuilder().start().good().returns().start("ask/2")
    trace = built.good(call="ask/2").returns(call="ask/2").build()
    assert "2 calls were started, the scenario has 1" in found(model, trace)[0].reason


def test_time_does_not_go_back(model: ErrorModel) -> None:
    """Two events may share an instant."""
    built = TraceBuilder().start().good().returns()
    assert found(model, built.build())[0].verdict is Verdict.PASS
    built.now_ns -= 1
    built.event("harness", "run.started")
    reasons = [item.reason for item in found(model, built.build())]
    last = built.events[-1].seq
    assert reasons == [f"event {last} is earlier than the one before it"]


def test_a_leak_is_shown_by_its_first_ten_events(model: ErrorModel) -> None:
    """Each kind at each site is one."""
    built = TraceBuilder().start()
    first = len(built.events) + 1
    for _ in range(11):
        built.event("harness", "leak", what="time.time", site="a.py:3")
    built.event("harness", "leak", what="time.time", site="a.py:4")
    one, other = found(model, built.good().returns().build(), "evidence.no-leaks")
    assert one.events == tuple(range(first, first + 10))
    assert other.events == (first + 11,)


def test_a_process_that_died_at_its_first_instant_need_not_be_started(model: ErrorModel) -> None:
    """There was no time to ask it for anything."""
    built = TurnBuilder()
    built.event("harness", "process.started", resume=False, call=None)
    built.event("harness", "process.crashed", crash="killed", call=None)
    built.life = 2
    trace = built.turn().says().ends().build()
    assert found(model, trace)[0].verdict is Verdict.PASS


def test_a_turn_needs_a_reason_of_its_own(model: ErrorModel) -> None:
    """A state machine that was asked for another turn is none; an untyped error is none."""
    tasks = ({"id": "ask"}, {"id": "again"})
    session = {"entry_stage": "a", "stages": [{"id": "a"}]}
    built = TurnBuilder(tasks=tasks, session=session).turn().staged("check_gate", "stop").ends()
    built.begins("again/1").ends()
    findings = found(model, built.build(), "evidence.exercised")
    assert [item.call for item in findings if "single attempt" in item.reason] == ["again/1"]
    untyped = TurnBuilder().turn()
    untyped.raises({"type": "E", "message": "", "class": None, "code": None, "link": "outer"})
    (finding, *_) = found(model, untyped.build(), "evidence.exercised")
    assert finding.verdict is Verdict.INCONCLUSIVE


def _dripping(then: str) -> TraceBuilder:
    built = TraceBuilder().start()
    connection = built.connect()
    built.answer(connection, built.ask(connection))
    built.deliver(connection)
    return built.wait(then)


def test_a_run_that_its_events_ended_while_an_answer_dripped_shows_no_loop() -> None:
    """The limit is ours, and a poll beside a slow stream is no mistake."""
    ours = "it ended at Faultclock's own limit of events while the answer was still coming"
    for then, said in (("8s", ours), ("2m", "the run was ended at its limit of events")):
        trace = _dripping(then).build("event_limit", "60000 events happened")
        findings = judge(common(), trace).findings
        (whole,) = (it for it in findings if it.check == "evidence.whole")
        assert whole.observed == f"{said}: 60000 events happened"


def test_what_a_run_was_ended_in_is_said_once() -> None:
    """What each task was at is a page of its own, and no reason of each check."""
    trace = TraceBuilder().start().good().returns().build("watchdog", "thread 1 is at x")
    findings = judge(common(), trace).findings
    reasons = {it.reason for it in findings if it.check.startswith("retries.") and it.reason}
    assert "evidence.whole: the watchdog ended the run" in {
        it.reason for it in findings if it.check != "evidence.whole"
    }
    assert not any("thread 1" in reason for reason in reasons)
