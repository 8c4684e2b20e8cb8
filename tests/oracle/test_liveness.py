"""After the faults everything settles: what is judged, and what proves nothing."""

from __future__ import annotations

from typing import Any

import pytest

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.finding import Finding, Verdict
from faultclock.model.scenario.scenario import Scenario
from faultclock.model.scenario.vary import Settle
from faultclock.model.trace.trace import EndingReason, Trace
from faultclock.oracle.judge import check_infos, judge
from tests.oracle.trace_builder import TraceBuilder
from tests.oracle.turn_builder import TurnBuilder

SETTLES = "liveness.settles"
SETTLE = Settle.model_validate({"faults_end": "20s", "within": "1m"})
TRANSIENT = "ProviderTransient/Provider5xx"


class Settling(TraceBuilder):
    """A trace of a scenario that says when its faults are over."""

    def __init__(self, settle: Settle | None = SETTLE, **options: Any) -> None:
        super().__init__(**options)
        scenario: Scenario = self.header.scenario.model_copy(update={"settle": settle})
        self.header = self.header.model_copy(update={"scenario": scenario})

    def fault(self, **payload: Any) -> Settling:
        """A fault of the provider fires."""
        self.event("provider", "fault.fired", fault="outage", fault_kind="http_error", **payload)
        return self


def found(model: ErrorModel, trace: Trace) -> list[Finding]:
    """Return what the check says."""
    return [item for item in judge(model, trace).findings if item.check == SETTLES]


def verdicts(model: ErrorModel, trace: Trace) -> list[Verdict]:
    """Return its verdicts."""
    return [item.verdict for item in found(model, trace)]


def test_without_a_word_about_the_end_nothing_is_judged(model: ErrorModel) -> None:
    """By when is the scenario's to say."""
    (finding,) = found(model, Settling(None).start().good().returns().build())
    assert finding.verdict is Verdict.NOT_APPLICABLE
    assert "does not say when its faults are over" in finding.reason


def test_every_model_has_the_check(model: ErrorModel) -> None:
    """No sentence names it, and it cites none."""
    (info,) = [info for info in check_infos(model) if info.id == SETTLES]
    assert info.requirements == ()


def test_a_call_that_ends_in_time_settles(model: ErrorModel) -> None:
    """With an answer or an error, when it began before."""
    built = Settling(copies=2).start("ask/1").start("ask/2").fault(call="ask/1")
    built.fails(500, call="ask/1").raises(TRANSIENT, call="ask/1")
    trace = built.wait("79s").good(call="ask/2").returns(call="ask/2").build()
    (finding,) = found(model, trace)
    assert finding.verdict is Verdict.PASS
    assert finding.judged == 2


def test_a_call_that_ends_too_late_fails(model: ErrorModel) -> None:
    """A moment after the time that it has from the end of the faults."""
    trace = Settling().start().fault(call="ask/1").wait("81s").good().returns().build()
    (finding,) = found(model, trace)
    assert finding.verdict is Verdict.FAIL
    assert finding.observed == "it ended at 1m21.12s, 1.12s too late"
    assert [trace.events[seq - 1].kind for seq in finding.events] == [
        "fault.fired",
        "call.started",
        "call.returned",
    ]


def test_a_call_that_begins_later_has_its_time_from_then(model: ErrorModel) -> None:
    """The same wait is in time for it."""
    trace = Settling().wait("40s").start().wait("59s").good().returns().build()
    assert verdicts(model, trace) == [Verdict.PASS]
    trace = Settling().wait("40s").start().wait("60s").good().returns().build()
    assert verdicts(model, trace) == [Verdict.FAIL]


@pytest.mark.parametrize(
    ("begins", "verdict"),
    [
        ("20s", Verdict.PASS),
        ("79.9s", Verdict.PASS),
        ("80s", Verdict.FAIL),
    ],
)
def test_what_begins_when_the_time_to_settle_is_over_is_to_be_answered(
    model: ErrorModel, begins: str, verdict: Verdict
) -> None:
    """Until then a breaker may cool down, and refuse what it is asked."""
    trace = Settling().wait(begins).start().raises(TRANSIENT).build()
    (finding,) = found(model, trace)
    assert finding.verdict is verdict
    if verdict is Verdict.FAIL:
        assert finding.observed == "it ended with an error, and met no fault"


def test_a_limit_of_the_provider_excuses_an_error(model: ErrorModel) -> None:
    """What it grants its callers is no fault, and does not end with them."""
    built = Settling().wait("80s").start().fault(call="ask/1").fails(429)
    assert verdicts(model, built.raises(TRANSIENT).build()) == [Verdict.PASS]


@pytest.mark.parametrize(
    ("ending", "after", "verdict"),
    [
        ("deadlock", "1s", Verdict.FAIL),
        ("virtual_time_limit", "10m", Verdict.FAIL),
        ("virtual_time_limit", "1s", Verdict.NOT_APPLICABLE),
    ],
)
def test_a_call_that_never_ends(
    model: ErrorModel, ending: EndingReason, after: str, verdict: Verdict
) -> None:
    """Where nothing more can happen, or its time was over; not where the run was cut off."""
    trace = Settling().start().fault(call="ask/1").wait(after).build(ending, "it waits")
    assert verdicts(model, trace) == [verdict]


def test_a_call_that_is_cut_off_owes_nothing(model: ErrorModel) -> None:
    """How it would have ended is unknown."""
    trace = Settling().start().wait("5m").leaves(None).build()
    assert verdicts(model, trace) == [Verdict.NOT_APPLICABLE]


def test_real_time_bounds_nothing(model: ErrorModel) -> None:
    """A machine that was busy is no fault of the subject's."""
    trace = Settling(time_base="wall").start().wait("5m").good().returns().build()
    (finding,) = found(model, trace)
    assert finding.verdict is Verdict.NOT_APPLICABLE
    assert "needs the virtual clock" in finding.reason


def test_a_call_may_end_at_the_very_end_of_its_time(model: ErrorModel) -> None:
    """80 s are in time, and a nanosecond more is not."""
    for late_ns, verdict in ((0, Verdict.PASS), (1, Verdict.FAIL)):
        built = Settling().start().fault(call="ask/1").wait("79.88s")
        built.now_ns += late_ns
        assert verdicts(model, built.good().returns().build()) == [verdict]


def test_a_run_that_is_cut_off_at_the_end_of_the_time_shows_nothing(model: ErrorModel) -> None:
    """A nanosecond later the call was too late already."""
    for late_ns, verdict in ((0, Verdict.NOT_APPLICABLE), (1, Verdict.FAIL)):
        built = Settling().start().fault(call="ask/1").wait("80s")
        built.now_ns += late_ns
        trace = built.build("virtual_time_limit", "it waits")
        assert verdicts(model, trace) == [verdict]


def test_the_last_fault_of_the_provider_is_shown(model: ErrorModel) -> None:
    """Neither an earlier one, nor that of a tool, nor what comes when the faults are over."""
    built = Settling().start().fault(call="ask/1").wait("1s").fault(call="ask/1")
    last = built.events[-1].seq
    built.event("tool", "fault.fired", fault="f", fault_kind="hang", call="ask/1")
    built.wait("19s").fault(call="ask/1")
    (finding,) = found(model, built.wait("5m").good().returns().build())
    assert finding.events[0] == last
    quiet = Settling().start().wait("5m").good().returns().build()
    (finding,) = found(model, quiet)
    assert [quiet.events[seq - 1].kind for seq in finding.events] == [
        "call.started",
        "call.returned",
    ]


def test_a_call_that_was_stopped_may_end_with_an_error(model: ErrorModel) -> None:
    """A cancel keeps the answer from it; a fault that another call met does not."""
    built = Settling().wait("80s").start()
    built.event(
        "harness", "cancel.requested", call="ask/1", calls=["ask/1"], scope="call", cancel="c"
    )
    assert verdicts(model, built.raises(TRANSIENT).build()) == [Verdict.PASS]
    other = Settling(copies=2).wait("80s").start().start("ask/2").fault(call="ask/2")
    other.raises(TRANSIENT).raises(TRANSIENT, call="ask/2")
    failed = [item for item in found(model, other.build()) if item.verdict is Verdict.FAIL]
    assert [item.call for item in failed] == ["ask/1"]


def test_a_call_that_asks_for_no_answer_may_end_with_an_error(model: ErrorModel) -> None:
    """The start of a session is none, and has to end in time like any call."""
    turn = TurnBuilder()
    scenario = turn.header.scenario.model_copy(update={"settle": SETTLE})
    turn.header = turn.header.model_copy(update={"scenario": scenario})
    turn.after("80s").opens("Session/StoreUnavailable")
    turn.event("harness", "call.skipped", call="ask/1", task="ask", why="start/1 raised")
    assert verdicts(model, turn.build()) == [Verdict.PASS]


def test_a_call_that_a_crash_ended_owes_nothing(model: ErrorModel) -> None:
    """Nor does it when the run goes on for long."""
    turn = TurnBuilder()
    scenario = turn.header.scenario.model_copy(update={"settle": SETTLE})
    turn.header = turn.header.model_copy(update={"scenario": scenario})
    turn.turn().crashes().after("5m")
    (finding,) = found(model, turn.build())
    assert finding.judged == 1


def test_a_program_that_exits_in_time_settles(model: ErrorModel) -> None:
    """How its call came out is not known, and that it is over is."""
    in_time = Settling().start().wait("79s").leaves(0).build()
    assert verdicts(model, in_time) == [Verdict.PASS]
    late = Settling().start().wait("81s").leaves(0).build()
    assert verdicts(model, late) == [Verdict.FAIL]
