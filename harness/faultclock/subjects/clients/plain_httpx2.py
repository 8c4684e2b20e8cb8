"""One exchange through httpx2 without a retry: what the decorators of other libraries wrap."""

from __future__ import annotations

import httpx2

from faultclock.subjects.clients.plain_chat import (
    StreamedText,
    body_of,
    headers_of,
    reply_of,
    url_of,
)
from faultclock.subjects.ports import ProviderRequest, Reply


def async_client(request: ProviderRequest) -> httpx2.AsyncClient:
    """Return a client with the deadline of `request`, and all else by default."""
    return httpx2.AsyncClient(headers=headers_of(request), timeout=request.timeout_s)


def sync_client(request: ProviderRequest) -> httpx2.Client:
    """Return a client with the deadline of `request`, and all else by default."""
    return httpx2.Client(headers=headers_of(request), timeout=request.timeout_s)


async def asked_async(request: ProviderRequest, client: httpx2.AsyncClient) -> Reply:
    """Ask once.

    Raises:
        httpx2.HTTPError: the transport failed, or the status is 400 or above.
    """
    if not request.stream:
        answer = await client.post(url_of(request), json=body_of(request))
        answer.raise_for_status()
        return reply_of(answer.json())
    streamed = StreamedText()
    async with client.stream("POST", url_of(request), json=body_of(request)) as response:
        response.raise_for_status()
        async for line in response.aiter_lines():
            streamed.add(line)
            if streamed.done:
                break
    return streamed.reply()


def asked(request: ProviderRequest, client: httpx2.Client) -> Reply:
    """Ask once; see `asked_async`."""
    if not request.stream:
        answer = client.post(url_of(request), json=body_of(request))
        answer.raise_for_status()
        return reply_of(answer.json())
    streamed = StreamedText()
    with client.stream("POST", url_of(request), json=body_of(request)) as response:
        response.raise_for_status()
        for line in response.iter_lines():
            streamed.add(line)
            if streamed.done:
                break
    return streamed.reply()
