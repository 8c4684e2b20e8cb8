"""Agents of AFK (Agent Forge Kit): a Runner on the agent as it is, with its own tools.

A tool makes a ToolResult of what its function raises, so the seam is inside of that. Approvals go
through an InteractionProvider, the session through a MemoryStore, and a run that was cut off goes
on with `resume`. An agent that has a runner keeps it, with its memory and its person.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

from afk.agents import Agent, PolicyEvent
from afk.agents.errors import AgentError
from afk.agents.types import ApprovalDecision
from afk.core.runner import Runner, RunnerConfig

from faultclock.subjects.frameworks.afk_memory import Memory
from faultclock.subjects.frameworks.life import Life
from faultclock.subjects.frameworks.own_tools import Declared, own_tool
from faultclock.subjects.ports import RunResult, Surroundings

#: The id that the model gave the call which a tool is in: AFK does not hand it to the function.
_CALL: ContextVar[str] = ContextVar("afk_tool_call", default="")
#: What a scenario asks for when something fails, in AFK's words.
_POLICIES = {
    "fail": "retry_then_fail",
    "degrade": "retry_then_degrade",
    "continue": "continue_with_error",
}


def tools_of(agent: Agent) -> Declared:
    """Return what the agent's own tools declare of themselves."""
    specs = [agent._normalize_tool(tool).spec for tool in agent.tools]
    return (
        own_tool(it.name, it.description, it.parameters_schema, gated=_is_gated(agent, it.name))
        for it in specs
    )


def live(agent: Agent, surroundings: Surroundings) -> Life:
    """Return one life of the agent."""
    return _Life(agent, surroundings)


def _is_gated(agent: Agent, tool: str) -> bool:
    """Return whether a rule of the agent's policy asks for an approval of any call of a tool."""
    if agent.policy_engine is None:
        return False
    where: dict[str, Any] = {"run_id": "", "thread_id": "", "step": 1, "context": {}}
    event = PolicyEvent(event_type="tool_before_execute", tool_name=tool, tool_args={}, **where)
    return bool(agent.policy_engine.evaluate(event).decision.action == "request_approval")


def _settled(own: Any, surroundings: Surroundings) -> Any:
    """Return the agent's FailSafeConfig with the limits and policies that a scenario asks for."""
    limits = surroundings.limits
    asked: dict[str, Any] = {
        "max_steps": limits.steps_max,
        "max_tool_calls": limits.tool_calls_max,
        "max_wall_time_s": limits.wall_time_s,
        "max_total_cost_usd": limits.cost_max_usd and float(limits.cost_max_usd),
    }
    asked |= {f"{it}_failure_policy": _POLICIES[to] for it, to in surroundings.policies.items()}
    return replace(own, **{name: value for name, value in asked.items() if value is not None})


class _Life(Life):
    def __init__(self, agent: Agent, surroundings: Surroundings) -> None:
        super().__init__(surroundings)
        self._agent = agent
        self._memory = Memory(self.keep)
        self._handle: Any = None
        agent.fail_safe = _settled(agent.fail_safe, surroundings)
        agent.tools = [agent._normalize_tool(tool) for tool in agent.tools]
        for tool in agent.tools:
            self._observe(tool)

    def _observe(self, tool: Any) -> None:
        """Let the calls of a tool go through the seam."""
        call, invoke = tool.call, tool._invoke

        async def called(raw_args: Any, *, tool_call_id: str | None = None, **options: Any) -> Any:
            _CALL.set(tool_call_id or "")
            return await call(raw_args, tool_call_id=tool_call_id, **options)

        async def invoked(args: Any, context: Any) -> Any:
            given = args.model_dump(mode="json")
            work = lambda: invoke(args, context)  # noqa: E731 - one expression
            return await self.tools.call(tool.spec.name, given, _CALL.get(), work)

        tool.call, tool._invoke = called, invoked

    async def resume(self, kept: Mapping[str, Any]) -> None:
        """Take up the memory, and the run that had not ended."""
        self._memory.load(kept)

    async def turn(self, text: str) -> RunResult:
        """Go on with a run that did not end, then answer."""
        runner = self._agent.runner or Runner(
            memory_store=self._memory,
            interaction_provider=self,
            config=RunnerConfig(interaction_mode="interactive"),
        )
        thread, begun = self.session_id, self._memory.run_id
        if begun is not None:
            # It may be too old by now, or nothing of it was stored: the message is answered.
            with contextlib.suppress(AgentError):
                handle = await runner.resume_handle(self._agent, run_id=begun, thread_id=thread)
                await self._ended(handle)
        handle = await runner.run_handle(self._agent, user_message=text, thread_id=thread)
        return await self._ended(handle)

    async def _ended(self, handle: Any) -> RunResult:
        self._handle = handle
        try:
            result = await handle.await_result()
        finally:
            self._handle = None
            await self._memory.note(None)
        if result is None:
            return RunResult(state="cancelled")
        reason = None if result.llm_response is None else result.llm_response.finish_reason
        return RunResult(text=result.final_text or "", state=result.state, finish_reason=reason)

    def cancel(self, scope: str, target: str | None) -> None:
        """Cancel the run through its handle."""
        if self._handle is None:
            super().cancel(scope, target)
        else:
            self._cancelling = asyncio.ensure_future(self._handle.cancel())

    async def request_approval(self, request: Any) -> ApprovalDecision:
        """Ask the person; the request names the tool in its reason, and has no arguments."""
        named = (tool.spec.name for tool in self._agent.tools if tool.spec.name in request.reason)
        tool = request.payload.get("tool_name") or next(named, "tool")
        why_not = await self.approved(tool, request.payload.get("tool_args") or {}, None)
        return ApprovalDecision(kind="deny" if why_not else "allow", reason=why_not or None)

    async def notify(self, event: Any) -> None:
        """Take note of the run that has begun."""
        if event.type == "run_started" and self._memory.run_id is None:
            await self._memory.note(event.run_id)
