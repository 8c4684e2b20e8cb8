"""The function tools of an agent of the OpenAI Agents SDK, and the seam around each of them.

A tool that `function_tool` made catches what its function raises and says so to the model, so the
seam is inside of that.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agents import Agent, FunctionTool, Handoff

from faultclock.subjects.frameworks.own_tools import OwnTools, unjudged

#: Where a tool of `function_tool` has the function that calls the user's.
_INNER = "_invoke_tool_impl"


def functions_of(agent: Agent[Any]) -> list[tuple[FunctionTool, tuple[str, ...]]]:
    """Return the function tools of an agent, and of those that it hands over to or calls.

    Each comes with what the model has to call first.
    """
    agents: list[tuple[Agent[Any], tuple[str, ...]]] = [(agent, ())]
    found: list[tuple[FunctionTool, tuple[str, ...]]] = []
    for one, through in agents:
        behind: list[tuple[Any, str]] = []
        for handed in one.handoffs:
            if isinstance(handed, Handoff):
                reference = handed._agent_ref
                behind.append((None if reference is None else reference(), handed.tool_name))
            else:
                behind.append((handed, Handoff.default_tool_name(handed)))
        for tool in one.tools:
            if isinstance(tool, FunctionTool):
                inner = getattr(tool, "_agent_instance", None)
                found += [(tool, through)] if inner is None else []
                behind += [] if inner is None else [(inner, tool.name)]
        known = [other for other, _ in agents]
        agents += [
            (it, (*through, name))
            for it, name in behind
            if it is not None and not any(it is other for other in known)
        ]
    return found


def unjudged_of(agent: Agent[Any]) -> Iterator[tuple[str, str]]:
    """Return what no scenario shows of the tools: a function may decide whether one asks."""
    return unjudged(it.name for it, _ in functions_of(agent) if callable(it.needs_approval))


def observe(tool: FunctionTool, own: OwnTools) -> None:
    """Let the calls of a tool go through the seam."""
    holder: Any = tool.on_invoke_tool
    inner = getattr(holder, _INNER, None)
    called = tool.on_invoke_tool if inner is None else inner

    async def invoke(context: Any, arguments: str) -> Any:
        return await own.call(
            tool.name, arguments, context.tool_call_id, lambda: called(context, arguments)
        )

    if inner is None:
        tool.on_invoke_tool = invoke
    else:
        setattr(holder, _INNER, invoke)
