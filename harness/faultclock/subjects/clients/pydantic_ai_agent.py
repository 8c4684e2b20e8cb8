"""Pydantic AI exactly as it is: an Agent with its OpenAI chat model, retries and errors its own.

The agent is made for each call, with the request's key, address and deadline, and is given no
tools: what the model asks for is answered by the framework's own rules.
"""

from __future__ import annotations

from typing import Any

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.settings import ModelSettings

from faultclock.subjects import asking
from faultclock.subjects.binding import provider_adapter
from faultclock.subjects.ports import ProviderRequest

_DISTRIBUTIONS = ("httpx2", "openai", "pydantic-ai-slim")


def _agent(request: ProviderRequest) -> Agent:
    provider = OpenAIProvider(base_url=request.base_url, api_key=request.api_key)
    model = OpenAIChatModel(request.model, provider=provider)
    return Agent(model, model_settings=ModelSettings(timeout=request.timeout_s))


@provider_adapter(
    id="pydantic-ai",
    title="Pydantic AI agent on the OpenAI SDK as it is, async",
    open=_agent,
    distributions=_DISTRIBUTIONS,
)
async def pydantic_ai(request: ProviderRequest, agent: Agent) -> Any:
    """Ask once through an agent."""
    return await asking.agent(request, agent)


@provider_adapter(
    id="pydantic-ai-sync",
    title="Pydantic AI agent on the OpenAI SDK as it is, blocking",
    open=_agent,
    distributions=_DISTRIBUTIONS,
)
def pydantic_ai_sync(request: ProviderRequest, agent: Agent) -> Any:
    """Ask once through an agent."""
    return asking.agent_sync(request, agent)
