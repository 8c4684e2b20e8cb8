"""Agents of Strands, as they are: the functions of their tools are called through the seam.

A hook of the user that interrupts a tool call is answered as the documentation does it: `y` for a
yes, otherwise the reason. An agent without a session manager gets the one that Strands has for
repositories, on a repository that is kept in the store of the scenario after each message.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Mapping
from contextvars import ContextVar
from typing import Any

from strands import Agent
from strands.hooks import MessageAddedEvent
from strands.session.repository_session_manager import RepositorySessionManager
from strands.tools.decorator import DecoratedFunctionTool

from faultclock.subjects.frameworks.life import Life, kind_of
from faultclock.subjects.frameworks.own_tools import Declared, own_tool
from faultclock.subjects.frameworks.strands_sessions import MemoryRepository
from faultclock.subjects.ports import Reply, Surroundings

_YES = "y"
_INTERRUPT = "interrupt"
#: The call of the model that is executed: its id, and its arguments before they were validated.
_USE: ContextVar[Mapping[str, Any]] = ContextVar("tool_use")


def tools_of(agent: Agent) -> Declared:
    """Return what the agent's own tools declare of themselves.

    No tool declares that it needs an approval: a hook of the user asks for one.
    """
    specs = [tool.tool_spec for tool in agent.tool_registry.registry.values()]
    return (own_tool(it["name"], it["description"], it["inputSchema"]["json"]) for it in specs)


def own_session(agent: Agent, _: Any) -> str:
    """Return the class of the session manager that the agent was made with."""
    return kind_of(agent._session_manager)


def live(agent: Agent, surroundings: Surroundings) -> Life:
    """Return one life of the agent."""
    return _Life(agent, surroundings)


class _Life(Life):
    def __init__(self, agent: Agent, surroundings: Surroundings) -> None:
        super().__init__(surroundings)
        self._agent = agent
        self._repository = MemoryRepository()
        if agent._session_manager is None:
            manager = RepositorySessionManager(self.session_id, self._repository)
            agent._session_manager = manager
            agent.hooks.add_hook(manager)
            manager.initialize(agent)
        agent.hooks.add_callback(MessageAddedEvent, self._added)
        for tool in agent.tool_registry.registry.values():
            self._observe(tool)

    def _observe(self, tool: Any) -> None:
        """Let the calls of a tool go through the seam: those of its function, where it has one."""
        stream = tool.stream
        function = getattr(tool, "_tool_func", None)
        if isinstance(tool, DecoratedFunctionTool) and not inspect.isasyncgenfunction(function):
            tool._tool_func = self._function(tool.tool_name, function)

            async def noted(use: Any, state: Any, **options: Any) -> AsyncIterator[Any]:
                _USE.set(use)
                async for event in stream(use, state, **options):
                    yield event

            tool.stream = noted
            return

        async def observed(use: Any, state: Any, **options: Any) -> AsyncIterator[Any]:
            async def work() -> list[Any]:
                return [event async for event in stream(use, state, **options)]

            for event in await self.tools.call(use["name"], use["input"], use["toolUseId"], work):
                yield event

        tool.stream = observed

    def _function(self, name: str, function: Any) -> Any:
        async def called(**given: Any) -> Any:
            async def work() -> Any:
                if inspect.iscoroutinefunction(function):
                    return await function(**given)
                return await asyncio.to_thread(function, **given)

            use = _USE.get()
            return await self.tools.call(name, use["input"], use["toolUseId"], work)

        return called

    async def _added(self, event: Any) -> None:  # noqa: ARG002 - of the hook
        await self.keep(self._repository.kept())

    async def resume(self, kept: Mapping[str, Any]) -> None:
        """Have the session manager restore the agent."""
        manager = self._agent._session_manager
        self._repository.load(kept)
        if isinstance(manager, RepositorySessionManager):
            manager._latest_agent_message.clear()
            manager._is_new_session = False
            manager.initialize(self._agent)

    async def turn(self, text: str) -> Any:
        """Go on with a run that waits for a person, then answer."""
        waiting = self._agent._interrupt_state
        if waiting.activated:
            await self._run(await self._answers(waiting.interrupts.values()))
        result = await self._run(text)
        return Reply(str(result).strip(), (), result.stop_reason)

    async def _run(self, given: Any) -> Any:
        result = await self._agent.invoke_async(given)
        await self.keep(self._repository.kept())
        while result.stop_reason == _INTERRUPT:
            result = await self._agent.invoke_async(await self._answers(result.interrupts))
            await self.keep(self._repository.kept())
        return result

    async def _answers(self, interrupts: Any) -> list[Any]:
        answers: list[Any] = []
        for interrupt in interrupts:
            why_not = await self.approved(interrupt.name, {"reason": interrupt.reason}, None)
            response = {"interruptId": interrupt.id, "response": why_not or _YES}
            answers.append({"interruptResponse": response})
        return answers
