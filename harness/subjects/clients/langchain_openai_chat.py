"""LangChain's ChatOpenAI exactly as it is: retries, stream deadline and errors its own.

A model is made for each call, with the request's key, address and deadline.
"""

from __future__ import annotations

import json
from typing import Any

from langchain_core.messages import AIMessage, BaseMessageChunk
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from harness.subjects.binding import provider_adapter
from harness.subjects.ports import ProviderRequest, Reply, ToolCall

__all__ = ["langchain_openai", "langchain_openai_sync"]

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
async def langchain_openai(request: ProviderRequest, model: ChatOpenAI) -> Reply:
    """Ask once through the model."""
    if not request.stream:
        return _reply(await model.ainvoke(request.messages))
    whole: BaseMessageChunk | None = None
    async for chunk in model.astream(request.messages):
        whole = chunk if whole is None else whole + chunk
    return _reply(whole)


@provider_adapter(
    id="langchain-openai-sync",
    title="LangChain ChatOpenAI as it is, blocking",
    open=_model,
    distributions=_DISTRIBUTIONS,
)
def langchain_openai_sync(request: ProviderRequest, model: ChatOpenAI) -> Reply:
    """Ask once through the model."""
    if not request.stream:
        return _reply(model.invoke(request.messages))
    whole: BaseMessageChunk | None = None
    for chunk in model.stream(request.messages):
        whole = chunk if whole is None else whole + chunk
    return _reply(whole)


def _reply(message: Any) -> Reply:
    """Return the answer in LangChain's message, or in the sum of its chunks."""
    assert isinstance(message, AIMessage)
    calls = tuple(ToolCall(call["name"], json.dumps(call["args"])) for call in message.tool_calls)
    return Reply(message.text, calls)
