"""Executing tools: deadlines, retries by the contract, typed results, effects."""

from __future__ import annotations

from typing import Any

import pytest

from tests.agents.stud_cli.play import LOOK, calling, play, saying

ANSWER = [calling("look"), saying()]


def tool(*rules: dict[str, Any], **fields: Any) -> list[dict[str, Any]]:
    """Return the tool `look` with these outcomes."""
    named = [{"id": f"r{number}", **rule} for number, rule in enumerate(rules)]
    return [{**LOOK, "rules": named, **fields}]


def outcome(kind: str, executions: str = "every", **more: Any) -> dict[str, Any]:
    """Return a rule of a tool."""
    effect = {name: more.pop(name) for name in ("effect",) if name in more}
    return {"when": {"executions": executions}, "then": {"fault": {"kind": kind, **more}, **effect}}


@pytest.mark.parametrize(
    ("kind", "error_class", "code"),
    [
        ("timeout", "ToolTransient", "ExecutionTimeout"),
        ("resource_busy", "ToolTransient", "ResourceBusy"),
        ("input_rejected", "ToolTerminal", "InputInvalid"),
        ("forbidden", "ToolTerminal", "Forbidden"),
        ("not_found", "ToolTerminal", "NotFound"),
        ("exception", "ToolTerminal", "OutputMalformed"),
    ],
)
def test_a_failure_reaches_the_model_typed_and_the_turn_goes_on(
    kind: str, error_class: str, code: str
) -> None:
    """Class and code, and nothing of the inside; the audit trail has the attempt."""
    played = play(*ANSWER, tools=tool(outcome(kind)))
    assert played.ending() == "Done."
    (told,) = played.told()
    assert (told["error"]["class"], told["error"]["code"]) == (error_class, code)
    assert "/" not in told["error"]["message"]
    assert "sk-" not in told["error"]["message"]
    assert played.errors() == [(error_class, code, 1)]
    assert len(played.events("tool.called")) == 1


def test_a_value_out_of_its_declared_shape_is_malformed() -> None:
    """The output is checked against the contract."""
    schema = {"type": "object", "required": ["seen"]}
    played = play(*ANSWER, tools=tool(outcome("output_malformed"), output_schema=schema))
    assert played.told()[0]["error"]["code"] == "OutputMalformed"


def test_arguments_out_of_their_declared_shape_are_not_executed() -> None:
    """The input is checked against the contract, and the model is told what is wrong with it."""
    schema = {"type": "object", "required": ["where"]}
    played = play(*ANSWER, tools=tool(input_schema=schema))
    assert played.events("tool.called") == []
    assert played.told()[0]["error"]["code"] == "InputInvalid"
    assert "where" in played.told()[0]["error"]["message"]


def test_a_tool_that_does_not_exist_is_not_found() -> None:
    """The model is told, and its sibling is executed."""
    played = play(calling("fly", "look"), saying())
    told = played.told()
    assert told[0]["error"]["code"] == "NotFound"
    assert told[1] == {"value": {"seen": True}}


def test_a_partial_result_is_told_as_what_it_is() -> None:
    """The value in its shape, and each item that failed."""
    errors = [{"item": "b", "class": "ToolTerminal", "code": "NotFound"}]
    played = play(*ANSWER, tools=tool(outcome("partial", value=["a"], errors=errors)))
    (told,) = played.told()
    assert told["value"] == ["a"]
    assert told["errors"] == [
        {"item": "b", "class": "ToolTerminal", "code": "NotFound", "message": "it failed"}
    ]


def test_a_tool_that_hangs_is_stopped_at_its_deadline() -> None:
    """The deadline counts from the start of the execution."""
    played = play(*ANSWER, tools=tool(outcome("hang"), timeout="7s"))
    assert played.told()[0]["error"]["code"] == "ExecutionTimeout"
    (called,), (stopped,) = played.at_s("tool.called"), played.at_s("tool.stopped")
    assert stopped - called == pytest.approx(7.0)


@pytest.mark.parametrize(
    ("backoff", "waits_s"),
    [
        ({"kind": "fixed", "base": "2s"}, [2.0, 2.0]),
        ({"kind": "linear", "base": "2s"}, [2.0, 4.0]),
        ({"kind": "exponential", "base": "2s", "factor": 3, "cap": "5s"}, [2.0, 5.0]),
    ],
)
def test_retries_go_by_the_contract_of_the_tool(
    backoff: dict[str, Any], waits_s: list[float]
) -> None:
    """As many attempts and waits as it says, each audited with its number."""
    retry = {"attempts_max": 3, "backoff": backoff}
    played = play(*ANSWER, tools=tool(outcome("resource_busy", "1-2"), retry=retry))
    assert played.told() == [{"value": {"seen": True}}]
    assert [attempt for _, _, attempt in played.errors()] == [1, 2]
    ends = played.at_s("tool.replied")
    starts = played.at_s("tool.called")
    waits = [round(start - end, 1) for end, start in zip(ends, starts[1:], strict=False)]
    assert waits == waits_s
    assert played.order("ToolInvocationFailed", "ToolInvocationSucceeded") == [
        "ToolInvocationFailed",
        "ToolInvocationFailed",
        "ToolInvocationSucceeded",
    ]


def test_a_code_that_the_contract_does_not_name_is_terminal() -> None:
    """The classifier of the tool decides, not the class."""
    retry = {
        "attempts_max": 3,
        "backoff": {"kind": "fixed", "base": "1s"},
        "retryable": ["ResourceBusy"],
    }
    played = play(*ANSWER, tools=tool(outcome("timeout"), retry=retry))
    assert len(played.events("tool.called")) == 1


def test_an_effect_that_was_followed_by_a_failure_is_not_repeated_unasked() -> None:
    """Commit, then fail: without a retry in the contract there is one effect."""
    played = play(*ANSWER, tools=tool(outcome("timeout", effect="committed")))
    assert list(played.effects()) == [("look", 1)]
