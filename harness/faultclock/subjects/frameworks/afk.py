"""Agents of AFK (Agent Forge Kit): a Runner on the agent as it is, with its own tools.

A tool catches what its function raises and makes a ToolResult of it, so the seam is inside of that.
Approvals go through the Runner's InteractionProvider, the session through a MemoryStore: AFK's own
in memory, kept in the store of the scenario. A run that was cut off goes on with `Runner.resume`.
An agent with a runner of its own keeps that: its memory and its person are then not the scenario's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import asdict
from typing import Any

from afk.agents import Agent, PolicyEvent
from afk.agents.types import ApprovalDecision, UserInputDecision
from afk.core.runner import Runner, RunnerConfig
from afk.memory import MemoryEvent
from afk.memory.adapters.in_memory import InMemoryMemoryStore

from faultclock.model.scenario.tool_script import ToolScript
from faultclock.subjects.frameworks.life import Life
from faultclock.subjects.frameworks.own_tools import own_tool
from faultclock.subjects.ports import RunResult, Surroundings

#: The id that the model gave the call which a tool is in: AFK does not hand it to the function.
_CALL: ContextVar[str] = ContextVar("afk_tool_call", default="")


def tools_of(agent: Agent) -> tuple[ToolScript, ...]:
    """Return what the agent's own tools declare of themselves."""
    found = (
        own_tool(
            tool.spec.name,
            tool.spec.description,
            tool.spec.parameters_schema,
            gated=_is_gated(agent, tool.spec.name),
        )
        for tool in _tools(agent)
    )
    return tuple(tool for tool in found if tool is not None)


def live(agent: Agent, surroundings: Surroundings) -> Life:
    """Return one life of the agent."""
    return _Life(agent, surroundings)


def _tools(agent: Agent) -> Iterator[Any]:
    for tool in agent.tools:
        yield agent._normalize_tool(tool)


def _is_gated(agent: Agent, tool: str) -> bool:
    """Return whether a rule of the agent's policy asks for an approval of any call of a tool."""
    if agent.policy_engine is None:
        return False
    event = PolicyEvent(
        event_type="tool_before_execute",
        run_id="",
        thread_id="",
        step=1,
        context={},
        tool_name=tool,
        tool_args={},
    )
    return bool(agent.policy_engine.evaluate(event).decision.action == "request_approval")


class _Life(Life):
    def __init__(self, agent: Agent, surroundings: Surroundings) -> None:
        super().__init__(surroundings)
        self._agent = agent
        self._memory = _Memory(self)
        self._handle: Any = None
        #: The run that has begun and not ended.
        self.run_id: str | None = None
        agent.tools = list(_tools(agent))
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
        self.run_id = kept["run_id"]
        await self._memory.load(kept)

    async def turn(self, text: str) -> RunResult:
        """Go on with a run that did not end, then answer."""
        runner = self._agent.runner or Runner(
            memory_store=self._memory,
            interaction_provider=self,
            config=RunnerConfig(interaction_mode="interactive"),
        )
        names = {"thread_id": self.session_id}
        if self.run_id is not None:
            begun = self.run_id
            await self._ended(await runner.resume_handle(self._agent, run_id=begun, **names))
        return await self._ended(await runner.run_handle(self._agent, user_message=text, **names))

    async def _ended(self, handle: Any) -> RunResult:
        self._handle = handle
        result = await handle.await_result()
        self._handle, self.run_id = None, None
        await self._memory.save()
        if result is None:
            return RunResult(state="cancelled")
        return RunResult(text=result.final_text or "", state=result.state)

    def cancel(self, scope: str, target: str | None) -> None:
        """Cancel the run through its handle."""
        if self._handle is None:
            super().cancel(scope, target)
        else:
            self._cancelling = asyncio.ensure_future(self._handle.cancel())

    # ------------------------------------------------------------------ the InteractionProvider

    async def request_approval(self, request: Any) -> ApprovalDecision:
        """Ask the person about a tool call.

        AFK's request has what the rule says, and no arguments; its reason names the tool.
        """
        named = (tool.spec.name for tool in self._agent.tools if tool.spec.name in request.reason)
        tool = request.payload.get("tool_name") or next(named, "tool")
        why_not = await self.approved(tool, request.payload.get("tool_args") or {}, None)
        return ApprovalDecision(kind="deny" if why_not else "allow", reason=why_not or None)

    async def request_user_input(self, request: Any) -> UserInputDecision:  # noqa: ARG002 - of AFK
        """Give no answer: scenarios have none to a question of a policy."""
        return UserInputDecision(kind="deny")

    async def notify(self, event: Any) -> None:
        """Take note of the run that has begun."""
        if event.type == "run_started" and self.run_id is None:
            self.run_id = event.run_id
            await self._memory.save()


class _Memory(InMemoryMemoryStore):  # type: ignore[misc]  # stands in an environment of its own
    """AFK's own store in memory, kept in the store of the scenario after each of its writes."""

    def __init__(self, life: _Life) -> None:
        super().__init__()
        self._life = life

    async def load(self, kept: Mapping[str, Any]) -> None:
        """Take up what an earlier life has kept."""
        for thread, key, value in kept["state"]:
            self._state_by_thread_key[thread, key] = value
        for event in kept["events"]:
            self._events_by_thread.setdefault(event["thread_id"], []).append(MemoryEvent(**event))

    async def save(self) -> None:
        """Keep all of it."""
        state = [[*key, value] for key, value in self._state_by_thread_key.items()]
        events = [asdict(event) for of in self._events_by_thread.values() for event in of]
        await self._life.keep({"run_id": self._life.run_id, "state": state, "events": events})

    async def append_event(self, event: MemoryEvent) -> None:
        """Keep an event."""
        await super().append_event(event)
        await self.save()

    async def put_state(self, thread_id: str, key: str, value: Any) -> None:
        """Keep a value."""
        await super().put_state(thread_id, key, value)
        await self.save()

    async def delete_state(self, thread_id: str, key: str) -> None:
        """Forget a value."""
        await super().delete_state(thread_id, key)
        await self.save()

    async def replace_thread_events(self, thread_id: str, events: list[MemoryEvent]) -> None:
        """Keep other events in place of those of a thread."""
        await super().replace_thread_events(thread_id, events)
        await self.save()
