"""Agents of frameworks that are not installed beside the others, tried where they are.

Strands, LlamaIndex and CrewAI demand `openai<3`, and Google's ADK a `google-genai` that is older
than ours: `make` tries each in an environment of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

import pytest

from faultclock.model.trace.trace import trace_lines
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
UNGATED = {"strands": "strands", "llama_index": "llama_index", "autogen": "autogen_agentchat"}
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
