"""Agents of Pydantic AI whose tools come from MCP servers."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultclock.errors import SubjectError
from faultclock.run.prepare import prepare
from tests.subjects.frameworks.mcp_agents import (
    WAYS,
    servers_are_refused_with_a_line_that_works,
    tools_stand_where_scenarios_have_tools,
    written,
)

_SERVERS = {
    "http": 'MCPToolset("http://localhost:8000/mcp")',
    "stdio": 'MCPToolset(StdioTransport("npx", ["-y", "@me/notes"]))',
}
_AGENT = """
from fastmcp.client.transports import StdioTransport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset

agent = Agent("openai-chat:gpt-5.2", toolsets=[{server}])
"""


@pytest.mark.parametrize("way", WAYS)
def test_its_tools_stand_where_scenarios_have_tools(way: str, tmp_path: Path) -> None:
    """Over HTTP and over stdio."""
    spec = written(tmp_path, way, _AGENT.format(server=_SERVERS[way]))
    tools_stand_where_scenarios_have_tools(prepare(spec), way)


@pytest.mark.parametrize("way", WAYS)
def test_a_server_of_which_nothing_is_said_is_refused(way: str, tmp_path: Path) -> None:
    """With the lines that would say it: no server of the user's is asked or started."""
    spec = written(tmp_path, way, _AGENT.format(server=_SERVERS[way]))
    with pytest.raises(SubjectError, match="nothing says which tools it has") as caught:
        prepare(spec.partition("@services")[0])
    assert "mcp: {tools:" in str(caught.value.hint)


def test_servers_are_named_at_once_with_a_line_that_works(tmp_path: Path) -> None:
    """Pasted into a file, as it is."""
    source = _AGENT.format(server=", ".join(_SERVERS.values()))
    places = "localhost:8000 and npx -y @me/notes"
    servers_are_refused_with_a_line_that_works(tmp_path, source, places)
