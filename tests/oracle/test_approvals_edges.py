"""Approvals at their edges: by which instant an answer counts, and what excuses the rest."""

from __future__ import annotations

from typing import Any

import pytest

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.finding import Finding, Verdict
from faultclock.oracle.judge import judge
from tests.oracle.common_model import found as found_in_common
from tests.oracle.common_model import verdict as verdict_in_common
from tests.oracle.planted_turns import CANCELLED, DENIED
from tests.oracle.turn_builder import TurnBuilder, error, value

TYPED = "Session/InteractionAlreadyAnswered"


def findings(model: ErrorModel, built: TurnBuilder, check: str) -> list[Finding]:
    """Return the findings of one check."""
    return [item for item in judge(model, built.build()).findings if item.check == check]


def failed(model: ErrorModel, built: TurnBuilder, check: str) -> list[str]:
    """Return what one check finds wrong."""
    return [item.observed for item in findings(model, built, check) if item.verdict is Verdict.FAIL]


def is_judged(model: ErrorModel, built: TurnBuilder, check: str) -> bool:
    """Return whether one check has judged anything."""
    return {item.verdict for item in findings(model, built, check)} != {Verdict.NOT_APPLICABLE}


# ---------------------------------------------------------------------------- by when it counts


def asked(deadline: str | None = "10s") -> TurnBuilder:
    """Return a turn in which a gated call is shown to a person."""
    return TurnBuilder().turn().wants("c1 rm").after("1s").shows("r1", deadline=deadline)


@pytest.mark.parametrize(("after_ns", "seen"), [(10_000_000_000, "PASS"), (10_000_000_001, "FAIL")])
def test_a_yes_counts_until_the_very_end_of_the_deadline(after_ns: int, seen: str) -> None:
    """A nanosecond later it is none."""
    built = asked()
    built.now_ns += after_ns
    built.answers("r1").runs("c1", tool="rm")
    assert verdict_in_common(built, "approvals.consent") == seen


def test_a_tool_may_run_at_the_instant_of_the_yes_and_not_before_it() -> None:
    """The instant counts, and not the order in which the two were written down."""
    same = asked().after("1s")
    execution = same.calls("c1", "rm")
    same.answers("r1")
    same.replies(execution, "c1", tool="rm")
    assert verdict_in_common(same, "approvals.consent") == "PASS"
    before = asked().after("1s")
    execution = before.calls("c1", "rm")
    before.now_ns += 1
    before.answers("r1")
    before.replies(execution, "c1", tool="rm")
    assert verdict_in_common(before, "approvals.consent") == "FAIL"


def test_a_call_that_ran_while_the_person_was_asked_had_no_answer() -> None:
    """It is shown by the request and the execution."""
    built = asked().runs("c1", tool="rm")
    finding = found_in_common(built, "approvals.consent")
    assert finding.observed == "it ran, and the person had not answered"
    kinds = [built.events[seq - 1].kind for seq in finding.events]
    assert kinds == ["interaction.shown", "tool.called"]


def test_a_yes_after_the_end_of_the_turn_is_none() -> None:
    """Nothing was left that it could be for."""
    built = asked().ends()
    built.after("1s").answers("r1").runs("c1", tool="rm")
    observed = found_in_common(built, "approvals.consent").observed
    assert observed == "it ran, and the person said yes, and the turn had ended"


@pytest.mark.parametrize(("after", "seen"), [("1s", "PASS"), ("11s", "FAIL")])
def test_an_answer_is_one_to_the_request_that_was_shown_before_it(after: str, seen: str) -> None:
    """That it is shown again later takes nothing back, and makes up for nothing."""
    built = asked().after(after).answers("r1").after("1s").shows("r1", deadline="10s")
    built.runs("c1", tool="rm")
    assert verdict_in_common(built, "approvals.consent") == seen


def test_a_session_in_which_no_person_decides_says_so() -> None:
    """Its tools run without a yes."""
    built = TurnBuilder(session={"mode": "yolo"}).turn().wants("c1 rm").runs("c1", tool="rm")
    finding = found_in_common(built, "approvals.consent")
    assert finding.verdict is Verdict.NOT_APPLICABLE
    assert finding.reason == "no person decides in this session"


def test_two_answers_at_one_instant_are_both_first() -> None:
    """Which of them was first cannot be said."""
    built = asked().after("1s").answers("r1", "denied").answers("r1", interactor="phone")
    built.runs("c1", tool="rm")
    assert verdict_in_common(built, "approvals.consent") == "PASS"


# ---------------------------------------------------------------------------- on other screens


def shown_twice(*, first: str = "terminal") -> TurnBuilder:
    """Return a turn in which a request is shown on two screens, and answered on one of them."""
    built = TurnBuilder().turn().wants("c1 rm").shows("r1").shows("r1", interactor="phone")
    return built.after("1s").answers("r1", interactor=first)


@pytest.mark.parametrize(
    ("late_ns", "observed"),
    [(0, []), (1_000, []), (1_001, ["it was taken off later"]), (None, ["it stayed there"])],
)
def test_a_dialog_elsewhere_closes_within_a_microsecond(
    model: ErrorModel, late_ns: int | None, observed: list[str]
) -> None:
    """It is the other one that has to."""
    for first, other in (("terminal", "phone"), ("phone", "terminal")):
        built = shown_twice(first=first)
        if late_ns is not None:
            built.now_ns += late_ns
            built.dismisses("r1", interactor=other)
        built.runs("c1", tool="rm").tells("c1", value()).says().ends()
        assert failed(model, built, "approvals.once") == observed


@pytest.mark.parametrize(("late_ns", "refused"), [(1_000, TYPED), (1_001, TYPED)])
def test_a_screen_that_answers_at_the_same_time_has_nothing_to_take_off(
    model: ErrorModel, late_ns: int, refused: str
) -> None:
    """A microsecond is the same time."""
    built = shown_twice()
    built.now_ns += late_ns
    built.answers("r1", "denied", refused=refused, interactor="phone")
    built.runs("c1", tool="rm").tells("c1", value()).says().ends()
    stays = [] if late_ns == 1_000 else ["it stayed there"]
    assert failed(model, built, "approvals.once") == stays


def test_a_screen_that_is_shown_the_request_later_is_not_one_of_the_others(
    model: ErrorModel,
) -> None:
    """When the answer came there was nothing on it."""
    built = TurnBuilder().turn().wants("c1 rm").shows("r1").after("1s").answers("r1")
    built.shows("r1", interactor="phone")
    built.runs("c1", tool="rm").tells("c1", value()).says().ends()
    assert failed(model, built, "approvals.once") == []
    assert not is_judged(model, built, "approvals.once")


def test_a_process_that_is_killed_at_the_answer_takes_nothing_off(model: ErrorModel) -> None:
    """It had no time for it; one that is killed later had."""
    for after, stays in (("0s", []), ("1s", ["it stayed there"])):
        built = shown_twice().after(after).crashes()
        assert failed(model, built, "approvals.once") == stays


def test_a_later_answer_is_refused_with_the_error_of_the_model(model: ErrorModel) -> None:
    """One that was accepted is another rule's matter."""
    for refused, observed in (
        (TYPED, []),
        ("Session/TooLate", ["it was refused with Session/TooLate"]),
    ):
        built = TurnBuilder().turn().wants("c1 rm").shows("r1").after("1s").answers("r1")
        built.after("1s").answers("r1", "denied", refused=refused)
        built.runs("c1", tool="rm").tells("c1", value()).says().ends()
        assert failed(model, built, "approvals.once") == observed
        assert is_judged(model, built, "approvals.once")
        expected = [item.expected for item in findings(model, built, "approvals.once")]
        assert all(item.startswith("Approve r1 about c1: ") for item in expected if item)


# ------------------------------------------------------------------------------------ in order


def test_each_approval_comes_after_those_of_the_calls_before_it(model: ErrorModel) -> None:
    """A wrong order is one violation an answer, that of the first two that are swapped."""
    built = TurnBuilder().turn().wants("c1 rm", "c2 rm", "c3 rm")
    for request in ("r1", "r3", "r2"):
        built.shows(request, request.replace("r", "c")).after("1s")
        built.answers(request, "denied", request.replace("r", "c"))
    for call in ("c1", "c2", "c3"):
        built.tells(call, error(DENIED))
    built.says().ends()
    assert failed(model, built, "approvals.order") == ["c2 was asked for after c3"]
    again = TurnBuilder().turn().wants("c1 rm", "c2 rm")
    for request, call in (("r1", "c1"), ("r1b", "c1"), ("r2", "c2")):
        again.shows(request, call).after("1s").answers(request, "denied", call)
    assert failed(model, again, "approvals.order") == []


def test_one_request_has_no_order(model: ErrorModel) -> None:
    """Nor have those of two answers."""
    built = TurnBuilder().turn()
    for number in (1, 2):
        built.wants(f"c{number} rm").shows(f"r{number}", f"c{number}").after("1s")
        built.answers(f"r{number}", "denied", f"c{number}").tells(f"c{number}", error(DENIED))
    assert not is_judged(model, built.says().ends(), "approvals.order")


# ------------------------------------------------------------------- what was approved has to run


def approved(*, session: dict[str, Any] | None = None, cancels: str | None = None) -> TurnBuilder:
    """Return a turn in which a call is approved and never runs."""
    built = TurnBuilder(session=session or {}).turn().wants("c1 rm")
    built.shows("r1").after("1s").answers("r1")
    if cancels is not None:
        built.cancels(cancels, "c9" if cancels == "tool" else None)
    return built


@pytest.mark.parametrize(
    ("options", "observed"),
    [
        ({}, ["it never ran"]),
        ({"session": {"budgets": {"tool_calls_max": 5}}}, []),
        ({"cancels": "tool"}, []),
        ({"cancels": "turn"}, []),
    ],
)
def test_what_may_have_kept_an_approved_call_from_running(
    model: ErrorModel, options: dict[str, Any], observed: list[str]
) -> None:
    """A budget, or a cancel of any tool or of the turn."""
    built = approved(**options)
    if options.get("cancels") == "turn":
        built.ends(CANCELLED)
    else:
        built.tells("c1", error(DENIED)).says().ends()
    assert failed(model, built, "approvals.respected") == observed


def test_a_turn_that_has_not_ended_may_still_run_what_was_approved(model: ErrorModel) -> None:
    """Nothing shows that it will not."""
    assert failed(model, approved(), "approvals.respected") == []


# ------------------------------------------------------------------------------------- headless


def headless(*calls: str) -> TurnBuilder:
    """Return a headless turn in which the model asks for tools."""
    return TurnBuilder(session={"headless": True}).turn().wants(*calls)


def test_a_headless_turn_halts_where_a_person_is_needed(model: ErrorModel) -> None:
    """To go on is a violation; a tool that needs no person changes nothing."""
    halts = headless("c1 rm").ends("Session/HeadlessInteractionRequired")
    assert failed(model, halts, "approvals.respected") == []
    assert is_judged(model, halts, "approvals.respected")
    goes_on = headless("c1 rm").tells("c1", error(DENIED)).says().ends()
    assert failed(model, goes_on, "approvals.respected") == [
        "it went on, and asked the model again"
    ]
    (fault,) = (
        item
        for item in findings(model, goes_on, "approvals.respected")
        if item.verdict is Verdict.FAIL
    )
    kinds = [goes_on.events[seq - 1].kind for seq in fault.events]
    assert kinds == ["net.delivered", "net.connect"]
    free = headless("c1 ls").runs("c1").tells("c1", value()).says().ends()
    assert not is_judged(model, free, "approvals.respected")
