"""Graphs that their users build: what is streamed, cancelled, and called without `await`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, ToolMessage
from langgraph.graph import MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command

from faultclock.check.target import take
from faultclock.model.trace.trace import Trace
from faultclock.run.doctor.abilities import abilities_of
from faultclock.run.doctor.doctor import examine
from faultclock.run.doctor.fitting import why_left_out
from faultclock.run.doctor.probe import probe
from faultclock.run.prepare import prepare
from faultclock.run.suite import run_one
from faultclock.subjects.adopt import adopt
from faultclock.subjects.frameworks.langgraph_answers import Answers
from tests.run.conftest import shipped_scenario
from tests.subjects.frameworks.agents import broken_by, kinds, played

_STALLS = "provider-transient/streams-stall-for-ever"
_AFTER_A_TOOL = "rate-limits/limited-after-a-tool"


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")


# ---------------------------------------------------------------------- what is streamed

_PLANNING = """
import openai
from langchain_openai import ChatOpenAI
from langgraph.graph import MessagesState, StateGraph
from langgraph.types import RetryPolicy

model = ChatOpenAI(model="gpt-5.2", max_retries=0, timeout=30)


class State(MessagesState):
    plan: str


def as_plan(answer):
    return {"plan": answer.text}


async def plan(state):
    answer = await model.ainvoke(state["messages"])
    return PLAN


async def answer(state):
    return {"messages": [await model.ainvoke(state["messages"])]}


retries = RetryPolicy(retry_on=openai.APIConnectionError)
builder = StateGraph(State)
builder.add_node("plan", plan, retry_policy=retries)
builder.add_node("answer", answer)
builder.set_entry_point("plan")
builder.add_edge("plan", "answer")
agent = builder.compile()
"""


@pytest.mark.parametrize(
    ("plan", "begins_anew"),
    [
        ('{"plan": answer.text}', False),
        ("as_plan(answer)", False),
        ('{"plan": answer.text, "messages": [answer]}', True),
    ],
)
def test_a_retry_of_a_plan_begins_no_answer_anew(
    plan: str, begins_anew: bool, tmp_path: Path
) -> None:
    """A reader sees it only where it is added to the messages."""
    broken = broken_by(tmp_path / "plans.py", _PLANNING.replace("PLAN", plan), _STALLS)
    assert ("COMMON-CONTENT-01" in broken) == begins_anew


def _returns(messages: list[Any]) -> dict[str, Any]:
    return {"messages": messages}


def _display(state: Any) -> Any:
    return {"messages": state["messages"]}


def _named(state: Any) -> Any:
    update = {"messages": state["messages"]}
    return update  # noqa: RET504 - as users write it


def _commanded(_state: Any) -> Any:
    return Command(update={"messages": []}, goto="_other")


def _sometimes(state: Any) -> Any:
    if not state["messages"]:
        return None
    return {"messages": []}


def _other(_state: Any) -> Any:
    return dict(plan="")  # noqa: C408 - as users write it


def _routes(_state: Any) -> Any:
    return Command(goto="_other")


def _by_another(state: Any) -> Any:
    return _returns(state["messages"])


def _changed(state: Any) -> Any:
    update = {"plan": ""}
    update.update(_returns(state["messages"]))
    return update


def _answers() -> Answers:
    builder = StateGraph(MessagesState)
    for node in (_display, _named, _commanded, _sometimes, _other, _routes, _by_another, _changed):
        builder.add_node(node)
    builder.add_node("tools", ToolNode([]))
    return Answers(builder.set_entry_point("_display").compile())


@pytest.mark.parametrize(
    ("node", "at_once", "at_its_end"),
    [
        ("_display", ["a piece"], []),
        ("_named", ["a piece"], []),
        ("_commanded", ["a piece"], []),
        ("_sometimes", ["a piece"], []),
        ("_other", [], []),
        ("_routes", [], []),
        ("tools", [], []),
        ("_by_another", [], ["a piece"]),
        ("_changed", [], ["a piece"]),
    ],
)
def test_a_piece_is_seen_when_it_is_known_to_be_of_the_answer(
    node: str, at_once: list[str], at_its_end: list[str]
) -> None:
    """At once where the code of its node says so, else when the node has ended."""
    answers = _answers()
    piece = (AIMessageChunk("a piece"), {"langgraph_node": node})
    assert answers.seen("messages", piece) == at_once
    assert answers.seen("updates", {node: {"messages": [AIMessage("a piece")]}}) == at_its_end


def test_a_node_that_was_seen_to_answer_is_held_no_more() -> None:
    """What a cut run has left is not seen, nor what a tool's model or a middleware's has said."""
    answers = _answers()
    piece = (AIMessageChunk("a piece"), {"langgraph_node": "_by_another"})
    answers.seen("messages", piece)
    answers.begin()
    ended = {"_by_another": {"messages": [AIMessage("all")]}}
    assert (
        answers.seen("updates", {"_by_another": {"messages": [ToolMessage("", tool_call_id="1")]}})
        == []
    )
    assert answers.seen("updates", ended) == []
    assert answers.seen("messages", piece) == ["a piece"]
    internal = {"langgraph_node": "_display", "lc_source": "summarization"}
    assert answers.seen("messages", (piece[0], internal)) == []


# ---------------------------------------------------------------------- what is cancelled


def test_after_a_cancel_only_the_next_message_is_sent() -> None:
    """The rest of the turn is not done: its tool is not called again."""
    trace = played("langgraph", "shared/cancelled-in-a-tool")
    assert kinds(trace, "tool.called", "tool.stopped") == ["tool.called", "tool.stopped"]
    roles = [it["role"] for it in list(trace.of_kind("http.request"))[-1].payload["messages"]]
    assert [role for role in roles if role != "system"] == ["user", "assistant", "user"]


def test_a_question_dies_with_its_turn() -> None:
    """The next turn does not ask it again."""
    trace = played("langgraph", "approvals/cancel-while-open")
    assert kinds(trace, "interaction.shown", "tool.called") == ["interaction.shown"]


# ---------------------------------------------------------------------- what is not awaited

_BY_HAND = """
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition


@tool
def write_note(path: str) -> str:
    "Write a note."
    return f"written to {path}"


model = ChatOpenAI(model="gpt-5.2").bind_tools([write_note])


async def ask(state: MessagesState):
    return {"messages": [await model.ainvoke(state["messages"])]}


def result_of(call, result):
    return ToolMessage(str(result), tool_call_id=call["id"])


ACT


builder = StateGraph(MessagesState)
builder.add_node("ask", ask)
builder.add_node("tools", tools)
builder.set_entry_point("ask")
builder.add_conditional_edges("ask", tools_condition)
builder.add_edge("tools", "ask")
agent = builder.compile()
"""
_CALLS = "[result_of(call, {}) for call in state['messages'][-1].tool_calls]"
_ACTS = """
{kind} tools(state: MessagesState):
    return {{"messages": {calls}}}
"""
_AROUND = """
def around(request, execute):
    return execute(request)


tools = ToolNode([write_note], wrap_tool_call=around)
"""
_ON_THE_LOOP = _ACTS.format(
    kind="async def", calls=_CALLS.format("write_note.invoke(call['args'])")
)
_ON_A_THREAD = _ACTS.format(kind="def", calls=_CALLS.format("write_note.invoke(call['args'])"))
_AWAITED = _ACTS.format(
    kind="async def", calls=_CALLS.format("await write_note.ainvoke(call['args'])")
)
_UNSEEN = _ACTS.format(kind="def", calls=_CALLS.format("write_note.func(**call['args'])"))
_WAYS = {
    "on the loop": _ON_THE_LOOP,
    "on a thread": _ON_A_THREAD,
    "in a hook": _AROUND,
    "awaited": _AWAITED,
}


def _by_hand(folder: Path, act: str) -> str:
    file = folder / "by_hand.py"
    file.write_text(_BY_HAND.replace("ACT", act))
    return f"{file}:agent"


def _played(target: str, scenario: str) -> Trace:
    return run_one(shipped_scenario(scenario), prepare(target), 0, isolate=True)


@pytest.mark.parametrize("way", _WAYS)
def test_a_tool_is_observed_once_however_it_is_called(way: str, tmp_path: Path) -> None:
    """Also by `invoke` from awaited code, which blocks the loop."""
    trace = _played(_by_hand(tmp_path, _WAYS[way]), _AFTER_A_TOOL)
    assert trace.footer.ending == "completed"
    wanted = ("tool.called", "tool.effect", "tool.replied")
    assert kinds(trace, *wanted) == list(wanted)


@pytest.mark.parametrize("way", ["on the loop", "on a thread", "in a hook"])
def test_a_tool_that_blocks_can_fail_and_hang(way: str, tmp_path: Path) -> None:
    """Its time is the virtual one; a hang on the loop's own thread stops the loop."""
    text = _BY_HAND.replace("ACT", _WAYS[way])
    file = tmp_path / "faulty.py"
    assert "COMMON-END-03" in broken_by(file, text, "tools/hangs-for-ever")
    failed = _played(f"{file}:agent", "shared/tool-fails")
    assert kinds(failed, "tool.called", "tool.effect") == ["tool.called"]


def test_calls_that_are_not_seen_are_not_said_to_be_none(tmp_path: Path) -> None:
    """The function of a tool, which is called past the tool, is not observed."""
    binding = prepare(_by_hand(tmp_path, _UNSEEN))
    abilities = abilities_of(probe(binding))
    assert not abilities.tools
    left_out = why_left_out(shipped_scenario("tools/loop-bound"), binding, abilities)
    assert left_out == (
        "tool calls",
        "none was seen: a call past the agent's framework is not observed",
    )
    (tried,) = [item for item in examine(binding).trials if item.what == "a tool"]
    assert tried.found.startswith("no call of it is observed, and the model is sent a result")


def test_an_agent_whose_tools_are_not_found_is_not_said_to_have_none(tmp_path: Path) -> None:
    """A function of the user's is a tool for the model, and nothing that LangGraph knows."""
    target = _by_hand(tmp_path, _UNSEEN.replace("write_note.func", "write_note"))
    file = Path(target.rpartition(":")[0])
    file.write_text(file.read_text().replace("@tool\n", ""))
    because = take(adopt(target)).taken_for.because
    assert "no tools are found, so no call of one is judged" in because
