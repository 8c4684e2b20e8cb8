"""A tool is called as a runtime calls it, and what it does and says becomes facts."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from faultclock.agents.tool import reference_tool, reference_tool_sync
from faultclock.errors import InputError
from faultclock.subjects.bind_tool import tool
from faultclock.subjects.binding import Binding
from faultclock.subjects.ports import ToolProblem, ToolRequest, ToolResult, TypedError
from tests.run.port_runs import facts, run

STALLED = {"faults": [{"id": "silent", "then": {"kind": "stall"}}]}


def replied(binding: Binding, **changes: Any) -> dict[str, Any]:
    """Return what `tool.replied` says of one call."""
    (event,) = facts(run(binding, **changes), "tool.replied")
    return dict(event.payload)


@tool(name="sum_up", input_schema={"properties": {"a": {"type": "integer"}}}, inline=True)
def sum_up(call: ToolRequest) -> Any:
    """Return what it was given."""
    return {"given": dict(call.arguments), "timeout_s": call.timeout_s, "id": call.call_id}


@pytest.mark.parametrize("binding", [reference_tool, reference_tool_sync])
def test_a_healthy_call_is_told_from_its_start_to_its_value(binding: Binding) -> None:
    """In the words that the oracle knows, for both styles."""
    trace = run(binding)
    kinds = [event.kind for event in trace.events if not event.kind.startswith("net.")]
    assert kinds == [
        *("run.started", "contract.declared", "call.started", "tool.called"),
        *("http.request", "http.response", "http.exchange_ended"),
        *("tool.replied", "call.returned", "world.touched"),
    ]
    (reply,) = facts(trace, "tool.replied")
    assert reply.payload["ok"]
    assert reply.payload["output_problem"] is None


def test_arguments_are_a_fixture_or_written_out() -> None:
    """And the contract's deadline holds where the task has none of its own."""
    (returned,) = facts(run(sum_up, tasks=[{"id": "a", "arguments": {"a": 7}}]), "call.returned")
    assert returned.payload["text"] == '{"given":{"a":7},"id":"call_a_1","timeout_s":30.0}'
    (started,) = facts(
        run(sum_up, tasks=[{"id": "a", "arguments": {"$fixture": "invalid"}}]), "call.started"
    )
    assert "is not of type 'integer'" in started.payload["input_problem"]
    (returned,) = facts(run(sum_up, tasks=[{"id": "a", "timeout": "2s"}]), "call.returned")
    assert '"timeout_s":2.0' in returned.payload["text"]


def test_a_fixture_that_is_not_there_leaves_something_unmet() -> None:
    """The run cannot show what it is about."""
    trace = run(sum_up, tasks=[{"id": "a", "arguments": {"$fixture": "batch"}}])
    (unmet,) = facts(trace, "fault.unmet")
    assert (unmet.payload["fault"], unmet.payload["of"]) == ("fixture batch", "contract")


def test_what_a_tool_changes_in_its_arguments_stays_its_own() -> None:
    """The next call gets them whole."""

    @tool(name="greedy", fixtures={"valid": {"items": [1]}}, inline=True)
    def greedy(call: ToolRequest) -> Any:
        call.arguments["items"].clear()  # type: ignore[index]
        return {"left": list(call.arguments["items"])}

    run(greedy)
    (called,) = facts(run(greedy), "tool.called")
    assert called.payload["arguments"] == {"items": [1]}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (ToolResult(value={1, 2}), "a set is no JSON value"),
        (float("nan"), "a float is no JSON value"),
        (ToolResult(problem="busy"), "problem is no ToolProblem"),  # type: ignore[arg-type]
        (ToolResult(value=1, errors=("a",)), "an entry of errors is no ToolProblem"),  # type: ignore[arg-type]
        (ToolResult(value=1, errors=7), "the reply cannot be read: TypeError"),  # type: ignore[arg-type]
    ],
)
def test_a_reply_that_no_runtime_can_use_is_told(value: object, said: str) -> None:
    """It is data, whatever it is."""

    @tool(name="odd", inline=True)
    def odd(call: ToolRequest) -> Any:
        return value

    assert replied(odd)["untyped"] == said


def test_a_coroutine_that_a_blocking_tool_returns_is_a_reply_that_no_runtime_can_use() -> None:
    """It is no refusal of the input: the tool has said nothing."""

    async def later() -> int:
        return 1

    @tool(name="late", input_schema={}, inline=True)
    def late(call: ToolRequest) -> Any:
        return later()

    assert replied(late)["untyped"] == "a coroutine is no JSON value"


def test_a_failure_is_told_with_class_code_and_items() -> None:
    """And without the secrets in its words."""

    @tool(name="failing", inline=True)
    def failing(call: ToolRequest) -> Any:
        problem = ToolProblem(
            error_class="ToolTerminal", code="Forbidden", message=f"not with {call.api_key}"
        )
        return ToolResult(problem=problem)

    said = replied(failing)
    assert (said["ok"], said["class"], said["code"]) == (False, "ToolTerminal", "Forbidden")
    assert said["message"] == "not with <secret>"


def test_a_typed_exception_is_kept_as_it_is() -> None:
    """The oracle reads it as a failed reply."""

    @tool(name="raising", inline=True)
    async def raising(call: ToolRequest) -> Any:
        raise TypedError("ToolTransient", "ResourceBusy", "later")

    trace = run(raising)
    (raised,) = facts(trace, "call.raised")
    assert raised.payload["chain"][0]["code"] == "ResourceBusy"
    assert len(facts(trace, "tool.raised")) == 1


@pytest.mark.parametrize("binding", [reference_tool, reference_tool_sync])
def test_a_cancel_reaches_the_call_that_runs(binding: Binding) -> None:
    """By its signal, at its time, as often as it is asked for."""
    trace = run(
        binding,
        provider=STALLED,
        cancels=[{"id": "stop", "when": {"at": "2s"}, "scope": "tool", "times": 2}],
    )
    first, second = facts(trace, "cancel.requested")
    assert (first.at_ns, second.payload["n"]) == (2_000_000_000, 2)
    (raised,) = facts(trace, "call.raised")
    assert raised.payload["chain"][0]["code"] == "ToolCancelled"
    assert raised.at_ns - first.at_ns <= 1_000_000_000


def test_a_coroutine_that_knows_no_signal_is_cancelled_all_the_same() -> None:
    """As it would be by a runtime."""

    @tool(name="sleepy", inline=True)
    async def sleepy(call: ToolRequest) -> Any:
        await asyncio.sleep(60)

    trace = run(sleepy, cancels=[{"id": "stop", "when": {"at": "2s"}, "scope": "turn"}])
    assert [event.at_ns for event in facts(trace, "tool.stopped")] == [2_000_000_000]


def test_a_cancel_on_an_event_comes_after_its_delay() -> None:
    """And one whose call is over is unmet."""
    on_start = {"on": {"kind": "call.started"}, "delay": "3s"}

    @tool(name="slow", inline=True)
    def slow(call: ToolRequest) -> Any:
        time.sleep(5)

    trace = run(slow, cancels=[{"id": "stop", "when": on_start, "scope": "tool"}])
    assert [event.at_ns for event in facts(trace, "cancel.requested")] == [3_000_000_000]
    trace = run(sum_up, cancels=[{"id": "stop", "when": on_start, "scope": "tool"}])
    assert [event.payload["of"] for event in facts(trace, "fault.unmet")] == ["cancel"]


def test_a_callback_that_breaks_is_data() -> None:
    """The cancel goes on, and the fact is there."""

    @tool(name="touchy", inline=True)
    async def touchy(call: ToolRequest) -> Any:
        call.signal.on_cancel(lambda: 1 / 0)  # type: ignore[arg-type, return-value]
        await asyncio.sleep(60)

    trace = run(touchy, cancels=[{"id": "stop", "when": {"at": "1s"}, "scope": "tool"}])
    assert len(facts(trace, "cancel.raised")) == 1
    assert len(facts(trace, "tool.stopped")) == 1


def test_calls_of_one_tool_run_beside_each_other() -> None:
    """Copies and tasks alike, on threads where the tool blocks."""
    tasks = [{"id": "a", "copies": 3}, {"id": "b", "at": "1s"}]
    for binding in (reference_tool, reference_tool_sync):
        trace = run(binding, tasks=tasks, provider={"think_time": "2s"})
        ends = [event.at_ns for event in facts(trace, "call.returned")]
        assert len(ends) == 4
        assert max(ends) < 4_000_000_000


def test_equal_runs_are_equal_to_the_byte() -> None:
    """Also for threads that are cancelled."""
    changes: dict[str, Any] = {
        "provider": STALLED,
        "tasks": [{"id": "a", "copies": 3}],
        "cancels": [{"id": "stop", "when": {"at": "7s"}, "scope": "tool"}],
    }
    for binding in (reference_tool, reference_tool_sync):
        first, second = (run(binding, 3, **changes).footer.digest for _ in range(2))
        assert first == second


def test_the_contract_says_what_its_service_answers() -> None:
    """A reply of the scenario's own comes first."""

    @tool(name="echo", service={"celsius": 21}, inline=True)
    async def echo(call: ToolRequest) -> Any:
        from faultclock.agents.json_exchange import ask

        return await ask(f"{call.base_url}/weather", None, 5.0)

    assert facts(run(echo), "call.returned")[0].payload["text"] == '{"celsius":21}'
    own = run(echo, provider={"reply": '{"celsius": 3}'})
    assert facts(own, "call.returned")[0].payload["text"] == '{"celsius":3}'


def test_a_tool_is_asked_for_nothing_but_a_call() -> None:
    """A scenario that asks for more is told so before anything runs."""
    with pytest.raises(InputError, match="a tool is called"):
        run(sum_up, tasks=[{"id": "a", "do": "close"}])
