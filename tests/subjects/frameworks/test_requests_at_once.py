"""Agents and functions that ask a model several things at the same time, as real code does it."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from faultclock.oracle.wire.attempts import Call, observe
from faultclock.oracle.wire.requests import waited
from faultclock.run.prepare import prepare
from faultclock.run.suite import run_one
from tests.run.conftest import shipped_scenario
from tests.subjects.frameworks.agents import broken_by

_BRANCHES = """
from langchain_core.messages import SystemMessage
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph

model = ChatOpenAI(model="gpt-5.2", timeout=60)


def asks(instructions):
    async def node(state: MessagesState):
        messages = [SystemMessage(instructions), *state["messages"]]
        return {"messages": [await model.ainvoke(messages)]}

    return node


builder = StateGraph(MessagesState)
for name in ("good", "bad", "both"):
    builder.add_node(name, asks(f"You see the {name}."))
builder.add_edge(START, "good")
builder.add_edge(START, "bad")
builder.add_edge(["good", "bad"], "both")
builder.add_edge("both", END)
agent = builder.compile()
"""
_TOOL_THAT_ASKS = """
from langchain.agents import create_agent
from langchain_openai import ChatOpenAI

model = ChatOpenAI(model="gpt-5.2", timeout=60)


async def write_summary(text: str) -> str:
    "Summarize a text."
    return (await model.ainvoke(f"Summarize: {text}")).text


agent = create_agent(model, tools=[write_summary], system_prompt="You write.")
"""
_GATHERS = """
import asyncio
from openai import AsyncOpenAI

client = AsyncOpenAI()


async def one(instructions, prompt):
    messages = [{"role": "system", "content": instructions}, {"role": "user", "content": prompt}]
    answer = await client.chat.completions.create(model="gpt-5-mini", messages=messages)
    return answer.choices[0].message.content


async def ask(prompt):
    asked = (one("Say what is for it.", prompt), one("Say what is against it.", prompt))
    return "\\n".join(await asyncio.gather(*asked))
"""


def _turn(file: Path, text: str, name: str, scenario: str) -> Call:
    file.write_text(text)
    trace = run_one(shipped_scenario(scenario), prepare(f"{file}:{name}"), 0, isolate=True)
    return next(call for call in observe(trace).calls if call.is_turn)


@pytest.mark.parametrize(
    "scenario",
    [
        "resume-drift/closed-session-is-resumed",
        "rate-limits/retry-after-integer",
        "common/limited-for-ever",
        "common/closed-for-an-hour",
        "provider-transient/silent-for-ever",
    ],
)
@pytest.mark.parametrize("text", [_BRANCHES, _TOOL_THAT_ASKS], ids=["branches", "tool"])
def test_an_agent_that_asks_beside_itself_breaks_nothing_by_that(
    text: str, scenario: str, tmp_path: Path
) -> None:
    """No retry that came too early, no history that is missing, no layers."""
    assert broken_by(tmp_path / "agent.py", text, scenario) == set()


@pytest.mark.parametrize(
    ("text", "name"), [(_BRANCHES, "agent"), (_GATHERS, "ask")], ids=["branches", "gathers"]
)
def test_each_request_has_the_retries_of_its_own(text: str, name: str, tmp_path: Path) -> None:
    """The client makes three attempts; no wait is negative, and none is another one's."""
    turn = _turn(tmp_path / "agent.py", text, name, "common/limited-for-ever")
    assert max(len(request.attempts) for request in turn.requests) == 3
    assert {request.is_one_of_several for request in turn.requests} == {True}
    for request in turn.requests:
        waits = [waited(*pair) or 0 for pair in pairwise(request.attempts)]
        assert all(wait > 0 for wait in waits)
        assert waits == sorted(waits)


def test_a_retry_after_an_answer_that_limits_one_of_two_is_of_that_one(tmp_path: Path) -> None:
    """It comes when the answer asked for; the other request has one attempt."""
    turn = _turn(tmp_path / "both.py", _GATHERS, "ask", "rate-limits/retry-after-integer")
    assert sorted(len(request.attempts) for request in turn.requests) == [1, 2]
    (limited,) = (request for request in turn.requests if len(request.attempts) == 2)
    assert (waited(*limited.attempts) or 0) >= 7_000_000_000


_CLOCK = """
import time
from pydantic_ai import Agent
from pydantic_ai.capabilities import ProcessHistory


def only_now(messages):
    asked = [any(part.part_kind == "user-prompt" for part in it.parts) for it in messages]
    return messages[len(asked) - 1 - asked[::-1].index(True):]


agent = Agent(
    "openai-chat:gpt-5.2",
    instructions=INSTRUCTIONS,
    capabilities=[ProcessHistory(only_now)],
)


@agent.tool_plain
def write_note(path: str, text: str = "") -> str:
    "Write a note to a file."
    return f"{len(text)} characters written to {path}"
"""


@pytest.mark.parametrize("instructions", ['"You help."', 'lambda: f"It is {time.time_ns()}."'])
def test_a_clock_in_the_instructions_makes_no_session(instructions: str, tmp_path: Path) -> None:
    """What the model is sent of the session is what the session is known by."""
    text = _CLOCK.replace("INSTRUCTIONS", instructions)
    assert broken_by(tmp_path / "agent.py", text, "resume-drift/effect-is-not-repeated") == set()
