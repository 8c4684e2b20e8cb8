"""An attached state machine: phases, grants, caps, retries of stages on top of the transport's."""

from __future__ import annotations

from typing import Any

import pytest

from tests.agents.stud_cli.play import PAY, TURN, Played, calling, play, saying

PHASES = ["Setup", "Init", "CheckGate", "Act", "Assert", "Exit", "Next"]


def machine(*stages: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a session with these stages; the first is the entry."""
    named = [{"id": f"s{number}", **stage} for number, stage in enumerate(stages, start=1)]
    return {"entry_stage": "s1", "stages": named, **more}


def phases(played: Played) -> list[str]:
    """Return the phases in the order in which they began."""
    stages = [item["stage"] for item in played.said("StagePreFired")]
    return [stage.rpartition(":")[2] for stage in stages if stage.startswith("sm:")]


def test_a_stage_goes_through_its_seven_phases() -> None:
    """In order, each once, within one turn."""
    played = play(session=machine({}))
    assert phases(played) == PHASES
    assert len(played.said("SessionTurnStart")) == 1
    assert played.ending() == "Done."


def test_stages_follow_each_other_within_one_turn() -> None:
    """The second one knows what the first one said, and the last text is what is shown."""
    played = play(saying("One."), saying("Two."), session=machine({"next": "s2"}, {}))
    assert phases(played) == PHASES * 2
    assert played.roles() == ["system", "user", "assistant"]
    assert played.ending() == "Two."
    assert len(played.said("SessionTurnEnd")) == 1


@pytest.mark.parametrize(
    ("stage", "mode", "decision"),
    [
        ({"allowed_tools": ["pay"]}, "ask", "approve"),
        ({"grants": {"pay": "approve"}}, "ask", "approve"),
        ({"grants": {"pay": "deny"}}, "yolo", "deny"),
        ({"grants": {"pay": "defer"}}, "yolo", "deny"),
        ({}, "yolo", "deny"),
    ],
)
def test_the_state_machine_decides_about_tools_in_any_mode(
    stage: dict[str, Any], mode: str, decision: str
) -> None:
    """Nobody is asked; what it does not approve is blocked."""
    played = play(calling("pay"), saying(), session=machine(stage, mode=mode))
    (record,) = played.said("Approval")
    assert (record["decision"], record["source"]) == (decision, "sm")
    assert played.events("interaction.shown") == []
    assert len(played.events("tool.called")) == (1 if decision == "approve" else 0)
    if decision == "deny":
        assert played.told()[0]["error"]["decider"] == "sm"


def test_a_stage_is_tried_again_as_its_own_policy_says() -> None:
    """Workflow redo: from Setup, after its own wait, with its own count of attempts."""
    retry = {"attempts_max": 3, "backoff": {"kind": "linear", "base": "10s"}}
    stage = {"asserts": ["retry", "retry", "ok"], "retry": retry}
    played = play(calling("look"), saying(), session=machine(stage))
    assert phases(played) == PHASES[:5] * 3 + PHASES[5:]
    asked = played.at_s("stage.asked", phase="assess")
    gates = played.at_s("stage.asked", phase="check_gate")
    waits = [round(b - a, 1) for a, b in zip(asked, gates[1:], strict=False)]
    assert waits == [10.0, 20.0]
    assert played.errors() == [
        ("ExtensionHost", "StageFailed", 1),
        ("ExtensionHost", "StageFailed", 2),
    ]
    # What was said and done before stays known: nothing is done again by mistake.
    assert played.roles(2) == ["system", "user", "assistant", "tool", "assistant"]
    assert len(played.events("tool.called")) == 1
    assert played.ending() == "Done."


def test_a_stage_that_fails_for_good_ends_the_turn_with_what_it_failed_with() -> None:
    """The transport's attempts and the stage's are counted apart."""
    faults = [{"id": "f", "then": {"kind": "http_error", "status": 503, "error": "server_error"}}]
    stage = {"retry": {"attempts_max": 2}}
    played = play(session=machine(stage), faults=faults)
    assert played.ending() == "ProviderTransient/Provider5xx"
    assert len(played.events("http.request")) == 6
    attempts = [attempt for _, _, attempt in played.errors()]
    assert attempts == [1, 2, 3, 1, 1, 2, 3, 2]
    assert len(played.events("declared.user_message")) == 1


@pytest.mark.parametrize(
    ("on_failure", "ending"),
    [
        ("skip", "Done."),
        ("abort-workflow", "ExtensionHost/StageFailed"),
        ("retry-later", "ExtensionHost/StageFailed"),
    ],
)
def test_next_resolves_a_stage_that_failed(on_failure: str, ending: str) -> None:
    """As the state machine says, and no other way."""
    played = play(session=machine({"asserts": ["fail"], "on_failure": on_failure}))
    assert played.ending() == ending


def test_a_stage_to_be_tried_later_is_where_the_next_turn_begins() -> None:
    """Even after a restart: it is part of what is saved."""
    stages = [{"next": "s2"}, {"asserts": ["fail"], "on_failure": "retry-later"}]
    tasks = [
        TURN,
        {"id": "end", "do": "close"},
        {"id": "r", "do": "restart"},
        {"id": "b", "do": "turn"},
    ]
    played = play(session=machine(*stages), tasks=tasks)
    gates = [event.payload["stage"] for event in played.events("stage.asked", phase="check_gate")]
    assert gates == ["s1", "s2", "s2"]


@pytest.mark.parametrize("gate", ["skip", "retry"])
def test_a_gate_that_is_not_open_skips_act(gate: str) -> None:
    """Its answer is the outcome, and the model is not asked."""
    played = play(session=machine({"gate": [gate], "on_failure": "skip"}))
    assert "Act" not in phases(played)
    assert played.events("http.request") == []
    assert played.events("stage.asked", phase="assess") == []


def test_a_capped_stage_ends_normally() -> None:
    """Running calls complete, their results go nowhere, RENDER is skipped, the turn is saved."""
    played = play(calling("look"), session=machine({"turn_cap": 1}))
    assert len(played.events("http.request")) == 1
    assert len(played.events("tool.replied")) == 1
    assert played.events("stage.asked", phase="assess")[0].payload["answer"] == "ok"
    assert "RENDER" not in [item["stage"] for item in played.said("StagePreFired")]
    assert len(played.said("SessionPersisted")) == 2
    assert played.events("call.raised") == []


@pytest.mark.parametrize("target", ["s1", None])
def test_a_cancelled_stage_ends_the_turn_as_cancelled(target: str | None) -> None:
    """With one of the three codes of the document, and without another attempt."""
    cancels = [
        {"id": "c", "when": {"on": {"kind": "tool.called"}}, "scope": "stage", "target": target}
    ]
    stage = {"allowed_tools": ["pay"], "asserts": ["retry"], "retry": {"attempts_max": 3}}
    played = play(calling("pay"), saying(), session=machine(stage), cancels=cancels, tools=[PAY])
    assert played.ending() == "Cancellation/TurnCancelled"
    assert [item["scope"] for item in played.said("Cancellation")] == ["tool", "stage"]
    assert played.errors() == []
    before, after = played.said("StagePreFired"), played.said("StagePostFired")
    assert sorted(item["id"] for item in before) == sorted(item["id"] for item in after)


def test_an_attempt_that_was_cut_off_in_its_tool_calls_leaves_a_whole_conversation() -> None:
    """A provider refuses a call without an answer, so the next attempt finds one."""
    stage = {"allowed_tools": ["look"], "retry": {"attempts_max": 2}}
    budgets = {"tool_calls_max": 1}
    session = machine(stage, budgets=budgets)
    played = play(calling("look", "look"), saying(), session=session)
    assert played.roles() == ["system", "user", "assistant", "tool", "tool"]
    told = played.told()
    assert told[0] == {"value": {"seen": True}}
    assert "nothing happened" in told[1]["error"]["message"]
    assert played.ending() == "Done."
