"""httpx2 with stamina's decorator around the call: `@stamina.retry(on=httpx2.HTTPError)`.

The decorator is the one at the head of stamina's README (stamina 26.1.0), without the `attempts=3`
of that example, so that stamina's own defaults show.

Defaults, left as they are (stamina 26.1.0, _core.py): 10 attempts, none begun later than 45 s after
the first; waits of min(5 s, 0.1 s * 2**(attempt - 1) + uniform(0 s, 1 s)); the last exception is
let through as it is; nothing looks at Retry-After, unless a user gives a backoff hook as `on`. Of
httpx2 (2.16.2): see `httpx2_tenacity`.

What a user has to choose: `on`. httpx2.HTTPError is what the README names: transport failures and,
by `raise_for_status`, every status from 400 on, a refused key included. A KeyError of the program's
own and a ValueError of a broken body are none, and pass. And the deadline, which httpx2 applies to
each connect, read and write by itself.
"""

from __future__ import annotations

import httpx2
import stamina

from faultclock.subjects.binding import provider_adapter
from faultclock.subjects.clients.plain_httpx2 import asked, asked_async, async_client, sync_client
from faultclock.subjects.ports import OPENAI_ALIKE, ProviderRequest, Reply

_DISTRIBUTIONS = ("httpx2", "stamina", "tenacity")


@provider_adapter(
    id="stamina",
    title="httpx2 with stamina's @retry, async",
    open=async_client,
    warm_in_place=True,
    distributions=_DISTRIBUTIONS,
    dialect=OPENAI_ALIKE,
)
@stamina.retry(on=httpx2.HTTPError)
async def stamina_async(request: ProviderRequest, client: httpx2.AsyncClient) -> Reply:
    """Ask the provider; the decorator asks again."""
    return await asked_async(request, client)


@provider_adapter(
    id="stamina-sync",
    title="httpx2 with stamina's @retry, blocking",
    open=sync_client,
    warm_in_place=True,
    distributions=_DISTRIBUTIONS,
    dialect=OPENAI_ALIKE,
)
@stamina.retry(on=httpx2.HTTPError)
def stamina_sync(request: ProviderRequest, client: httpx2.Client) -> Reply:
    """Ask the provider; the decorator asks again."""
    return asked(request, client)
