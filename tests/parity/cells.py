"""The table of the parity check: clients, faults as scripts, and what one cell comes to."""

from __future__ import annotations

import asyncio
import inspect
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import openai
import requests

from tests.sim.net.scripted import (
    FIN,
    RESET,
    STALL,
    THINK,
    Reply,
    Send,
    Wait,
    chat_completion,
    chunked_head,
    chunks,
    head,
    json_reply,
    raw_reply,
    sse_events,
)

#: Certificate and key of the loopback server, made for these tests only; it proves nothing else.
CERTIFICATE = Path(__file__).with_name("loopback.pem")

#: Seconds. Long, so that a loaded machine does not meet it; short where it is to be met.
PATIENCE_S = 10.0
IMPATIENCE_S = 0.4

_MESSAGES: Any = [{"role": "user", "content": "hi"}]
_ERROR = {"error": {"message": "no", "type": "server_error", "code": "no"}}
_PAUSE = Wait(200_000_000)


@dataclass(frozen=True)
class Outcome:
    """What one call came to: its result in words, requests that arrived, connects it made."""

    result: str
    requests: int
    connects: int


@dataclass(frozen=True)
class Cell:
    """One client against one fault; `replies` is None where nobody listens."""

    client: str
    fault: str
    replies: tuple[Reply, ...] | None
    timeout_s: float = PATIENCE_S

    @property
    def name(self) -> str:
        """Client and fault."""
        return f"{self.client} | {self.fault}"

    @property
    def is_reset_of_blocking_client(self) -> bool:
        """Whether a blocking client meets a reset; see `tls_hides_resets`."""
        blocking = not inspect.iscoroutinefunction(_CLIENTS[self.client])
        return blocking and ("reset" in self.fault or "RST" in self.fault)


def _trusting() -> ssl.SSLContext:
    return ssl.create_default_context(cafile=CERTIFICATE)


def _sdk(base: str, timeout_s: float) -> openai.OpenAI:
    http_client = openai.DefaultHttpxClient(verify=_trusting(), timeout=timeout_s)
    return openai.OpenAI(base_url=f"{base}/v1", api_key="k", max_retries=1, http_client=http_client)


def _async_sdk(base: str, timeout_s: float) -> openai.AsyncOpenAI:
    http_client = openai.DefaultAsyncHttpxClient(verify=_trusting(), timeout=timeout_s)
    return openai.AsyncOpenAI(
        base_url=f"{base}/v1", api_key="k", max_retries=1, http_client=http_client
    )


async def _openai_async(base: str, timeout_s: float) -> str:
    async with _async_sdk(base, timeout_s) as client:
        answer = await client.chat.completions.create(model="m", messages=_MESSAGES)
        return str(answer.id)


def _openai_sync(base: str, timeout_s: float) -> str:
    with _sdk(base, timeout_s) as client:
        return str(client.chat.completions.create(model="m", messages=_MESSAGES).id)


async def _openai_async_stream(base: str, timeout_s: float) -> str:
    async with _async_sdk(base, timeout_s) as client:
        stream = await client.chat.completions.create(model="m", messages=_MESSAGES, stream=True)
        return f"{len([chunk async for chunk in stream])} chunks"


def _openai_sync_stream(base: str, timeout_s: float) -> str:
    with _sdk(base, timeout_s) as client:
        stream = client.chat.completions.create(model="m", messages=_MESSAGES, stream=True)
        return f"{len(list(stream))} chunks"


def _requests(base: str, timeout_s: float) -> str:
    response = requests.post(f"{base}/v1/x", json={}, timeout=timeout_s, verify=str(CERTIFICATE))
    response.raise_for_status()
    return str(response.json()["id"])


async def _aiohttp(base: str, timeout_s: float) -> str:
    timeout = aiohttp.ClientTimeout(total=timeout_s)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.post(f"{base}/v1/x", json={}, ssl=_trusting()) as response,
        ):
            response.raise_for_status()
            return str((await response.json())["id"])
    finally:
        # aiohttp's documentation asks for it: TLS connections close after the session has.
        await asyncio.sleep(0.25)


_CLIENTS: dict[str, Callable[[str, float], str | Awaitable[str]]] = {
    "openai async": _openai_async,
    "openai sync": _openai_sync,
    "requests": _requests,
    "aiohttp": _aiohttp,
    "openai async stream": _openai_async_stream,
    "openai sync stream": _openai_sync_stream,
}

_HALF = b'{"id": "chatcmpl-1", "obj'

_FAULTS: dict[str, tuple[Reply, ...] | None] = {
    "nothing": (json_reply(200, chat_completion()),),
    "429s": (json_reply(429, _ERROR),),
    "500s": (json_reply(500, _ERROR),),
    "500 then fine": (json_reply(500, _ERROR), json_reply(200, chat_completion())),
    "reset before headers": ((THINK, RESET),),
    "FIN before headers": ((THINK, FIN),),
    "reset mid body": (
        raw_reply(
            head(200, [("content-type", "application/json"), ("content-length", "300")]) + _HALF,
            _PAUSE,
            RESET,
        ),
    ),
    "FIN mid body": (
        raw_reply(
            head(200, [("content-type", "application/json"), ("content-length", "300")]) + _HALF,
            _PAUSE,
            FIN,
        ),
    ),
    "truncated chunked": (
        raw_reply(chunked_head("application/json") + b"20\r\n" + _HALF[:10], _PAUSE, FIN),
    ),
    "bad JSON": (json_reply(200, _HALF),),
    "HTML 200": (
        raw_reply(head(200, [("content-type", "text/html"), ("content-length", "4")]) + b"<p/>"),
    ),
    "stall": ((THINK, STALL),),
    "stall mid body": (raw_reply(chunked_head("application/json") + b"20\r\n{", STALL),),
    "connect refused": None,
}


def _stream(*ending: Any, last: bool = False, extra: tuple[bytes, ...] = ()) -> tuple[Reply, ...]:
    data = chunks(*sse_events(3, done=False), *extra, last=last)
    return ((THINK, Send(chunked_head()), Send(data), _PAUSE, *ending),)


_STREAM_FAULTS: dict[str, tuple[Reply, ...]] = {
    "nothing": ((THINK, Send(chunked_head()), Send(chunks(*sse_events(3), last=True))),),
    "cut FIN": _stream(FIN),
    "cut RST": _stream(RESET),
    "clean EOF without DONE": _stream(last=True),
    "error event": _stream(last=True, extra=(b'data: {"error": {"message": "no"}}\n\n',)),
    "stall": _stream(STALL),
}


def _patience(fault: str) -> float:
    return IMPATIENCE_S if fault.startswith("stall") else PATIENCE_S


CELLS: tuple[Cell, ...] = tuple(
    Cell(client, fault, replies, _patience(fault))
    for clients, faults in (
        (("openai async", "openai sync", "requests", "aiohttp"), _FAULTS),
        (("openai async stream", "openai sync stream"), _STREAM_FAULTS),
    )
    for fault, replies in faults.items()
    for client in clients
)


def call(cell: Cell, base: str) -> Callable[[], Any]:
    """Return the cell's call against `base`, async or blocking as its client is."""
    client = _CLIENTS[cell.client]
    if inspect.iscoroutinefunction(client):

        async def subject() -> str:
            return str(await client(base, cell.timeout_s))

        return subject
    return lambda: client(base, cell.timeout_s)


def outcome_of(subject: Callable[[], Any]) -> str:
    """Run the call here and now and describe what it came to."""
    try:
        value = asyncio.run(subject()) if inspect.iscoroutinefunction(subject) else subject()
    except Exception as error:
        return describe(error)
    return str(value)


def describe(error: BaseException) -> str:
    """Return the class names of the error and everything it was raised from."""
    names = []
    current: BaseException | None = error
    while current is not None:
        names.append(f"{type(current).__module__.partition('.')[0]}.{type(current).__qualname__}")
        following = current.__cause__
        if following is None and not current.__suppress_context__:
            following = current.__context__
        current = following
    return " <- ".join(names)
