"""What in a folder looks like code that asks a model, without running it."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultclock.subjects.candidates import agents_in, candidates, what_to_name

MIXED = """
import openai
raise SystemExit("this file is not to be run")

client = openai.AsyncOpenAI()
_hidden = openai.OpenAI()

async def ask(prompt: str, *, model="gpt-4o", timeout: float = 3.0) -> str: ...

def chat(history: list[dict], /) -> str:
    return client.chat(history)

def parse(text): return text
def main(): return ask("hi")
def both(left, right): ...
def _private(prompt): ...
def pieces(prompt):
    yield client
"""
BOUND = """
from faultclock import provider_adapter, runtime

@provider_adapter(id="x", streams=False)
def subject(request): ...

class Agent: ...

agent = runtime(id="mine")(Agent)
"""


def test_functions_objects_and_bindings_are_found_the_likeliest_first(tmp_path: Path) -> None:
    """A function that uses the client comes before one that only looks like it."""
    (tmp_path / "llm.py").write_text(MIXED)
    (tmp_path / "bound.py").write_text(BOUND)
    (tmp_path / "other.py").write_text("def ask(prompt): ...\n")
    (tmp_path / "broken.py").write_text("import openai\ndef ask(prompt:\n")
    found = candidates(tmp_path)
    assert [(item.spec, item.kind) for item in found] == [
        ("bound.py:subject", "bound by @provider_adapter"),
        ("llm.py:chat", "a blocking function of messages"),
        ("llm.py:pieces", "a blocking function of a prompt"),
        ("bound.py:agent", "a runtime object"),
        ("llm.py:ask", "an async function of a prompt"),
        ("llm.py:client", "a AsyncOpenAI object"),
        ("llm.py:parse", "a blocking function of a prompt"),
        ("llm.py:main", "a blocking function that takes nothing"),
    ]


def test_what_is_installed_or_a_test_is_passed_over(tmp_path: Path) -> None:
    """Nobody means it, and there is a lot of it."""
    for folder in (".venv/lib", "tests", "node_modules/x", "a/b/c/d", "src/pkg"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "llm.py").write_text("import httpx\ndef ask(prompt): httpx.get\n")
    (tmp_path / "test_llm.py").write_text("import httpx\ndef ask(prompt): httpx.get\n")
    assert [item.spec for item in candidates(tmp_path)] == ["src/pkg/llm.py:ask"]


AGENT = """
import re
from agents import Agent, Runner, function_tool

WORDS = re.compile("a b")

@function_tool
def get_weather(city: str) -> str: ...

def history_fact(topic): ...

helper = Agent(name="Helper", tools=[get_weather, history_fact])

async def main():
    print(await Runner.run(helper, input="Hello"))
"""
GRAPH = """
from langchain.tools import tool
from langgraph.graph import StateGraph

@tool
def divide(a): ...

graph = StateGraph(dict).compile()
"""
SERVER = """
from agents import Agent, Runner
from agents.mcp import MCPServer, MCPServerStdio

async def run(mcp_server: MCPServer):
    agent = Agent(name="Assistant", mcp_servers=[mcp_server])
    return await Runner.run(agent, "Read the files.")

async def main():
    async with MCPServerStdio(params={"command": "npx"}) as server:
        await run(server)
"""


@pytest.mark.parametrize(
    ("text", "wrong", "said"),
    [
        (AGENT, "", "write my.py:helper"),
        (AGENT, "agent", "write my.py:helper"),
        (AGENT, "Agent", "write my.py:helper"),
        (GRAPH, "agent", "write my.py:graph"),
        (MIXED, "chatt", "write my.py:chat or my.py:pieces or my.py:client"),
        (SERVER, "main2", "`def make_agent(): return ...`"),
        ("import openai\n", "ask", "`def ask(prompt): ...`"),
    ],
    ids=[
        "nothing named",
        "a wrong name",
        "an imported class",
        "a graph",
        "a function",
        "MCP",
        "no",
    ],
)
def test_a_hint_names_what_the_file_defines(
    text: str, wrong: str, said: str, tmp_path: Path
) -> None:
    """No class that it imports, no tool of an agent, and no main, which runs the agent itself."""
    (tmp_path / "my.py").write_text(text)
    hint = what_to_name("my.py", tmp_path / "my.py", wrong)
    assert said in hint
    assert not any(name in hint for name in ("main", "my.py:run", "my.py:Agent", "divide"))


INSTRUCTED = """
from pydantic_ai import Agent

helper = Agent("openai:gpt-5.2")

@helper.instructions
def be_brief(words): return f"At most {words} words."

def ask(prompt): return helper.run_sync(prompt).output
"""


def test_what_an_agent_calls_itself_is_no_target(tmp_path: Path) -> None:
    """A function that its decorator hands to the agent has parameters that look like a prompt."""
    (tmp_path / "my.py").write_text(INSTRUCTED)
    assert [item.spec for item in candidates(tmp_path)] == ["my.py:ask", "my.py:helper"]
    assert agents_in(tmp_path / "my.py") == ("helper",)
