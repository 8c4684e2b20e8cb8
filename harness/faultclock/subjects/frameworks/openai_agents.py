"""Agents of the OpenAI Agents SDK: a Runner on the agent as it is, with its own tools.

Approvals go through `needs_approval` and RunState, the history through a
Session of the SDK, which decides itself what is kept when. Tracing uploads are off:
`tracing_disabled`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, get_args

from agents import Agent, RunConfig, Runner, RunState
from agents.memory.session import SessionABC

from faultclock.model.scenario.tool_script import ToolScript
from faultclock.subjects.frameworks.deps import default_deps
from faultclock.subjects.frameworks.life import Life, as_json
from faultclock.subjects.frameworks.openai_sessions import StoreSession
from faultclock.subjects.frameworks.openai_tools import functions_of, observe
from faultclock.subjects.frameworks.own_tools import own_tool
from faultclock.subjects.ports import Surroundings

_UNTRACED = RunConfig(tracing_disabled=True)
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
    handed = None if isinstance(given, SessionABC) else given
    return default_deps(declared[0] if declared else None, handed, "a context")


class _Life(Life):
    def __init__(self, agent: Agent[Any], surroundings: Surroundings, given: Any) -> None:
        super().__init__(surroundings)
        self._agent, self._context = agent, _context(agent, given)
        self._own = given if isinstance(given, SessionABC) else None
        self._session = StoreSession(self, self._own, surroundings.folder)
        for tool, _ in functions_of(agent):
            observe(tool, self.tools)

    async def start(self) -> None:
        """Open the session."""
        await (super().start() if self._own is None else self._session.start())

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
                why_not = await self.approved(raw.name, json.loads(raw.arguments), raw.call_id)
                if why_not:
                    state.reject(item, rejection_message=why_not)
                else:
                    state.approve(item)
            result = await self._asked(state)
        if session.waiting is not None:
            await session.wait_for_person(None)
        output = result.final_output
        return output if isinstance(output, str) else as_json(output)

    async def _asked(self, start: Any) -> Any:
        given: Any = {"session": self._session, "run_config": _UNTRACED, "context": self._context}
        if not self.streaming:
            return await Runner.run(self._agent, start, **given)
        result = Runner.run_streamed(self._agent, start, **given)
        async for event in result.stream_events():
            if event.type == "raw_response_event" and event.data.type == _TEXT_DELTA:
                self.deliver(event.data.delta)
        return result
