"""What becomes of the run after a failure."""

from __future__ import annotations

from typing import Any

import pytest

from faultclock.model.report.finding import Verdict
from tests.oracle.failure_builder import (
    FAIL,
    PASS,
    FailureBuilder,
    called,
    cited,
    found,
    model_of,
    verdicts,
)

LOGICAL = "Tool/Logical"

ENDS = {
    "applies_to": ["Never/*"],
    "run": "ends",
    "states": ["failed"],
    "carries": ["Never/Broken"],
}
GOES_ON = {"applies_to": ["Told/*", "Mild/*"], "run": "goes_on"}
COURSE = model_of(consequences=[ENDS, GOES_ON])


def test_a_run_that_ends_as_it_must_is_right() -> None:
    """By a result, or by an error that is raised."""
    builder = called().raises_in("c1").ends_as("failed", "Never/Broken")
    assert verdicts(COURSE, builder, "failures.outcome") == PASS
    builder = called().raises_in("c1").ends("Never/Broken")
    assert verdicts(COURSE, builder, "failures.outcome") == PASS


@pytest.mark.parametrize(
    ("state", "pair"),
    [("completed", None), ("degraded", "Never/Broken"), ("failed", "Never/Other")],
)
def test_a_run_that_ends_otherwise_is_a_finding(state: str, pair: str | None) -> None:
    """In another state, or with another class and code."""
    builder = called().raises_in("c1").ends_as(state, pair)
    assert cited(COURSE, builder, "failures.outcome") == ["BY-RULE"]


def test_what_is_begun_after_the_end_is_a_finding() -> None:
    """Neither the model nor a tool is asked any more."""
    builder = called().raises_in("c1").tells("c1", "no").says().ends_as("failed", "Never/Broken")
    assert cited(COURSE, builder, "failures.outcome") == ["BY-RULE"]


def test_writing_to_the_store_after_the_end_is_right() -> None:
    """The session is saved."""
    builder = called().raises_in("c1").stores("append").pushes()
    assert verdicts(COURSE, builder.ends("Never/Broken"), "failures.outcome") == PASS


def test_a_run_that_goes_on_is_right() -> None:
    """The model is told, and has its last word."""
    builder = called().runs("c1", LOGICAL).tells("c1", "no").says().ends_as()
    assert verdicts(COURSE, builder, "failures.outcome") == PASS


def test_a_run_that_ends_by_what_must_not_end_it_is_a_finding() -> None:
    """Failed, or degraded where nothing says so."""
    builder = called().runs("c1", LOGICAL).ends("Told/Logical")
    assert cited(COURSE, builder, "failures.outcome") == ["BY-RULE"]
    builder = FailureBuilder().turn().hook("no").says().ends_as("degraded")
    assert cited(COURSE, builder, "failures.outcome") == ["BY-RULE"]


def test_a_run_that_hangs_does_not_go_on() -> None:
    """It ended by force, because nothing happened any more."""
    trace = FailureBuilder().turn().hook("no").build("deadlock")
    assert verdicts(COURSE, trace, "failures.outcome") == FAIL


def test_what_else_may_have_ended_the_run_explains_its_end() -> None:
    """The failure that must not end it is not blamed."""
    builder = called().hook("no").raises_in("c1").ends_as("failed", "Never/Broken")
    (finding,) = found(COURSE, builder, "failures.outcome")
    assert (finding.verdict, finding.judged) == (Verdict.PASS, 1)


def test_the_first_consequence_whose_settings_hold_decides() -> None:
    """Here the policy of the session."""
    degrade = GOES_ON | {"states": ["degraded"], "where": {"policies.tool": "degrade"}}
    model = model_of(consequences=[degrade, ENDS, GOES_ON])
    plain = called().runs("c1", LOGICAL).tells("c1", "no").says().ends_as()
    assert verdicts(model, plain, "failures.outcome") == PASS
    degraded = called(session={"policies": {"tool": "degrade"}}).runs("c1", LOGICAL)
    degraded.tells("c1", "no").says().ends_as()
    assert cited(model, degraded, "failures.outcome") == ["BY-RULE"]


ROUNDS: dict[str, Any] = {
    "nodes": [
        {"id": "code", "do": "program", "role": "coder", "argv": ["claude"]},
        {"id": "review", "do": "program", "role": "reviewer", "argv": ["codex"]},
        {"id": "test", "do": "command", "argv": ["pytest"]},
    ],
    "iterations_max": 2,
}
BACK = {
    "applies_to": ["Never/Test"],
    "run": "goes_on",
    "then": "iterate_to_coder",
    "states": ["failed"],
    "carries": ["Never/Test"],
}


def test_a_failed_command_goes_back_to_the_coder() -> None:
    """And ends the run when the rounds are used up."""
    model = model_of(consequences=[BACK])
    builder = FailureBuilder(workflow=ROUNDS).turn().program("claude")
    builder.program("pytest", status=1).program("claude").program("pytest", status=1)
    builder.ends_as("failed", "Never/Test")
    assert verdicts(model, builder, "failures.outcome") == PASS


def test_a_command_that_is_run_again_by_itself_is_a_finding() -> None:
    """Neither that nor another reader is the coder; nor is the end."""
    model = model_of(consequences=[BACK])
    for following in (("pytest",), ("codex",), ()):
        builder = FailureBuilder(workflow=ROUNDS).turn().program("pytest", status=1)
        if following:
            builder.program(*following)
        builder.ends_as("completed")
        wanted = [] if following == ("pytest",) else ["BY-RULE"]
        # A second run of the command is what `failures.redone` finds.
        assert cited(model, builder, "failures.outcome") == wanted
    builder = FailureBuilder(workflow=ROUNDS).turn().program("pytest", status=1)
    builder.program("pytest").ends_as()
    assert cited(model, builder, "failures.redone") == ["BY-SIGNAL"]


def test_what_needs_a_failed_node_is_not_begun() -> None:
    """Directly or not."""
    model = model_of(consequences=[{"applies_to": ["Never/*"], "then": "skip_dependents"}])
    nodes = [
        {"id": "a", "do": "handler"},
        {"id": "b", "do": "handler", "needs": ["a"]},
        {"id": "c", "do": "handler", "needs": ["b"]},
        {"id": "d", "do": "handler"},
    ]
    boom = {"kind": "exception", "cause": None, "message": "boom"}
    for following, expected in (("d", PASS), ("b", FAIL), ("c", FAIL)):
        builder = FailureBuilder(workflow={"nodes": nodes}).turn().node("a", boom)
        builder.node(following).ends_as("failed")
        assert verdicts(model, builder, "failures.outcome") == expected


def test_a_session_that_must_go_on_does() -> None:
    """The result says so, and the next turn works."""
    keep = GOES_ON | {"states": ["degraded"], "then": "keep_recoverable"}
    model = model_of(consequences=[keep])
    for recoverable, then, expected in (
        (True, "completed", PASS),
        (False, "completed", FAIL),
        (True, "failed", FAIL),
    ):
        builder = FailureBuilder(tasks=({"id": "ask"}, {"id": "more"})).turn().hook("no")
        builder.ends_as("degraded", recoverable=recoverable)
        builder.begins("more/1").says().ends_as(then)
        assert verdicts(model, builder, "failures.outcome") == expected


def test_a_session_that_must_go_on_may_raise_its_error() -> None:
    """An error has no place for a promise: whether it is kept, the next turn shows."""
    keep = ENDS | {"then": "keep_recoverable"}
    model = model_of(consequences=[keep])
    for then, expected in (("completed", PASS), ("failed", FAIL)):
        builder = called(tasks=({"id": "ask"}, {"id": "more"})).raises_in("c1")
        builder.ends("Never/Broken")
        builder.begins("more/1").says().ends_as(then)
        assert verdicts(model, builder, "failures.outcome") == expected


def test_a_degraded_run_need_not_name_what_it_tolerated() -> None:
    """It is no error of the run; one that is named has to be the right one all the same."""
    model = model_of(consequences=[ENDS | {"states": ["failed", "degraded"]}])
    for pair, expected in ((None, PASS), ("Never/Broken", PASS), ("Never/Other", FAIL)):
        builder = called().raises_in("c1").ends_as("degraded", pair)
        assert verdicts(model, builder, "failures.outcome") == expected


def test_a_run_that_stops_at_a_tolerated_failure_has_not_gone_on() -> None:
    """The state is a word; that the model is asked again is what it means."""
    model = model_of(consequences=[GOES_ON | {"states": ["completed", "degraded"]}])
    stopped = called().runs("c1", LOGICAL).ends_as("degraded")
    assert verdicts(model, stopped, "failures.outcome") == FAIL
    went_on = called().runs("c1", LOGICAL).tells("c1", "no").says().ends_as("degraded")
    assert verdicts(model, went_on, "failures.outcome") == PASS


def test_a_cancel_ends_the_run_but_not_before_it_is_heard() -> None:
    """What begins at that very instant was on its way; what begins later was not."""
    ends = {"applies_to": ["Stopped/*"], "run": "ends", "states": ["cancelled"]}
    model = model_of(consequences=[ends])
    for wait, expected in (("0s", PASS), ("1ms", FAIL)):
        builder = called().cancels("turn").after(wait).runs("c1")
        assert verdicts(model, builder.ends_as("cancelled"), "failures.outcome") == expected
    builder = called().cancels("turn").after("1ms").ends_as("failed")
    assert cited(model, builder, "failures.outcome") == ["BY-RULE"]
