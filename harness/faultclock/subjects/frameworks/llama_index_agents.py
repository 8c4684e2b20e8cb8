"""Agents and agent workflows of LlamaIndex, as they are: their tools are called through the seam.

A tool is not given the id of the model's call, so it is noted in the step that executes the call.
The memory is LlamaIndex's own, and kept in the store of the scenario after each turn.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from functools import wraps
from typing import Any

from llama_index.core.agent.workflow import AgentWorkflow, BaseWorkflowAgent, FunctionAgent
from llama_index.core.memory import ChatMemoryBuffer

from faultclock.errors import SubjectError
from faultclock.subjects.frameworks.life import Life
from faultclock.subjects.frameworks.own_tools import Declared, own_tool, way
from faultclock.subjects.frameworks.pickled import pickled, unpickled
from faultclock.subjects.ports import Reply, Surroundings

#: The model's id of the call that is executed.
_CALL_ID: ContextVar[str] = ContextVar("call_id", default="")


def tools_of(agent: Any) -> Declared:
    """Return what the agent's own tools declare of themselves."""
    return (
        own_tool(
            tool.metadata.get_name(),
            tool.metadata.description,
            tool.metadata.get_parameters_dict(),
            through=through,
        )
        for tool, through in _tools(agent)
    )


def check(agent: Any, deps: Any) -> None:  # noqa: ARG001 - of the framework's port
    """Check that the model is offered the tools.

    Raises:
        SubjectError: an agent asks for them in words or in code, as no scripted model does.
    """
    for one in agent.agents.values() if isinstance(agent, AgentWorkflow) else (agent,):
        if not isinstance(one, FunctionAgent):
            raise SubjectError(
                f"a {type(one).__name__} has its model ask for tools in a text, and no scripted"
                " model does that",
                hint="use a FunctionAgent, or name a function of a prompt that runs the agent",
            )


def live(agent: Any, surroundings: Surroundings) -> Life:
    """Return one life of the agent."""
    return _Life(agent, surroundings)


def _tools(agent: Any) -> Iterator[tuple[Any, tuple[str, ...]]]:
    """Yield each tool once, and the handoffs to its agent; agents of a workflow may share some."""
    several = isinstance(agent, AgentWorkflow)
    agents = agent.agents if several else {"": agent}
    first = agent.root_agent if several else ""
    ways: dict[str, tuple[str, ...]] = {first: ()}
    found: dict[int, tuple[Any, tuple[str, ...]]] = {}
    # An agent hands off to those that it names, or else to any: the shortest way is found first.
    for name, through in (reached := list(ways.items())):
        for tool in agents[name].tools or ():
            found.setdefault(id(tool), (tool, through))
        may = agents[name].can_handoff_to
        for other in agents if may is None else may:
            if other in agents and other not in ways:
                ways[other] = (*through, way("handoff", to_agent=other, reason="It can."))
                reached.append((other, ways[other]))
    yield from found.values()


class _Life(Life):
    def __init__(self, agent: Any, surroundings: Surroundings) -> None:
        super().__init__(surroundings)
        self._agent = agent
        self._memory = ChatMemoryBuffer.from_defaults()
        self._run: Any = None
        self._cancelling: asyncio.Task[None] | None = None
        for tool, _ in _tools(agent):
            self._observe(tool)

    def _observe(self, tool: Any) -> None:
        """Let the calls of a tool go through the seam."""
        name, real = tool.metadata.get_name(), tool.acall
        context = getattr(tool, "ctx_param_name", None)

        async def acall(*args: Any, **given: Any) -> Any:
            arguments = {key: value for key, value in given.items() if key != context}
            text = json.dumps(arguments, default=str)
            return await self.tools.call(name, text, _CALL_ID.get(), lambda: real(*args, **given))

        tool.acall = acall

    async def resume(self, kept: Mapping[str, Any]) -> None:
        """Take the memory up."""
        await self._memory.aset(unpickled(kept["messages"]))

    def cancel(self, scope: str, target: str | None) -> None:  # noqa: ARG002 - of the port
        """Cancel the turn that runs, with the handler of its workflow."""
        if self._run is not None:
            self._cancelling = asyncio.ensure_future(self._run.cancel_run())

    async def turn(self, text: str) -> Any:
        """Answer one message of the user."""
        self._run = self._agent.run(user_msg=text, memory=self._memory)
        answer = await self._run
        # Messages hold objects of the client's library, which LlamaIndex does not write as JSON.
        await self.keep({"messages": pickled(await self._memory.aget_all())})
        return Reply(str(answer), (), _reason(answer))


def _reason(answer: Any) -> str | None:
    """Return why the model stopped, which LlamaIndex leaves in the provider's answer."""
    choices = (getattr(answer, "raw", None) or {}).get("choices") or ()
    return choices[0].get("finish_reason") if choices else None


def _noting(step: Callable[..., Any]) -> Callable[..., Any]:
    """Return the step of a workflow that executes a call, with the id of the call noted."""

    @wraps(step)
    async def call_tool(self: Any, ctx: Any, ev: Any) -> Any:
        _CALL_ID.set(ev.tool_id)
        return await step(self, ctx, ev)

    return call_tool


for _class in (AgentWorkflow, BaseWorkflowAgent):
    _class.call_tool = _noting(_class.call_tool)
