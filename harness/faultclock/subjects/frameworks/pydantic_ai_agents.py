"""Agents of Pydantic AI, as they are: their toolsets are wrapped, nothing of them is replaced.

Approvals are deferred tool calls, the history is what the last run ended with: both as the
documentation has it. Deferred calls are asked for only where a tool needs an approval.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic_ai import (
    AbstractToolset,
    Agent,
    DeferredToolRequests,
    DeferredToolResults,
    ModelMessagesTypeAdapter,
    Tool,
    ToolApproved,
    ToolDenied,
)
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart
from pydantic_ai.toolsets import WrapperToolset
from pydantic_core import to_jsonable_python

from faultclock.model.scenario.tool_script import ToolScript
from faultclock.subjects.frameworks.life import Life
from faultclock.subjects.frameworks.mcp_tools import McpClient
from faultclock.subjects.frameworks.own_tools import OwnTools, own_tool
from faultclock.subjects.ports import Reply, Surroundings


def tools_of(agent: Agent[Any, Any]) -> tuple[ToolScript, ...]:
    """Return what the agent's own function tools declare of themselves."""
    found = (
        own_tool(
            tool.name,
            tool.description,
            tool.function_schema.json_schema,
            gated=tool.requires_approval,
        )
        for tool in _functions(agent)
    )
    return tuple(tool for tool in found if tool is not None)


def servers_of(agent: Agent[Any, Any]) -> Iterator[McpClient]:
    """Yield the agent's MCP servers: those of an `MCPToolset`, by the transport of its client."""
    for toolset in agent.toolsets:
        transport: Any = getattr(getattr(toolset, "client", None), "transport", None)
        if hasattr(transport, "url"):
            yield McpClient(url=transport.url)
        elif hasattr(transport, "command"):
            yield McpClient(command=(transport.command, *transport.args))


def live(agent: Agent[Any, Any], surroundings: Surroundings) -> Life:
    """Return one life of the agent."""
    return _Life(agent, surroundings)


def _functions(agent: Agent[Any, Any]) -> Iterator[Tool[Any]]:
    for toolset in agent.toolsets:
        yield from getattr(toolset, "tools", {}).values()


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
                name,
                to_jsonable_python(arguments, fallback=str),
                ctx.tool_call_id,
                lambda: (
                    call(name, tool_args, ctx, tool) if work is None else work(arguments, context)
                ),
                validated=True,
            )

        if work is None:
            return await observed(tool_args, ctx)
        return await call(name, tool_args, ctx, replace(tool, call_func=observed))


class _Life(Life):
    def __init__(self, agent: Agent[Any, Any], surroundings: Surroundings) -> None:
        super().__init__(surroundings)
        self._agent = agent
        self._gated = {tool.name for tool in tools_of(agent) if tool.gated}
        self._history: Sequence[ModelMessage] = []

    async def resume(self, kept: Mapping[str, Any]) -> None:
        """Take the history up."""
        self._history = ModelMessagesTypeAdapter.validate_json(kept["messages"])

    async def turn(self, text: str) -> Any:
        """Go on with calls that wait for a person, then answer."""
        waiting = self._waiting()
        while waiting:
            result = await self._decide(waiting)
            waiting = _deferred(result)
        result = await self._run(text)
        while waiting := _deferred(result):
            result = await self._decide(waiting)
        if isinstance(result.output, str):
            return Reply(result.output, (), _reason(result.response))
        return result.output

    def _waiting(self) -> list[ToolCallPart]:
        """Return the calls at the end of the history that wait for a person."""
        last = self._history[-1] if self._history else None
        parts = last.parts if isinstance(last, ModelResponse) else ()
        return [
            part
            for part in parts
            if isinstance(part, ToolCallPart) and part.tool_name in self._gated
        ]

    async def _decide(self, waiting: list[ToolCallPart]) -> Any:
        results = DeferredToolResults()
        for call in waiting:
            why_not = await self.approved(call.tool_name, call.args_as_dict(), call.tool_call_id)
            decision = ToolDenied(why_not) if why_not else ToolApproved()
            results.approvals[call.tool_call_id] = decision
        return await self._run(None, deferred_tool_results=results)

    async def _run(self, text: str | None, **options: Any) -> Any:
        agent = self._agent
        if self._gated:
            options["output_type"] = [agent.output_type, DeferredToolRequests]
        observed = [_Observed(toolset, self.tools) for toolset in agent.toolsets]
        with agent.override(toolsets=observed, tools=[]):
            result = await agent.run(text, message_history=self._history, **options)
        self._history = result.all_messages()
        await self.keep({"messages": ModelMessagesTypeAdapter.dump_json(self._history).decode()})
        return result


def _reason(response: ModelResponse) -> str | None:
    """Return why the model stopped: in the framework's words, or else in the provider's."""
    return response.finish_reason or (response.provider_details or {}).get("finish_reason")


def _deferred(result: Any) -> list[ToolCallPart]:
    """Return the calls that a run asks a person about; none where it has ended."""
    output = result.output
    return list(output.approvals) if isinstance(output, DeferredToolRequests) else []
