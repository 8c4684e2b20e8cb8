"""Agents of the OpenAI Agents SDK: a Runner on the agent as it is, with its own tools.

Approvals go through `needs_approval` and RunState, the history through a Session of the SDK, which
decides itself what is kept when.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from agents import Agent, Runner, RunState
from agents.result import RunResultBase

from faultclock.model.scenario.tool_script import ToolScript
from faultclock.subjects.frameworks.deps import default_deps
from faultclock.subjects.frameworks.life import Life, as_json
from faultclock.subjects.frameworks.mcp_tools import Opened
from faultclock.subjects.frameworks.openai_agents_mcp import servers_of
from faultclock.subjects.frameworks.openai_sessions import StoreSession, own_session
from faultclock.subjects.frameworks.openai_tools import functions_of, observe, unjudged_of
from faultclock.subjects.frameworks.own_tools import mapping_in, own_tool
from faultclock.subjects.ports import Reply, Surroundings

__all__ = ["check", "live", "own_session", "servers_of", "tools_of", "unjudged_of"]

#: The event of a stream that adds text to the answer, whichever API the model speaks.
_TEXT_DELTA = "response.output_text.delta"


def check(agent: Agent[Any], given: Any) -> None:
    """Check that the runs of the agent have their context.

    Args:
        given: that, or a session of the user's own; None: nothing was handed over.

    Raises:
        SubjectError: they have none.
    """
    _context(agent, given)


def tools_of(agent: Agent[Any], given: Any = None) -> tuple[ToolScript, ...]:  # noqa: ARG001
    """Return what the function tools of the agent, and of those behind it, declare."""
    found = (
        own_tool(
            tool.name,
            tool.description,
            tool.params_json_schema,
            gated=tool.needs_approval is True,
            through=through,
        )
        for tool, through in functions_of(agent)
    )
    by_name: dict[str, ToolScript] = {}
    for one in found:
        if one is not None:
            by_name.setdefault(one.name, one)
    return tuple(by_name.values())


def live(agent: Agent[Any], surroundings: Surroundings, given: Any = None) -> Life:
    """Return one life of the agent, whose runs have what was given."""
    return _Life(agent, surroundings, given)


def _context(agent: Agent[Any], given: Any) -> Any:
    declared: Any = get_args(getattr(agent, "__orig_class__", None))
    handed = None if own_session(agent, given) else given
    return default_deps(declared[0] if declared else None, handed, "a context")


class _Life(Life):
    def __init__(self, agent: Agent[Any], surroundings: Surroundings, given: Any) -> None:
        super().__init__(surroundings)
        self._agent, self._context = agent, _context(agent, given)
        self._own = given if own_session(agent, given) else None
        self._session = StoreSession(self, self._own, surroundings.folder)
        for tool, _ in functions_of(agent):
            observe(tool, self.tools)
        if agent.mcp_servers:
            self._servers = Opened()
            self.close = self._servers.close
            agent.get_mcp_tools = self._tools_of_servers

    async def start(self) -> None:
        """Open the MCP servers, as the application does, and the session."""
        for server in self._agent.mcp_servers:
            await self._servers.open(server)
        await (super().start() if self._own is None else self._session.start())

    async def _tools_of_servers(self, context: Any) -> list[Any]:
        tools: list[Any] = await type(self._agent).get_mcp_tools(self._agent, context)
        for tool in tools:
            observe(tool, self.tools)
        return tools

    async def resume(self, kept: Mapping[str, Any]) -> None:
        """Take the history up, and the run that waits for a person."""
        self._session.items, self._session.waiting = list(kept["items"]), kept["waiting"]

    async def turn(self, text: str) -> Any:
        """Go on with a run that waits for a person, then answer."""
        if self._session.waiting is not None:
            given: Any = {"context_override": self._context} if self._context is not None else {}
            waiting = self._session.waiting
            await self._run(await RunState.from_json(self._agent, waiting, **given))
        return await self._run(text)

    async def _run(self, start: Any) -> Any:
        session = self._session
        result = await self._asked(start)
        while result.interruptions:
            state = result.to_state()
            await session.wait_for_person(state.to_json())
            for item in result.interruptions:
                raw: Any = item.raw_item
                why_not = await self.approved(
                    raw.name, mapping_in(raw.arguments) or {}, raw.call_id
                )
                if why_not:
                    state.reject(item, rejection_message=why_not)
                else:
                    state.approve(item)
            result = await self._asked(state)
        if session.waiting is not None:
            await session.wait_for_person(None)
        return _answered(result)

    async def _asked(self, start: Any) -> Any:
        given: Any = {"session": self._session, "context": self._context}
        if not self.streaming:
            return await Runner.run(self._agent, start, **given)
        result = Runner.run_streamed(self._agent, start, **given)
        async for event in result.stream_events():
            if event.type == "raw_response_event" and event.data.type == _TEXT_DELTA:
                self.deliver(event.data.delta)
        return result


def _answered(result: RunResultBase) -> Reply:
    """Return what a run came to, with what the last message says of itself: its `status`."""
    output = result.final_output
    items = result.raw_responses[-1].output if result.raw_responses else []
    message = next((item for item in reversed(items) if item.type == "message"), None)
    text = output if isinstance(output, str) else as_json(output)
    return Reply(text, (), None if message is None else message.status)
