"""Agents that condense a long history: what they leave out is not lost, and no loop follows."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultclock.run.prepare import prepare
from faultclock.run.suite import run_one
from tests.run.conftest import shipped_scenario
from tests.subjects.frameworks.agents import broken_by

_SUMMARIZES = """
from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain_openai import ChatOpenAI

model = ChatOpenAI(model="gpt-5-mini", max_retries=2, timeout=30)


def write_note(path: str, text: str = "") -> str:
    "Write a note to a file."
    return f"written to {path}"


condense = SummarizationMiddleware(model=model, trigger=("messages", 3), keep=("messages", KEEP))
agent = create_agent(model, tools=[write_note], middleware=[condense])
"""
_WORDS_IT = """
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import HumanMessage, RemoveMessage
from langchain_openai import ChatOpenAI
from langgraph.graph.message import REMOVE_ALL_MESSAGES


def write_note(path: str, text: str = "") -> str:
    "Write a note to a file."
    return f"written to {path}"


class Condense(AgentMiddleware):
    async def abefore_model(self, state, runtime):
        if len(state["messages"]) < 3:
            return None
        told = "\\n".join(f"{it.type}: {it.text}" for it in state["messages"])
        return {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES), HumanMessage(f"So far:\\n{told}")]}


model = ChatOpenAI(model="gpt-5-mini", max_retries=2, timeout=30)
agent = create_agent(model, tools=[write_note], middleware=[Condense()])
"""
_AGENTS = {
    "keeps two": _SUMMARIZES.replace("KEEP", "2"),
    "keeps one": _SUMMARIZES.replace("KEEP", "1"),
    "words it": _WORDS_IT,
}


@pytest.mark.parametrize("text", _AGENTS.values(), ids=_AGENTS)
def test_what_an_agent_condenses_is_not_lost(text: str, tmp_path: Path) -> None:
    """It has read what it summarises."""
    scenario = "resume-drift/closed-session-is-resumed"
    assert broken_by(tmp_path / "agent.py", text, scenario) == set()


@pytest.mark.parametrize("text", _AGENTS.values(), ids=_AGENTS)
def test_the_model_goes_on_where_a_condensed_history_has_come(text: str, tmp_path: Path) -> None:
    """It asks for each of three notes once, and does not begin again behind a summary."""
    file = tmp_path / "agent.py"
    scenario = "common/agents/limited-right-after-an-effect-in-each-step"
    assert broken_by(file, text, scenario) == set()
    trace = run_one(shipped_scenario(scenario), prepare(f"{file}:agent"), 0, isolate=True)
    assert trace.footer.ending == "completed"
    written = [event.payload["arguments"]["path"] for event in trace.of_kind("tool.called")]
    assert written == ["notes.txt", "report.txt", "list.txt"]
