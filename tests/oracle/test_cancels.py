"""A cancel ends what it is for, by name and promptly, and leaves the rest alone."""

from __future__ import annotations

import pytest

from faultclock.model.error_model import ErrorModel
from faultclock.model.finding import Verdict
from faultclock.oracle.judge import judge
from tests.oracle.planted_turns import STAGED
from tests.oracle.turn_builder import TurnBuilder, error, value

CANCELS = [{"id": "stop", "when": {"at": "1s"}, "scope": "turn"}]
TURN, TOOL = "Cancellation/TurnCancelled", "Cancellation/ToolCancelled"


def failed(model: ErrorModel, built: TurnBuilder, check: str = "cancel.outcome") -> list[str]:
    """Return what a check finds wrong."""
    own = (item for item in judge(model, built.build()).findings if item.check == check)
    return [item.observed for item in own if item.verdict is Verdict.FAIL]


def running(**scenario: object) -> tuple[TurnBuilder, str]:
    """Return a turn in which a tool runs, and its execution."""
    built = TurnBuilder(cancels=CANCELS, **scenario).turn().wants("c1 ls", "c2 ls")  # type: ignore[arg-type]
    return built, built.calls("c1")


@pytest.mark.parametrize(
    ("scope", "pair", "observed"),
    [
        ("turn", TURN, []),
        ("session", "Cancellation/SessionCancelled", []),
        ("session", TURN, [f"it ended with {TURN}"]),
        (
            "turn",
            "ToolTransient/ExecutionTimeout",
            ["it ended with ToolTransient/ExecutionTimeout"],
        ),
    ],
)
def test_each_scope_ends_with_its_own_code(
    model: ErrorModel, scope: str, pair: str, observed: list[str]
) -> None:
    """The documents have one for each."""
    built, execution = running()
    built.after("1s").cancels(scope).stops(execution, "c1")
    assert failed(model, built.ends(pair)) == observed


def test_a_turn_that_goes_on_is_found(model: ErrorModel) -> None:
    """It returned as if there had been no cancel."""
    built, execution = running()
    built.after("1s").cancels("turn").replies(execution, "c1")
    built.tells("c1", value()).tells("c2", value()).says()
    assert failed(model, built.ends()) == ["it returned, as if nothing had been said"]


def test_a_turn_that_ends_late_is_found(model: ErrorModel) -> None:
    """Within a second, and the network's latency on top."""
    built, execution = running()
    built.after("1s").cancels("turn").after("3s").stops(execution, "c1")
    assert failed(model, built.ends(TURN)) == ["it ended only 3s after the cancel"]


def test_what_the_turn_started_is_stopped_with_it(model: ErrorModel) -> None:
    """A tool, and a dialog."""
    built, execution = running()
    built.after("1s").cancels("turn").ends(TURN).after("9s").replies(execution, "c1")
    assert failed(model, built) == ["ls (c1) went on"]
    built = TurnBuilder(cancels=CANCELS).turn().wants("c1 rm").shows("r1").after("1s")
    assert failed(model, built.cancels("turn").ends(TURN)) == ["the request r1 stayed open"]


def test_a_stage_is_cancelled_as_its_turn(model: ErrorModel) -> None:
    """Only while it runs."""
    built = TurnBuilder(session=STAGED, cancels=CANCELS).turn().staged("check_gate", "proceed")
    built.fails(429, call="ask/1").after("1s").cancels("stage", "a")
    assert failed(model, built.ends("Cancellation/StageCancelled")) == [
        "it ended with Cancellation/StageCancelled"
    ]


def test_a_cancel_that_meets_nothing_is_not_judged(model: ErrorModel) -> None:
    """The turn had its answer, and only saving was left."""
    built = TurnBuilder(cancels=CANCELS).turn().says().cancels("turn").after("5ms").ends()
    assert failed(model, built) == []


@pytest.mark.parametrize(
    ("what", "observed"),
    [
        ("stops", []),
        ("goes on", ["it went on"]),
        ("sideways", ["it was stopped, too"]),
        ("up", [f"it ended with {TURN}"]),
    ],
)
def test_a_cancel_of_one_tool_reaches_that_one_alone(
    model: ErrorModel, what: str, observed: list[str]
) -> None:
    """Its siblings go on, and so does the turn."""
    built, first = running()
    second = built.calls("c2")
    built.after("1s").cancels("tool", "c1")
    if what != "goes on":
        built.stops(first, "c1")
    if what == "sideways":
        built.stops(second, "c2")
    built.after("2s")
    if what == "goes on":
        built.replies(first, "c1")
    if what != "sideways":
        built.replies(second, "c2")
    if what == "up":
        assert failed(model, built.ends(TURN)) == observed
        return
    built.tells("c1", error(TOOL)).tells("c2", value()).says()
    assert failed(model, built.ends()) == observed


def test_a_tool_that_cannot_be_stopped_is_not_the_runtimes_fault(model: ErrorModel) -> None:
    """Its contract says that it goes on."""
    built, execution = running(tools=({"name": "ls", "on_cancel": "goes_on"},))
    built.after("1s").cancels("turn").ends(TURN).after("9s").replies(execution, "c1")
    assert failed(model, built) == []


def test_a_tools_cancel_is_in_the_audit_trail(model: ErrorModel) -> None:
    """Nothing is raised that would show it otherwise."""
    for said in (True, False):
        built, execution = running(declares=("audit",))
        built.after("1s").cancels("tool", "c1").stops(execution, "c1")
        if said:
            built.audits_event("Cancellation", scope="tool", code="ToolCancelled")
        built.tells("c1", error(TOOL)).tells("c2", value()).says().ends()
        assert failed(model, built, "cancel.audited") == ([] if said else ["it has nothing of it"])
