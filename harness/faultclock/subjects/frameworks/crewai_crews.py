"""Crews and agents of CrewAI, as they are: what their tools run is called through the seam.

The text of a turn is what a crew is kicked off with, for each name in braces in its tasks. A tool
is not given the id of the model's call, so it is noted where CrewAI begins to execute the call.
Why an answer ended is in the event about it, and not in what a kickoff returns. A crew keeps no
session: nothing of a kickoff outlives it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

from crewai import Crew
from crewai.agents.agent_executor import AgentExecutor
from crewai.llms.base_llm import BaseLLM
from crewai.tools.base_tool import BaseTool, Tool
from crewai.utilities.agent_utils import extract_tool_call_info
from crewai.utilities.string_utils import sanitize_tool_name

from faultclock.subjects.frameworks.own_tools import Declared, OwnTools, own_tool
from faultclock.subjects.ports import Reply, Surroundings

#: The model's id of the call that is executed.
_CALL_ID: ContextVar[str] = ContextVar("call_id", default="")
#: Why each answer of the turn that runs ended.
_REASONS: list[str | None] = []


def tools_of(crew: Any) -> Declared:
    """Return what the tools of all agents and tasks declare of themselves."""
    return (
        own_tool(name, tool.description, tool.args_schema.model_json_schema())
        for name, tool in {sanitize_tool_name(it.name): it for it in _tools(crew)}.items()
    )


def live(crew: Any, surroundings: Surroundings) -> _Life:
    """Return one life of the crew, or of the agent."""
    return _Life(crew, surroundings)


def _tools(crew: Any) -> Iterator[BaseTool]:
    holders = [*crew.agents, *crew.tasks] if isinstance(crew, Crew) else [crew]
    seen: list[BaseTool] = []
    for holder in holders:
        for tool in holder.tools or ():
            if isinstance(tool, BaseTool) and not any(tool is other for other in seen):
                seen.append(tool)
                yield tool


class _Life:
    """One life of a crew: its turns block, and it keeps nothing."""

    def __init__(self, crew: Any, surroundings: Surroundings) -> None:
        self._own = OwnTools(surroundings)
        self._crew = crew
        for tool in _tools(crew):
            name = sanitize_tool_name(tool.name)
            # What a subclass does is its `_run`; the model of pydantic has no such field.
            if isinstance(tool, Tool):
                tool.func = self._observed(name, tool.func)
            else:
                object.__setattr__(tool, "_run", self._observed(name, tool._run))

    def _observed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def called(**given: Any) -> Any:
            def work() -> Any:
                value = function(**given)
                return asyncio.run(value) if asyncio.iscoroutine(value) else value

            arguments = json.dumps(given, default=str)
            return self._own.call_blocking(name, arguments, _CALL_ID.get(), work)

        return called

    def run_turn(self, text: str) -> Any:
        """Kick off."""
        _REASONS.clear()
        if isinstance(self._crew, Crew):
            inputs = dict.fromkeys(sorted(self._crew.fetch_inputs()), text)
            result = self._crew.kickoff(inputs=inputs or None)
        else:
            result = self._crew.kickoff(text)
        return Reply(result.raw, (), _REASONS[-1] if _REASONS else None)


def _executed(executor: AgentExecutor, tool_call: Any) -> Any:
    found = extract_tool_call_info(tool_call)
    _CALL_ID.set(found[0] if found else "")
    return _execute(executor, tool_call)


def _completed(llm: BaseLLM, *given: Any, **options: Any) -> None:
    _REASONS.append(options.get("finish_reason"))
    _complete(llm, *given, **options)


_execute = AgentExecutor._execute_single_native_tool_call
AgentExecutor._execute_single_native_tool_call = _executed
_complete = BaseLLM._emit_call_completed_event
BaseLLM._emit_call_completed_event = _completed
