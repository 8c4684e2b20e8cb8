"""The MCP servers of an agent of the OpenAI Agents SDK, as its `mcp_servers` name them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from agents import Agent

from faultclock.subjects.frameworks.mcp_tools import McpClient


def servers_of(agent: Agent[Any]) -> Iterator[McpClient]:
    """Yield the agent's MCP servers."""
    for server in agent.mcp_servers:
        params: Any = getattr(server, "params", None)
        policy: Any = getattr(server, "_needs_approval_policy", False)

        def gated(name: str, policy: Any = policy) -> bool:
            return policy is True or (isinstance(policy, dict) and bool(policy.get(name)))

        if isinstance(params, Mapping):
            yield McpClient(url=params["url"], gated=gated)
        elif params is not None:
            yield McpClient(command=(params.command, *params.args), gated=gated)
