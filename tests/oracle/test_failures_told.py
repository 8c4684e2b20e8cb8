"""Who is told of a failure, and what is kept of it."""

from __future__ import annotations

from typing import Any

import pytest

from faultclock.model.report.finding import Verdict
from tests.oracle.failure_builder import (
    FAIL,
    NOTHING,
    PASS,
    FailureBuilder,
    called,
    cited,
    model_of,
    verdicts,
)

LOGICAL = "Tool/Logical"
ROUNDS: dict[str, Any] = {
    "nodes": [
        {"id": "code", "do": "program", "role": "coder", "argv": ["claude"]},
        {"id": "review", "do": "program", "role": "reviewer", "argv": ["codex"]},
        {"id": "test", "do": "command", "argv": ["pytest"]},
    ],
    "iterations_max": 2,
}

# ---------------------------------------------------------------------- failures.told-model

SHAPE = {
    "audience": "model",
    "applies_to": ["Told/*", "Never/Timeout"],
    "fields": {
        "ok": {"equals": False},
        "error.text": {"holds": "message"},
        "errorType": {"holds": "code"},
        "class": {"holds": "class"},
        "retryable": {"holds": "retryable"},
        "recommendations": {"holds": "list"},
        "note": {"holds": "text"},
    },
    "retryable": {"Logical": True},
}
TOLD: dict[str, Any] = {
    "ok": False,
    "error": {"text": "Sorry. File not found: notes.txt"},
    "errorType": "Logical",
    "class": "Told",
    "retryable": True,
    "recommendations": ["look again"],
    "note": "so it is",
}
LS = {
    "name": "ls",
    "rules": [{"id": "gone", "then": {"fault": {"kind": "logical"}}}],
}


def told(**fields: Any) -> FailureBuilder:
    """Return a turn in which the model is told of a failed tool."""
    builder = called(tools=(LS,))
    builder.runs("c1", LOGICAL)
    facts = {"fault": "gone", "fault_kind": "logical", "execution": "t1", "of": "tool ls"}
    builder.event("tool", "fault.fired", call=builder.call, **facts)
    return builder.tells_json("c1", **(TOLD | fields)).says().ends()


def test_the_shape_that_the_document_has_is_right() -> None:
    """Every field holds what it must."""
    assert verdicts(model_of(telling=[SHAPE]), told(), "failures.told-model") == PASS


@pytest.mark.parametrize(
    "fields",
    [
        {"ok": True},
        {"ok": 0},
        {"error": {"text": "Sorry."}},
        {"error": "File not found: notes.txt"},
        {"errorType": "logical"},
        {"class": "Other"},
        {"retryable": False},
        {"retryable": "true"},
        {"recommendations": []},
        {"recommendations": "look again"},
        {"note": " "},
        {"note": None},
    ],
)
def test_a_field_that_holds_something_else_is_a_finding(fields: dict[str, Any]) -> None:
    """Each field by itself."""
    model = model_of(telling=[SHAPE])
    assert cited(model, told(**fields), "failures.told-model") == ["BY-TELLING"]


def test_a_result_that_is_no_object_or_missing_is_a_finding() -> None:
    """Plain text says nothing that can be acted on."""
    model = model_of(telling=[SHAPE])
    for content in ("it did not work", None):
        builder = called().runs("c1", LOGICAL)
        if content is not None:
            builder.tells("c1", content)
        assert cited(model, builder.says().ends(), "failures.told-model") == ["BY-TELLING"]


def test_nobody_is_told_of_a_failure_that_ended_the_turn() -> None:
    """There is no next request."""
    builder = called().runs("c1", LOGICAL).ends("Told/Logical")
    assert verdicts(model_of(telling=[SHAPE]), builder, "failures.told-model") == NOTHING


# ------------------------------------------------------ failures.told-operator and told-user

OPERATOR = {
    "audience": "operator",
    "applies_to": ["Never/Test"],
    "text": "测试失败: {command} ({target}): {stderr}",
    "actions": ["重试当前阶段"],
    "pill": "failed",
}
MESSAGE = "测试失败: pytest (pytest): 2 failed"


def tried(message: str = MESSAGE, *actions: str, pill: str | None = "failed") -> FailureBuilder:
    """Return a turn whose command fails, and what the operator is shown."""
    builder = FailureBuilder(workflow=ROUNDS).turn().program("pytest", status=1, stderr="2 failed")
    return builder.operator(message, *actions, pill=pill).ends_as("failed")


def test_an_operator_who_is_told_all_of_it_is_right() -> None:
    """Text, actions and status in one message."""
    builder = tried(MESSAGE, "重试当前阶段")
    assert verdicts(model_of(telling=[OPERATOR]), builder, "failures.told-operator") == PASS


@pytest.mark.parametrize(
    "builder",
    [
        tried("it failed", "重试当前阶段"),
        tried(MESSAGE),
        tried(MESSAGE, "重试当前阶段", pill=None),
        FailureBuilder(workflow=ROUNDS)
        .turn()
        .operator(MESSAGE, "重试当前阶段", pill="failed")
        .program("pytest", status=1, stderr="2 failed")
        .ends_as("failed"),
    ],
)
def test_an_operator_who_is_told_less_is_a_finding(builder: FailureBuilder) -> None:
    """Another text, no action, no status, or too early."""
    model = model_of(telling=[OPERATOR])
    assert cited(model, builder, "failures.told-operator") == ["BY-TELLING"]


def test_fields_of_a_message_to_people_are_judged() -> None:
    """What the failing part said is in it."""
    rule = {"audience": "operator", "applies_to": ["Never/Test"]}
    rule |= {"fields": {"message": {"holds": "message"}}}
    model = model_of(telling=[rule])
    assert verdicts(model, tried("oh: 2 failed!"), "failures.told-operator") == PASS
    assert verdicts(model, tried("oh"), "failures.told-operator") == FAIL


def test_a_user_is_told_by_the_end_of_the_call() -> None:
    """The text of the document is in the message."""
    rule = {"audience": "user", "applies_to": ["Never/*"], "text": "try again"}
    model = model_of(telling=[rule])
    good = called().raises_in("c1").user("Please try again.").ends("Never/Broken")
    assert verdicts(model, good, "failures.told-user") == PASS
    bad = called().raises_in("c1").ends("Never/Broken")
    assert cited(model, bad, "failures.told-user") == ["BY-TELLING"]


def test_who_does_not_say_what_is_shown_is_not_judged() -> None:
    """The binding declares neither operator nor user."""
    model = model_of(telling=[OPERATOR])
    builder = FailureBuilder(declares=("audit",), workflow=ROUNDS).turn()
    builder.program("pytest", status=1).ends_as("failed")
    assert verdicts(model, builder, "failures.told-operator") == NOTHING


# ---------------------------------------------------------------------- failures.kept

KEPT = {
    "applies_to": ["Never/Test"],
    "file": "*_meta.json",
    "fields": {
        "error.code": {"holds": "code"},
        "retry_count": {"holds": "retries"},
        "next": {"equals": "ask"},
    },
}
META = {"error": {"code": "Test"}, "retry_count": 0, "next": "ask"}


def kept(name: str = "test_meta.json", content: object = META, **more: Any) -> FailureBuilder:
    """Return a turn whose command fails, and the file that is kept of it."""
    builder = FailureBuilder(workflow=ROUNDS).turn().program("pytest", status=1)
    return builder.saves(name, content, **more).ends_as("failed")  # type: ignore[arg-type]


def test_a_file_that_is_kept_with_its_fields_is_right() -> None:
    """By its name and its JSON."""
    assert verdicts(model_of(kept=[KEPT]), kept(), "failures.kept") == PASS


@pytest.mark.parametrize(
    "builder",
    [
        kept("test_raw.md"),
        kept(content=None),
        kept(content=META | {"retry_count": 1}),
        kept(content=META | {"error": {}}),
        kept(content=META | {"next": "go"}),
    ],
)
def test_a_file_that_is_missing_or_says_otherwise_is_a_finding(builder: FailureBuilder) -> None:
    """Another name, no JSON, or a wrong field."""
    assert cited(model_of(kept=[KEPT]), builder, "failures.kept") == ["BY-KEPT"]


def test_what_was_kept_before_the_failure_does_not_count() -> None:
    """It cannot be about it."""
    builder = FailureBuilder(workflow=ROUNDS).turn().saves("test_meta.json", META)
    builder.program("pytest", status=1).ends_as("failed")
    assert cited(model_of(kept=[KEPT]), builder, "failures.kept") == ["BY-KEPT"]


SHOWN = {
    "applies_to": ["Never/Test"],
    "file": "*_meta.json",
    "fields": {"said": {"holds": "shown"}, "next": {"holds": "text", "never": ["none"]}},
}


@pytest.mark.parametrize(
    ("said", "following", "expected"),
    [
        ("2 failed\nlook", "ask", PASS),
        ("2 failed look ", "None of it", PASS),
        ("2 failed", "ask", FAIL),
        ("it did not work", "ask", FAIL),
        ("", "ask", FAIL),
        ("2 failed\nlook", "None ", FAIL),
        ("2 failed\nlook", "", FAIL),
    ],
)
def test_what_is_kept_is_what_was_shown_and_says_something(
    said: str, following: str, expected: set[Verdict]
) -> None:
    """The whole message, however its lines are broken, and no text that the rule refuses."""
    builder = FailureBuilder(workflow=ROUNDS).turn().program("pytest", status=1)
    builder.saves("test_meta.json", {"said": said, "next": following})
    builder.operator("2 failed\nlook").ends_as("failed")
    assert verdicts(model_of(kept=[SHOWN]), builder, "failures.kept") == expected


def test_that_nothing_was_shown_is_no_fault_of_what_is_kept() -> None:
    """That is what telling is judged by."""
    builder = kept(content={"said": "it did not work", "next": "ask"})
    assert verdicts(model_of(kept=[SHOWN]), builder, "failures.kept") == PASS


@pytest.mark.parametrize(
    ("second", "text", "expected"),
    [
        ("review_raw.md", "two", PASS),
        ("code_raw.md", "one, then two", PASS),
        ("code_raw.md", "two", FAIL),
    ],
)
def test_what_is_kept_of_two_stages_is_a_file_each(
    second: str, text: str, expected: set[Verdict]
) -> None:
    """Or one file that has both; what takes the place of the other is a finding."""
    rule = {"applies_to": ["Never/Broken"], "file": "*_raw.md"}
    builder = FailureBuilder(workflow=ROUNDS).turn()
    builder.misses("claude").saves("code_raw.md", text="one")
    builder.misses("codex").saves(second, text=text).ends_as("failed")
    assert verdicts(model_of(kept=[rule]), builder, "failures.kept") == expected


@pytest.mark.parametrize(
    "rule",
    [
        {"telling": [OPERATOR | {"fields": {"message": {"holds": "shown"}}}]},
        {"kept": [KEPT | {"fields": {"next": {"equals": "ask", "never": ["none"]}}}]},
    ],
)
def test_a_rule_that_could_mean_nothing_is_refused(rule: dict[str, Any]) -> None:
    """Telling is the showing, and what equals one text needs no other excluded."""
    with pytest.raises(ValueError, match="`holds"):
        model_of(**rule)


def test_what_is_told_of_failures_that_differ_is_not_the_same() -> None:
    """Advice that fits everything fits nothing; by code, or by tool."""
    tools = ({"name": "ls"}, {"name": "cat"})
    for by, wanted in (("tool", "cat"), ("code", "ls")):
        rule = {"audience": "model", "applies_to": ["Told/*"]}
        rule |= {"fields": {"advice": {"holds": "list", "differs_by": [by]}}}
        model = model_of(telling=[rule])
        for second, expected in (("other", PASS), ("one", FAIL)):
            builder = FailureBuilder(tools=tools).turn().wants("c1 ls").runs("c1", LOGICAL)
            builder.tells_json("c1", advice=["one"])
            if by == "tool":
                builder.wants(f"c2 {wanted}").runs("c2", LOGICAL, tool=wanted)
            else:
                builder.wants(f"c2 {wanted}").decides("c2")
            builder.tells_json("c2", advice=[second]).says().ends()
            assert verdicts(model, builder, "failures.told-model") == expected


def test_what_the_model_must_never_see_is_a_finding() -> None:
    """The audience `model` says what that is."""
    audience = {"id": "model", "never": ["secret"], "requirement": "BY-TELLING"}
    model = model_of(audiences=[audience])
    for text, expected in (("no", PASS), ("no: sk-simulated-0123456789abcdef0123", FAIL)):
        builder = called().runs("c1", LOGICAL).tells_json("c1", error=text).says().ends()
        assert verdicts(model, builder, "failures.told-model") == expected
