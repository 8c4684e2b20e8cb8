"""The MCP servers of a LangGraph graph: those that its tools from langchain-mcp-adapters ask.

A function that makes such a graph asks its servers for their tools first. While it is tried,
outside of a run, the services file answers in their place.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from langchain_core.tools import BaseTool
from langgraph.pregel import Pregel
from msgspec.structs import replace

from faultclock.errors import SubjectError
from faultclock.model.scenario.service_host import ServiceHost
from faultclock.subjects.frameworks.langgraph_middleware import reviewed_in
from faultclock.subjects.frameworks.langgraph_parts import tools_in
from faultclock.subjects.frameworks.langgraph_tools import is_mcp
from faultclock.subjects.frameworks.mcp_tools import McpClient, refuse_unsaid, server_of

_ADAPTERS = "langchain_mcp_adapters"
#: Modules of the adapters that open a session to list tools.
_OPENERS = ("client", "tools")


def servers_of(graph: Pregel[Any, Any, Any, Any]) -> Iterator[McpClient]:
    """Yield the servers of its tools, each with the tools that the graph has of it.

    Raises:
        SubjectError: a tool has another name than on its server.
    """
    reviewed, by_place = reviewed_in(graph), dict[str, tuple[Mapping[str, Any], set[str]]]()
    for tool, _ in tools_in(graph):
        if is_mcp(tool):
            connection = _connection_of(tool)
            place = _client(connection).place
            by_place.setdefault(place, (connection, set()))[1].add(tool.name)
    for connection, names in by_place.values():
        yield replace(_client(connection), gated=reviewed.__contains__, offers=names.__contains__)


def _connection_of(tool: BaseTool) -> Mapping[str, Any]:
    closed: Any = inspect.getclosurevars(tool.coroutine).nonlocals  # type: ignore[attr-defined]
    if closed["tool"].name != tool.name:
        raise SubjectError(
            f"the tool {tool.name} of an MCP server has another name there, {closed['tool'].name}",
            hint="leave out tool_name_prefix: such names are not taken up yet",
        )
    connection: Mapping[str, Any] | None = closed["connection"]
    # A tool that opens no session of its own has that of the factory, which was tried.
    return closed["session"].connection if connection is None else connection


@contextmanager
def listed(services: tuple[ServiceHost, ...]) -> Iterator[None]:
    """Let sessions list the tools that the services file has, for as long as this is open.

    Raises:
        SubjectError: at the end, with all servers of which it says nothing.
    """
    unsaid: list[McpClient] = []

    @asynccontextmanager
    async def session(connection: Mapping[str, Any], **_: Any) -> AsyncIterator[Any]:
        yield _Listing(connection, services, unsaid)

    with ExitStack() as stack:
        for module in _OPENERS:
            stack.enter_context(patch(f"{_ADAPTERS}.{module}.create_session", session))
        try:
            yield
        finally:
            # What a function makes of a list without tools matters less.
            refuse_unsaid(unsaid)


class _Listing:
    """A session that lists tools, and is asked for nothing else."""

    def __init__(
        self,
        connection: Mapping[str, Any],
        services: tuple[ServiceHost, ...],
        unsaid: list[McpClient],
    ) -> None:
        self.connection = connection
        self._services = services
        self._unsaid = unsaid

    async def initialize(self) -> None:
        """Begin."""

    async def list_tools(self, **_: Any) -> Any:
        """Return the only page of tools; none of a server of which no service says anything."""
        from mcp.types import Tool

        client = _client(self.connection)
        said = server_of(client, self._services)
        if said is None:
            self._unsaid.append(client)
            return SimpleNamespace(tools=[], nextCursor=None)
        # By the names of the wire: the attributes are other ones in the next version of mcp.
        tools = [
            Tool.model_validate(
                {"name": it.name, "description": it.description, "inputSchema": it.input_schema}
            )
            for it in said[1].tools
        ]
        return SimpleNamespace(tools=tools, nextCursor=None)


def _client(connection: Mapping[str, Any]) -> McpClient:
    if "url" in connection:
        return McpClient(url=connection["url"])
    return McpClient(command=(connection["command"], *connection["args"]))
