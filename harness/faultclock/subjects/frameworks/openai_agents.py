"""Agents of the OpenAI Agents SDK: a Runner on the agent as it is, with its own tools.

A tool that `function_tool` made catches what its function raises and says so to the model, so the
seam is inside of that. Approvals go through `needs_approval` and RunState, the history through a
Session of the SDK, which decides itself what is kept when. Tracing uploads are off:
`tracing_disabled`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from agents import Agent, FunctionTool, RunConfig, Runner, RunState
from agents.memory.session import SessionABC

from faultclock.model.scenario.tool_script import ToolScript
from faultclock.subjects.frameworks.life import Life
from faultclock.subjects.frameworks.mcp_tools import Opened
from faultclock.subjects.frameworks.openai_agents_mcp import servers_of
from faultclock.subjects.frameworks.own_tools import own_tool
from faultclock.subjects.ports import Surroundings

__all__ = ["live", "servers_of", "tools_of"]

_UNTRACED = RunConfig(tracing_disabled=True)
#: Where a tool of `function_tool` has the function that calls the user's.
_INNER = "_invoke_tool_impl"


def tools_of(agent: Agent[Any]) -> tuple[ToolScript, ...]:
    """Return what the agent's own function tools declare of themselves."""
    found = (
        own_tool(
            tool.name,
            tool.description,
            tool.params_json_schema,
            gated=tool.needs_approval is True,
        )
        for tool in _functions(agent)
    )
    return tuple(tool for tool in found if tool is not None)


def live(agent: Agent[Any], surroundings: Surroundings) -> Life:
    """Return one life of the agent."""
    return _Life(agent, surroundings)


def _functions(agent: Agent[Any]) -> list[FunctionTool]:
    return [tool for tool in agent.tools if isinstance(tool, FunctionTool)]


class _Life(Life):
    def __init__(self, agent: Agent[Any], surroundings: Surroundings) -> None:
        super().__init__(surroundings)
        self._agent = agent
        self._session = _Session(self)
        for tool in _functions(agent):
            self._observe(tool)
        if agent.mcp_servers:
            self._servers = Opened()
            self.close = self._servers.close
            agent.get_mcp_tools = self._tools_of_servers

    async def start(self) -> None:
        """Open the MCP servers, as the application does, and the session."""
        for server in self._agent.mcp_servers:
            await self._servers.open(server)
        await super().start()

    async def _tools_of_servers(self, context: Any) -> list[Any]:
        tools: list[Any] = await type(self._agent).get_mcp_tools(self._agent, context)
        for tool in tools:
            self._observe(tool)
        return tools

    def _observe(self, tool: FunctionTool) -> None:
        """Let the calls of a tool go through the seam."""
        holder: Any = tool.on_invoke_tool
        inner = getattr(holder, _INNER, None)
        called = tool.on_invoke_tool if inner is None else inner

        async def invoke(context: Any, arguments: str) -> Any:
            return await self.tools.call(
                tool.name, arguments, context.tool_call_id, lambda: called(context, arguments)
            )

        if inner is None:
            tool.on_invoke_tool = invoke
        else:
            setattr(holder, _INNER, invoke)

    async def resume(self, kept: Mapping[str, Any]) -> None:
        """Take the history up, and the run that waits for a person."""
        self._session.items, self._session.waiting = list(kept["items"]), kept["waiting"]

    async def turn(self, text: str) -> Any:
        """Go on with a run that waits for a person, then answer."""
        if self._session.waiting is not None:
            await self._run(await RunState.from_json(self._agent, self._session.waiting))
        return await self._run(text)

    async def _run(self, start: Any) -> Any:
        session = self._session
        result = await Runner.run(self._agent, start, session=session, run_config=_UNTRACED)
        while result.interruptions:
            state = result.to_state()
            await session.wait_for_person(state.to_json())
            for item in result.interruptions:
                raw: Any = item.raw_item
                why_not = await self.approved(raw.name, json.loads(raw.arguments), raw.call_id)
                if why_not:
                    state.reject(item, rejection_message=why_not)
                else:
                    state.approve(item)
            result = await Runner.run(self._agent, state, session=session, run_config=_UNTRACED)
        if session.waiting is not None:
            await session.wait_for_person(None)
        return result.final_output


class _Session(SessionABC):  # type: ignore[misc]  # stands in an environment of its own
    """A Session of the SDK that keeps its items in the store of the scenario."""

    def __init__(self, life: Life) -> None:
        self._life = life
        self.session_id = life.session_id
        self.items: list[Any] = []
        self.waiting: dict[str, Any] | None = None

    async def wait_for_person(self, state: dict[str, Any] | None) -> None:
        """Keep the run that waits for a person; None: none does."""
        self.waiting = state
        await self._keep()

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """Return the last `limit` items, all of them without a limit."""
        return self.items[-limit:] if limit else list(self.items)

    async def add_items(self, items: list[Any]) -> None:
        """Append items; the run that waited for a person has gone on."""
        self.items += items
        self.waiting = None
        await self._keep()

    async def pop_item(self) -> Any:
        """Take the last item away."""
        last = self.items.pop() if self.items else None
        await self._keep()
        return last

    async def clear_session(self) -> None:
        """Forget all items."""
        self.items.clear()
        await self._keep()

    async def _keep(self) -> None:
        await self._life.keep({"items": self.items, "waiting": self.waiting})
