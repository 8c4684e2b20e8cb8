"""Agents of the OpenAI Agents SDK, in the shipped scenarios."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from faultclock.errors import SubjectError
from faultclock.model.trace.trace import Trace, trace_lines
from faultclock.run.prepare import prepare
from faultclock.run.suite import run_one
from faultclock.sim.patches import installed
from faultclock.subjects.binding import Binding
from tests.run.conftest import shipped_scenario
from tests.subjects.frameworks.agents import SENTENCES, agent
from tests.subjects.frameworks.programs import OPENAI_AGENTS


@pytest.fixture(scope="module", autouse=True)
def _patched() -> Iterator[None]:
    with installed():
        yield


@pytest.mark.parametrize("sentence", SENTENCES, ids=lambda item: item.__name__)
def test_an_agent_is_taken_as_it_is(sentence: Callable[[str], None]) -> None:
    """With its own tools, its own approvals and its own session."""
    sentence("openai_agents")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file of a user's."""
    file = tmp_path_factory.mktemp("programs") / "openai_program.py"
    file.write_text(OPENAI_AGENTS)
    return file


@cache
def _taken(program: Path, name: str) -> Binding:
    return prepare(f"{program}:{name}")


def _played(binding: Binding, scenario: str) -> Trace:
    return run_one(shipped_scenario(scenario), binding, 0, isolate=True)


def test_it_streams_where_a_scenario_asks_for_it() -> None:
    """What the user saw before the stream broke is in the trace; equal runs are equal."""
    first, second = (
        _played(agent("openai_agents"), "common/stream-breaks-after-content") for _ in range(2)
    )
    assert all(event.payload["stream"] for event in first.of_kind("http.request"))
    assert any(first.of_kind("declared.content"))
    assert list(trace_lines(first)) == list(trace_lines(second))


def test_an_answer_fits_its_output_type(program: Path) -> None:
    """As the JSON schema of the request has it."""
    trace = _played(_taken(program, "forms"), "resume-drift/closed-session-is-resumed")
    *_, returned = (event for event in trace.of_kind("call.returned") if event.payload["text"])
    assert sorted(json.loads(returned.payload["text"])) == ["name", "people"]


@pytest.mark.parametrize(("name", "tool"), [("triage", "refund"), ("manager", "book")])
def test_a_tool_behind_another_agent_is_called(name: str, tool: str, program: Path) -> None:
    """The model makes the handoff first, or calls the agent."""
    binding = _taken(program, name)
    assert [item.name for item in binding.own_tools or ()] == [tool]
    trace = _played(binding, "rate-limits/limited-after-a-tool")
    assert [event.payload["tool"] for event in trace.of_kind("tool.called")] == [tool]
    assert trace.footer.ending == "completed"


def test_a_session_of_the_users_own_is_resumed(program: Path) -> None:
    """A SQLite database in the folder of the run; the store of the scenario is not asked."""
    trace = _played(_taken(program, "make_agent"), "resume-drift/closed-session-is-resumed")
    assert not any(trace.of_kind("store.asked"))
    last = list(trace.of_kind("http.request"))[-1].payload["messages"]
    assert sum(message["role"] == "user" for message in last) == 2


def test_a_context_that_is_needed_is_asked_for(program: Path) -> None:
    """With the function to write."""
    with pytest.raises(SubjectError, match="a context of the class User"):
        _taken(program, "needs_context")
