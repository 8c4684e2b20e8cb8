"""Agents that are written otherwise than in a first page: each was taken for something else."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultclock.errors import SubjectError
from faultclock.model.trace.trace import Trace
from faultclock.run.doctor.abilities import abilities_of
from faultclock.run.doctor.doctor import examine
from faultclock.run.doctor.probe import probe
from faultclock.run.prepare import prepare
from faultclock.run.suite import run_one
from tests.run.conftest import shipped_scenario

_NESTED = """
from pydantic import BaseModel
from pydantic_ai import Agent

agent = Agent("openai-chat:gpt-5.2")


class Mail(BaseModel):
    to: str


@agent.tool_plain
def send_mail(mail: Mail) -> str:
    return f"sent to {mail.to}"
"""
_HANDLING = """
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition


@tool
def write_note(path: str) -> str:
    "Write a note."
    return "written"


tools = ToolNode([write_note], handle_tool_errors=HANDLES)
model = ChatOpenAI(model="gpt-5.2").bind_tools([write_note])


async def ask(state: MessagesState):
    return {"messages": [await model.ainvoke(state["messages"])]}


graph = StateGraph(MessagesState)
graph.add_node("model", ask)
graph.add_node("tools", tools)
graph.set_entry_point("model")
graph.add_conditional_edges("model", tools_condition)
graph.add_edge("tools", "model")
agent = graph.compile()
"""
_RAISING = """
from pydantic_ai import Agent

agent = Agent("openai-chat:gpt-5.2")


@agent.tool_plain
def write_note(path: str) -> str:
    raise ArithmeticError("always")


@agent.instructions
def instructions(ctx) -> str:
    if len(ctx.messages) > 0 or ctx.prompt == "Write it.":
        raise ArithmeticError("before any tool")
    return "You help."
"""

_ASKS_ITSELF = """
from pydantic_ai import Agent, ApprovalRequired, RunContext

agent = Agent("openai-chat:gpt-5.2")


@agent.tool
def send_mail(ctx: RunContext, to: str) -> str:
    "Send a mail."
    if not ctx.tool_call_approved:
        raise ApprovalRequired()
    return "sent"
"""


def _played(folder: Path, text: str, scenario: str) -> Trace:
    file = folder / "awkward.py"
    file.write_text(text)
    binding = prepare(f"{file}:agent")
    return run_one(shipped_scenario(scenario), binding, 0, isolate=True)


def test_a_tool_that_takes_a_model_of_pydantic_is_observed(tmp_path: Path) -> None:
    """Its arguments are validated objects by the time it is called."""
    trace = _played(tmp_path, _NESTED, "shared/tool-fails")
    (called,) = trace.of_kind("tool.called")
    assert called.payload["arguments"] == {"mail": {"to": "notes.txt"}}


@pytest.mark.parametrize(("handles", "end"), [("True", "call.returned"), ("False", "call.raised")])
def test_a_failure_is_raised_inside_of_what_a_node_does_with_errors(
    handles: str, end: str, tmp_path: Path
) -> None:
    """Whether it reaches the model is for the node to say."""
    trace = _played(tmp_path, _HANDLING.replace("HANDLES", handles), "shared/tool-fails")
    assert [event.kind for event in trace.of_kind("call.returned", "call.raised")][-1] == end


@pytest.mark.parametrize("name", ["pydantic_ai", "langgraph"])
def test_an_answer_has_the_reason_that_the_framework_hands_on(name: str) -> None:
    """An answer that a filter cut is no whole answer, where its reason says so."""
    from tests.subjects.frameworks.agents import played

    trace = played(name, "common/answer-filtered")
    *_, returned = trace.of_kind("call.returned")
    assert returned.payload["finish_reason"] == "content_filter"


@pytest.mark.parametrize(
    ("handles", "state"), [('"An error occurred."', "works"), ('"All done."', "broken")]
)
def test_a_framework_need_not_tell_the_model_why_a_tool_failed(
    handles: str, state: str, tmp_path: Path
) -> None:
    """A text without the reason is a safe default; one that hides the failure is not."""
    file = tmp_path / "awkward.py"
    file.write_text(_HANDLING.replace("HANDLES", handles))
    trials = {item.what: item.state for item in examine(prepare(f"{file}:agent")).trials}
    assert trials["a tool that fails"] == state


def test_an_agent_that_raises_is_not_taken_for_one_without_tools(tmp_path: Path) -> None:
    """What it would do with its tools is not known, so nothing is left out."""
    file = tmp_path / "awkward.py"
    file.write_text(_RAISING)
    binding = prepare(f"{file}:agent")
    assert abilities_of(probe(binding)).tools


def test_a_tool_of_pydantic_ai_that_asks_by_an_exception_needs_a_yes(tmp_path: Path) -> None:
    """It acts once, when it is called again after the answer."""
    trace = _played(tmp_path, _ASKS_ITSELF, "approvals/timer-starts-with-the-execution")
    wanted = ["interaction.shown", "interaction.answered", "tool.effect"]
    assert [event.kind for event in trace.of_kind(*wanted)] == wanted
    denied = _played(tmp_path, _ASKS_ITSELF, "shared/approval-denied")
    assert [event.kind for event in denied.of_kind(*wanted)] == wanted[:2]


_ENDLESS = """
import signal


def make_agent():
    signal.raise_signal(signal.SIGALRM)
"""


def test_a_function_that_never_makes_the_agent_is_refused(tmp_path: Path) -> None:
    """Its time is up at once here: the signal that says so comes from the function."""
    file = tmp_path / "endless.py"
    file.write_text(_ENDLESS)
    with pytest.raises(SubjectError, match="to make the agent had not ended after 120 s"):
        prepare(f"{file}:make_agent")
