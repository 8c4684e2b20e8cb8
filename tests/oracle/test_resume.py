"""What lies in the store decides how a resumed session starts, and what it remembers."""

from __future__ import annotations

from typing import Any

import pytest

from faultclock.load.error_model import load_error_model
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.finding import Finding, Verdict
from faultclock.model.trace.trace import Trace
from faultclock.oracle.judge import judge
from tests.oracle.planted_turns import STORED
from tests.oracle.trace_builder import sha256
from tests.oracle.turn_builder import TurnBuilder

MODEL = load_error_model("stud-cli")
DRIFT = "Session/ManifestDrift"
OLD = {"id": "notes", "slot_version": 2}


def found(model: ErrorModel, trace: Trace, check: str = "resume.decision") -> list[Finding]:
    """Return what a check says, where it judged anything."""
    own = [item for item in judge(model, trace).findings if item.check == check]
    return [item for item in own if item.verdict is not Verdict.NOT_APPLICABLE]


def start(
    *chain: str,
    read: str | None = None,
    is_there: bool = True,
    initial: dict[str, Any] | None = None,
    extensions: tuple[dict[str, Any], ...] = (),
    **store: Any,
) -> Trace:
    """Return a run whose first life resumes what is stored."""
    stored = {"initial": initial if initial is not None else STORED, **store}
    session = {"resume": True, "extensions": list(extensions)}
    built = TurnBuilder(session=session, store=stored)
    built.event("harness", "process.started", resume=True, call=None)
    built.begins("start/1", "start").stores("read", read, found=is_there).ends(*chain)
    if chain:
        built.event("harness", "call.skipped", call="ask/1", task="ask", why="start/1 raised")
    else:
        built.begins("ask/1").says().ends()
    return built.build()


TABLE: dict[str, tuple[dict[str, Any], str | None]] = {
    "STUD-RESUME-01": ({"is_there": False}, "Session/NoSnapshot"),
    "STUD-RESUME-02": ({"initial": {**STORED, "storeId": " "}}, DRIFT),
    "STUD-RESUME-03": ({"initial": {**STORED, "storeId": "other"}}, "Session/ResumeMismatch"),
    "STUD-RESUME-04": ({"read": DRIFT}, DRIFT),
    "STUD-RESUME-05": ({"initial": {**STORED, "plugins": []}}, DRIFT),
    "STUD-RESUME-06": (
        {"extensions": (OLD,), "slots": {"notes": {"version": None}}},
        "Validation/SlotVersionMissing",
    ),
    "STUD-RESUME-07": (
        {"extensions": ({**OLD, "on_drift": "reject"},), "slots": {"notes": {"version": 1}}},
        "Session/SlotDriftRejected",
    ),
    "STUD-RESUME-08": (
        {"extensions": ({**OLD, "migration_fails": True},), "slots": {"notes": {"version": 1}}},
        "Session/SlotMigrationFailed",
    ),
    "STUD-RESUME-09": ({"extensions": (OLD,), "slots": {"notes": {"version": 1}}}, None),
    "STUD-RESUME-10": ({"slots": {"gone": {"version": 1}}}, None),
    "STUD-RESUME-11": ({}, None),
}


def test_every_row_of_the_model_is_tried_below() -> None:
    """A row that is added needs a situation."""
    assert MODEL.resume is not None
    assert {row.requirement for row in MODEL.resume.table} == set(TABLE)


@pytest.mark.parametrize("row", sorted(TABLE))
def test_each_row_decides_how_a_start_ends(model: ErrorModel, row: str) -> None:
    """It is refused by name, or it is resumed; anything else fails, with the row's sentence."""
    situation, pair = TABLE[row]
    right, wrong = ((), (DRIFT,)) if pair is None else ((pair,), ())
    (good,) = found(model, start(*right, **situation))
    assert (good.verdict, good.requirement) == (Verdict.PASS, row)
    (bad,) = found(model, start(*wrong, **situation))
    assert (bad.verdict, bad.requirement) == (Verdict.FAIL, row)
    if pair is not None:
        (other,) = found(model, start("Session/SomethingElse", **situation))
        assert (other.verdict, other.requirement) == (Verdict.FAIL, row)


@pytest.mark.parametrize(
    ("edit", "row"),
    [
        ({"drop": True}, "STUD-RESUME-01"),
        ({"set": {"storeId": "other"}}, "STUD-RESUME-03"),
        ({"raw": "{half"}, "STUD-RESUME-04"),
        ({"remove": ["messages"]}, "STUD-RESUME-04"),
        ({"set": {"color": "red"}}, "STUD-RESUME-05"),
        ({"set": {"updatedAt": 7}}, "STUD-RESUME-11"),
    ],
)
def test_an_edit_between_two_lives_is_found(
    model: ErrorModel, edit: dict[str, Any], row: str
) -> None:
    """What the first life wrote is what somebody else changed."""
    tasks = ({"id": "ask"}, {"id": "again", "do": "restart"}, {"id": "next"})
    built = TurnBuilder(tasks=tasks, store={"edits": [{"before_life": 2, **edit}]})
    built.turn().says().stores().ends().begins("again/1", "restart").ends()
    built.life = 2
    built.event("store", "store.edited", session="s1", applied=True, call=None)
    built.event("harness", "process.started", resume=True, call=None)
    built.begins("start/2", "start").ends()
    built.begins("next/1").says().ends()
    (finding,) = found(model, built.build())
    assert finding.requirement == row
    assert (finding.verdict is Verdict.PASS) is (row == "STUD-RESUME-11")


def test_a_torn_write_is_found_by_the_next_life(model: ErrorModel) -> None:
    """Half a manifest cannot be read, even where nothing says so in an answer."""
    built = TurnBuilder(tasks=({"id": "ask"}, {"id": "next"}), store={"kind": "files"})
    built.turn().says()
    built.event("store", "store.durable", op="s9", operation="write", torn=True, call="ask/1")
    built.crashes().opens(resume=True).begins("next/1").says().ends()
    (finding,) = found(model, built.build())
    assert (finding.verdict, finding.requirement) == (Verdict.FAIL, "STUD-RESUME-04")


@pytest.mark.parametrize("pair", ["Session/StoreUnavailable", "ExtensionHost/DependencyCycle"])
def test_what_has_nothing_to_do_with_what_is_stored_is_not_judged(
    model: ErrorModel, pair: str
) -> None:
    """A store that is down, and extensions that need each other."""
    assert found(model, start(pair)) == []


@pytest.mark.parametrize("kept", [True, False])
def test_what_was_stored_before_the_run_is_remembered(model: ErrorModel, kept: bool) -> None:
    """The messages of the first manifest are in the first request."""
    said = [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}]
    built = TurnBuilder(
        session={"resume": True}, store={"initial": {**STORED, "messages": said}}
    ).opens(resume=True)
    for message in said if kept else said[:1]:
        digest = sha256(message["content"])
        built.messages.append({"role": message["role"], "content_sha256": digest})
    trace = built.begins("ask/1").says().ends().build()
    (finding,) = found(model, trace, "resume.history")
    assert (finding.verdict is Verdict.PASS) is kept
    assert kept or "message 2, of the assistant" in finding.observed
