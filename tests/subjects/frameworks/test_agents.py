"""Agents of the frameworks that are installed here, in the shipped scenarios."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from faultclock.run.prepare import prepare
from faultclock.run.suite import run_one
from tests.run.conftest import shipped_scenario
from tests.subjects.frameworks.agents import SENTENCES


@pytest.mark.parametrize("sentence", SENTENCES, ids=lambda item: item.__name__)
@pytest.mark.parametrize("name", ["pydantic_ai", "langgraph"])
def test_an_agent_is_taken_as_it_is(name: str, sentence: Callable[[str], None]) -> None:
    """With its own tools, its own approvals and its own session."""
    sentence(name)


def test_a_tool_that_asks_another_host_proves_nothing(tmp_path: Path) -> None:
    """Any answer would be made up, and what the tool makes of it be judged."""
    file = tmp_path / "web.py"
    file.write_text(_ASKING)
    scenario = shipped_scenario("rate-limits/limited-before-a-tool")
    trace = run_one(scenario, prepare(f"{file}:agent"), 0, isolate=True)
    assert trace.footer.ending == "escape"
    assert "the tool save_note to notes.example.org" in trace.footer.detail[0]


_ASKING = """
import urllib.request

from pydantic_ai import Agent

agent = Agent("openai-chat:gpt-5.2")


@agent.tool_plain
def save_note(text: str) -> str:
    with urllib.request.urlopen("https://notes.example.org/", text.encode()) as answer:
        return answer.read().decode()
"""
