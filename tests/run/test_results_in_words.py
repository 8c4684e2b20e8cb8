"""A runtime that sends the result of a tool as a text, as AFK does, is judged by what it sends."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from faultclock.load.error_model import load_error_model
from faultclock.model.report.finding import Verdict
from faultclock.model.scenario.scenario import Scenario
from faultclock.model.trace.trace import Trace
from faultclock.oracle.judge import judge
from faultclock.run.execute import execute
from faultclock.subjects.bind_runtime import runtime
from faultclock.subjects.ports import Reply, Surroundings, ToolResult
from tests.oracle.common_model import common
from tests.run.conftest import shipped_scenario
from tests.run.runtime_runs import working
from tests.run.small_runtime import _Session, _Small

_OTHER = {"read_file": "write_file", "write_file": "read_file"}
#: What a runtime makes of the result of a tool; None: it says nothing.
Tells = Callable[[str, ToolResult], str | None]


class _InWords(_Session):
    """Leaves the calls of the model out; `tells` is what it makes of a result."""

    def __init__(self, surroundings: Surroundings, tells: Tells) -> None:
        super().__init__(surroundings)
        self.tells = tells
        self.names: dict[str, str] = {}

    def answered(self, reply: Reply) -> None:
        self.names |= {call.id: call.name for call in reply.tool_calls}
        if not reply.tool_calls:
            super().answered(reply)

    def done(self, call_id: str, result: ToolResult) -> None:
        text = self.tells(self.names[call_id], result)
        if text is not None:
            self.said(text)


def run_of(scenario: Scenario, tells: Tells) -> Trace:
    """Return the run of a runtime that tells the model of results so."""

    @runtime(id="in-words", inline=True, style="async")
    async def made(surroundings: Surroundings) -> Any:
        agent = _Small(surroundings)
        agent.session = _InWords(surroundings, tells)
        return agent

    return execute(scenario, made, 0)


def run(words: str | None, **changes: Any) -> Trace:
    """Return the run of a runtime that says `words` of a result, with what is in it."""

    def tells(name: str, result: ToolResult) -> str | None:
        told = result.value if result.problem is None else result.problem.code
        return None if words is None else words.format(told)

    return run_of(working(**{"limits": {"virtual_time": "1m"}} | changes), tells)


def findings(trace: Trace) -> dict[str, tuple[Verdict, str]]:
    """Return what the common model makes of a run, by check."""
    found = judge(common(), trace).findings
    return {item.check: (item.verdict, item.observed) for item in found if item.check}


def asked(trace: Trace) -> list[Any]:
    """Return what each request says in words."""
    return [event.in_words for event in trace.of_kind("http.request")]


told = partial(run, "[tool_result:write_file] {}")


def test_the_model_reads_on() -> None:
    """It asks for the tool once, and all of its conversation is served."""
    trace = told()
    assert [len(it) for it in asked(trace)] == [0, 1]
    assert asked(trace)[1][0]["left_out"] is True
    assert len(list(trace.of_kind("tool.called"))) == 1
    returned = next(event for event in trace.of_kind("call.returned") if event.call == "ask/1")
    assert returned.payload["text"] == "It is written."
    found = findings(trace)
    assert {name for name, (verdict, _) in found.items() if verdict is Verdict.FAIL} == set()
    assert found["tools.paired"][0] is Verdict.NOT_APPLICABLE
    assert found["evidence.exercised"][0] is Verdict.PASS


def test_a_failure_is_read_in_the_text() -> None:
    """So that a failure which reaches the model as a success is found all the same."""
    tools = [
        {"name": "write_file", "rules": [{"id": "gone", "then": {"fault": {"kind": "not_found"}}}]}
    ]
    honest, lying = told(tools=tools), run("done", tools=tools)
    assert findings(honest)["tools.failure-told"][0] is Verdict.PASS
    assert findings(lying)["tools.failure-told"][0] is Verdict.FAIL


def test_a_result_that_never_comes_is_no_result() -> None:
    """A runtime that says nothing of the tool asks the same again, and is answered the same."""
    trace = run(None)
    assert not any(asked(trace))
    assert len(list(trace.of_kind("tool.called"))) > 1
    ends = {item.verdict for item in judge(common(), trace).findings if item.check == "calls.end"}
    assert Verdict.WARN in ends


@pytest.mark.parametrize(
    ("words", "verdict"),
    [
        ("[result:{name}] [data]\nNo orders.\n{it}", "PASS"),
        ("[result:{name}] {it}", "PASS"),
        ("[result:{name}] {it}\nThat was it.", "FAIL"),
        ('[result:{name}] {{"success": true, "error": null}}', "FAIL"),
        ("[result:{other}] {it}", "FAIL"),
        ("[result] {it}", "FAIL"),
    ],
)
def test_of_two_results_in_one_text_each_is_read_by_the_name_before_it(
    words: str, verdict: str
) -> None:
    """One tool fails and one does not; AFK sends an object of each behind the name of its tool."""

    def tells(name: str, result: ToolResult) -> str:
        error = None if result.problem is None else f"Error executing tool '{name}'"
        it = json.dumps({"success": error is None, "error": error})
        return words.format(name=name, other=_OTHER[name], it=it)

    trace = run_of(shipped_scenario("afk/one-of-two-tools-fails"), tells)
    assert [len(texts) for texts in asked(trace)] == [0, 1]
    found = judge(load_error_model("afk"), trace).findings
    assert [it.verdict.name for it in found if it.requirement == "AFK-TELL-01"] == [verdict]
