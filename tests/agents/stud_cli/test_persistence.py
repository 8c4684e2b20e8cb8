"""Saving: attempts at the store, what is written, and when it is said to be."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from faultclock.agents.stud_cli.persistence import Persistence
from faultclock.subjects.ports import TypedError
from tests.agents.stud_cli.fakes import FakeHost, FakeStore, made_session
from tests.agents.stud_cli.play import TURN, calling, play, saying

NEXT = {"id": "b", "do": "turn"}


def store(kind: str, operation: str, calls: str, **more: Any) -> dict[str, Any]:
    """Return a store with one fault."""
    when = {"operation": operation, "calls": calls}
    return {"kind": "files", "rules": [{"id": "f", "when": when, "then": {"kind": kind, **more}}]}


def test_an_unavailable_store_is_asked_three_times() -> None:
    """Two and four seconds apart, each failure audited; then the turn is over, and not shown."""
    played = play(store=store("unavailable", "write", "2+"), tasks=[TURN, NEXT])
    assert played.ending() == "Session/StoreUnavailable"
    assert played.errors() == [("Session", "StoreUnavailable", number) for number in (1, 2, 3)]
    asked = played.at_s("store.asked", operation="write")[1:]
    answered = played.at_s("store.answered", operation="write")[1:]
    waits = [round(a - b, 6) for a, b in zip(asked[1:], answered, strict=False)]
    assert waits == [2.0, 4.0]
    assert len(played.said("SessionPersisted")) == 1
    # The session is in error: nothing more is asked of anybody.
    assert played.ending("b/1") == "Session/StoreUnavailable"
    assert len(played.events("http.request")) == 1
    assert played.ending("close/1") == "None"


@pytest.mark.parametrize("kind", ["unavailable", "lost_ack", "torn_write"])
def test_a_write_that_fails_twice_is_made_good(kind: str) -> None:
    """The third attempt is acknowledged, and only then is the session said to be saved."""
    played = play(store=store(kind, "write", "2-3"))
    assert played.ending() == "Done."
    assert [attempt for _, _, attempt in played.errors()] == [1, 2]
    order = played.order("store.answered", "SessionPersisted")
    assert order.index("SessionPersisted") == 1
    assert order[-2:] == ["store.answered", "SessionPersisted"]


def test_a_call_is_not_executed_before_the_journal_has_it() -> None:
    """What could not be noted did not happen."""
    played = play(calling("look"), saying(), store=store("unavailable", "append", "3+"))
    assert played.ending() == "Session/StoreUnavailable"
    assert played.events("tool.called") == []


def test_a_session_that_cannot_be_saved_at_all_does_not_open() -> None:
    """The user is told, and nothing of it stays active."""
    played = play(
        store=store("unavailable", "write", "every"), session={"extensions": [{"id": "log"}]}
    )
    assert played.ending("start/1") == "Session/StoreUnavailable"
    phases = [event.payload["phase"] for event in played.events("extension.phase")]
    assert phases == ["init", "activate", "deactivate", "dispose"]
    assert len(played.events("declared.user_message")) == 1


def test_the_manifest_is_slim() -> None:
    """No extension set, no slots, no secrets, and only known keys."""

    async def save() -> dict[str, Any]:
        session = made_session(FakeHost())
        await Persistence(session).snapshot([{"role": "user", "content": "Hi"}])
        return dict(await session.world.store.read("s1"))

    manifest = asyncio.run(save())
    assert sorted(manifest) == [
        "createdAt",
        "messages",
        "mode",
        "sessionId",
        "storeId",
        "updatedAt",
    ]


def test_an_error_of_another_kind_is_not_tried_again() -> None:
    """Only an unavailable store is worth it."""

    class Drifted(FakeStore):
        async def read(self, session_id: str) -> Any:
            raise TypedError("Session", "ManifestDrift", "half of it")

    async def read() -> FakeHost:
        host = FakeHost()
        with pytest.raises(TypedError, match="half of it"):
            await Persistence(made_session(host, store=Drifted())).read()
        return host

    records = asyncio.run(read()).audited
    assert [record[:3] for record in records] == [("Session", "ManifestDrift", 1)]


def test_the_error_that_ends_it_keeps_class_and_code() -> None:
    """The wrapper's message adds to the cause's."""

    class Quick(Persistence):
        def wait_s(self, failures: int) -> float:
            return 0.0

    async def write() -> TypedError:
        session = made_session(FakeHost(), store=FakeStore(refusals=3))
        with pytest.raises(TypedError) as raised:
            await Quick(session).note("turn_started")
        assert session.failed is raised.value
        return raised.value

    error = asyncio.run(write())
    assert (error.error_class, error.code) == ("Session", "StoreUnavailable")
    assert "not now" in str(error)
    assert isinstance(error.__cause__, TypedError)
