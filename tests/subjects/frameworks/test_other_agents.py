"""Agents of frameworks that are not installed beside the others, tried where they are.

Strands, LlamaIndex and CrewAI demand `openai<3`, and Google's ADK a `google-genai` that is older
than ours: `make frameworks` tries each in an environment that has it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from faultclock.model.trace.trace import trace_lines
from faultclock.run.prepare import prepare
from faultclock.run.suite import run_one
from tests.run.conftest import shipped_scenario
from tests.subjects.frameworks.agents import (
    SENTENCES,
    a_fault_is_met_at_the_seam,
    agent,
    its_function_is_called,
    its_session_is_resumed,
    played,
)

#: What they themselves and their libraries call is deprecated here and there.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ImportWarning"),
]

#: Frameworks that have an approval of their own, and the package of each.
GATED = {"agno": "agno", "google_adk": "google.adk"}
#: Those that have none for a tool: a hook or a loop of the user asks.
UNGATED = {
    "strands": "strands",
    "llama_index": "llama_index",
    "autogen": "autogen_agentchat",
    "smolagents": "smolagents",
}
CREW = "crewai"


def _needs(package: str) -> None:
    top, _, rest = package.partition(".")
    if find_spec(top) is None or (rest and find_spec(package) is None):
        pytest.skip(f"{package} is not installed")


@pytest.mark.parametrize("sentence", SENTENCES, ids=lambda item: item.__name__)
@pytest.mark.parametrize("name", GATED)
def test_an_agent_with_approvals_is_taken_as_it_is(
    name: str, sentence: Callable[[str], None]
) -> None:
    """With its own tools, its own approvals and its own session."""
    _needs(GATED[name])
    sentence(name)


@pytest.mark.parametrize(
    "sentence",
    [its_function_is_called, its_session_is_resumed, a_fault_is_met_at_the_seam],
    ids=lambda item: item.__name__,
)
@pytest.mark.parametrize("name", UNGATED)
def test_an_agent_without_approvals_is_taken_as_it_is(
    name: str, sentence: Callable[[str], None]
) -> None:
    """With its own tools and its own session."""
    _needs(UNGATED[name])
    sentence(name)


@pytest.mark.parametrize(
    "sentence", [its_function_is_called, a_fault_is_met_at_the_seam], ids=lambda it: it.__name__
)
def test_a_crew_is_kicked_off_with_the_text(sentence: Callable[[str], None]) -> None:
    """With its own tools; it has no session."""
    _needs(CREW)
    sentence(CREW)


@pytest.mark.parametrize("name", [*UNGATED, CREW])
def test_no_tool_of_these_declares_an_approval(name: str) -> None:
    """What only reads is known by its name."""
    _needs({**UNGATED, CREW: CREW}[name])
    tools = {tool.name: tool for tool in agent(name).own_tools or ()}
    assert sorted(tools) == ["get_weather", "send_mail", "write_note"]
    assert not any(tool.gated for tool in tools.values())
    assert [name for name, tool in tools.items() if tool.reads] == ["get_weather"]


@pytest.mark.parametrize("name", UNGATED)
def test_equal_runs_of_these_give_equal_bytes(name: str) -> None:
    """Over two lives."""
    _needs(UNGATED[name])
    scenario = "resume-drift/closed-session-is-resumed"
    first, second = played(name, scenario), played(name, scenario)
    assert list(trace_lines(first)) == list(trace_lines(second))


def test_smolagents_answers_by_the_tool_that_it_demands() -> None:
    """The model may not just say its answer, and the run is one that has an answer."""
    _needs("smolagents")
    trace = played("smolagents", "rate-limits/limited-after-a-tool")
    ended = list(trace.of_kind("http.exchange_ended"))[-1].payload
    assert ended["by_tool"] == "final_answer"
    returned = list(trace.of_kind("call.returned"))[-1].payload
    assert returned["text_sha256"] == ended["text_sha256"]


_CODE = """
from smolagents import CodeAgent, OpenAIModel

agent = CodeAgent(tools=[], model=OpenAIModel(model_id="gpt-5.2"), stream_outputs=STREAMS)
"""


@pytest.mark.parametrize("streams", [False, True])
def test_a_code_agent_of_smolagents_gets_its_answer_in_code(streams: bool, tmp_path: Path) -> None:
    """One request, whole or as a stream, as its owner has chosen."""
    _needs("smolagents")
    file = tmp_path / "code.py"
    file.write_text(_CODE.replace("STREAMS", str(streams)))
    binding = prepare(f"{file}:agent")
    assert binding.abilities.streams == ("always" if streams else "never")
    trace = run_one(shipped_scenario("rate-limits/retry-after-absent"), binding, 0, isolate=True)
    assert trace.footer.ending == "completed"
    returned = list(trace.of_kind("call.returned"))[-1].payload
    assert "final_answer" not in returned["text"]
    assert [event.payload["status"] for event in trace.of_kind("http.response")][-1] == 200


def test_a_fault_meets_what_crewai_asks_the_model_and_not_its_counting() -> None:
    """Both are asked at one host."""
    _needs(CREW)
    trace = played(CREW, "rate-limits/limited-before-a-tool")
    counting = {
        event.payload["exchange"]
        for event in trace.of_kind("http.request")
        if event.payload.get("counts")
    }
    assert counting
    fired = [event.payload["exchange"] for event in trace.of_kind("fault.fired")]
    assert fired
    assert not counting.intersection(fired)


@pytest.mark.parametrize("name", [CREW, "smolagents"])
def test_the_reason_of_an_answer_is_handed_on_from_where_they_keep_it(name: str) -> None:
    """An application finds it in an event, or in the answer of the provider."""
    _needs(name)
    trace = played(name, "common/answer-filtered")
    *_, returned = trace.of_kind("call.returned")
    assert returned.payload["finish_reason"] == "content_filter"
