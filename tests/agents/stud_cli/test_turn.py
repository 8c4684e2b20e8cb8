"""A turn: the stages of the message loop, its limits, the provider's failures, the queue."""

from __future__ import annotations

import pytest

from tests.agents.stud_cli.play import LOOK, TURN, Played, calling, play, saying

_SIX = (
    "RECEIVE_INPUT",
    "COMPOSE_REQUEST",
    "SEND_REQUEST",
    "STREAM_RESPONSE",
    "TOOL_CALL",
    "RENDER",
)
_BUSY = {"kind": "http_error", "status": 429, "error": "rate_limit_exceeded"}
_DOWN = {"kind": "http_error", "status": 503, "error": "server_error"}


def fault(then: dict[str, object], attempts: str = "every") -> list[dict[str, object]]:
    """Return a fault of the provider."""
    return [{"id": "f", "when": {"attempts": attempts, "task": "a"}, "then": then}]


def stages(played: Played) -> list[str]:
    """Return the stages in the order in which they began."""
    return [item["stage"] for item in played.said("StagePreFired")]


def pairs_match(played: Played) -> bool:
    """Return whether what was fired before each stage is matched by what was fired after it."""
    before = [item["id"] for item in played.said("StagePreFired")]
    after = [item["id"] for item in played.said("StagePostFired")]
    return len(set(before)) == len(before) and sorted(before) == sorted(after)


def test_a_turn_goes_through_its_stages_and_is_saved_before_it_is_shown() -> None:
    """The edges are those of the document, and the store's acknowledgement comes before RENDER."""
    played = play(calling("look"), saying("Seen."))
    assert played.ending() == "Seen."
    assert stages(played) == [_SIX[0], *_SIX[1:5], *_SIX[1:4], _SIX[5]]
    assert pairs_match(played)
    assert played.told() == [{"value": {"seen": True}}]


def test_the_store_acknowledges_before_the_session_is_said_to_be_saved() -> None:
    """SessionPersisted follows a durable write, and the turn is handed over after both."""
    order = play().order("store.durable", "SessionPersisted", "SessionTurnEnd", "call.returned")
    assert order[-5:] == [
        "store.durable",
        "SessionPersisted",
        "SessionTurnEnd",
        "call.returned",
        "call.returned",
    ]


def test_a_conversation_without_end_is_given_up_after_twelve_answers() -> None:
    """The bound of the loop ends the turn with its own error, and the turn still ends."""
    played = play(calling("look"))
    assert played.ending() == "ExtensionHost/LoopBoundExceeded"
    assert len(played.events("http.request")) == 12
    assert len(played.said("SessionTurnEnd")) == 1
    assert pairs_match(played)


@pytest.mark.parametrize(
    ("budgets", "requests", "executions"),
    [
        ({"steps_max": 2}, 2, 2),
        ({"tool_calls_max": 3}, 4, 3),
        ({"tokens_max": 1}, 1, 1),
    ],
    ids=["steps", "tool calls", "tokens"],
)
def test_budgets_end_a_turn(budgets: dict[str, int], requests: int, executions: int) -> None:
    """Each budget is kept to exactly."""
    played = play(calling("look"), session={"budgets": budgets})
    assert played.ending() == "ExtensionHost/LoopBoundExceeded"
    assert len(played.events("http.request")) == requests
    assert len(played.events("tool.called")) == executions


def test_wall_time_cancels_a_turn() -> None:
    """A turn that is over its time is cancelled, as of a cap."""
    slow = [{**LOOK, "takes": "20s"}]
    played = play(calling("look"), tools=slow, session={"budgets": {"wall_time": "5s"}})
    assert played.ending() == "Cancellation/TurnCancelled"
    assert played.at_s("tool.stopped") == pytest.approx([5.005], abs=0.001)
    assert {item["reason"] for item in played.said("Cancellation")} == {"cap", "parent"}


def test_the_transport_tries_again_as_its_class_says() -> None:
    """Two failures of the provider cost two waits, each audited, and the turn goes on."""
    played = play(faults=fault(_DOWN, "1-2"))
    assert played.ending() == "Done."
    assert played.errors() == [
        ("ProviderTransient", "Provider5xx", 1),
        ("ProviderTransient", "Provider5xx", 2),
    ]
    assert pairs_match(played)


def test_a_provider_that_is_limited_for_good_ends_the_turn() -> None:
    """After six attempts all audiences are told, each once, and the session stays usable."""
    played = play(faults=fault(_BUSY, "1-6"), tasks=[TURN, {"id": "b", "do": "turn"}])
    assert played.ending() == "ProviderTransient/RateLimited"
    assert played.ending("b/1") == "Done."
    assert [attempt for _, _, attempt in played.errors()] == [1, 2, 3, 4, 5, 6]
    assert len(played.events("declared.user_message")) == 1
    assert len(played.events("declared.model_message")) == 1
    # Nothing of the failed turn is left in the conversation.
    assert played.roles() == ["user"]


def test_a_failure_without_a_class_is_raised_as_it_is() -> None:
    """The document has no class for a 401, so none is made up."""
    played = play(faults=fault({"kind": "http_error", "status": 401, "error": "invalid_api_key"}))
    assert played.ending() == "None/None"
    assert len(played.events("http.request")) == 1


def test_an_answer_with_damaged_tool_calls_is_a_failure_of_the_provider() -> None:
    """Arguments that are no JSON are never executed, and never dropped in silence."""
    played = play(calling("look", arguments='{"a":'))
    assert played.ending() == "ProviderCapability/OutputMalformed"
    assert played.events("tool.called") == []


def test_an_empty_message_is_refused() -> None:
    """There is nothing to ask the model."""
    played = play(tasks=[{**TURN, "prompt": "  "}])
    assert played.ending() == "Validation/InputInvalid"
    assert played.events("http.request") == []


def test_turns_that_are_asked_for_at_once_follow_each_other() -> None:
    """One turn ends before the next one starts, in the order in which they were asked for."""
    played = play(saying(), tasks=[{**TURN, "copies": 3}])
    order = played.order("SessionTurnStart", "SessionTurnEnd")
    assert order == ["SessionTurnStart", "SessionTurnEnd"] * 3
    ends = [event.payload["call"] for event in played.declared("SessionTurnEnd")]
    assert ends == ["a/1", "a/2", "a/3"]


def test_a_second_turn_knows_the_first() -> None:
    """The history goes on from turn to turn."""
    played = play(
        calling("look"), saying("One."), saying("Two."), tasks=[TURN, {"id": "b", "do": "turn"}]
    )
    assert played.roles() == ["user", "assistant", "tool", "assistant", "user"]
    assert played.ending("b/1") == "Two."
