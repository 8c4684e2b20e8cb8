"""Cancels in every scope, at every moment: prompt, downwards, told as what they are."""

from __future__ import annotations

from typing import Any

import pytest

from faultclock.agents.stud_cli.cancellation import Scope
from tests.agents.stud_cli.play import LOOK, PAY, TURN, Played, calling, play, saying
from tests.agents.stud_cli.test_approvals import person

NEXT = {"id": "b", "do": "turn", "prompt": "And now?"}
LIMITED = [
    {
        "id": "f",
        "when": {"attempts": 1, "task": "a"},
        "then": {
            "kind": "http_error",
            "status": 429,
            "error": "rate_limit_exceeded",
            "headers": {"retry-after": "60"},
        },
    }
]


def cancel(
    on: str | None, scope: str = "turn", target: str | None = None, **more: Any
) -> list[dict[str, Any]]:
    """Return a cancel on an event."""
    when = {"on": {"kind": on, **more.pop("where", {})}, **more}
    return [{"id": "c", "when": when, "scope": scope, "target": target, "times": 2}]


def is_whole(played: Played) -> bool:
    """Return whether every bracket of events is closed."""
    starts, ends = len(played.said("SessionTurnStart")), len(played.said("SessionTurnEnd"))
    before = sorted(item["id"] for item in played.said("StagePreFired"))
    after = sorted(item["id"] for item in played.said("StagePostFired"))
    return starts == ends and before == after


MOMENTS = {
    "while the request is sent": ("net.connect", {}),
    "while the model thinks": ("http.request", {}),
    "in the middle of a stream": ("http.response", {"delay": "70ms"}),
    "while an approval is open": ("interaction.shown", {"delay": "1s"}),
    "while a tool runs": ("tool.called", {"delay": "50ms"}),
    "while the session is saved": ("tool.replied", {"delay": "2ms"}),
}


@pytest.mark.parametrize("scope", ["turn", "session"])
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_cancel_is_prompt_and_leaves_no_half_state(moment: str, scope: str) -> None:
    """The call ends at that instant, cancelled, not failed; the next turn finds a whole state."""
    on, more = MOMENTS[moment]
    played = play(
        calling("pay", "look"), saying(), cancels=cancel(on, scope, **more), tasks=[TURN, NEXT]
    )
    (first, _) = played.events("cancel.requested")
    (end,) = played.events("call.raised", call="a/1")
    assert end.at_ns == first.at_ns
    assert played.ending() == f"Cancellation/{scope.title()}Cancelled"
    assert is_whole(played)
    assert played.errors() == []
    assert played.events("declared.user_message") == []
    codes = [item["code"] for item in played.said("Cancellation")]
    assert codes.count("TurnCancelled") == 1
    if scope == "session":
        assert codes[-2:] == ["TurnCancelled", "SessionCancelled"]
        assert played.ending("b/1") == "Cancellation/SessionCancelled"
        assert len(played.said("SessionTurnStart")) == 1
    else:
        assert played.ending("b/1") == "Done."


def test_a_cancel_during_backoff_is_prompt() -> None:
    """Nobody waits for the end of a wait that has no use any more."""
    played = play(
        faults=LIMITED,
        cancels=cancel("http.exchange_ended", delay="10s"),
        tasks=[TURN, NEXT],
    )
    assert played.at_s("call.raised") == played.at_s("cancel.requested")[:1]
    assert played.ending("b/1") == "Done."
    assert played.errors() == [("ProviderTransient", "RateLimited", 1)]


def test_a_cancelled_prompt_leaves_the_screen() -> None:
    """Its approval is audited as cancelled, and a late answer is refused."""
    late = person({"kind": "approve", "even_if_dismissed": True})
    played = play(
        calling("pay"),
        saying(),
        interactors=[late],
        cancels=cancel("interaction.shown", delay="1s"),
        tasks=[TURN, NEXT],
    )
    assert len(played.events("interaction.dismissed")) == 1
    assert [item["decision"] for item in played.said("Approval")] == ["cancelled"]
    (answered,) = played.events("interaction.answered")
    assert answered.payload["accepted"] is False
    assert played.events("tool.called") == []


@pytest.mark.parametrize("target", ["pay", None])
def test_a_cancelled_tool_does_not_take_its_sibling_along(target: str | None) -> None:
    """Never sideways: the other call completes, and the model is told of both in order."""
    tools = [{**PAY, "gated": False, "takes": "5s"}, {**LOOK, "takes": "9s"}]
    played = play(
        calling("pay", "look"),
        saying(),
        tools=tools,
        cancels=cancel("tool.called", "tool", target, where={"nth": 2}, delay="1s"),
    )
    assert played.ending() == "Done."
    told = played.told()
    assert told[0]["error"]["code"] == "ToolCancelled"
    if target:
        assert told[1] == {"value": {"seen": True}}
        assert len(played.said("ToolInvocationCancelled")) == 1
    else:
        assert told[1]["error"]["code"] == "ToolCancelled"


def test_a_tool_that_is_cancelled_while_its_approval_is_open_is_not_executed() -> None:
    """The prompt leaves the screen, and the turn goes on."""
    played = play(
        calling("pay"), saying(), cancels=cancel("interaction.shown", "tool", "pay", delay="1s")
    )
    assert played.ending() == "Done."
    assert played.events("tool.called") == []
    assert [item["decision"] for item in played.said("Approval")] == ["cancelled"]
    assert played.told()[0]["error"]["code"] == "ToolCancelled"


def test_a_cut_off_call_is_sealed_in_the_history() -> None:
    """The next turn's model knows that the outcome is unknown, and the call is not run again."""
    played = play(
        calling("look"), saying(), cancels=cancel("tool.called", delay="1ms"), tasks=[TURN, NEXT]
    )
    assert played.roles() == ["user", "assistant", "tool", "user"]
    assert "unknown" in played.told()[0]["error"]["message"]
    assert len(played.events("tool.called")) == 1


def test_a_cancel_of_a_scope_in_which_nothing_runs_does_nothing() -> None:
    """There is nothing to cancel, so nothing is said."""
    cancels = [{"id": "c", "when": {"at": "50s"}, "scope": "turn"}]
    played = play(cancels=cancels, tasks=[TURN, {**NEXT, "at": "60s"}])
    assert played.said("Cancellation") == []
    assert played.ending("b/1") == "Done."


def test_a_child_of_a_cancelled_scope_is_born_cancelled() -> None:
    """It has its own code, and nothing is told twice."""
    told: list[str] = []
    session = Scope("session", told=lambda scope: told.append(scope.kind))
    turn = session.child("turn")
    turn.child("tool", "pay", "call_1")
    session.cancel("user")
    session.cancel("user")
    late = session.child("turn").child("tool", "look", "call_2")
    assert told == ["tool", "turn", "session"]
    assert late.error is not None
    assert late.error.code == "ToolCancelled"


def test_a_cancel_goes_down_only() -> None:
    """Neither the parent nor a sibling is touched."""
    session = Scope("session", told=lambda scope: None)
    turn = session.child("turn")
    one, two = turn.child("tool", "pay"), turn.child("tool", "look")
    for scope in session.find("tool", "pay"):
        scope.cancel("user")
    assert [scope.error is None for scope in (session, turn, one, two)] == [True, True, False, True]


@pytest.mark.parametrize("scope", ["tool", "turn"])
def test_a_call_that_has_its_result_is_not_cancelled_any_more(scope: str) -> None:
    """Its sibling is; the result stays, whatever becomes of the turn."""
    tools = [{**PAY, "gated": False, "takes": "1s"}, {**LOOK, "takes": "9s"}]
    played = play(
        calling("pay", "look"),
        saying(),
        tools=tools,
        cancels=cancel("tool.replied", scope, delay="1s"),
        tasks=[TURN, NEXT],
    )
    told = played.told()
    assert told[0] == {"value": {"paid": True}}
    assert told[1]["error"]["code"] == "ToolCancelled"
    assert [item["tool"] for item in played.said("ToolInvocationCancelled")] == ["look"]
