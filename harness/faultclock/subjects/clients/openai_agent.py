"""A small agent on the OpenAI SDK, as many are written: a loop, and a list of messages.

It asks nobody, saves nothing and cannot be cancelled. Nothing in it is made to fail: it is what
one gets by following the provider's own guide, and it shows what a runtime has to add.
"""

from __future__ import annotations

import json
from typing import Any

import openai

from faultclock.subjects.bind_runtime import runtime
from faultclock.subjects.ports import Surroundings


class Agent:
    """One conversation in memory."""

    def __init__(self, surroundings: Surroundings) -> None:
        self._world = surroundings
        self._tools = {tool.contract.name: tool for tool in surroundings.tools}
        self._messages: list[Any] = []

    async def run_turn(self, text: str) -> str | None:
        """Ask until the model has no more tools to call, and return its text."""
        self._messages.append({"role": "user", "content": text})
        world = self._world
        async with openai.AsyncOpenAI(api_key=world.api_key, timeout=world.timeout_s) as client:
            while True:
                answer = await client.chat.completions.create(
                    model=world.model, messages=self._messages
                )
                message = answer.choices[0].message
                self._messages.append(message.to_dict())
                if not message.tool_calls:
                    return message.content
                for call in message.tool_calls:
                    self._messages.append(await self._call_tool(call))

    async def _call_tool(self, call: Any) -> dict[str, Any]:
        arguments = json.loads(call.function.arguments)
        result = await self._tools[call.function.name].execute(arguments, call_id=call.id)
        return {"role": "tool", "tool_call_id": call.id, "content": json.dumps(result.value)}


openai_agent = runtime(
    id="openai-agent",
    title="Small agent on the OpenAI SDK, as many are written",
    distributions=("openai", "httpx2"),
)(Agent)
