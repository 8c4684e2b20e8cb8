"""aiohttp as its client quickstart writes it: a session, one request, and no retry around it.

Defaults, left as they are (aiohttp 3.14.5, client.py): nothing is retried but a request of an
idempotent method whose kept connection turns out to be closed, and POST is none; a status is no
error until `raise_for_status` is called; a body that is not labelled JSON is refused by `json()`.

What a user has to choose: the deadline. aiohttp's own is five minutes for the whole request, body
included, and so is this one, with the figure that the adapter is given.
"""

from __future__ import annotations

import aiohttp

from faultclock.subjects.binding import provider_adapter
from faultclock.subjects.clients.plain_chat import (
    StreamedText,
    body_of,
    headers_of,
    reply_of,
    url_of,
)
from faultclock.subjects.ports import OPENAI_ALIKE, ProviderRequest, Reply


def _session(request: ProviderRequest) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        headers=headers_of(request), timeout=aiohttp.ClientTimeout(total=request.timeout_s)
    )


@provider_adapter(
    id="aiohttp",
    title="aiohttp as it is, async",
    open=_session,
    warm_in_place=True,
    distributions=("aiohttp",),
    dialect=OPENAI_ALIKE,
)
async def aiohttp_client(request: ProviderRequest, session: aiohttp.ClientSession) -> Reply:
    """Ask the provider once."""
    async with session.post(url_of(request), json=body_of(request)) as response:
        response.raise_for_status()
        if not request.stream:
            return reply_of(await response.json())
        streamed = StreamedText()
        async for line in response.content:
            streamed.add(line.decode().rstrip())
            if streamed.done:
                break
        return streamed.reply()
