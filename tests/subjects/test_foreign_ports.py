"""What crosses to a program of another language, and back: names, units and errors."""

from __future__ import annotations

import pytest

from faultclock.model.typed_error import TypedError
from faultclock.subjects.foreign_ports import camel, failed, made_of, spelled
from faultclock.subjects.ports import InteractionRequest, Limits, ToolProblem, ToolResult


@pytest.mark.parametrize(
    ("name", "spelling"),
    [
        ("session_id", "sessionId"),
        ("timeout_s", "timeoutMs"),
        ("id", "id"),
        ("steps_max", "stepsMax"),
    ],
)
def test_a_name_is_spelled_as_javascript_does(name: str, spelling: str) -> None:
    """Its unit with it: JavaScript counts milliseconds."""
    assert camel(name) == spelling


def test_a_value_of_a_port_is_data_with_times_in_milliseconds() -> None:
    """Also inside of tuples; what a tool returned stays as it is."""
    problem = ToolProblem(error_class="ToolTerminal", code="NotFound", item="a_b")
    result = spelled(ToolResult(value={"snake_case": [1]}, errors=(problem,)))
    assert result["value"] == {"snake_case": [1]}
    assert result["errors"][0]["errorClass"] == "ToolTerminal"
    limits = spelled(Limits(wall_time_s=1.5))
    assert (limits["wallTimeMs"], limits["usdPerMillionTokens"]) == (1_500, 1_000)


def test_an_object_of_a_port_is_made_of_what_is_spelled() -> None:
    """What may be left out may be missing; the rest is named."""
    said = {"id": "q", "kind": "Approve", "prompt": "May I?", "deadlineMs": 120_000}
    request = made_of(InteractionRequest, {**said, "toolCall": "c1", "unknown": 1})
    assert (request.deadline_s, request.tool_call, request.options) == (120.0, "c1", ())
    del said["deadlineMs"]
    with pytest.raises(TypeError, match="InteractionRequest: there is no deadlineMs"):
        made_of(InteractionRequest, said)
    with pytest.raises(TypeError, match="ToolResult: there is no object"):
        made_of(ToolResult, "text")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (TimeoutError("late"), {"message": "late", "code": "ETIMEDOUT"}),
        (RuntimeError("no"), {"message": "no", "code": None}),
        (
            TypedError("Session", "StoreUnavailable", "down"),
            {"message": "down", "code": "StoreUnavailable", "error_class": "Session"},
        ),
    ],
)
def test_an_error_keeps_its_class_and_its_code(error: Exception, said: dict[str, object]) -> None:
    """One without has the code that an operating system has for it."""
    assert failed(error) == {"error": said}
