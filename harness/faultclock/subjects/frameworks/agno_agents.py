"""Agents of Agno, as they are: the seam is one more tool hook, inside of those that they have.

A hook is not given the id of the model's call, so it is noted where Agno begins to execute a
FunctionCall. Approvals are `requires_confirmation` and `acontinue_run`. An agent without a database
gets Agno's own in memory, which is kept in the store of the scenario whenever Agno has written to
it. A run that failed returns its error as a text: here it is raised.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from typing import Any

from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.run.base import RunStatus
from agno.tools import Toolkit
from agno.tools.function import Function, FunctionCall

from faultclock.subjects.frameworks.life import Life, kind_of, there
from faultclock.subjects.frameworks.own_tools import Declared, own_tool
from faultclock.subjects.ports import Surroundings

#: The model's id of the call that is executed.
_CALL_ID: ContextVar[str] = ContextVar("call_id", default="")


def tools_of(agent: Agent) -> Declared:
    """Return what the agent's own tools declare of themselves."""
    return (
        own_tool(
            tool.name,
            tool.description,
            tool.parameters,
            gated=bool(tool.requires_confirmation),
        )
        for tool in _functions(agent)
    )


def own_session(agent: Agent, _: Any) -> str:
    """Return the class of a database that outlives the process."""
    return "" if type(agent.db) is InMemoryDb else kind_of(agent.db)


def sends_history(agent: Agent) -> bool:
    """Return whether the model is sent earlier turns."""
    return bool(agent.add_history_to_context)


def live(agent: Agent, surroundings: Surroundings) -> Life:
    """Return one life of the agent."""
    return _Life(agent, surroundings)


def _functions(agent: Agent) -> Iterator[Function]:
    """Yield the agent's tools as Agno gives them to a model."""
    for tool in agent.tools if isinstance(agent.tools, list) else ():
        if isinstance(tool, Toolkit):
            functions = list(tool.get_async_functions().values())
        elif isinstance(tool, Function):
            functions = [tool]
        else:
            functions = [Function.from_callable(tool)] if callable(tool) else []
        for function in functions:
            shown = function.model_copy(deep=True)
            shown.process_entrypoint()
            yield shown


class _Life(Life):
    def __init__(self, agent: Agent, surroundings: Surroundings) -> None:
        super().__init__(surroundings)
        self._agent = agent
        self._waited = False
        if agent.db is None:
            agent.db = InMemoryDb()
        # What is kept of one in memory is the scenario's.
        self._db = agent.db if type(agent.db) is InMemoryDb else None
        agent.tool_hooks = [*(agent.tool_hooks or ()), self._observe]
        for tool in agent.tools if isinstance(agent.tools, list) else ():
            if isinstance(tool, Function) and tool.tool_hooks:
                # Agno replaces the hooks of a tool by those of its agent.
                agent.tool_hooks = [*tool.tool_hooks, *agent.tool_hooks]

    async def _observe(
        self, function_name: str, function_call: Callable[..., Any], arguments: dict[str, Any]
    ) -> Any:
        return await self.tools.call(
            function_name, arguments, _CALL_ID.get(), lambda: there(function_call(**arguments))
        )

    async def resume(self, kept: Mapping[str, Any]) -> None:
        """Take the sessions up."""
        if self._db is not None:
            self._db._sessions = json.loads(kept["sessions"])

    async def turn(self, text: str) -> Any:
        """Go on with a run that waits for a person, then answer."""
        # An agent without a name has another id in each process, so its own runs are not asked for.
        session = await self._agent.aget_session(session_id=self.session_id)
        if session and session.runs and (begun := session.runs[-1]).is_paused:
            await self._decide(begun)
        return (await self._ended(await self._agent.arun(text, session_id=self.session_id))).content

    async def _ended(self, run: Any) -> Any:
        """Return the end of a run, after the answers of the person.

        Raises:
            RuntimeError: it ended with an error.
        """
        # An agent that is not shown its history has a session only while it waits for a person.
        self._waited |= run.is_paused
        if self._waited or sends_history(self._agent):
            # Agno makes records out of sets: their order follows the hash seed.
            kept = json.dumps(self._db._sessions, sort_keys=True) if self._db else ""
            await self.keep({"sessions": kept})
        if run.is_paused:
            return await self._decide(run)
        if run.status == RunStatus.error:
            raise RuntimeError(run.content)
        return run

    async def _decide(self, run: Any) -> Any:
        for needed in run.active_requirements:
            call = needed.tool_execution
            why_not = await self.approved(call.tool_name, call.tool_args or {}, call.tool_call_id)
            if why_not:
                needed.reject(why_not)
            else:
                needed.confirm()
        return await self._ended(
            await self._agent.acontinue_run(
                run_id=run.run_id, session_id=self.session_id, requirements=run.requirements
            )
        )


async def _executed(call: FunctionCall) -> Any:
    # Of the Responses API it is the id of the item (`fc_`), which is not the id of the call.
    _CALL_ID.set("" if (given := call.call_id or "").startswith("fc_") else given)
    return await _execute(call)


_execute = FunctionCall.aexecute
FunctionCall.aexecute = _executed
