"""LangChain's ChatOpenAI exactly as it is: retries, stream deadline and errors its own.

A model is made for each call, with the request's key, address and deadline.
"""

from __future__ import annotations

from typing import Any

from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from faultclock.subjects.asking import chat_model, chat_model_sync
from faultclock.subjects.binding import provider_adapter
from faultclock.subjects.ports import ProviderRequest

_DISTRIBUTIONS = ("httpx2", "langchain-core", "langchain-openai", "openai")


def _model(request: ProviderRequest) -> ChatOpenAI:
    return ChatOpenAI(
        model=request.model,
        api_key=SecretStr(request.api_key),
        base_url=request.base_url,
        timeout=request.timeout_s,
    )


@provider_adapter(
    id="langchain-openai",
    title="LangChain ChatOpenAI as it is, async",
    open=_model,
    distributions=_DISTRIBUTIONS,
)
async def langchain_openai(request: ProviderRequest, model: ChatOpenAI) -> Any:
    """Ask once through the model."""
    return await chat_model(request, model)


@provider_adapter(
    id="langchain-openai-sync",
    title="LangChain ChatOpenAI as it is, blocking",
    open=_model,
    distributions=_DISTRIBUTIONS,
)
def langchain_openai_sync(request: ProviderRequest, model: ChatOpenAI) -> Any:
    """Ask once through the model."""
    return chat_model_sync(request, model)
