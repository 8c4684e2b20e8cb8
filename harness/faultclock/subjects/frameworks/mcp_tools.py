"""The tools of an agent's MCP servers: a services file says which there are.

No server of the user's is asked or started to find out. The application around an agent opens its
servers before the first turn, and closes them at the end; so that is done here.
"""

from __future__ import annotations

import asyncio
import json
import shlex
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from faultclock.errors import SubjectError
from faultclock.model.scenario.mcp_server import McpServer
from faultclock.model.scenario.service_host import STDIO, ServiceHost
from faultclock.model.scenario.tool_script import ToolScript
from faultclock.subjects.frameworks.own_tools import own_tool

_USUAL_PORTS = (None, 80, 443)


class McpClient(Struct, frozen=True, kw_only=True):
    """One MCP server of an agent, as the agent names it.

    Attributes:
        url: where it is asked over HTTP; empty for one that is started.
        command: what starts it; empty for one that is asked over HTTP.
        gated: says of a tool, by its name, whether the framework asks for an approval.
        offers: says of a tool, by its name, whether the agent has it.
    """

    url: str = ""
    command: tuple[str, ...] = ()
    gated: Callable[[str], bool] = lambda _: False
    offers: Callable[[str], bool] = lambda _: True

    @property
    def place(self) -> str:
        """Where a services file has it: the place of a ServiceHost."""
        if not self.url:
            program = "python" if self.command[0] == sys.executable else self.command[0]
            return f"{STDIO}{shlex.join((program.rpartition('/')[2], *self.command[1:]))}"
        parts = urlsplit(self.url)
        host = parts.hostname or ""
        return host if parts.port in _USUAL_PORTS else f"{host}:{parts.port}"


def mcp_tools(
    clients: Iterable[McpClient], services: tuple[ServiceHost, ...]
) -> tuple[ToolScript, ...]:
    """Return what the tools of an agent's MCP servers declare of themselves.

    Raises:
        SubjectError: no service says which tools some of the servers have.
    """
    found: list[ToolScript] = []
    unsaid: list[McpClient] = []
    for client in clients:
        said = server_of(client, services)
        if said is None:
            unsaid.append(client)
            continue
        service, server = said
        for tool in filter(lambda it: client.offers(it.name), server.tools):
            own = own_tool(
                tool.name,
                tool.description,
                tool.input_schema,
                gated=client.gated(tool.name),
                reads=tool.reads or tool.idempotent or None,
            )
            if own is not None:
                found.append(own.model_copy(update={"service": service.place}))
    refuse_unsaid(unsaid)
    return tuple(found)


def server_of(
    client: McpClient, services: tuple[ServiceHost, ...]
) -> tuple[ServiceHost, McpServer] | None:
    """Return the service that stands for a server, and what it says of it; None: nothing does."""
    place = client.place
    for service in services:
        name = place if client.command else place.partition(":")[0]
        if service.mcp is not None and service.place in (place, name):
            return service, service.mcp
    return None


def refuse_unsaid(clients: Sequence[McpClient]) -> None:
    """Refuse an agent with servers of which no service says which tools they have.

    Raises:
        SubjectError: there are such servers; the hint has a line that a services file can begin as.
    """
    places = dict.fromkeys(client.place.removeprefix(STDIO) for client in clients)
    if not places:
        return
    servers = f"{'an MCP server' if len(places) == 1 else f'{len(places)} MCP servers'}"
    has = "it has" if len(places) == 1 else "they have"
    lines = dict.fromkeys(_line(number, client) for number, client in enumerate(clients, 1))
    raise SubjectError(
        f"the agent has {servers}, {' and '.join(places)}, and nothing says which tools {has}",
        hint="--services FILE says that, since no server of yours is asked or started: put its real"
        f" tools, as it answers to tools/list, into this line: services: [{', '.join(lines)}]",
    )


def _line(number: int, client: McpClient) -> str:
    """Return the entry of a services file for a server; no two servers may have equal tools."""
    key, path = "command" if client.command else "host", urlsplit(client.url).path
    where = f", path: {path}" if path not in ("", "/mcp") else ""
    place = json.dumps(client.place.removeprefix(STDIO))
    schema = "{type: object, properties: {text: {type: string}}, required: [text]}"
    tool = f"{{name: tool_{number}, description: What it does, input_schema: {schema}}}"
    return f"{{{key}: {place}, mcp: {{tools: [{tool}]{where}}}}}"


class Opened:
    """Servers that are open while an agent lives, each in a task of its own.

    A connection has to be closed by the task that has opened it.
    """

    def __init__(self) -> None:
        self._ends: list[tuple[asyncio.Event, asyncio.Task[None]]] = []

    async def open(self, server: AbstractAsyncContextManager[Any]) -> None:
        """Open a server; raise what that came to."""
        end, ready = asyncio.Event(), asyncio.get_running_loop().create_future()
        task = asyncio.create_task(_held(server, ready, end))
        await ready
        self._ends.append((end, task))

    async def close(self) -> None:
        """Close all that are open."""
        while self._ends:
            end, task = self._ends.pop()
            end.set()
            await task


async def _held(
    server: AbstractAsyncContextManager[Any], ready: asyncio.Future[None], end: asyncio.Event
) -> None:
    try:
        async with server:
            ready.set_result(None)
            await end.wait()
    except BaseException as error:
        if ready.done():
            raise
        ready.set_exception(error)
