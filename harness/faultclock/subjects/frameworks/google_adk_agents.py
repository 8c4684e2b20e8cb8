"""Agents of Google's ADK, as they are: their tools are called through the seam.

ADK makes the id of a call. Approvals are `require_confirmation`, the history is ADK's own session
service in memory, kept in the scenario's store after each event. An event with an error is raised.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from google.adk.agents import BaseAgent, LlmAgent
from google.adk.events import Event
from google.adk.runners import Runner
from google.adk.tools import BaseTool, FunctionTool
from google.genai.types import Content, FunctionCall, FunctionResponse, Part

from faultclock.model.scenario.tool_script import ToolScript
from faultclock.subjects.frameworks.google_adk_sessions import StoreSessions
from faultclock.subjects.frameworks.life import Life
from faultclock.subjects.frameworks.own_tools import names_in, own_tool, unjudged, way
from faultclock.subjects.ports import Reply, Surroundings

_to = partial(way, "transfer_to_agent")
_APP, _USER = "faultclock", "user"
#: The function by which ADK asks a person, and the argument that holds the call.
_ASKING, _ASKED = "adk_request_confirmation", "originalFunctionCall"


def tools_of(agent: BaseAgent) -> Iterator[ToolScript | None]:
    """Return what the agent's own tools declare of themselves."""
    for tool, ways in _tools(agent):
        schema = getattr(tool._get_declaration(), "parameters_json_schema", None)
        gated = getattr(tool, "_require_confirmation", False) is True or _asks(tool)
        yield own_tool(tool.name, tool.description, schema, gated=gated, through=ways)


def unjudged_of(agent: BaseAgent) -> Iterator[tuple[str, str]]:
    """Return what no scenario shows of the tools: a function may decide whether one asks."""
    tools = (tool for tool, _ in _tools(agent))
    return unjudged(it.name for it in tools if callable(vars(it).get("_require_confirmation")))


def live(agent: BaseAgent, surroundings: Surroundings) -> Life:
    """Return one life of the agent."""
    return _Life(agent, surroundings)


def _tools(agent: BaseAgent, *ways: str) -> Iterator[tuple[BaseTool, tuple[str, ...]]]:
    """Yield the tools of an agent and of those behind it; a plain function becomes one first."""
    led = isinstance(agent, LlmAgent)
    if led:
        agent.tools = [FunctionTool(it) if inspect.isroutine(it) else it for it in agent.tools]
        # The next turn begins with the agent that the last one was handed to.
        ways = ways or ((_to(agent_name=agent.name),) if agent.sub_agents else ())
        for tool in (tool for tool in agent.tools if isinstance(tool, BaseTool)):
            inner = getattr(tool, "agent", None)
            yield from _tools(inner, *ways, tool.name) if inner is not None else [(tool, ways)]
    for inner in agent.sub_agents:
        yield from _tools(inner, *ways, *([_to(agent_name=inner.name)] if led else []))


class _Life(Life):
    def __init__(self, agent: BaseAgent, surroundings: Surroundings) -> None:
        super().__init__(surroundings)
        self._sessions = StoreSessions(self, _APP, _USER)
        self._runner = Runner(agent=agent, app_name=_APP, session_service=self._sessions)
        for tool, _ in _tools(agent):
            self._observe(tool)

    def _observe(self, tool: Any) -> None:
        """Let the calls of a tool go through the seam, but for those that wait for a person."""
        real = tool.run_async

        async def run_async(*, args: dict[str, Any], tool_context: Any) -> Any:
            work = partial(real, args=args, tool_context=tool_context)
            said = tool_context.tool_confirmation
            asks = getattr(tool, "check_require_confirmation", None)
            is_told = said is not None and said.confirmed
            if _asks(tool) and (said is None or (not is_told and _heeds(tool))):
                return await work()
            if asks is not None and not is_told and await asks(args, tool_context):
                return await work()
            return await self.tools.call(tool.name, args, tool_context.function_call_id, work)

        tool.run_async = run_async

    async def resume(self, kept: Mapping[str, Any]) -> None:
        """Take the session up."""
        self._sessions.load(kept["session"])

    async def turn(self, text: str) -> Any:
        """Go on with a run that waits for a person, then answer."""
        named = {"app_name": _APP, "user_id": _USER, "session_id": self.session_id}
        session = await self._sessions.get_session(**named)
        session = session or await self._sessions.create_session(**named)
        if open_calls := _open_calls(session.events):
            await self._run(await self._answers(open_calls))
        return await self._run([Part(text=text)])

    async def _run(self, parts: list[Part]) -> Reply:
        events, said = list[Event](), Reply("")
        run = self._runner.run_async(
            user_id=_USER, session_id=self.session_id, new_message=Content(role="user", parts=parts)
        )
        async for event in run:
            events.append(event)
            if event.error_code and event.content is None:
                raise RuntimeError(f"{event.error_code}: {event.error_message}")
            if event.is_final_response() and event.content is not None:
                text = "".join(part.text or "" for part in event.content.parts or ())
                said = Reply(text, (), getattr(event.finish_reason, "value", None))
        open_calls = _open_calls(events)
        return await self._run(await self._answers(open_calls)) if open_calls else said

    async def _answers(self, calls: list[FunctionCall]) -> list[Part]:
        """Return what the person says to calls by which ADK asks."""
        parts = []
        for call in calls:
            asked = (call.args or {})[_ASKED]
            why_not = await self.approved(asked["name"], asked["args"], asked["id"])
            said = FunctionResponse(id=call.id, name=call.name, response={"confirmed": not why_not})
            parts.append(Part(function_response=said))
        return parts


def _asks(tool: BaseTool) -> bool:
    """Return whether a function asks a person itself, and does its work when it is called again."""
    return "request_confirmation" in names_in(getattr(tool, "func", None))


def _heeds(tool: BaseTool) -> bool:
    """Return whether such a function looks at what the person said."""
    return "confirmed" in names_in(getattr(tool, "func", None))


def _open_calls(events: Iterable[Event]) -> list[FunctionCall]:
    """Return the calls by which ADK asks a person that have no answer yet."""
    asked: dict[str | None, FunctionCall] = {}
    for event in events:
        for call in event.get_function_calls():
            if call.name == _ASKING:
                asked[call.id] = call
        for response in event.get_function_responses():
            asked.pop(response.id, None)
    return list(asked.values())
