"""Extensions: their order, what keeps the session shut, what becomes of one that fails."""

from __future__ import annotations

from typing import Any

import pytest

from faultclock.agents.stud_cli.lifecycle import load_order
from faultclock.subjects.ports import TypedError
from tests.agents.stud_cli.play import Played, play


def extension(id: str, *depends_on: str, **more: Any) -> dict[str, Any]:
    """Return an extension."""
    return {"id": id, "depends_on": list(depends_on), **more}


def phases(played: Played) -> list[str]:
    """Return `phase id` in order."""
    return [
        f"{event.payload['phase']} {event.payload['extension']}"
        for event in played.events("extension.phase")
    ]


def test_dependencies_come_first_and_go_last() -> None:
    """Topological, by name among equals; and the exact reverse on the way out."""
    loaded = [extension("c"), extension("a", "b"), extension("b")]
    played = play(session={"extensions": loaded})
    assert phases(played) == [
        *("init b", "init a", "init c"),
        *("activate b", "activate a", "activate c"),
        *("deactivate c", "deactivate a", "deactivate b"),
        *("dispose c", "dispose a", "dispose b"),
    ]


@pytest.mark.parametrize(
    ("loaded", "code"),
    [
        ([extension("a", "b"), extension("b", "a")], "DependencyCycle"),
        ([extension("a", conflicts_with=["b"]), extension("b")], "DependencyConflict"),
        ([extension("a", "b")], "DependencyMissing"),
        ([extension("a", "a")], "DependencyCycle"),
        ([extension("a", "b", "z"), extension("b", "a", conflicts_with=["a"])], "DependencyCycle"),
        ([extension("a", "z", conflicts_with=["b"]), extension("b")], "DependencyConflict"),
    ],
)
def test_what_cannot_be_resolved_keeps_the_session_shut(
    loaded: list[dict[str, Any]], code: str
) -> None:
    """Cycles are looked for first, then conflicts, then what is missing."""
    played = play(session={"extensions": loaded})
    assert played.ending("start/1") == f"ExtensionHost/{code}"
    assert played.events("extension.phase") == []


@pytest.mark.parametrize("how", ["fails_in", "hangs_in"])
@pytest.mark.parametrize("phase", ["init", "activate"])
def test_an_extension_that_fails_is_disabled_with_its_dependants(phase: str, how: str) -> None:
    """The session goes on without them, and the audit trail says why."""
    loaded = [extension("a", **{how: [phase]}), extension("b", "a"), extension("c")]
    played = play(session={"extensions": loaded})
    assert played.ending() == "Done."
    assert played.errors()[0] == ("ExtensionHost", "LifecycleFailure", 1)
    assert played.errors()[1][1] == "DependencyMissing"
    done = phases(played)
    assert "activate c" in done
    assert "activate b" not in done
    assert ("dispose a" in done) is (phase == "activate")


@pytest.mark.parametrize("phase", ["deactivate", "dispose"])
def test_a_failure_on_the_way_out_stops_nobody(phase: str) -> None:
    """All others are let go, and it is audited and announced, not swallowed."""
    loaded = [extension("a"), extension("b", "a", fails_in=[phase])]
    played = play(session={"extensions": loaded})
    assert "dispose a" in phases(played)
    assert played.errors() == [("ExtensionHost", "LifecycleFailure", 1)]
    assert len(played.said("SuppressedError")) == 1
    assert played.ending("close/1") == "None"


def test_a_cycle_is_told_with_its_path() -> None:
    """Who reads it knows which extensions to look at."""

    class Known:
        conflicts_with = ()

        def __init__(self, id: str, *depends_on: str) -> None:
            self.id, self.depends_on = id, depends_on

    circle = [Known("a", "b"), Known("b", "c"), Known("c", "a")]
    with pytest.raises(TypedError, match="a -> b -> c -> a"):
        load_order(circle)  # type: ignore[arg-type]


def test_to_close_twice_is_to_close_once() -> None:
    """Nothing is disposed twice, and nothing is said twice."""
    close = {"do": "close"}
    played = play(
        session={"extensions": [extension("a")]},
        tasks=[{"id": "one", **close}, {"id": "two", **close}],
    )
    assert phases(played).count("dispose a") == 1
    assert len(played.said("SessionClosed")) == 1
    assert played.ending("two/1") == "None"
