"""The fake state machine: it answers as scripted, and says what it was asked."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultclock.fakes.ports.state_machine import FakeStateMachine, NextStep
from faultclock.model.scenario.session_script import SessionScript
from faultclock.sim.kernel.context import CALL_ID
from faultclock.sim.kernel.kernel import Kernel

Verdict = Literal["ok", "retry", "skip", "fail"]
RETRY = {"attempts_max": 3}


def machine(kernel: Kernel | None = None, **stage: Any) -> FakeStateMachine:
    """Return a machine with the stage `plan` as given, which goes on with the stage `act`."""
    script = SessionScript.model_validate(
        {
            "entry_stage": "plan",
            "stages": [{"id": "plan", "next": "act", **stage}, {"id": "act"}],
        }
    )
    return FakeStateMachine(script, kernel or Kernel(), 2)


def test_it_shows_its_stages_as_they_are_scripted() -> None:
    """And refuses one that it does not have."""
    found = machine(body="Think.", turn_cap=2)
    assert found.entry == "plan"
    assert (found.stage("plan").body, found.stage("plan").turn_cap) == ("Think.", 2)
    with pytest.raises(LookupError, match="'rest'"):
        found.stage("rest")


def test_a_script_without_stages_attaches_none() -> None:
    """Whoever makes a machine of it anyway is told so."""
    with pytest.raises(ValueError, match="no state machine"):
        FakeStateMachine(SessionScript(), Kernel())


def test_decisions_go_by_the_attempt_and_the_last_one_repeats() -> None:
    """For the gate and for the Assert."""
    found = machine(gate=["retry", "proceed"], asserts=["retry", "skip"])
    assert [found.check_gate("plan", attempt) for attempt in (1, 2, 3)] == [
        "retry",
        "proceed",
        "proceed",
    ]
    assert [found.assess("plan", attempt, (), False) for attempt in (1, 2, 9)] == [
        "retry",
        "skip",
        "skip",
    ]


@pytest.mark.parametrize(
    ("tool", "answer"),
    [("look", "approve"), ("send", "approve"), ("wipe", "deny"), ("wait", "defer")],
)
def test_a_tool_is_granted_as_scripted(tool: str, answer: str) -> None:
    """One that the stage allows anyway is approved."""
    grants = {"send": "approve", "wipe": "deny", "wait": "defer"}
    found = machine(allowed_tools=["look"], grants=grants)
    assert found.grant_tool("plan", tool, {}) == answer


def test_a_tool_that_the_script_does_not_know_is_denied() -> None:
    """A state machine approves nothing by silence."""
    assert machine().grant_tool("plan", "send", {}) == "deny"


def test_a_failed_act_is_never_ok() -> None:
    """It is tried again while there are attempts, and fails for good after the last one."""
    found = machine(retry=RETRY)
    assert [found.assess("plan", attempt, (), True) for attempt in (1, 2, 3)] == [
        "retry",
        "retry",
        "fail",
    ]
    assert machine().assess("plan", 1, (), True) == "fail"


@given(
    st.sampled_from(("retry", "skip", "fail")),
    st.integers(1, 6),
    st.booleans(),
    st.integers(1, 4),
)
def test_any_other_decision_of_the_script_stands(
    verdict: str, attempt: int, failed: bool, attempts_max: int
) -> None:
    """Whether or not Act failed; attempts are the runtime's to count."""
    found = machine(asserts=[verdict], retry={"attempts_max": attempts_max})
    assert found.assess("plan", attempt, (), failed) == verdict


@pytest.mark.parametrize("on_failure", ["skip", "retry-later", "abort-workflow"])
def test_after_its_last_attempt_a_stage_leads_on_or_ends(
    on_failure: Literal["skip", "retry-later", "abort-workflow"],
) -> None:
    """A retry that is still asked for then is a failure."""
    found = machine(on_failure=on_failure)
    ahead = NextStep(kind="stage", stage="act")
    assert [found.next("plan", outcome) for outcome in ("ok", "skip")] == [ahead, ahead]
    assert found.next("plan", "fail") == NextStep(kind=on_failure)
    assert found.next("plan", "retry") == NextStep(kind=on_failure)
    assert found.next("act", "ok") == NextStep(kind="end")


def test_every_question_is_a_fact() -> None:
    """It has the attempt that it is about, the answer, the call and the life."""
    kernel = Kernel()
    found = machine(kernel, retry=RETRY)
    token = CALL_ID.set("ask/1")
    try:
        found.check_gate("plan", 1)
        found.check_gate("plan", 2)
        found.grant_tool("plan", "send", {})
        found.assess("plan", 2, (), True)
        found.next("plan", "ok")
        found.next("act", "ok")
    finally:
        CALL_ID.reset(token)
    payloads = [payload for _, _, actor, _, payload in kernel.recorder.events if actor == "stage"]
    assert [kind for _, _, _, kind, _ in kernel.recorder.events] == ["stage.asked"] * 6
    asked = [
        (payload["stage"], payload["attempt"], payload["phase"], payload["answer"], payload["tool"])
        for payload in payloads
    ]
    assert asked == [
        ("plan", 1, "check_gate", "proceed", None),
        ("plan", 2, "check_gate", "proceed", None),
        ("plan", 2, "grant", "deny", "send"),
        ("plan", 2, "assess", "retry", None),
        ("plan", 2, "next", "stage act", None),
        ("act", None, "next", "end", None),
    ]
    assert {(payload["call"], payload["life"]) for payload in payloads} == {("ask/1", 2)}


def test_a_tool_whose_name_is_no_text_stands_in_the_trace_as_its_type() -> None:
    """A runtime may hand over anything, and a trace holds JSON."""
    kernel = Kernel()
    machine(kernel).grant_tool("plan", object(), {})  # type: ignore[arg-type]
    ((*_, payload),) = kernel.recorder.events
    assert payload["tool"] == "<object>"
