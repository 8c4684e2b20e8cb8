"""The toolsets of a Pydantic AI agent: what their tools declare, and the seam inside of them.

A toolset may be prefixed, renamed, filtered, combined or guarded by approvals. The seam is inside
of all that, at the toolset that calls the user's function, and knows a tool by its name outside.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

from pydantic_ai import (
    AbstractToolset,
    Agent,
    ApprovalRequiredToolset,
    CombinedToolset,
    FunctionToolset,
    PrefixedToolset,
    RenamedToolset,
    RunContext,
    RunUsage,
)
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.toolsets import WrapperToolset
from pydantic_core import to_jsonable_python

from faultclock.subjects.frameworks.mcp_tools import McpClient
from faultclock.subjects.frameworks.own_tools import OwnTools, names_in

#: The name by which the model has called the tool.
_CALLED: ContextVar[str] = ContextVar("called", default="")
#: A tool whose calls are deferred until a person has approved them.
_DEFERRED = "unapproved"


def declared_tools(agent: Agent[Any, Any], deps: Any) -> dict[str, tuple[Any, bool]]:
    """Return the definition of each function tool by its name, and whether it needs a yes."""
    found: dict[str, tuple[Any, bool]] = {}
    context = _context(deps)

    async def look() -> None:
        for toolset in agent.toolsets:
            ours = toolset.visit_and_replace(_functions_alone)
            gated = await _guarded(ours, context)
            for name, tool in (await ours.get_tools(context)).items():
                known = tool.tool_def
                found[name] = (known, known.kind == _DEFERRED or name in gated or _asks(tool))

    asyncio.run(look())
    return found


def servers_of(agent: Agent[Any, Any]) -> Iterator[McpClient]:
    """Yield the agent's MCP servers: those of an `MCPToolset`, by the transport of its client."""
    for toolset in agent.toolsets:
        transport: Any = getattr(getattr(toolset, "client", None), "transport", None)
        if hasattr(transport, "url"):
            yield McpClient(url=transport.url)
        elif hasattr(transport, "command"):
            yield McpClient(command=(transport.command, *transport.args))


def observed(agent: Agent[Any, Any], own: OwnTools) -> list[AbstractToolset[Any]]:
    """Return the toolsets of an agent with the seam in them."""
    return [
        _Named(toolset.visit_and_replace(lambda leaf: _Observed(leaf, own)))
        for toolset in agent.toolsets
    ]


def _context(deps: Any) -> RunContext[Any]:
    def silent(*_: Any) -> Any:
        raise AssertionError("nothing is asked")

    return RunContext(deps=deps, model=FunctionModel(silent), usage=RunUsage())


def _asks(tool: Any) -> bool:
    """Return whether a function asks for the approval itself, by an exception."""
    schema = getattr(getattr(tool, "call_func", None), "__self__", None)
    return "ApprovalRequired" in names_in(getattr(schema, "function", None))


def _functions_alone(leaf: AbstractToolset[Any]) -> AbstractToolset[Any]:
    """Return a toolset of functions as it is; others, such as those of a server, have none here."""
    return leaf if isinstance(leaf, FunctionToolset) else FunctionToolset()


async def _guarded(toolset: AbstractToolset[Any], context: RunContext[Any]) -> set[str]:
    """Return the names of the tools whose calls a toolset holds back until they are approved."""
    if isinstance(toolset, CombinedToolset):
        return {name for one in toolset.toolsets for name in await _guarded(one, context)}
    if not isinstance(toolset, WrapperToolset):
        return set()
    inner = await _guarded(toolset.wrapped, context)
    match toolset:
        case ApprovalRequiredToolset():
            needed = toolset.approval_required_func
            tools = (await toolset.get_tools(context)).items()
            return inner | {name for name, tool in tools if needed(context, tool.tool_def, {})}
        case PrefixedToolset():
            return {f"{toolset.prefix}_{name}" for name in inner}
        case RenamedToolset():
            names: Mapping[str, str] = {old: new for new, old in toolset.name_map.items()}
            return {names.get(name, name) for name in inner}
    return inner


@dataclass
class _Named(WrapperToolset[Any]):
    """A whole toolset, whose tools have the names that the model calls them by."""

    async def call_tool(self, name: str, tool_args: dict[str, Any], ctx: Any, tool: Any) -> Any:
        """Note the name of a call."""
        _CALLED.set(name)
        return await super().call_tool(name, tool_args, ctx, tool)


@dataclass
class _Observed(WrapperToolset[Any]):
    """A toolset whose calls go through the seam."""

    wrapped: AbstractToolset[Any]
    own: OwnTools

    async def call_tool(self, name: str, tool_args: dict[str, Any], ctx: Any, tool: Any) -> Any:
        """Call a tool of the user; a function is seen inside of its time limit."""
        call, work = super().call_tool, getattr(tool, "call_func", None)

        async def observed(arguments: dict[str, Any], context: Any) -> Any:
            return await self.own.call(
                _CALLED.get(),
                to_jsonable_python(arguments, fallback=str),
                ctx.tool_call_id,
                lambda: (
                    call(name, tool_args, ctx, tool) if work is None else work(arguments, context)
                ),
                validated=True,
            )

        if work is None:
            return await observed(tool_args, ctx)
        if _asks(tool) and not ctx.tool_call_approved:
            # It asks now, and does its work when it is called again.
            return await call(name, tool_args, ctx, tool)
        return await call(name, tool_args, ctx, replace(tool, call_func=observed))
