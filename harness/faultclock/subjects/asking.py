"""How clients, chat models and agents of well-known libraries are asked for one answer.

No library is imported here: an object that is asked is there already. Retries, errors and
deadlines are the object's own.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from typing import Any

from faultclock.subjects.ports import ProviderRequest, Reply
from faultclock.subjects.reading import StreamedReply, reply_of


async def asked_async(request: ProviderRequest, client: Any) -> Any:
    """Ask a client that is like OpenAI's, async one."""
    create = client.chat.completions.create
    if not request.stream:
        return reply_of(await create(**arguments(request)))
    answer = await create(**arguments(request), stream=True)
    if not isinstance(answer, AsyncIterator):
        # A server, or a client that is only like OpenAI's, may know no streams.
        return reply_of(answer)
    return await streamed_async(answer)


def asked(request: ProviderRequest, client: Any) -> Any:
    """Ask a client that is like OpenAI's blocking one."""
    create = client.chat.completions.create
    if not request.stream:
        return reply_of(create(**arguments(request)))
    answer = create(**arguments(request), stream=True)
    if not isinstance(answer, Iterator):
        return reply_of(answer)
    return streamed(answer)


def arguments(request: ProviderRequest) -> dict[str, Any]:
    """Return what `create` is given."""
    given: dict[str, Any] = {"model": request.model, "messages": request.messages}
    if request.tools:
        given["tools"] = request.tools
    return given


async def streamed_async(chunks: AsyncIterable[Any]) -> Reply:
    """Return what the chunks of an async stream say together."""
    whole = StreamedReply()
    async for chunk in chunks:
        whole.add(chunk)
    return whole.reply()


def streamed(chunks: Iterable[Any]) -> Reply:
    """Return what the chunks of a stream say together."""
    whole = StreamedReply()
    for chunk in chunks:
        whole.add(chunk)
    return whole.reply()


async def chat_model(request: ProviderRequest, model: Any) -> Any:
    """Ask a chat model of LangChain, async."""
    if not request.stream:
        return reply_of(await model.ainvoke(request.messages))
    whole: Any = None
    async for chunk in model.astream(request.messages):
        whole = chunk if whole is None else whole + chunk
    return reply_of(whole)


def chat_model_sync(request: ProviderRequest, model: Any) -> Any:
    """Ask a chat model of LangChain, blocking."""
    if not request.stream:
        return reply_of(model.invoke(request.messages))
    whole: Any = None
    for chunk in model.stream(request.messages):
        whole = chunk if whole is None else whole + chunk
    return reply_of(whole)


async def agent(request: ProviderRequest, asked: Any) -> Any:
    """Ask an agent of Pydantic AI, async: with the words of the user, with which a run begins."""
    prompt = request.messages[-1]["content"]
    if not request.stream:
        return reply_of((await asked.run(prompt)).output)
    async with asked.run_stream(prompt) as streamed:
        return "".join([text async for text in streamed.stream_text(delta=True)])


def agent_sync(request: ProviderRequest, asked: Any) -> Any:
    """Ask an agent of Pydantic AI, blocking."""
    prompt = request.messages[-1]["content"]
    if not request.stream:
        return reply_of(asked.run_sync(prompt).output)
    with asked.run_stream_sync(prompt) as streamed:
        return "".join(streamed.stream_text(delta=True))
