"""Agents of the OpenAI Agents SDK, in the shipped scenarios."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from faultclock.sim.patches import installed
from tests.subjects.frameworks.agents import SENTENCES, an_option_mends, broken_by, played


@pytest.fixture(scope="module", autouse=True)
def _patched() -> Iterator[None]:
    with installed():
        yield


@pytest.mark.parametrize("sentence", SENTENCES, ids=lambda item: item.__name__)
def test_an_agent_is_taken_as_it_is(sentence: Callable[[str], None]) -> None:
    """With its own tools, its own approvals and its own session."""
    sentence("openai_agents")


_AGENT = """
from agents import Agent, function_tool


@function_tool(OPTION)
async def write_note(path: str) -> str:
    "Write a note."
    return "written"


agent = Agent(name="Assistant", tools=[write_note])
"""


@pytest.mark.parametrize(
    ("requirement", "scenario", "option"),
    [
        ("COMMON-END-03", "tools/hangs-for-ever", "timeout=30"),
        (
            "COMMON-SECRET-02",
            "shared/tool-throws",
            "failure_error_function=lambda context, error: 'It failed.'",
        ),
    ],
)
def test_an_option_that_a_problem_names_mends_it(
    requirement: str, scenario: str, option: str, tmp_path: Path
) -> None:
    """Without it, the same agent breaks the requirement."""
    texts = _AGENT.replace("OPTION", ""), _AGENT.replace("OPTION", option)
    an_option_mends("OpenAI Agents SDK", requirement, scenario, texts, tmp_path)


def test_the_words_of_a_tool_that_the_sdk_quotes_are_the_tools(tmp_path: Path) -> None:
    """`failure_error_function=None` asks the SDK to raise what a tool raised."""
    text = _AGENT.replace("OPTION", "failure_error_function=None")
    broken = broken_by(tmp_path / "raises.py", text, "shared/tool-throws")
    assert broken == {"COMMON-RESULT-05"}


@pytest.mark.parametrize(
    ("scenario", "status"),
    [
        ("common/answer-filtered", "incomplete"),
        ("common/answer-cut", "incomplete"),
        ("common/answer-empty", "completed"),
    ],
)
def test_the_last_message_says_whether_it_is_whole(scenario: str, status: str) -> None:
    """An application has it in `raw_responses`: openai-agents 0.20.0, result.py, items.py."""
    *_, returned = played("openai_agents", scenario).of_kind("call.returned")
    assert returned.payload["finish_reason"] == status


def test_an_answer_without_a_message_becomes_an_empty_text() -> None:
    """openai/openai-agents-python#4510: nothing of the result says that the model was silent."""
    *_, returned = played("openai_agents", "common/answer-null").of_kind("call.returned")
    assert (returned.payload["text"], returned.payload.get("finish_reason")) == ("", None)
