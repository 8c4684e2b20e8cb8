"""The OpenAI Agents SDK exactly as it is: a Runner on its chat completions model.

An agent and a client are made for each call, with the request's key, address and deadline, and
no tools. Tracing is off in every run (`run/variables.py`): it would be taken for an attempt.
"""

from __future__ import annotations

import asyncio

from agents import Agent, OpenAIChatCompletionsModel, Runner
from openai import AsyncOpenAI
from openai.types.responses import ResponseTextDeltaEvent

from faultclock.subjects.binding import provider_adapter
from faultclock.subjects.ports import ProviderRequest, Reply

_DISTRIBUTIONS = ("httpx", "openai", "openai-agents")


def _agent(request: ProviderRequest) -> Agent:
    client = AsyncOpenAI(
        api_key=request.api_key, base_url=request.base_url, timeout=request.timeout_s
    )
    model = OpenAIChatCompletionsModel(model=request.model, openai_client=client)
    return Agent(name="Assistant", model=model)


@provider_adapter(
    id="openai-agents",
    title="OpenAI Agents SDK on its chat completions model as it is, async",
    open=_agent,
    distributions=_DISTRIBUTIONS,
)
async def openai_agents(request: ProviderRequest, agent: Agent) -> Reply:
    """Ask once through a run of an agent."""
    if not request.stream:
        return Reply((await Runner.run(agent, request.messages)).final_output)
    return await _streamed(request, agent)


@provider_adapter(
    id="openai-agents-sync",
    title="OpenAI Agents SDK on its chat completions model as it is, blocking",
    open=_agent,
    distributions=_DISTRIBUTIONS,
)
def openai_agents_sync(request: ProviderRequest, agent: Agent) -> Reply:
    """Ask once through a run of an agent.

    The SDK has no blocking stream, so a blocking program gives it a loop.
    """
    if not request.stream:
        return Reply(Runner.run_sync(agent, request.messages).final_output)
    return asyncio.run(_streamed(request, agent))


async def _streamed(request: ProviderRequest, agent: Agent) -> Reply:
    run = Runner.run_streamed(agent, request.messages)
    text: list[str] = []
    async for event in run.stream_events():
        if event.type == "raw_response_event" and isinstance(event.data, ResponseTextDeltaEvent):
            text.append(event.data.delta)
    return Reply("".join(text))
