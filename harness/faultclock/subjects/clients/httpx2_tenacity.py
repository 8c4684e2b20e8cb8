"""httpx2 with tenacity's decorator around the call, as tenacity's own documentation writes it.

The decorator is the one that a person puts together from "Stopping" and "Waiting before retrying"
(tenacity, doc/source/index.rst, read 2026-11-21), figures included:

    @retry(wait=wait_random_exponential(multiplier=1, max=60), stop=stop_after_attempt(7))

Defaults, left as they are (tenacity 9.1.4, __init__.py): `retry` retries every Exception, so a
refused key and a KeyError of the program's own as well; `reraise` is False, so what comes out in
the end is a RetryError; nothing looks at Retry-After. Of httpx2 (2.16.2, _config.py): the pool's
limits, no HTTP/2, no redirects; a status is no error until `raise_for_status` is called.

What a user has to choose: the decorator's `wait` and `stop` (without them it retries for ever and
at once), what lies inside the decorated function (here the whole call: request, status, body or
stream), and the deadline, which httpx2 applies to each connect, read and write by itself.
"""

from __future__ import annotations

import httpx2
from tenacity import retry, stop_after_attempt, wait_random_exponential

from faultclock.subjects.binding import provider_adapter
from faultclock.subjects.clients.plain_httpx2 import asked, asked_async, async_client, sync_client
from faultclock.subjects.ports import OPENAI_ALIKE, ProviderRequest, Reply

_DISTRIBUTIONS = ("httpx2", "tenacity")


@provider_adapter(
    id="httpx2-tenacity",
    title="httpx2 with tenacity's @retry, async",
    open=async_client,
    warm_in_place=True,
    distributions=_DISTRIBUTIONS,
    dialect=OPENAI_ALIKE,
)
@retry(wait=wait_random_exponential(multiplier=1, max=60), stop=stop_after_attempt(7))
async def httpx2_tenacity(request: ProviderRequest, client: httpx2.AsyncClient) -> Reply:
    """Ask the provider; the decorator asks again."""
    return await asked_async(request, client)


@provider_adapter(
    id="httpx2-tenacity-sync",
    title="httpx2 with tenacity's @retry, blocking",
    open=sync_client,
    warm_in_place=True,
    distributions=_DISTRIBUTIONS,
    dialect=OPENAI_ALIKE,
)
@retry(wait=wait_random_exponential(multiplier=1, max=60), stop=stop_after_attempt(7))
def httpx2_tenacity_sync(request: ProviderRequest, client: httpx2.Client) -> Reply:
    """Ask the provider; the decorator asks again."""
    return asked(request, client)
