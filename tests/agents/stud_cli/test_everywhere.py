"""A crash and a cancel at every event of a whole conversation: what must hold wherever it hits."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any, Literal

import pytest

from tests.agents.stud_cli.play import (
    LOOK,
    PAY,
    TURN,
    Played,
    calling,
    play,
    saying,
)

NEXT = {"id": "b", "do": "turn", "prompt": "And now?"}
#: A conversation with an approval, a retry, two calls at once and two turns.
CONVERSATION: dict[str, Any] = {
    "tools": [
        PAY,
        {
            **LOOK,
            "retry": {"attempts_max": 2, "backoff": {"kind": "fixed", "base": "1s"}},
            "rules": [
                {
                    "id": "busy",
                    "when": {"executions": 1},
                    "then": {"fault": {"kind": "resource_busy"}},
                    "optional": True,
                }
            ],
        },
    ],
    "session": {"extensions": [{"id": "log", "slot_version": 1}]},
    "store": {"kind": "files"},
    "tasks": [TURN, NEXT],
}
REPLIES = [calling("pay", "look"), saying("One."), saying("Two.")]


@cache
def whole() -> Played:
    """Return the conversation in which nothing happens."""
    return play(*REPLIES, **CONVERSATION)


def moments(first: int) -> range:
    """Return the numbers of every third event, but for the last, after which nothing happens.

    Which ones depends on `first` (0 to 2), so that together the tests hit all of them.
    """
    return range(3 + first, len(whole().trace.events) - 1, 3)


@pytest.mark.parametrize(("first", "then"), [(0, "next"), (1, "again"), (2, "again")])
def test_a_crash_anywhere_is_survived(first: int, then: Literal["next", "again"]) -> None:
    """No effect is repeated, every orphan is sealed, and the model is told of each call once."""
    resumed = 0
    for seq in moments(first):
        crash = {"id": "k", "on": {"seq": seq}, "then": then}
        played = play(*REPLIES, **CONVERSATION, crashes=[crash])
        if not played.events("process.crashed"):
            continue
        resumed += 1
        start = played.ending("start/2")
        effects = dict(played.effects())
        assert all(count == 1 for tool, count in effects.items() if tool == "pay"), seq
        calls = Counter(event.payload["tool_call"] for event in played.events("tool.called"))
        assert max(calls.values(), default=0) <= 2, seq
        assert start in ("None", "Session/NoSnapshot"), (seq, start)
        assert ended(played) == {
            str(item.payload["call"]) for item in played.events("call.started")
        }
        if start == "None":
            check_requests(played, seq)
            assert len(played.said("SessionResumed")) == 1, seq
    assert resumed > 20


def ended(played: Played) -> set[str]:
    """Return the calls that ended, or were cut off."""
    kinds = ("call.returned", "call.raised", "call.crashed")
    return {str(event.payload["call"]) for kind in kinds for event in played.events(kind)}


def check_requests(played: Played, seq: int) -> None:
    """Check that each request answers each tool call that it holds exactly once."""
    for request in played.events("http.request"):
        asked: list[str] = []
        answered: list[str] = []
        for message in request.payload["messages"]:
            asked += [call["id"] for call in message.get("tool_calls") or ()]
            if message["role"] == "tool":
                answered.append(message["tool_call_id"])
        assert sorted(asked) == sorted(answered), seq


@pytest.mark.parametrize(("first", "scope"), [(0, "turn"), (1, "session"), (2, "tool")])
def test_a_cancel_anywhere_leaves_a_whole_state(first: int, scope: str) -> None:
    """It is prompt, every bracket is closed, and nothing is told as an error."""
    cut = 0
    for seq in moments(first):
        when = {"id": "c", "when": {"on": {"seq": seq}}, "scope": scope, "times": 2}
        played = play(*REPLIES, **CONVERSATION, cancels=[when])
        before = sorted(item["id"] for item in played.said("StagePreFired"))
        assert before == sorted(item["id"] for item in played.said("StagePostFired")), seq
        starts = len(played.said("SessionTurnStart"))
        assert starts == len(played.said("SessionTurnEnd")), seq
        assert played.events("declared.user_message") == [], seq
        asked = {item["request"] for item in played.said("InteractionRaised")}
        assert asked == {item["request"] for item in played.said("InteractionAnswered")}, seq
        decided = Counter(item["tool_call"] for item in played.said("Approval"))
        assert max(decided.values(), default=0) <= 1, seq
        check_requests(played, seq)
        check_prompt(played, seq)
        cut += bool(played.said("Cancellation"))
    assert cut > 10


def check_prompt(played: Played, seq: int) -> None:
    """Check that a cancelled call ends at the instant of the cancel."""
    cancels = {event.at_ns for event in played.events("cancel.requested")}
    for event in played.events("call.raised"):
        chain = event.payload["chain"][0]
        assert chain["class"] == "Cancellation", (seq, chain)
        assert event.at_ns in cancels or chain["code"] == "SessionCancelled", seq
