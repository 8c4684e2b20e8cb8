"""What is worth a retry is done again, after the wait that its policy asks for."""

from __future__ import annotations

import pytest

from faultclock.model.report.finding import Verdict
from tests.oracle.failure_builder import (
    FAIL,
    NOTHING,
    PASS,
    FailureBuilder,
    called,
    cited,
    found,
    model_of,
    verdicts,
)
from tests.oracle.trace_builder import sha256

MODEL = model_of()
BUSY = "ToolTransient/ResourceBusy"
LOGICAL = "Tool/Logical"


# ---------------------------------------------------------------------- failures.redone


def test_a_retry_within_its_limit_is_right() -> None:
    """Twice failed, then good."""
    builder = called().runs("c1", BUSY).after("1s").runs("c1", BUSY).after("2s").runs("c1")
    assert verdicts(MODEL, builder.ends(), "failures.redone") == PASS
    assert verdicts(MODEL, builder, "failures.wait") == PASS


def test_no_retry_of_what_is_worth_one_is_a_finding() -> None:
    """It had to be done again at least once."""
    assert cited(MODEL, called().runs("c1", BUSY).ends(), "failures.redone") == ["BY-ATTEMPTS"]


def test_a_retry_too_many_is_a_finding() -> None:
    """The first attempt counts."""
    builder = called()
    for _ in range(4):
        builder.runs("c1", BUSY).after("1s")
    assert cited(MODEL, builder.ends(), "failures.redone") == ["BY-ATTEMPTS"]


def test_a_retry_of_what_is_not_worth_one_is_a_finding() -> None:
    """Neither what is terminal, nor what the model is told of, nor what was denied."""
    builder = called().raises_in("c1").after("1s").runs("c1")
    assert cited(MODEL, builder.ends(), "failures.redone") == ["BY-SIGNAL"]
    builder = called().runs("c1", LOGICAL).runs("c1")
    assert cited(MODEL, builder.ends(), "failures.redone") == ["BY-SIGNAL"]
    builder = called().decides("c1").runs("c1")
    assert cited(MODEL, builder.ends(), "failures.redone") == ["BY-SIGNAL"]


def test_what_was_refused_and_executed_all_the_same_is_told_as_that() -> None:
    """It was not done before, so it is not done again."""
    (finding,) = found(MODEL, called().decides("c1").runs("c1").ends(), "failures.redone")
    assert finding.observed.startswith("it was executed all the same")


def test_what_is_terminal_and_left_alone_is_right() -> None:
    """The rule and the class are both shown to hold."""
    findings = found(MODEL, called().raises_in("c1").ends("Never/Broken"), "failures.redone")
    assert {(item.requirement, item.verdict) for item in findings} == {
        ("BY-SIGNAL", Verdict.PASS),
        ("BY-CLASS", Verdict.PASS),
    }


def test_one_more_generation_is_allowed_and_two_are_not() -> None:
    """None is right as well."""
    node = {"id": "a", "do": "program", "argv": ["codex"], "output_schema": {"type": "object"}}
    builder = FailureBuilder(workflow={"nodes": [node]}).turn()
    builder.program("codex", writes="no")
    assert verdicts(MODEL, FailureBuilder.ends(builder), "failures.redone") == PASS
    for answers, expected in ((2, PASS), (3, FAIL)):
        builder = FailureBuilder(workflow={"nodes": [node]}).turn()
        for _ in range(answers):
            builder.program("codex", writes="no")
        assert expected <= verdicts(MODEL, builder.ends(), "failures.redone")
        assert (Verdict.FAIL in expected) == bool(cited(MODEL, builder, "failures.redone"))


def test_a_node_is_done_again_as_it_declares() -> None:
    """The waits are its own as well."""
    retry = {"attempts_max": 2, "backoff": {"kind": "fixed", "base": "2s"}}
    workflow = {"nodes": [{"id": "sum", "do": "expression", "retry": retry}]}
    error = {"kind": "sandbox", "cause": "wall_clock", "message": "too long"}
    builder = FailureBuilder(workflow=workflow).turn().node("sum", error).after("2s").node("sum")
    assert verdicts(MODEL, builder.ends(), "failures.redone") == PASS
    assert verdicts(MODEL, builder, "failures.wait") == PASS
    builder = FailureBuilder(workflow=workflow).turn().node("sum", error).after("1s").node("sum")
    assert cited(MODEL, builder.ends(), "failures.wait") == ["BY-WAIT"]


def test_a_retry_that_a_cancel_prevented_is_not_missed() -> None:
    """What came from outside kept it from coming."""
    builder = called().runs("c1", BUSY).cancels("turn")
    assert verdicts(MODEL, builder.ends(), "failures.redone") == NOTHING


# ---------------------------------------------------------------------- failures.wait


@pytest.mark.parametrize("wait", ["0s", "999ms", "1001ms", "2s"])
def test_a_wrong_wait_is_a_finding(wait: str) -> None:
    """Too short and too long."""
    builder = called().runs("c1", BUSY).after(wait).runs("c1").ends()
    assert cited(MODEL, builder, "failures.wait") == ["BY-WAIT"]


def test_what_a_runtime_does_on_the_way_is_not_waiting() -> None:
    """A hook and an export before the next attempt may come on top, or be a part of it."""
    builder = called().runs("c1", BUSY).exports().after("1s").hook().runs("c1").ends()
    assert verdicts(MODEL, builder, "failures.wait") == PASS


# ---------------------------------------------------------------------- failures.classified


def test_a_record_with_class_and_code_is_right() -> None:
    """Its target is the tool call, or its tool."""
    for target in ("c1", "ls"):
        builder = called().raises_in("c1").notes("Never/Broken", target).ends("Never/Broken")
        assert verdicts(MODEL, builder, "failures.classified") == PASS


@pytest.mark.parametrize(
    ("pair", "target"),
    [("Never/Other", "c1"), ("Never/Broken", "c2"), (None, "c1")],
)
def test_a_record_of_something_else_is_a_finding(pair: str | None, target: str) -> None:
    """Wrong, about something else, or missing."""
    builder = called().raises_in("c1")
    if pair is not None:
        builder.notes(pair, target)
    assert cited(MODEL, builder.ends("Never/Broken"), "failures.classified") == ["BY-SIGNAL"]


def test_one_record_tells_of_one_failure() -> None:
    """Two failures need two."""
    builder = called().runs("c1", BUSY).after("1s").runs("c1", BUSY).notes("Again/Busy")
    assert len(cited(MODEL, builder.ends(), "failures.classified")) == 1
    builder = called().runs("c1", BUSY).notes("Again/Busy").after("1s").runs("c1", BUSY)
    assert cited(MODEL, builder.notes("Again/Busy").ends(), "failures.classified") == []


def test_a_request_needs_no_target() -> None:
    """A subject does not know what we call it."""
    builder = FailureBuilder().turn()
    builder.fails(401)
    builder.audits("Never/Broken").ends("Never/Broken")
    assert verdicts(MODEL, builder, "failures.classified") == PASS


def test_what_is_no_error_needs_no_record() -> None:
    """A cancel."""
    builder = FailureBuilder().turn().cancels("turn").ends("Stopped/Cancelled")
    assert verdicts(MODEL, builder, "failures.classified") == NOTHING


def test_a_model_may_cite_a_sentence_for_one_code() -> None:
    """Its `rules` name the check and the code, or the disposition; that one is cited first."""
    for name in ("failures.redone.Broken", "failures.redone.terminal"):
        model = model_of(rules={name: "BY-RULE"})
        builder = called().raises_in("c1").after("1s").runs("c1").ends()
        assert cited(model, builder, "failures.redone") == ["BY-RULE"]
        shown = found(model, called().raises_in("c1").ends("Never/Broken"), "failures.redone")
        assert {item.requirement for item in shown} == {"BY-RULE", "BY-SIGNAL", "BY-CLASS"}


def test_a_denied_call_whose_node_begins_anew_is_a_finding() -> None:
    """The call was never executed, and still it was done again."""
    nodes = [{"id": "ask", "do": "agent", "prompt": "Do it."}]
    builder = FailureBuilder(workflow={"nodes": nodes}).turn()
    builder.messages = [{"role": "user", "content_sha256": sha256("Do it.")}]
    builder.wants("c1 ls").decides("c1").after("1s").asks("Do it.", "done").ends()
    assert cited(MODEL, builder, "failures.redone") == ["BY-SIGNAL"]


def test_the_policy_of_the_layer_decides() -> None:
    """One class and code may be retried by a program and by a request."""
    network = {"id": "net", "when": {"kinds": ["program_exit"]}, "class": "Again", "code": "Cut"}
    both = [
        {
            "id": layer,
            "applies_to": ["Again/Cut"],
            "layer": layer,
            "attempts_max": attempts_max,
            "backoff": {"kind": "fixed", "base": "1s"},
            "requirements": {"attempts": "BY-ATTEMPTS", "wait": "BY-WAIT"},
        }
        for layer, attempts_max in (("transport", 9), ("tool", 1), ("program", 2))
    ]
    model = model_of(policies=both, signals=[network | {"requirement": "BY-SIGNAL"}])
    builder = FailureBuilder().turn().program("claude", status=1).after("1s")
    builder.program("claude", status=1).ends_as("failed")
    assert verdicts(model, builder, "failures.redone") == PASS
    builder = FailureBuilder().turn().program("claude", status=1).ends_as("failed")
    assert cited(model, builder, "failures.redone") == ["BY-ATTEMPTS"]
