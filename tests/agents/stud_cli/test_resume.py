"""Resuming: what keeps a session shut, what drifts, what is delivered, and what is sealed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.agents.stud_cli.play import LOOK, PAY, TURN, calling, manifest, play, saying

RESUME = {"resume": True}
USER = {"role": "user", "content": "Hi"}
ORPHAN = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "call_1", "type": "function", "function": {"name": "pay", "arguments": "{}"}}
    ],
}


def stored(given: dict[str, Any] | None, **more: Any) -> dict[str, Any]:
    """Return a store with a session in it."""
    return {"kind": "files", "initial": given, **more}


@pytest.mark.parametrize(
    ("given", "ending"),
    [
        (None, "Session/NoSnapshot"),
        (manifest(storeId="another"), "Session/ResumeMismatch"),
        (manifest(storeId=" "), "Session/ManifestDrift"),
        (manifest(storeId=None), "Session/ManifestDrift"),
        (manifest(extensions=[]), "Session/ManifestDrift"),
        (manifest(sessionId="s2"), "Session/ManifestDrift"),
        (manifest(mode="loud"), "Session/ManifestDrift"),
        (manifest(messages="none"), "Session/ManifestDrift"),
        (manifest({"content": "who?"}), "Session/ManifestDrift"),
        (manifest(smState=3), "Session/ManifestDrift"),
    ],
)
def test_a_session_that_cannot_be_resumed_stays_shut(
    given: dict[str, Any] | None, ending: str
) -> None:
    """It is refused before an extension is loaded or anything is written, and the user is told."""
    session = {**RESUME, "extensions": [{"id": "log", "slot_version": 1}]}
    played = play(store=stored(given), session=session)
    assert played.ending("start/1") == ending
    assert played.events("extension.phase") == []
    assert played.events("store.durable") == []
    assert played.events("http.request") == []
    assert len(played.events("declared.user_message")) == 1
    assert played.said("SessionActive") == []


def test_a_manifest_that_cannot_be_parsed_is_drift() -> None:
    """The store says so, and its class and code stay."""
    edits = [{"before_life": 1, "raw": '{"sessionId": "s'}]
    played = play(store=stored(manifest(), edits=edits), session=RESUME)
    assert played.ending("start/1") == "Session/ManifestDrift"


def test_a_resumed_session_goes_on_where_it_was_saved() -> None:
    """Its messages, its mode, and nothing written that is not new."""
    played = play(
        calling("pay"),
        saying(),
        store=stored(manifest(USER, mode="yolo")),
        session={**RESUME, "mode": "ask"},
    )
    assert played.order("SessionResumed", "SessionActive") == ["SessionResumed", "SessionActive"]
    assert played.roles(0) == ["user", "user"]
    assert [item["source"] for item in played.said("Approval")] == ["yolo"]


@pytest.mark.parametrize(
    ("extension", "ending", "delivered", "decision"),
    [
        ({"slot_version": 1}, "None", 1, None),
        ({"slot_version": 2, "on_drift": "migrate"}, "None", 2, "migrate"),
        ({"slot_version": 2, "on_drift": "warn"}, "None", 1, "warn"),
        ({"slot_version": 2, "on_drift": "reject"}, "Session/SlotDriftRejected", None, "reject"),
        (
            {"slot_version": 2, "migration_fails": True},
            "Session/SlotMigrationFailed",
            None,
            "failed",
        ),
        ({}, "None", None, None),
    ],
)
def test_the_owner_of_a_slot_decides_about_its_drift(
    extension: dict[str, Any], ending: str, delivered: int | None, decision: str | None
) -> None:
    """The decision is audited, and what results is delivered exactly once, before SessionActive."""
    slots = {"log": {"version": 1, "data": {"n": 3}}}
    session = {**RESUME, "extensions": [{"id": "log", **extension}]}
    played = play(store=stored(manifest(), slots=slots), session=session)
    assert played.ending("start/1") == ending
    versions = [event.payload["version"] for event in played.events("extension.slot_delivered")]
    assert versions == ([] if delivered is None else [delivered])
    drifts = [item["decision"] for item in played.said("StateSlotDrift")]
    assert drifts == ([] if decision is None else [decision])
    if delivered is not None:
        order = played.order("SessionResumed", "extension.slot_delivered", "SessionActive")
        assert order == ["SessionResumed", "extension.slot_delivered", "SessionActive"]
    writes = played.events("store.durable", operation="write_slot")
    assert len(writes) == (1 if decision == "migrate" else 0)


def test_a_slot_without_a_version_is_refused() -> None:
    """Nobody can say whether it fits."""
    session = {**RESUME, "extensions": [{"id": "log", "slot_version": 1}]}
    slots = {"log": {"version": None}}
    played = play(store=stored(manifest(), slots=slots), session=session)
    assert played.ending("start/1") == "Validation/SlotVersionMissing"


def test_an_orphan_in_the_messages_is_sealed() -> None:
    """A call without a result gets one, is audited, and is not run again."""
    played = play(saying("Noted."), store=stored(manifest(USER, ORPHAN)), session=RESUME)
    (sealed,) = played.said("ToolCallSealed")
    assert (sealed["tool"], sealed["tool_call"]) == ("pay", "call_1")
    assert played.roles(0) == ["user", "assistant", "tool", "user"]
    assert played.events("tool.called") == []


def test_a_call_of_the_journal_that_never_ended_is_sealed_once() -> None:
    """Its outcome is unknown to the model too; the next life finds it sealed already."""
    journal = [
        {"kind": "turn_started", "turn": "t", "text": "Pay."},
        {"kind": "tool_started", "tool": "pay", "tool_call": "call_9", "arguments": {"n": 1}},
    ]
    played = play(
        store=stored(manifest(USER), journal=journal),
        session=RESUME,
        tasks=[{"id": "again", "do": "restart"}, TURN],
    )
    assert [item["tool_call"] for item in played.said("ToolCallSealed")] == ["call_9"]
    assert played.roles() == ["user", "user", "assistant", "tool", "user"]
    assert "unknown" in played.told()[0]["error"]["message"]
    assert played.events("tool.called") == []


@pytest.mark.parametrize(
    ("on", "delay", "started"),
    [("tool.called", "10ms", True), ("interaction.shown", "1s", False)],
    ids=["while a tool runs", "while an approval is open"],
)
def test_a_crash_within_a_tool_call_does_not_repeat_it(on: str, delay: str, started: bool) -> None:
    """The fresh process seals the call; the same question again finds its result."""
    crashes = [
        {"id": "k", "on": {"kind": "tool.called", "nth": 1}, "then": "again"}
        if started
        else {"id": "k", "on": {"kind": on, "nth": 1}, "then": "again"}
    ]
    del delay
    played = play(calling("pay"), saying("Paid."), crashes=crashes)
    (sealed,) = played.said("ToolCallSealed")
    assert sealed["started"] is started
    assert played.roles() == ["user", "assistant", "tool", "user"]
    assert len(played.events("tool.called")) == int(started)
    assert played.ending("a/2") == "Paid."


def test_a_result_that_was_noted_is_not_lost() -> None:
    """A crash after the tool has ended leaves its result in the history."""
    crashes = [{"id": "k", "on": {"kind": "http.request", "nth": 2}, "then": "again"}]
    played = play(calling("pay"), saying("Paid."), crashes=crashes)
    assert played.told() == [{"value": {"paid": True}}]
    assert list(played.effects()) == [("pay", 1)]
    assert played.said("ToolCallSealed") == []


def test_a_turn_that_did_nothing_is_dropped() -> None:
    """A crash while the model thinks leaves no trace of the turn."""
    crashes = [{"id": "k", "on": {"kind": "http.request", "nth": 1}, "then": "again"}]
    played = play(saying("Hi."), crashes=crashes)
    assert played.roles() == ["user"]
    assert played.ending("a/2") == "Hi."


def test_a_tool_that_is_gone_does_not_keep_the_session_shut() -> None:
    """Its earlier calls stay in the history; a new one is not found."""
    answered = {"role": "tool", "tool_call_id": "call_1", "content": "{}"}
    played = play(
        store=stored(manifest(USER, ORPHAN, answered)),
        session=RESUME,
        tools=[LOOK],
    )
    assert played.ending() == "Done."
    assert played.said("ToolCallSealed") == []


def test_a_closed_session_can_be_resumed() -> None:
    """It was saved, so the fresh process finds it as it was."""
    tasks = [
        TURN,
        {"id": "end", "do": "close"},
        {"id": "again", "do": "restart"},
        {"id": "b", "do": "turn"},
    ]
    played = play(saying("One."), saying("Two."), tasks=tasks, tools=[PAY])
    assert played.roles() == ["user", "assistant", "user"]
    assert played.ending("b/1") == "Two."


def test_a_turn_after_the_close_is_refused() -> None:
    """A closed session does nothing more."""
    played = play(tasks=[{"id": "end", "do": "close"}, TURN])
    assert played.ending() == "Session/SessionClosed"
