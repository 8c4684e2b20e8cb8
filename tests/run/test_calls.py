"""When the calls of a provider adapter begin: at an instant, and after those of another task."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from faultclock.model.duration import SECOND_NS
from faultclock.model.scenario.scenario import Scenario, scenario_of
from faultclock.run.prepare import prepare
from faultclock.run.suite import run_one


def scenario(*tasks: dict[str, Any], **more: Any) -> Scenario:
    """Return a scenario whose provider takes its time over each answer."""
    provider = {"think_time": "5s"}
    head = {"id": "tests/calls", "title": "Calls", "why": "For a test."}
    return scenario_of({**head, "provider": provider, "tasks": list(tasks), **more})


def lasted(item: Scenario, subject: str) -> dict[str, tuple[int, int]]:
    """Return when each call began and ended, in nanoseconds."""
    trace = run_one(item, prepare(subject), 0, isolate=True)
    began = {event.payload["call"]: event.at_ns for event in trace.of_kind("call.started")}
    ended = {event.payload["call"]: event.at_ns for event in trace.of_kind("call.returned")}
    return {call: (at_ns, ended[call]) for call, at_ns in began.items()}


@pytest.mark.parametrize("subject", ["reference", "reference-sync"])
def test_a_task_after_another_begins_when_all_its_calls_have_ended(subject: str) -> None:
    """In both styles of code, however long the calls before it take."""
    calls = lasted(
        scenario(
            {"id": "crowd", "copies": 3},
            {"id": "beside", "at": "1s"},
            {"id": "next", "at": "1s", "after": "crowd"},
            {"id": "last", "after": "next"},
        ),
        subject,
    )
    assert calls["beside/1"][0] == SECOND_NS
    crowd_ended = max(calls[f"crowd/{number}"][1] for number in (1, 2, 3))
    assert calls["next/1"][0] == crowd_ended > 5 * SECOND_NS
    assert calls["last/1"][0] == calls["next/1"][1]


def test_a_task_after_another_waits_for_its_own_instant_too() -> None:
    """The later of the two counts."""
    calls = lasted(
        scenario({"id": "first"}, {"id": "next", "at": "1h", "after": "first"}), "reference"
    )
    assert calls["next/1"][0] == 3_600 * SECOND_NS


@pytest.mark.parametrize(
    ("tasks", "message"),
    [
        ([{"id": "a", "after": "b"}, {"id": "b"}], "no task before it has the id 'b'"),
        ([{"id": "a", "after": "a"}], "no task before it has the id 'a'"),
        ([{"id": "a"}, {"id": "b", "after": "x"}], "no task before it has the id 'x'"),
    ],
)
def test_a_task_comes_after_an_earlier_one(tasks: list[dict[str, Any]], message: str) -> None:
    """So no task waits for itself, and none for what never comes."""
    with pytest.raises(ValidationError, match=message):
        scenario(*tasks)


def test_only_a_provider_adapter_is_asked_after_another_call() -> None:
    """The tasks of a runtime follow each other by themselves."""
    with pytest.raises(ValidationError, match="after is for the role provider_adapter"):
        scenario({"id": "a"}, {"id": "b", "after": "a"}, role="runtime")


def test_a_scenario_without_it_is_written_as_before() -> None:
    """The bytes of traces that exist stay what they are."""
    assert "after" not in scenario({"id": "a"}).model_dump(mode="json")["tasks"][0]
