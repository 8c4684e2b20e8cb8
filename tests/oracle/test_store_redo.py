"""What the store could not do is tried again, and told when it cannot be done."""

from __future__ import annotations

import pytest

from faultclock.model.error_model import ErrorModel
from faultclock.model.finding import Verdict
from faultclock.oracle.judge import judge
from tests.oracle.planted_turns import CANCELLED, DOWN
from tests.oracle.turn_builder import TurnBuilder


def failed(model: ErrorModel, built: TurnBuilder) -> dict[str, str]:
    """Return the checks that fail, with what they observed."""
    findings = judge(model, built.build()).findings
    return {item.check: item.observed for item in findings if item.verdict is Verdict.FAIL}


def down(*waits: str) -> TurnBuilder:
    """Return a turn whose last write fails, once and after each wait."""
    built = TurnBuilder().turn().says().stores("write", DOWN)
    for wait in waits:
        built.after(wait).stores("write", DOWN)
    return built


def test_a_store_that_is_down_for_good_ends_the_call(model: ErrorModel) -> None:
    """After three tries, 2 s and 4 s apart, with its own class and code."""
    assert failed(model, down("2s", "4s").ends(DOWN)) == {}
    lost = failed(model, down("2s", "4s").ends())
    assert lost["store.disposition"] == "it returned as if nothing had failed"
    assert set(lost) == {"store.disposition", "turns.saved"}
    assert failed(model, down("2s", "4s").ends("Session/Unknown")) == {
        "store.disposition": "it ended with Session/Unknown"
    }


def test_a_fourth_try_is_one_too_many(model: ErrorModel) -> None:
    """Three attempts in all."""
    assert set(failed(model, down("2s", "4s", "6s").ends(DOWN))) == {"store.attempts"}


@pytest.mark.parametrize("waits", [("2s", "2s"), ("1s", "4s"), ("4s", "4s")])
def test_the_waits_grow_by_the_same_step(model: ErrorModel, waits: tuple[str, ...]) -> None:
    """2 s, then 4 s, without jitter."""
    assert set(failed(model, down(*waits).ends(DOWN))) == {"store.wait"}


def test_a_cancel_ends_the_tries(model: ErrorModel) -> None:
    """Nothing was due after it."""
    assert failed(model, down("2s").after("1s").cancels("turn").ends(CANCELLED)) == {}


def test_entries_on_their_way_at_once_are_told_apart(model: ErrorModel) -> None:
    """By what is written; the second entry is no retry of the first."""
    built = TurnBuilder().turn().says()
    asked = {"operation": "append", "session": "s1", "owner": None, "call": "ask/1"}
    bad = {"ok": False, "class": "Session", "code": "StoreUnavailable", "found": False}
    for op, digest in (("s1", "a"), ("s2", "b")):
        built.event("store", "store.asked", op=op, revision_sha256=digest, **asked)
    for op in ("s1", "s2"):
        built.event("store", "store.answered", op=op, stale=False, **asked, **bad)
    built.after("2s")
    for op, digest in (("s3", "b"), ("s4", "a")):
        built.event("store", "store.asked", op=op, revision_sha256=digest, **asked)
        good = {"ok": True, "class": None, "code": None, "found": True}
        built.event("store", "store.answered", op=op, stale=False, **asked, **good)
    assert failed(model, built.ends()) == {}


def test_what_cannot_be_read_is_not_asked_for_again(model: ErrorModel) -> None:
    """Drift is no outage."""
    built = TurnBuilder(session={"resume": True})
    built.event("harness", "process.started", resume=True, call=None)
    built.begins("start/1", "start").stores("read", "Session/ManifestDrift").after("2s")
    built.stores("read", "Session/ManifestDrift").ends("Session/ManifestDrift")
    built.event("harness", "call.skipped", call="ask/1", task="ask", why="start/1 raised")
    assert failed(model, built) == {"store.disposition": "it was tried again"}
