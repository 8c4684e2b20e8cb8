"""Assistant agents of AutoGen, as they are: the tools of their workbenches go through the seam.

AutoGen hands each tool the id of the model's call, and cancels by a token of its own. What is kept
in the store of the scenario is `save_state`, after each turn.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from autogen_agentchat.agents import AssistantAgent
from autogen_core import CancellationToken

from faultclock.subjects.frameworks.life import Life
from faultclock.subjects.frameworks.own_tools import Declared, own_tool
from faultclock.subjects.ports import Surroundings


def tools_of(agent: AssistantAgent) -> Declared:
    """Return what the agent's own tools declare of themselves."""
    return (
        own_tool(tool.name, tool.description, tool.schema.get("parameters"))
        for tool in _tools(agent)
    )


def live(agent: AssistantAgent, surroundings: Surroundings) -> Life:
    """Return one life of the agent."""
    return _Life(agent, surroundings)


def _tools(agent: AssistantAgent) -> Iterator[Any]:
    """Yield the tools that are objects here; those of an MCP server are not."""
    for workbench in agent._workbench:
        yield from getattr(workbench, "_tools", ())


class _Life(Life):
    def __init__(self, agent: AssistantAgent, surroundings: Surroundings) -> None:
        super().__init__(surroundings)
        self._agent = agent
        self._token = CancellationToken()
        for tool in _tools(agent):
            self._observe(tool)

    def _observe(self, tool: Any) -> None:
        """Let the calls of a tool go through the seam."""
        real = tool.run_json

        async def run_json(args: Any, cancellation_token: Any, call_id: str | None = None) -> Any:
            return await self.tools.call(
                tool.name,
                args,
                call_id or "",
                lambda: real(args, cancellation_token, call_id=call_id),
            )

        tool.run_json = run_json

    async def resume(self, kept: Mapping[str, Any]) -> None:
        """Take up what the agent remembered."""
        await self._agent.load_state(kept["state"])

    def cancel(self, scope: str, target: str | None) -> None:  # noqa: ARG002 - of the port
        """Cancel the turn that runs, with AutoGen's token."""
        self._token.cancel()

    async def turn(self, text: str) -> Any:
        """Answer one message of the user."""
        self._token = CancellationToken()
        result = await self._agent.run(task=text, cancellation_token=self._token)
        await self.keep({"state": await self._agent.save_state()})
        return result.messages[-1].to_text()
