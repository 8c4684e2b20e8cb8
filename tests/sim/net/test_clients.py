"""Every HTTP client works unmodified against a simulated https host."""

from __future__ import annotations

import asyncio
import http.client
import json
import select
import ssl
import time
from collections.abc import Callable
from typing import Any

import aiohttp
import httpx
import httpx2
import openai
import pytest
import requests
import truststore
import urllib3

from tests.sim.net.scripted import (
    FIN,
    Send,
    Wait,
    chat_completion,
    chunked_head,
    chunks,
    json_reply,
    sse_events,
)
from tests.sim.net.simulation import SECOND, simulate

URL = "https://api.openai.com/v1/models"
MESSAGES: Any = [{"role": "user", "content": "hi"}]


async def _openai_async() -> str:
    completion = await openai.AsyncOpenAI().chat.completions.create(model="m", messages=MESSAGES)
    return completion.id


def _openai_sync() -> str:
    return openai.OpenAI().chat.completions.create(model="m", messages=MESSAGES).id


def _requests_get() -> Any:
    return requests.get(URL, timeout=5).json()["id"]


def _urllib3_get() -> Any:
    return urllib3.PoolManager().request("GET", URL).json()["id"]


def _http_client_get() -> Any:
    connection = http.client.HTTPSConnection("api.openai.com", timeout=5)
    connection.request("GET", "/v1/models")
    return json.loads(connection.getresponse().read())["id"]


async def _aiohttp_get() -> Any:
    async with aiohttp.ClientSession() as session, session.get(URL) as response:
        return (await response.json())["id"]


def _httpx_get() -> Any:
    return httpx.get(URL).json()["id"]


async def _httpx_async_get() -> Any:
    async with httpx.AsyncClient() as client:
        return (await client.get(URL)).json()["id"]


def _httpx2_get() -> Any:
    return httpx2.get(URL).json()["id"]


async def _httpx2_async_get() -> Any:
    async with httpx2.AsyncClient() as client:
        return (await client.get(URL)).json()["id"]


def _httpx_truststore() -> Any:
    context = truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return httpx.get(URL, verify=context).json()["id"]


async def _httpx_async_truststore() -> Any:
    context = truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    async with httpx.AsyncClient(verify=context) as client:
        return (await client.get(URL)).json()["id"]


async def _open_connection() -> Any:
    reader, writer = await asyncio.open_connection("api.openai.com", 443, ssl=True)
    writer.write(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
    await reader.readuntil(b"\r\n\r\n")
    body = await reader.readexactly(len(json.dumps(chat_completion())))
    writer.close()
    await writer.wait_closed()
    return json.loads(body)["id"]


CLIENTS: list[Callable[[], Any]] = [
    _openai_async,
    _openai_sync,
    _requests_get,
    _urllib3_get,
    _http_client_get,
    _aiohttp_get,
    _httpx_get,
    _httpx_async_get,
    _httpx2_get,
    _httpx2_async_get,
    _httpx_truststore,
    _httpx_async_truststore,
    _open_connection,
]


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.__name__[1:])
def test_client_gets_an_answer_over_https(client: Callable[[], Any]) -> None:
    """The unmodified client talks https to a real host name and gets the scripted answer."""
    run = simulate(client)
    assert (run.reason, run.value, run.error) == ("completed", "chatcmpl-1", None)
    assert run.service.requests.count == 1
    assert run.facts("net.connect")[0]["host"] == "api.openai.com"
    assert run.facts("net.connect")[0]["port"] == 443
    assert run.seconds == pytest.approx(0.04)


async def _stream_async() -> str:
    stream = await openai.AsyncOpenAI().chat.completions.create(
        model="m", messages=MESSAGES, stream=True
    )
    return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])


def _stream_sync() -> str:
    stream = openai.OpenAI().chat.completions.create(model="m", messages=MESSAGES, stream=True)
    return "".join(chunk.choices[0].delta.content or "" for chunk in stream)


@pytest.mark.parametrize(
    "client", [_stream_async, _stream_sync], ids=lambda client: client.__name__[1:]
)
def test_slow_drip_arrives_piece_by_piece(client: Callable[[], Any]) -> None:
    """A streamed answer that drips for 50 virtual seconds is read whole, at its own times."""
    data = chunks(*sse_events(3), last=True)
    steps: list[Any] = [Send(chunked_head())]
    for start in range(0, len(data), len(data) // 10 + 1):
        steps += [Wait(5 * SECOND), Send(data[start : start + len(data) // 10 + 1])]
    run = simulate(client, tuple(steps))
    assert run.value == "w0 w1 w2 "
    delivered = [fact["at"] for fact in run.facts("net.delivered")]
    assert delivered == pytest.approx([0.02 + 5 * number for number in range(11)])
    assert sum(fact["bytes_count"] for fact in run.facts("net.delivered")) > len(data)


def test_sync_client_reuses_its_connection() -> None:
    """Two requests of one client go over one connection."""

    def subject() -> None:
        client = openai.OpenAI()
        for _ in range(2):
            client.chat.completions.create(model="m", messages=MESSAGES)

    run = simulate(subject)
    assert run.service.requests.count == 2
    assert len(run.facts("net.connect")) == 1


def test_async_client_reuses_its_connection() -> None:
    """Two requests of one async client go over one connection."""

    async def subject() -> None:
        client = openai.AsyncOpenAI()
        for _ in range(2):
            await client.chat.completions.create(model="m", messages=MESSAGES)

    run = simulate(subject)
    assert run.service.requests.count == 2
    assert len(run.facts("net.connect")) == 1


def test_async_client_reconnects_when_the_server_closed_an_idle_connection() -> None:
    """A pooled connection that the server closed is found dead before it is used again."""

    async def subject() -> None:
        async with httpx.AsyncClient() as client:
            for _ in range(2):
                await client.get(URL)
                await asyncio.sleep(1)

    ok = json_reply(200, chat_completion())
    run = simulate(subject, (*ok, Wait(SECOND // 2), FIN))
    assert run.service.requests.count == 2
    assert len(run.facts("net.connect")) == 2
    assert run.error is None


@pytest.mark.parametrize("library", ["httpx", "requests"])
def test_sync_client_reconnects_when_the_server_closed_an_idle_connection(library: str) -> None:
    """Blocking pools look at the idle socket with poll and see that it is dead."""

    def subject() -> None:
        client = httpx.Client() if library == "httpx" else requests.Session()
        with client:
            for _ in range(2):
                client.get(URL)
                time.sleep(1)

    ok = json_reply(200, chat_completion())
    run = simulate(subject, (*ok, Wait(SECOND // 2), FIN))
    assert run.service.requests.count == 2
    assert len(run.facts("net.connect")) == 2
    assert run.error is None


def test_keep_alive_expires_in_virtual_time() -> None:
    """httpx drops a connection that was idle for more than five virtual seconds."""

    async def subject() -> None:
        async with httpx.AsyncClient() as client:
            await client.get(URL)
            await asyncio.sleep(30)
            await client.get(URL)

    assert len(simulate(subject).facts("net.connect")) == 2


def test_poll_outside_the_world_is_the_real_one() -> None:
    """Outside a world the patched names do what the originals do."""
    assert "SimPoll" not in type(select.poll()).__name__
    assert select.select([], [], [], 0) == ([], [], [])
