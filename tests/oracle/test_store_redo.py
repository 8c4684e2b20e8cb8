"""What the store could not do is tried again, and told when it cannot be done."""

from __future__ import annotations

import pytest

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.finding import Verdict
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


def asked_twice(first: dict[str, object], second: dict[str, object]) -> TurnBuilder:
    """Return a turn in which the store fails once, and is asked for something 2 s later."""
    built = TurnBuilder().turn().says()
    usual = {"operation": "write", "session": "s1", "owner": None, "call": "ask/1"}
    for op, asked in (("s1", first), ("s2", second)):
        facts = {**usual, "op": op, "revision_sha256": "a", **asked}
        built.event("store", "store.asked", **facts)
        good = {"ok": op == "s2", "stale": False, "found": True, "class": None, "code": None}
        bad = {} if op == "s2" else {"class": "Session", "code": "StoreUnavailable"}
        built.event("store", "store.answered", **{**facts, **good, **bad})
        built.after("2s")
    return built.ends()


@pytest.mark.parametrize(
    ("first", "second", "is_retry"),
    [
        ({}, {}, True),
        # Another operation, owner, call or life is another thing.
        ({"operation": "read"}, {"operation": "write"}, False),
        (
            {"operation": "write_slot", "owner": "x"},
            {"operation": "write_slot", "owner": "x"},
            True,
        ),
        (
            {"operation": "write_slot", "owner": "x"},
            {"operation": "write_slot", "owner": "y"},
            False,
        ),
        ({}, {"call": "start/1"}, False),
        ({}, {"life": 2}, False),
        # What is written as a whole may have changed meanwhile; an entry of the journal may not.
        ({"revision_sha256": "a"}, {"revision_sha256": "b"}, True),
        ({"operation": "append"}, {"operation": "append"}, True),
        ({"operation": "append"}, {"operation": "append", "revision_sha256": "b"}, False),
    ],
)
def test_a_retry_asks_the_store_for_the_same_thing(
    model: ErrorModel, first: dict[str, object], second: dict[str, object], is_retry: bool
) -> None:
    """Without one the operation was given up."""
    found = failed(model, asked_twice(first, second))
    assert ("store.disposition" not in found) is is_retry


def test_an_operation_that_was_asked_before_the_failure_is_no_retry(model: ErrorModel) -> None:
    """It cannot answer what was not known yet."""
    built = TurnBuilder().turn().says()
    asked = {"operation": "write", "session": "s1", "owner": None, "call": "ask/1"}
    bad = {"ok": False, "class": "Session", "code": "StoreUnavailable", "found": False}
    good = {"ok": True, "class": None, "code": None, "found": True}
    for op in ("s1", "s2"):
        built.event("store", "store.asked", op=op, revision_sha256="a", **asked)
    for op, answer in (("s1", bad), ("s2", good)):
        built.event("store", "store.answered", op=op, stale=False, **asked, **answer)
    assert "store.disposition" in failed(model, built.ends())


def test_a_write_after_one_that_was_good_is_no_retry(model: ErrorModel) -> None:
    """A further failure begins its own tries."""
    built = TurnBuilder().turn().says().stores("write").stores("write", DOWN).after("2s")
    assert failed(model, built.stores("write").ends()) == {}


def test_a_turn_that_still_waits_for_the_store_is_not_blamed(model: ErrorModel) -> None:
    """It may try again; one that was stopped may not."""
    waiting = judge(model, down("2s").build("virtual_time_limit")).findings
    said = {item.verdict for item in waiting if item.check == "store.attempts"}
    assert said == {Verdict.NOT_APPLICABLE}
    assert failed(model, down().crashes().opens(resume=True)).keys() <= {"resume.decision"}


def test_an_untyped_error_is_not_the_error_of_the_store(model: ErrorModel) -> None:
    """The finding says that it has no type."""
    built = down("2s", "4s")
    built.raises({"type": "E", "message": "", "class": None, "code": None, "link": "outer"})
    assert failed(model, built)["store.disposition"] == "it ended with an untyped error"


def test_a_violation_names_the_operation_and_whose_it_is(model: ErrorModel) -> None:
    """Beside the source of the policy."""
    built = TurnBuilder().turn().says().stores("write_slot", DOWN, owner="notes").ends(DOWN)
    findings = judge(model, built.build()).findings
    (fault,) = (
        item
        for item in findings
        if item.check == "store.disposition" and item.verdict is Verdict.FAIL
    )
    assert fault.expected.startswith("the store's write slot of notes (s1) is tried again after")
    assert fault.expected.endswith("up to 3 times in all, by the error model")
    plain = TurnBuilder().turn().says().stores("write", DOWN).ends(DOWN)
    (fault,) = (
        item
        for item in judge(model, plain.build()).findings
        if item.check == "store.disposition" and item.verdict is Verdict.FAIL
    )
    assert fault.expected.startswith("the store's write (s1) is tried again after")


def test_a_failure_without_a_class_is_not_tried_again(model: ErrorModel) -> None:
    """The model has no policy for it."""
    built = TurnBuilder().turn().says()
    asked = {"operation": "write", "session": "s1", "owner": None, "call": "ask/1"}
    bad = {"ok": False, "class": None, "code": None, "found": False}
    for op in ("s1", "s2"):
        built.event("store", "store.asked", op=op, revision_sha256="a", **asked)
        built.event("store", "store.answered", op=op, stale=False, **asked, **bad)
        built.after("2s")
    findings = judge(model, built.ends().build()).findings
    (fault,) = (
        item
        for item in findings
        if item.check == "store.disposition" and item.verdict is Verdict.FAIL
    )
    assert fault.observed == "it was tried again"
    assert "a failure is not worth a retry, by the error model, which has none" in fault.expected


def test_an_operation_that_is_never_answered_has_not_failed(model: ErrorModel) -> None:
    """A try of it that hangs ends nothing either."""
    hanging = {"operation": "write", "session": "s1", "owner": None, "call": "ask/1"}
    first = TurnBuilder().turn().says()
    first.event("store", "store.asked", op="s1", revision_sha256=None, **hanging)
    assert "store.disposition" not in failed(model, first.after("9s").ends())
    second = down()
    second.after("2s")
    second.event("store", "store.asked", op="s2", revision_sha256=None, **hanging)
    assert set(failed(model, second.after("9s").ends())) & {"store.attempts", "store.wait"} == set()
    own = [
        item.judged
        for item in judge(model, second.build()).findings
        if item.check == "store.disposition"
    ]
    assert set(own) == {1}


def test_a_recovery_at_the_last_try_ends_well(model: ErrorModel) -> None:
    """Two tries were not enough, and the third was."""
    assert failed(model, down("2s").after("4s").stores("write").ends()) == {}
