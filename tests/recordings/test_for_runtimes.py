"""A recorded conversation as a scenario for runtimes: turns, tools, and faults by their place."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from faultclock.load.error_model import load_error_model
from faultclock.model.report.finding import Verdict
from faultclock.model.scenario.scenario import Scenario
from faultclock.oracle.judge import judge
from faultclock.recordings.exchange import OddityKind
from faultclock.recordings.importing import Imported
from faultclock.run.prepare import prepare
from faultclock.run.suite import run_one
from tests.recordings.builders import imported, interaction, kinds
from tests.recordings.test_timing import browsed

_prepared = cache(prepare)
CALL = {"id": "c1", "type": "function", "function": {"name": "Look-Up.it", "arguments": '{"a": 1}'}}
ASKS = {"choices": [{"message": {"tool_calls": [CALL]}, "finish_reason": "tool_calls"}]}
GOOD = {"choices": [{"message": {"content": "It is sunny"}, "finish_reason": "stop"}]}
LIMIT = {"error": {"message": "Slow down", "type": "requests", "code": "rate_limit_exceeded"}}
FIRST: list[dict[str, Any]] = [{"role": "user", "content": "What is the weather?"}]
SECOND = [*FIRST, {"role": "assistant", "tool_calls": [CALL]}, {"role": "tool", "content": "sun"}]
THIRD = [*SECOND, {"role": "assistant", "content": "It is sunny"}, {"role": "user", "content": "?"}]


def asked(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a request with these messages."""
    return {"model": "m", "messages": messages}


def conversation(**options: Any) -> Imported:
    """Return what comes of an agent's session: a tool, a limit after it, and another question."""
    return imported(
        interaction(200, ASKS, asked=asked(FIRST), at="10:00:00"),
        interaction(429, LIMIT, asked=asked(SECOND), at="10:00:01"),
        interaction(200, GOOD, asked=asked(SECOND), at="10:00:04"),
        interaction(200, GOOD, asked=asked(THIRD), at="10:00:09"),
        for_runtimes=True,
        **options,
    )


def for_runtime(got: Imported) -> Scenario:
    """Return the scenario for runtimes, of which there is one beside that for adapters."""
    adapter, runtime = got.scenarios
    assert adapter.scenario.role == "provider_adapter"
    assert runtime.slug == f"{adapter.slug}-runtime"
    return runtime.scenario


def test_a_conversation_becomes_turns_with_the_tools_that_it_needs() -> None:
    """A request that brings the answer of a tool belongs to its turn; names fit a scenario."""
    scenario = for_runtime(conversation(texts_kept=True))
    assert scenario.role == "runtime"
    assert [(task.id, task.prompt) for task in scenario.tasks] == [
        ("turn-1", "What is the weather?"),
        ("turn-2", "?"),
    ]
    assert [tool.name for tool in scenario.world.tools] == ["look_up_it"]
    first, second, third = scenario.provider.replies
    assert (first.tool_calls[0].name, first.tool_calls[0].arguments) == ("look_up_it", '{"a": 1}')
    assert (second.text, third.text) == ("It is sunny", "It is sunny")
    (rule,) = scenario.provider.faults
    assert (rule.when.task, rule.when.attempts.first, rule.when.attempts.last) == ("turn-1", 2, 2)


def test_a_runtime_that_conforms_gets_through_it() -> None:
    """It meets the limit behind the tool, and passes by the model that it is written for."""
    scenario = for_runtime(conversation())
    trace = run_one(scenario, _prepared("reference-runtime"), 0, isolate=True)
    assert not list(trace.of_kind("fault.unmet"))
    assert len(list(trace.of_kind("tool.called"))) == 1
    assert [event.payload["status"] for event in trace.of_kind("http.response")] == [
        200,
        429,
        200,
        200,
    ]
    findings = judge(load_error_model("stud-cli"), trace).findings
    verdicts = {finding.verdict for finding in findings}
    assert Verdict.PASS in verdicts
    assert Verdict.FAIL not in verdicts, findings


def test_a_turn_always_ends_with_a_text() -> None:
    """A recording that stops behind a tool call would let a runtime call it for ever."""
    got = imported(interaction(200, ASKS, asked=asked(FIRST)), for_runtimes=True)
    replies = for_runtime(got).provider.replies
    assert [bool(reply.tool_calls) for reply in replies] == [True, False]


@pytest.mark.parametrize(
    "last",
    [
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "x"}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "1"}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "x"}}]},
        {"type": "function_call_output", "call_id": "1", "output": "x"},
    ],
)
def test_the_answer_of_a_tool_is_known_in_each_api(last: dict[str, Any]) -> None:
    """So the request that brings it begins no turn."""
    for name in ("messages", "contents", "input"):
        got = imported(
            interaction(200, ASKS, asked=asked(FIRST)),
            interaction(200, GOOD, asked={"model": "m", name: [*FIRST, last]}),
            for_runtimes=True,
        )
        assert [task.id for task in for_runtime(got).tasks] == ["turn-1"]


def test_calls_that_overlapped_are_no_conversation() -> None:
    """It is said, and the scenario for adapters is there all the same."""
    got = browsed(("01.000", 500, 500), ("01.200", 10, 0), for_runtimes=True)
    assert [item.scenario.role for item in got.scenarios] == ["provider_adapter"]
    assert OddityKind.NOT_REPEATABLE in kinds(got)


def test_only_what_failed_is_imported_where_that_is_asked_for() -> None:
    """Calls in which nothing failed are left out, and counted; so are whole sessions."""
    got = conversation(errors_only=True)
    adapter = got.scenarios[0].scenario
    assert [task.id for task in adapter.tasks] == ["call-1"]
    assert (got.exchanges, got.left_out) == (4, 2)
    good = imported(interaction(200, GOOD), errors_only=True)
    assert (good.scenarios, good.left_out) == ((), 1)
