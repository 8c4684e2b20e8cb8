"""A person is waited for exactly as long as the model says, and what they said is respected."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultclock.load.error_model import load_error_model
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.finding import Verdict
from faultclock.model.trace.trace import Trace
from faultclock.oracle.judge import judge
from tests.oracle.planted_turns import DENIED
from tests.oracle.turn_builder import TurnBuilder, error, value

MODEL = load_error_model("stud-cli")
LATE = "Session/InteractionAlreadyAnswered"
S = 1_000_000_000


def failed(model: ErrorModel, trace: Trace, check: str) -> list[str]:
    """Return what one check finds wrong."""
    own = (item for item in judge(model, trace).findings if item.check == check)
    return [item.observed for item in own if item.verdict is Verdict.FAIL]


def asked(kind: str = "Approve", deadline: str | None = "120s", **scenario: Any) -> TurnBuilder:
    """Return a turn in which a person is asked about a call of rm."""
    built = TurnBuilder(**scenario).turn().wants("c1 rm")
    return built.shows("r1", kind=kind, deadline=deadline)


@pytest.mark.parametrize(
    ("kind", "deadline", "observed"),
    [
        ("Approve", "120s", []),
        ("Approve", "60s", ["it says 1m"]),
        ("Confirm", "60s", []),
        ("Confirm", "120s", ["it says 2m"]),
        ("Auth.Password", "120s", []),
        ("Auth.DeviceCode", "600s", []),
        ("Approve", None, ["it has none"]),
    ],
)
def test_each_kind_has_its_own_deadline(
    model: ErrorModel, kind: str, deadline: str | None, observed: list[str]
) -> None:
    """The model has the figures; the provider gives that of a device code."""
    built = asked(kind, deadline).after("1s").answers("r1").runs("c1", tool="rm")
    trace = built.tells("c1", value()).says().ends().build()
    assert failed(model, trace, "approvals.deadline") == observed


def test_the_scenario_may_set_another_deadline(model: ErrorModel) -> None:
    """The session's configuration comes before the default."""
    session = {"deadlines": {"Approve": "30s"}}
    for deadline, observed in (("30s", []), ("120s", ["it says 2m"])):
        built = asked(deadline=deadline, session=session).after("1s").answers("r1")
        trace = built.runs("c1", tool="rm").tells("c1", value()).says().ends().build()
        assert failed(model, trace, "approvals.deadline") == observed


def test_a_question_may_bring_its_own_deadline(model: ErrorModel) -> None:
    """As the provider of a device code does."""
    question = {"kind": "Auth.DeviceCode", "deadline": "300s"}
    for deadline, observed in (("300s", []), ("120s", ["it says 2m"])):
        built = TurnBuilder(tasks=({"id": "ask", "do": "ask", "question": question},)).opens()
        built.begins("ask/1", "ask").shows("r1", None, kind="Auth.DeviceCode", deadline=deadline)
        trace = built.after("1s").answers("r1", "given", None).ends().build()
        assert failed(model, trace, "approvals.deadline") == observed


@given(offset_ns=st.integers(-120 * S, 120 * S), accepted=st.booleans())
def test_an_answer_counts_until_the_deadline_and_not_after_it(
    offset_ns: int, accepted: bool
) -> None:
    """To the nanosecond; at the very instant both are right."""
    built = asked()
    built.now_ns += 120 * S + offset_ns
    if offset_ns > 0:
        # The request was taken off at its deadline, as it should be.
        built.now_ns -= offset_ns
        built.dismisses("r1")
        built.now_ns += offset_ns
    built.answers("r1", "denied", refused=None if accepted else LATE)
    if not accepted and offset_ns <= 0:
        built.now_ns -= offset_ns
        built.dismisses("r1")
    trace = built.tells("c1", error(DENIED, reason="timeout")).says().ends().build()
    # One that is late and is taken all the same is what an ordering rule finds.
    wrong = offset_ns < 0 and not accepted
    assert bool(failed(MODEL, trace, "approvals.deadline")) is wrong


@given(after_ns=st.integers(0, 200 * S))
def test_a_request_ends_exactly_at_its_deadline(after_ns: int) -> None:
    """Neither before nor after it, by more than a float second can tell."""
    built = asked()
    built.now_ns += after_ns
    built.dismisses("r1").tells("c1", error(DENIED, reason="timeout"))
    found = failed(MODEL, built.says().ends().build(), "approvals.deadline")
    assert bool(found) is (abs(after_ns - 120 * S) > 1_000)


@pytest.mark.parametrize("stop", ["cancel", "crash", "tool"])
def test_a_request_that_was_cut_off_did_not_end_too_soon(model: ErrorModel, stop: str) -> None:
    """Something from outside ended it."""
    built = asked().after("5s")
    if stop == "crash":
        built.crashes().opens()
    elif stop == "cancel":
        built.cancels("turn").dismisses("r1").ends("Cancellation/TurnCancelled")
    else:
        built.cancels("tool", "c1").dismisses("r1")
        built.tells("c1", error("Cancellation/ToolCancelled")).says().ends()
    assert failed(model, built.build(), "approvals.deadline") == []


def test_a_request_that_never_ends_is_told(model: ErrorModel) -> None:
    """A turn does not wait for ever."""
    trace = asked().after("500s").build("deadlock", "the answer of a person")
    assert failed(model, trace, "approvals.deadline") == ["it never ended"]


def test_what_was_approved_has_to_run(model: ErrorModel) -> None:
    """Or the answer of one request was taken for that of another."""
    built = asked().after("1s").answers("r1")
    trace = built.tells("c1", error(DENIED, reason="no")).says().ends().build()
    assert failed(model, trace, "approvals.respected") == ["it never ran"]


@pytest.mark.parametrize(
    ("session", "good"),
    [
        ({"mode": "yolo"}, True),
        ({"mode": "allowlist", "allowlist": ["r*"]}, True),
        ({"mode": "allowlist", "allowlist": ["ls"]}, False),
    ],
)
def test_a_mode_decides_without_asking(
    model: ErrorModel, session: dict[str, Any], good: bool
) -> None:
    """The allowlist by its patterns, yolo in any case."""
    built = TurnBuilder(session=session).turn().wants("c1 rm").runs("c1", tool="rm")
    trace = built.tells("c1", value()).says().ends().build()
    assert (failed(model, trace, "approvals.respected") == []) is good


@pytest.mark.parametrize(
    ("stage", "grant", "good"),
    [
        ({"allowed_tools": ["rm"]}, None, True),
        ({}, "approve", True),
        ({}, "deny", False),
        ({}, "defer", False),
        ({}, None, False),
    ],
)
def test_a_state_machine_decides_in_any_mode(
    model: ErrorModel, stage: dict[str, Any], grant: str | None, good: bool
) -> None:
    """By its stage's list, or by a grant; any other answer blocks the call."""
    session = {"mode": "yolo", "entry_stage": "a", "stages": [{"id": "a", **stage}]}
    built = TurnBuilder(session=session).turn().staged("check_gate", "proceed").wants("c1 rm")
    if grant is not None:
        built.staged("grant", grant, tool="rm")
    built.runs("c1", tool="rm").tells("c1", value()).says()
    trace = built.staged("assess", "ok").staged("next", "end").ends().build()
    assert (failed(model, trace, "approvals.respected") == []) is good


def test_nobody_is_asked_in_a_headless_run(model: ErrorModel) -> None:
    """No person is there to answer."""
    built = asked(session={"headless": True}).after("1s").answers("r1", "denied")
    trace = built.tells("c1", error(DENIED)).says().ends().build()
    assert failed(model, trace, "approvals.respected") == ["a request was shown"]


def test_an_approval_may_be_read_to_hold_for_one_call(model: ErrorModel) -> None:
    """Under the other reading the same arguments are asked for again."""
    strict = load_error_model("stud-cli", {"approval-cache": "one-call"})
    built = TurnBuilder(declares=("audit",)).turn().wants("c1 rm").shows("r1").after("1s")
    built.answers("r1").audits_event("Approval", decision="approve", source="user", tool_call="c1")
    built.runs("c1", tool="rm").tells("c1", value()).wants("c2 rm")
    built.audits_event("Approval", decision="approve", source="cache", tool_call="c2")
    trace = built.runs("c2", tool="rm").tells("c2", value()).says().ends().build()
    assert failed(model, trace, "approvals.respected") == []
    assert len(failed(strict, trace, "approvals.respected")) == 1


def test_an_answer_takes_the_request_off_every_screen(model: ErrorModel) -> None:
    """At once, and not when a person clicks on it."""
    for off_after in ("0s", "1s"):
        built = asked().shows("r1", interactor="phone").after("1s").answers("r1")
        built.after(off_after).dismisses("r1", interactor="phone").runs("c1", tool="rm")
        trace = built.tells("c1", value()).says().ends().build()
        late = failed(model, trace, "approvals.once")
        assert late == ([] if off_after == "0s" else ["it was taken off later"])
