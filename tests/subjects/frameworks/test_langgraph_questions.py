"""Tools of LangGraph that ask a person themselves: what counts as a run of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultclock.oracle.facts.turn_facts import executions_of
from faultclock.run.prepare import prepare
from tests.subjects.frameworks.agents import broken_by, broken_in, findings_of, kinds, trace_of

_ONE_NODE = """
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import interrupt


@tool
KIND send_mail(to: str) -> str:
    "Send a mail."
    if interrupt({"to": to}) != "yes":
        return "not sent"
    return "sent"


model = ChatOpenAI(model="gpt-5.2").bind_tools([send_mail])


KIND ask(state: MessagesState):
    return {"messages": [ASKED]}


builder = StateGraph(MessagesState)
builder.add_node("ask", ask)
builder.add_node("tools", ToolNode([send_mail]))
builder.set_entry_point("ask")
builder.add_conditional_edges("ask", tools_condition)
builder.add_edge("tools", "ask")
agent = builder.compile()
"""
_BLOCKS = {"KIND": "def", "ASKED": "model.invoke(state['messages'])"}
_AWAITS = {"KIND": "async def", "ASKED": "await model.ainvoke(state['messages'])"}
_AGENT = """
from langchain.agents import create_agent
from langgraph.types import interrupt


def ask(to):
    return interrupt({"to": to})


def send_mail(to: str) -> str:
    "Send a mail."
    BODY


agent = create_agent("openai:gpt-5.2", tools=[send_mail])
"""
_RAISES = "answer = interrupt({'to': to})\n    if answer != 'approve': raise ValueError('no')"


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")


def _written(text: str, places: dict[str, str]) -> str:
    for place, value in places.items():
        text = text.replace(place, value)
    return text


@pytest.mark.parametrize("style", [_BLOCKS, _AWAITS], ids=["blocks", "awaits"])
def test_each_call_of_a_node_runs_with_an_answer_of_its_own(
    style: dict[str, str], tmp_path: Path
) -> None:
    """The node runs again at each answer, so the call that was approved first acts once more."""
    text, scenario = _written(_ONE_NODE, style), "approvals/one-approval-approves-one-call"
    trace = trace_of(tmp_path / "agent.py", text, scenario)
    first, second = (event.payload["tool_call"] for event in trace.of_kind("interaction.shown"))
    assert first != second
    effects = [event.payload["tool_call"] for event in trace.of_kind("tool.effect")]
    assert effects == [first, first]
    assert broken_in(trace) == {"COMMON-EFFECT-01"}


def test_a_tool_that_asks_only_sometimes_is_put_off_and_runs_when_it_is_answered(
    tmp_path: Path,
) -> None:
    """That it will ask is not known before, so its call has begun."""
    text = _AGENT.replace("BODY", "return 'sent' if ask(to) else 'not sent'")
    trace = trace_of(tmp_path / "agent.py", text, "rate-limits/limited-after-a-tool")
    ran = ["tool.called", "tool.effect", "tool.replied"]
    assert kinds(trace, *ran, "tool.put_off") == ["tool.called", "tool.put_off", *ran]
    (execution,) = executions_of(trace)
    assert execution.effects
    assert broken_in(trace) == set()


def test_a_tool_that_raises_at_a_no_ends_the_turn_and_has_not_run(tmp_path: Path) -> None:
    """LangGraph keeps the no, and gives it again, whatever the person says later."""
    text, file = _AGENT.replace("BODY", f"{_RAISES}\n    return 'sent'"), tmp_path / "agent.py"
    assert broken_by(file, text, "shared/approval-denied") == {"COMMON-RESULT-05"}
    (found,) = findings_of(trace_of(file, text, "approvals/one-approval-approves-one-call"))
    assert (
        found.observed == "send_mail raised at the person's no, and the turn ended with ValueError"
    )
    again = trace_of(file, text, "approvals/denied-call-is-asked-again")
    assert kinds(again, "tool.called", "tool.refused") == ["tool.refused", "tool.refused"]
    assert "COMMON-CONSENT-01" not in broken_in(again)


@pytest.mark.parametrize(
    ("body", "unjudged"),
    [
        ("open(to).close(); return str(interrupt(to))", ["what send_mail does before it asks"]),
        ("if to == 'all': return str(interrupt(to))", ["whether send_mail waits for a yes"]),
        ("return str(interrupt(f'To {to.strip()}?' + str(len(to))))", []),
        ("text = ''.join(['To', str(to)]); return str(interrupt(text)) + open(to).read()", []),
    ],
)
def test_what_a_tool_does_before_it_asks_is_named_as_not_seen(
    body: str, unjudged: list[str], tmp_path: Path
) -> None:
    """It is done before the yes, and again after it; a value that is made for the question is not.

    What only some calls ask is named as well.
    """
    file = tmp_path / "agent.py"
    file.write_text(_AGENT.replace("BODY", body))
    found = [what.removesuffix(" a person") for what, _ in prepare(f"{file}:agent").unjudged]
    assert found == unjudged
