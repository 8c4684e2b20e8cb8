"""Graphs of LangGraph whose tools come from MCP servers, by langchain-mcp-adapters.

It demands `mcp<2`, so it has no place beside the other frameworks: `make frameworks` tries it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from faultclock.errors import SubjectError
from faultclock.run.prepare import prepare
from faultclock.run.suite import run_one
from tests.run.conftest import shipped_scenario
from tests.subjects.frameworks.mcp_agents import (
    WAYS,
    servers_are_refused_with_a_line_that_works,
    tools_stand_where_scenarios_have_tools,
    written,
)

pytest.importorskip("langchain_mcp_adapters")

_SERVERS = {
    "http": '"transport": "http", "url": "http://localhost:8000/mcp"',
    "stdio": '"transport": "stdio", "command": "npx", "args": ["-y", "@me/notes"]',
}
_AGENT = """
from datetime import timedelta

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware, ToolErrorMiddleware
from langchain_mcp_adapters.client import MultiServerMCPClient

SESSION = {{"read_timeout_seconds": timedelta(seconds=30)}}
client = MultiServerMCPClient({{"notes": {{{server}, "session_kwargs": SESSION}}}})


async def agent() -> "CompiledStateGraph":
    return create_agent(
        "openai:gpt-5.2",
        tools={tools},
        middleware=[ToolErrorMiddleware(on_error=lambda error, request: str(error)){asks}],
    )
"""
_IN_A_SESSION = """
from contextlib import asynccontextmanager

from langchain.agents import create_agent
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools

client = MultiServerMCPClient({"notes": {"transport": "http", "url": "http://localhost:8000/mcp"}})


@asynccontextmanager
async def agent() -> "CompiledStateGraph":
    async with client.session("notes") as session:
        yield create_agent("openai:gpt-5.2", tools=await load_mcp_tools(session))
"""
_ALL = "await client.get_tools()"
_ASKS = ', HumanInTheLoopMiddleware(interrupt_on={"add_note": True})'


def _agent(way: str, tools: str = _ALL, asks: str = "") -> str:
    return _AGENT.format(server=_SERVERS.get(way, way), tools=tools, asks=asks)


@pytest.mark.parametrize("way", WAYS)
def test_its_tools_stand_where_scenarios_have_tools(way: str, tmp_path: Path) -> None:
    """Over HTTP and over stdio."""
    tools_stand_where_scenarios_have_tools(prepare(written(tmp_path, way, _agent(way))), way)


@pytest.mark.parametrize("way", WAYS)
def test_a_server_of_which_nothing_is_said_is_refused(way: str, tmp_path: Path) -> None:
    """With the lines that would say it: no server of the user's is asked or started."""
    spec = written(tmp_path, way, _agent(way))
    with pytest.raises(SubjectError, match="nothing says which tools it has") as caught:
        prepare(spec.partition("@services")[0])
    assert "mcp: {tools:" in str(caught.value.hint)


def test_servers_are_named_at_once_with_a_line_that_works(tmp_path: Path) -> None:
    """Pasted into a file, as it is."""
    session = ', "session_kwargs": SESSION}, "more": {'
    source = _agent(session.join(_SERVERS.values()))
    places = "localhost:8000 and npx -y @me/notes"
    servers_are_refused_with_a_line_that_works(tmp_path, source, places)


def test_one_session_may_last_as_long_as_the_agent(tmp_path: Path) -> None:
    """The function that makes the agent opens it, and closes it."""
    spec = written(tmp_path, "http", _IN_A_SESSION)
    binding = prepare(spec)
    assert [tool.name for tool in binding.own_tools or ()] == ["add_note"]
    trace = run_one(shipped_scenario("mcp/a-call-goes-well"), binding, 0, isolate=True)
    asked = [event.asks for event in trace.of_kind("service.request")]
    assert asked.count("initialize") == 1
    assert trace.footer.ending == "completed"


def test_a_tool_for_which_the_middleware_asks_needs_a_yes(tmp_path: Path) -> None:
    """Like a function of the user's."""
    binding = prepare(written(tmp_path, "http", _agent("http", asks=_ASKS)))
    assert [tool.gated for tool in binding.own_tools or ()] == [True]


def test_a_tool_that_the_graph_leaves_out_is_none_of_its_own(tmp_path: Path) -> None:
    """Whatever the server has."""
    binding = prepare(written(tmp_path, "http", _agent("http", f"({_ALL})[:0]")))
    assert binding.own_tools == ()


def test_a_name_with_a_prefix_is_refused(tmp_path: Path) -> None:
    """The server knows the tool by another one."""
    source = _agent("http").replace("SESSION}}", "SESSION}}, tool_name_prefix=True")
    with pytest.raises(SubjectError, match="notes_add_note of an MCP server has another name"):
        prepare(written(tmp_path, "http", source))
