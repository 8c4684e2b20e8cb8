"""What a problem says of a framework: the option that it names really mends it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.subjects.frameworks.agents import an_option_mends

_PYDANTIC_AI = """
from pydantic_ai import Agent

agent = Agent("openai-chat:gpt-5.2"AGENT)


@agent.tool_plain
def write_note(path: str) -> str:
    return "written"
"""
_LANGGRAPH = """
from langchain.agents import create_agent
from langchain.agents.middleware import ModelCallLimitMiddleware, ToolErrorMiddleware
from langchain.chat_models import init_chat_model


def write_note(path: str) -> str:
    "Write a note."
    return "written"


def list_notes(path: str) -> str:
    "List the notes."
    return "none"


model = init_chat_model("openai:gpt-5.2"MODEL)
agent = create_agent(model, tools=[write_note, list_notes]AGENT)
AFTER
"""
#: Framework, what is broken, where, and for each option what is written in which place of the file.
_MENDED = [
    ("Pydantic AI", "COMMON-END-03", "tools/hangs-for-ever", [{"AGENT": ", tool_timeout=30"}]),
    (
        "LangGraph",
        "COMMON-END-01",
        "provider-transient/silent-for-ever",
        [{"MODEL": ", timeout=60"}],
    ),
    ("LangGraph", "COMMON-END-03", "tools/hangs-for-ever", [{"AFTER": "agent.step_timeout = 60"}]),
    (
        "LangGraph",
        "COMMON-END-04",
        "tools/loop-bound",
        [
            {"AGENT": ", middleware=[ModelCallLimitMiddleware(run_limit=25)]"},
            {"AFTER": 'agent = agent.with_config({"recursion_limit": 25})'},
        ],
    ),
    (
        "LangGraph",
        "COMMON-RESULT-05",
        "shared/tool-fails",
        [{"AGENT": ', middleware=[ToolErrorMiddleware(lambda error, request: "failed")]'}],
    ),
]


@pytest.mark.parametrize(("framework", "requirement", "scenario", "options"), _MENDED)
def test_an_option_that_a_problem_names_mends_it(
    framework: str, requirement: str, scenario: str, options: list[dict[str, str]], tmp_path: Path
) -> None:
    """Without it, the same agent breaks the requirement."""
    text = _PYDANTIC_AI if framework == "Pydantic AI" else _LANGGRAPH
    texts = (_written(text, option) for option in ({}, *options))
    an_option_mends(framework, requirement, scenario, tuple(texts), tmp_path)


def _written(text: str, option: dict[str, str]) -> str:
    for place in ("MODEL", "AGENT", "AFTER"):
        text = text.replace(place, option.get(place, ""))
    return text
