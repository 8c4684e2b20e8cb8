"""The steps of the reference tool, against figures that were worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from faultclock.agents.json_exchange import ServiceError
from faultclock.agents.tool import Lookup
from faultclock.subjects.ports import CancelSignal, ToolProblem, ToolRequest
from tests.subjects.conftest import FakeHost


@pytest.fixture
def steps(host: FakeHost) -> Lookup:
    """The steps of one execution."""
    request = ToolRequest(
        host=host,
        arguments={"ids": [1]},
        call_id="call_1",
        timeout_s=30.0,
        signal=CancelSignal(),
    )
    return Lookup(request)


BUSY = ToolProblem(error_class="ToolTransient", code="ResourceBusy")
GONE = ToolProblem(error_class="ToolTerminal", code="NotFound")


@pytest.mark.parametrize(("attempt", "low_s", "high_s"), [(1, 0.8, 1.2), (2, 1.6, 2.4)])
def test_waits_double_within_twenty_per_cent(
    steps: Lookup, attempt: int, low_s: float, high_s: float
) -> None:
    """1 and 2 seconds, each with its jitter."""
    waits = [steps.wait_s(BUSY, attempt) for _ in range(200)]
    assert all(wait is not None and low_s <= wait <= high_s for wait in waits)
    assert len(set(waits)) > 1


def test_the_third_failure_and_a_terminal_one_are_the_last() -> None:
    """Three attempts in all, and one for what will not change."""
    steps = Lookup.__new__(Lookup)
    assert steps.wait_s(BUSY, 3) is None
    assert steps.wait_s(GONE, 1) is None


@pytest.mark.parametrize(
    ("status", "pair"),
    [
        (401, ("ToolTerminal", "Forbidden")),
        (403, ("ToolTerminal", "Forbidden")),
        (404, ("ToolTerminal", "NotFound")),
        (410, ("ToolTerminal", "NotFound")),
        (429, ("ToolTransient", "ResourceBusy")),
        (503, ("ToolTransient", "ResourceBusy")),
        (504, ("ToolTransient", "ExecutionTimeout")),
    ],
)
def test_a_status_has_its_class_and_code(steps: Lookup, status: int, pair: tuple[str, str]) -> None:
    """The table that the model of tools is read from, written out once more."""
    problem = steps.problem(ServiceError("status", status))
    assert (problem.error_class, problem.code) == pair


@pytest.mark.parametrize(
    "arguments", [{}, {"ids": []}, {"ids": [0]}, {"ids": [True]}, {"ids": [1], "more": 1}]
)
def test_arguments_that_do_not_fit_are_refused(steps: Lookup, arguments: dict[str, Any]) -> None:
    """The code has no other opinion than the schema."""
    refusal = steps.refused(arguments)
    assert refusal is not None
    assert refusal.code == "InputInvalid"


def test_a_result_is_whole_partial_or_failed(steps: Lookup) -> None:
    """Never a list that is too short with nothing said."""
    found = {"id": 1, "text": "a"}
    assert steps.result([found]).errors == ()
    partial = steps.result([found, GONE])
    assert (partial.value, partial.errors) == ({"items": [found]}, (GONE,))
    failed = steps.result([GONE, BUSY])
    assert failed.problem is not None
    assert failed.problem.code == "NotFound"
