"""Two requests of the unmodified OpenAI SDK without Faultclock: one 429, then a good answer.

The SDK's sleep is patched out, and there is no clock, trace or judgement. MockTransport is what
people do today: the SDK's own network code does not run at all. On a list of bytes it does run, but
for connecting. Over loopback all of it runs, certificates are read, and a server answers from a
constant.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Callable
from functools import partial

import httpcore2
import httpx2
import openai

_LIMITED = json.dumps({"error": {"message": "slow down", "type": "requests", "code": "x"}}).encode()
_GOOD = json.dumps(
    {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-simulated",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": "Hello."},
            }
        ],
    }
).encode()
_JSON = "application/json"


async def ask(client: openai.AsyncOpenAI) -> None:
    """Make the call of the scenario; waiting costs nothing."""
    client._sleep_for_retry = _no_sleep  # type: ignore[method-assign]
    await client.chat.completions.create(
        model="gpt-simulated", messages=[{"role": "user", "content": "Say hello."}]
    )
    await client.close()


async def _no_sleep(**_: object) -> None:
    return None


def mocked_call() -> None:
    """One 429 with Retry-After, then a good answer, through a mock transport."""
    answers = iter(
        (
            httpx2.Response(
                429, headers={"retry-after": "7", "content-type": _JSON}, content=_LIMITED
            ),
            httpx2.Response(200, headers={"content-type": _JSON}, content=_GOOD),
        )
    )

    async def main() -> None:
        transport = httpx2.MockTransport(lambda _: next(answers))
        http_client = httpx2.AsyncClient(transport=transport)
        await ask(openai.AsyncOpenAI(api_key="sk-simulated", http_client=http_client))

    asyncio.run(main())


def bytes_call(context: ssl.SSLContext) -> None:
    """The same through the SDK's HTTP client, whose connection is a list of bytes."""

    async def main() -> None:
        transport = httpx2.AsyncHTTPTransport(verify=context)
        answers = [_response("429 Too Many Requests", _LIMITED), _response("200 OK", _GOOD)]
        transport._pool._network_backend = httpcore2.AsyncMockBackend(answers)
        http_client = httpx2.AsyncClient(transport=transport)
        await ask(openai.AsyncOpenAI(api_key="sk-simulated", http_client=http_client))

    asyncio.run(main())


def loopback_call() -> None:
    """The same through real sockets, in one event loop with the server."""
    answers = iter((_response("429 Too Many Requests", _LIMITED), _response("200 OK", _GOOD)))

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await reader.readuntil(b"\r\n\r\n"):
            length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
            await reader.readexactly(length)
            answer = next(answers)
            writer.write(answer)
            if answer.startswith(b"HTTP/1.1 200"):
                break
        writer.close()

    async def main() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        url = f"http://127.0.0.1:{port}/v1"
        await ask(openai.AsyncOpenAI(api_key="sk-simulated", base_url=url))
        server.close()

    asyncio.run(main())


def _response(status: str, body: bytes) -> bytes:
    head = f"HTTP/1.1 {status}\r\ncontent-type: {_JSON}\r\nretry-after: 7\r\n"
    return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body


#: What is compared with a simulated run, by its name.
CALLS: dict[str, Callable[[], None]] = {
    "openai-async on MockTransport": mocked_call,
    "openai-async on a list of bytes": partial(bytes_call, ssl.create_default_context()),
    "openai-async over loopback": loopback_call,
}
