"""Agents of Pydantic AI, as they are: their toolsets are wrapped, nothing of them is replaced.

Approvals are deferred tool calls, the history is what the last run ended with: both as the
documentation has it. Deferred calls are asked for only where a tool needs an approval.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic_ai import (
    Agent,
    AgentRunResultEvent,
    DeferredToolRequests,
    DeferredToolResults,
    ModelMessagesTypeAdapter,
    ToolApproved,
    ToolDenied,
)
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, TextPartDelta, ToolCallPart

from faultclock.subjects.frameworks.deps import default_deps
from faultclock.subjects.frameworks.life import Life, as_json
from faultclock.subjects.frameworks.own_tools import Declared, own_tool
from faultclock.subjects.frameworks.pydantic_ai_tools import declared_tools, observed, servers_of
from faultclock.subjects.ports import Reply, Surroundings

__all__ = ["check", "live", "servers_of", "tools_of"]


def check(agent: Agent[Any, Any], deps: Any) -> None:
    """Check that the runs of the agent have their dependencies.

    Raises:
        SubjectError: they have none.
    """
    _deps(agent, deps)


def tools_of(agent: Agent[Any, Any], deps: Any = None) -> Declared:
    """Return what the agent's own function tools declare of themselves."""
    return (
        own_tool(name, tool.description, tool.parameters_json_schema, gated=gated)
        for name, (tool, gated) in declared_tools(agent, _deps(agent, deps)).items()
    )


def live(agent: Agent[Any, Any], surroundings: Surroundings, deps: Any = None) -> Life:
    """Return one life of the agent, whose runs have those dependencies."""
    return _Life(agent, surroundings, _deps(agent, deps))


def _deps(agent: Agent[Any, Any], deps: Any) -> Any:
    return default_deps(agent.deps_type, deps, "dependencies (`deps`)")


class _Life(Life):
    def __init__(self, agent: Agent[Any, Any], surroundings: Surroundings, deps: Any) -> None:
        super().__init__(surroundings)
        self._agent, self._deps = agent, deps
        self._gated = {tool.contract.name for tool in surroundings.tools if tool.contract.gated}
        self._history: list[ModelMessage] = []

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
        output = result.output
        text = output if isinstance(output, str) else as_json(output)
        return Reply(text, (), _reason(result.response))

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
        if self._gated and not _has_deferred(agent.output_type):
            options["output_type"] = [agent.output_type, DeferredToolRequests]
        with agent.override(toolsets=observed(agent, self.tools), tools=[]):
            result = await self._asked(text, message_history=self._history, **options)
        self._history = result.all_messages()
        await self.keep({"messages": ModelMessagesTypeAdapter.dump_json(self._history).decode()})
        return result

    async def _asked(self, text: str | None, **options: Any) -> Any:
        agent = self._agent
        options["deps"] = self._deps
        if not self.streaming:
            return await agent.run(text, **options)
        async with agent.run_stream_events(text, **options) as events:
            async for event in events:
                if isinstance(event, AgentRunResultEvent):
                    return event.result
                self.deliver(_text(event))
        raise AssertionError("a run ends with its result, or raises")


def _has_deferred(output: Any) -> bool:
    many = isinstance(output, list | tuple)
    return any(map(_has_deferred, output)) if many else output is DeferredToolRequests


def _text(event: Any) -> str:
    """Return the text that an event of a stream adds to the answer."""
    part = getattr(event, "part" if event.event_kind == "part_start" else "delta", None)
    if isinstance(part, TextPart):
        return part.content
    return part.content_delta if isinstance(part, TextPartDelta) else ""


def _reason(response: ModelResponse) -> str | None:
    """Return why the model stopped: in the framework's words, or else in the provider's."""
    return response.finish_reason or (response.provider_details or {}).get("finish_reason")


def _deferred(result: Any) -> list[ToolCallPart]:
    """Return the calls that a run asks a person about; none where it has ended."""
    output = result.output
    return list(output.approvals) if isinstance(output, DeferredToolRequests) else []
