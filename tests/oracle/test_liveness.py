"""After the faults everything settles: what is judged, and what proves nothing."""

from __future__ import annotations

from typing import Any

import pytest

from faultclock.model.error_model import ErrorModel
from faultclock.model.finding import Finding, Verdict
from faultclock.model.scenario import Scenario
from faultclock.model.trace import EndingReason, Trace
from faultclock.model.vary import Settle
from faultclock.oracle.judge import check_infos, judge
from tests.oracle.trace_builder import TraceBuilder

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


def test_what_begins_after_the_faults_is_to_be_answered(model: ErrorModel) -> None:
    """An error then is one too many; a moment earlier it was not."""
    trace = Settling().wait("20s").start().raises(TRANSIENT).build()
    (finding,) = found(model, trace)
    assert finding.verdict is Verdict.FAIL
    assert finding.observed == "it ended with an error, and met no fault"
    trace = Settling().wait("19.9s").start().raises(TRANSIENT).build()
    assert verdicts(model, trace) == [Verdict.PASS]


def test_a_limit_of_the_provider_excuses_an_error(model: ErrorModel) -> None:
    """What it grants its callers is no fault, and does not end with them."""
    built = Settling().wait("20s").start().fault(call="ask/1").fails(429)
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
