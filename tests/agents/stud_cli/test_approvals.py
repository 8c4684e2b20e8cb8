"""Approvals: who decides, what is audited before the act, what the model is told of a denial."""

from __future__ import annotations

from typing import Any

import pytest

from faultclock.agents.calls import Call
from faultclock.agents.stud_cli.person import Approvals
from faultclock.agents.stud_cli.runtime import DECLARES, ReferenceRuntime
from faultclock.subjects.bind_runtime import runtime
from tests.agents.stud_cli.play import LOOK, PAY, TURN, calling, play, saying


def person(*rules: dict[str, Any], id: str = "terminal") -> dict[str, Any]:
    """Return an interactor whose rules are these answers, to all requests or to the nth."""
    return {
        "id": id,
        "rules": [
            {"id": f"{id}-{number}", "when": rule.pop("when", {}), "then": rule}
            for number, rule in enumerate([dict(rule) for rule in rules])
        ],
    }


ANSWER = [calling("pay"), saying()]
DELETE = {"name": "erase", "gated": True, "destructive": True}


def test_an_approved_call_is_audited_once_before_it_is_executed() -> None:
    """The Approval record stands before the act that it allows."""
    played = play(*ANSWER)
    assert played.order("Approval", "tool.called") == ["Approval", "tool.called"]
    (record,) = played.said("Approval")
    assert (record["decision"], record["source"], record["tool"]) == ("approve", "user", "pay")
    assert record["tool_call"] == played.events("tool.called")[0].payload["tool_call"]


def test_a_denied_call_reaches_the_model_as_a_typed_result() -> None:
    """Nothing is executed, and the turn goes on with the denial."""
    played = play(*ANSWER, interactors=[person({"kind": "deny", "reason": "too dear"})])
    assert played.ending() == "Done."
    assert played.events("tool.called") == []
    (told,) = played.told()
    assert told["error"] == {
        "class": "ToolTerminal",
        "code": "ApprovalDenied",
        "message": "The call was not approved and was not executed.",
        "decider": "user",
        "reason": "too dear",
    }
    (denied,) = played.said("ToolCallDenied")
    assert (denied["decider"], denied["reason"]) == ("user", "too dear")


@pytest.mark.parametrize(
    ("tool", "deadline_s"), [("pay", 120.0), ("erase", 60.0)], ids=["Approve", "Confirm"]
)
def test_an_approval_that_nobody_gives_is_a_denial_at_its_deadline(
    tool: str, deadline_s: float
) -> None:
    """At exactly the deadline: InteractionTimedOut, then the denial, then the model is told."""
    played = play(
        calling(tool),
        saying(),
        tools=[PAY, DELETE],
        interactors=[person({"kind": "never"})],
    )
    (shown,) = played.at_s("interaction.shown")
    (timed_out,) = played.declared("InteractionTimedOut")
    assert timed_out.at_ns / 1e9 - shown == pytest.approx(deadline_s, abs=1e-9)
    wanted = ("InteractionTimedOut", "interaction.dismissed", "Approval", "ToolCallDenied")
    assert played.order(*wanted) == list(wanted)
    (denied,) = played.said("ToolCallDenied")
    assert (denied["decider"], denied["reason"]) == ("modeGate", "timeout")
    assert played.told()[0]["error"]["reason"] == "timeout"


@pytest.mark.parametrize(("after", "executed"), [("119.999999999s", 1), ("120.000000001s", 0)])
def test_the_deadline_is_met_to_the_tick(after: str, executed: int) -> None:
    """An answer one tick before it counts; one tick after it is refused, and changes nothing."""
    late = {"kind": "approve", "after": after, "even_if_dismissed": True}
    played = play(*ANSWER, interactors=[person(late)])
    assert len(played.events("tool.called")) == executed
    (answered,) = played.events("interaction.answered")
    assert answered.payload["accepted"] is bool(executed)
    if not executed:
        assert answered.payload["code"] == "InteractionAlreadyAnswered"


def test_a_second_answer_is_refused() -> None:
    """To click twice is to click once."""
    twice = {"kind": "approve", "times": 2, "even_if_dismissed": True}
    played = play(*ANSWER, interactors=[person(twice)], tools=[{**PAY, "takes": "5s"}])
    accepted = [event.payload["accepted"] for event in played.events("interaction.answered")]
    assert accepted == [True, False]
    assert len(played.events("tool.called")) == 1


def test_the_first_of_several_interactors_wins_and_the_others_are_dismissed() -> None:
    """InteractionAnswered comes first, then the request leaves the other screens."""
    slow = {"kind": "deny", "after": "5s", "even_if_dismissed": True}
    interactors = [
        person(slow, id="one"),
        person({"kind": "approve", "after": "1s"}, id="two"),
        person({"kind": "break_down"}, id="three"),
    ]
    played = play(*ANSWER, interactors=interactors, tools=[{**PAY, "takes": "9s"}])
    assert len(played.events("tool.called")) == 1
    wanted = ("interaction.broken", "InteractionAnswered", "interaction.dismissed")
    assert played.order(*wanted) == list(wanted)
    (dismissed,) = played.events("interaction.dismissed")
    assert dismissed.payload["interactor"] == "one"
    assert len(played.said("SuppressedError")) == 1


def test_parallel_approvals_are_asked_in_order_and_their_results_are_in_order() -> None:
    """Prompts are first in, first out; the calls then run at the same time."""
    tools = [{**PAY, "takes": "3s"}, {**LOOK, "gated": True, "takes": "1s"}]
    played = play(calling("pay", "look"), saying(), tools=tools)
    shown, answered = played.at_s("interaction.shown"), played.at_s("interaction.answered")
    assert [event.payload["tool"] for event in played.events("interaction.shown")] == [
        "pay",
        "look",
    ]
    assert shown[1] == answered[0]
    assert len(set(played.at_s("tool.called"))) == 1
    assert played.told() == [{"value": {"paid": True}}, {"value": {"seen": True}}]


def test_thinking_about_an_approval_does_not_use_up_the_tools_time() -> None:
    """The deadline of a tool begins with its execution."""
    slow = person({"kind": "approve", "after": "100s"})
    tool = {**PAY, "timeout": "10s", "takes": "9s"}
    played = play(*ANSWER, interactors=[slow], tools=[tool])
    assert played.told() == [{"value": {"paid": True}}]


def test_an_approval_is_remembered_for_the_same_arguments_only() -> None:
    """The cache is keyed by the tool and its arguments."""
    replies = [
        calling("pay", arguments='{"n": 1}'),
        calling("pay", arguments='{ "n": 1 }'),
        calling("pay", arguments='{"n": 2}'),
        saying(),
    ]
    played = play(*replies)
    assert [item["source"] for item in played.said("Approval")] == ["user", "cache", "user"]


def test_a_denial_is_not_remembered() -> None:
    """The person may think again."""
    answers = person({"kind": "deny", "when": {"requests": 1}}, {"kind": "approve"})
    played = play(calling("pay"), calling("pay"), saying(), interactors=[answers])
    assert [item["decision"] for item in played.said("Approval")] == ["deny", "approve"]


@pytest.mark.parametrize(
    ("session", "decision", "source"),
    [
        ({"mode": "yolo"}, "approve", "yolo"),
        ({"mode": "allowlist", "allowlist": ["pa*"]}, "approve", "allowlist"),
        ({"mode": "allowlist", "allowlist": ["p"]}, "deny", "allowlist"),
        ({"mode": "yolo", "headless": True}, "approve", "yolo"),
    ],
)
def test_the_mode_decides_without_a_person(
    session: dict[str, Any], decision: str, source: str
) -> None:
    """Mode yolo approves, mode allowlist goes by its anchored patterns."""
    played = play(*ANSWER, session=session)
    (record,) = played.said("Approval")
    assert (record["decision"], record["source"]) == (decision, source)
    assert played.events("interaction.shown") == []


def test_a_headless_turn_that_needs_a_person_halts() -> None:
    """One permission-required, audited as a halt; nothing is executed, asked or kept."""
    played = play(
        calling("look", "pay"),
        saying(),
        session={"headless": True},
        tasks=[TURN, {"id": "b", "do": "turn", "prompt": "Again."}],
    )
    assert played.ending() == "permission-required"
    assert played.events("tool.called") == []
    assert [item["decision"] for item in played.said("Approval")] == ["halt", "halt"]
    assert len(played.said("permission-required")) == 2
    assert played.said("ToolCallDenied") == []
    assert played.roles() == ["user"]
    assert "RENDER" not in [item["stage"] for item in played.said("StagePreFired")]


def test_closing_the_dialog_cancels_the_turn() -> None:
    """The approval is audited as cancelled, no other prompt comes, and the next turn works."""
    answers = person({"kind": "dismiss", "when": {"requests": 1}}, {"kind": "approve"})
    played = play(
        calling("pay", "pay"),
        saying(),
        interactors=[answers],
        tasks=[TURN, {"id": "b", "do": "turn"}],
    )
    assert played.ending() == "Cancellation/TurnCancelled"
    assert [(item["decision"], item["source"]) for item in played.said("Approval")] == [
        ("cancelled", None)
    ]
    assert played.ending("b/1") == "Done."
    assert played.errors() == []


def test_without_any_interactor_the_turn_fails() -> None:
    """Nobody can be asked, so nothing is executed."""
    played = play(*ANSWER, interactors=[])
    assert played.ending() == "Session/NoInteractorAttached"
    assert played.events("tool.called") == []


def test_the_provider_may_fail_while_nothing_is_open() -> None:
    """A limit of the provider after an approval does not ask again."""
    faults = [
        {
            "id": "f",
            "when": {"attempts": 2},
            "then": {"kind": "http_error", "status": 429, "error": "rate_limit_exceeded"},
        }
    ]
    played = play(*ANSWER, faults=faults)
    assert played.ending() == "Done."
    assert len(played.said("Approval")) == 1
    assert list(played.effects()) == [("pay", 1)]


def test_a_call_that_cannot_be_audited_is_not_executed() -> None:
    """The audit trail comes before the act: without it there is none, and no memory of it."""

    class Unwritable(Approvals):
        def audit(self, call: Call, decision: str, source: str | None) -> None:
            raise RuntimeError("the audit trail is full")

    class Unaudited(ReferenceRuntime):
        approvals_type = Unwritable

    binding = runtime(id="unaudited", declares=DECLARES, inline=True)(Unaudited)
    played = play(*ANSWER, binding=binding, tasks=[TURN, {"id": "b", "do": "turn"}])
    assert played.ending() == "None/None"
    assert played.events("tool.called") == []
    assert "cache" not in [item["source"] for item in played.said("Approval")]
