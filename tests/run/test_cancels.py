"""A call of a provider adapter is cancelled when the scenario says so."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from faultclock.agents.adapter import reference
from faultclock.errors import InputError
from faultclock.load.error_model import load_error_model
from faultclock.model.duration import SECOND_NS
from faultclock.model.report.finding import Verdict
from faultclock.model.scenario.scenario import Scenario, scenario_of
from faultclock.model.trace.trace import Trace
from faultclock.oracle.judge import judge
from faultclock.oracle.wire.attempts import observe
from faultclock.run.bind_scenario import cannot_be_said
from faultclock.run.execute import execute
from faultclock.subjects.binding import Binding, provider_adapter
from faultclock.subjects.ports import ProviderRequest

AT_3S = {"id": "stop", "scope": "call", "when": {"at": "3s"}}


def scenario(*cancels: dict[str, Any], **changes: Any) -> Scenario:
    """Return a scenario with these cancels."""
    values = {"id": "a/b", "title": "T", "why": "W", "cancels": cancels, **changes}
    return scenario_of(values)


def played(subject: Binding, *cancels: dict[str, Any], **changes: Any) -> Trace:
    """Return the trace of a run."""
    return execute(scenario(*cancels, **changes), subject, 0)


def told(trace: Trace) -> list[tuple[str, int, str | None]]:
    """Return kind, second and call of what is about cancels and ends."""
    kinds = ("cancel.requested", "call.raised", "call.returned", "fault.unmet")
    return [
        (event.kind, event.at_ns // SECOND_NS, event.payload.get("call"))
        for event in trace.of_kind(*kinds)
    ]


@provider_adapter(inline=True)
async def sleeper(request: ProviderRequest) -> str:
    """Take ten seconds."""
    await asyncio.sleep(10)
    return str(request.messages[0]["content"])


@provider_adapter(inline=True)
async def stubborn(request: ProviderRequest) -> str:
    """Go on, whoever cancels it."""
    try:
        await asyncio.sleep(10)
    except asyncio.CancelledError:
        await asyncio.sleep(5)
    return str(request.messages[0]["content"])


@provider_adapter(inline=True)
def blocking(request: ProviderRequest) -> str:
    """Answer at once."""
    return str(request.messages[0]["content"])


def test_the_task_of_a_call_is_cancelled_at_that_instant() -> None:
    """And what the subject lets through is the end of the call."""
    trace = played(sleeper, AT_3S)
    assert told(trace) == [("cancel.requested", 3, None), ("call.raised", 3, "ask/1")]
    (cancel,) = trace.of_kind("cancel.requested")
    assert (cancel.payload["scope"], cancel.payload["calls"]) == ("call", ["ask/1"])
    (raised,) = trace.of_kind("call.raised")
    assert raised.payload["chain"][0]["type"].endswith("CancelledError")
    assert trace.footer.ending == "completed"


def test_a_subject_that_goes_on_is_watched_to_its_end() -> None:
    """So whatever it does after the cancel is in the trace."""
    assert told(played(stubborn, AT_3S)) == [
        ("cancel.requested", 3, None),
        ("call.returned", 8, "ask/1"),
    ]


@pytest.mark.parametrize(("target", "hit"), [("b", ["b/1", "b/2"]), ("b/2", ["b/2"])])
def test_a_cancel_reaches_the_calls_that_it_names(target: str, hit: list[str]) -> None:
    """A task, or one call of it; the others go on to their end."""
    tasks = [{"id": "a"}, {"id": "b", "copies": 2}]
    trace = played(sleeper, {**AT_3S, "target": target}, tasks=tasks)
    (cancel,) = trace.of_kind("cancel.requested")
    assert cancel.payload["calls"] == hit
    assert [event.payload["call"] for event in trace.of_kind("call.raised")] == hit
    assert len(list(trace.of_kind("call.returned"))) == 3 - len(hit)


def test_a_cancelled_call_owes_nothing_more_and_its_neighbour_does() -> None:
    """What was stopped from outside gave nothing up; who was not meant goes on being judged."""
    down = {"id": "f", "then": {"kind": "http_error", "status": 503, "error": "overloaded"}}
    tasks = [{"id": "a"}, {"id": "b"}]
    trace = played(reference, {**AT_3S, "target": "a"}, tasks=tasks, provider={"faults": [down]})
    stopped, other = observe(trace).calls
    assert (stopped.id, other.id) == ("a/1", "b/1")
    assert stopped.stop is not None
    assert stopped.requests[0].outcome == "cut"
    assert other.stop is None
    assert other.requests[0].outcome == "raised"
    findings = judge(load_error_model("stud-cli"), trace).findings
    assert not [item for item in findings if item.verdict is Verdict.FAIL]


@pytest.mark.parametrize("model", ["afk", "common", "error-matrix", "kode-sdk", "relavium"])
def test_a_cancel_of_a_call_can_be_judged_by_every_model(model: str) -> None:
    """Also by those that only know cancels of turns and tools."""
    assert judge(load_error_model(model), played(sleeper, AT_3S)).findings


def test_a_cancel_may_wait_for_an_event() -> None:
    """A moment of a run is a virtual time, or so long after a fact."""
    moment = {"on": {"kind": "call.started"}, "delay": "4s"}
    trace = played(sleeper, {"id": "stop", "scope": "call", "when": moment})
    assert told(trace)[0] == ("cancel.requested", 4, None)


@pytest.mark.parametrize("optional", [True, False])
def test_a_cancel_that_comes_too_late_is_unmet(*, optional: bool) -> None:
    """And a rule says whether the run is a valid one all the same."""
    late = {"id": "stop", "scope": "call", "when": {"at": "1m"}, "optional": optional}
    trace = played(sleeper, late)
    (unmet,) = trace.of_kind("fault.unmet")
    assert (unmet.payload["of"], unmet.payload["optional"]) == ("cancel", optional)


def test_a_blocking_function_cannot_be_cancelled() -> None:
    """So such a scenario is none for it, and is left out by name."""
    reason = cannot_be_said(scenario(AT_3S), blocking)
    assert reason == "it cancels a call, and nothing can cancel a blocking function"
    assert cannot_be_said(scenario(AT_3S), sleeper) is None
    with pytest.raises(InputError, match="nothing can cancel a blocking function"):
        played(blocking, AT_3S)


@pytest.mark.parametrize(
    ("cancel", "role"),
    [
        ({**AT_3S, "scope": "turn"}, "provider_adapter"),
        ({**AT_3S, "target": "nobody"}, "provider_adapter"),
        ({**AT_3S, "target": "ask/2"}, "provider_adapter"),
        (AT_3S, "runtime"),
        (AT_3S, "tool"),
    ],
)
def test_what_cannot_be_cancelled_is_refused(cancel: dict[str, Any], role: str) -> None:
    """Calls are an adapter's; turns, stages and tools are those of others."""
    with pytest.raises(ValueError, match="cancel 'stop'"):
        scenario(cancel, role=role)
