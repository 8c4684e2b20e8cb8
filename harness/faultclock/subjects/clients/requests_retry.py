"""requests with urllib3's Retry mounted on the session, as the documentation of requests shows it.

The object is the one of "Advanced Usage, Example: Automatic Retries" of requests, figures included
(read 2026-11-21):

    Retry(total=3, backoff_factor=0.1, status_forcelist=[502, 503, 504], allowed_methods={"POST"})

Defaults, left as they are (urllib3 2.8.0, util/retry.py): Retry-After is honored on 413, 429 and
503, up to six hours, and these are retried for it although the list does not name 429; without the
header a 429 is not retried; no wait before the first retry, then factor * 2**(n - 1), without
jitter; statuses that are used up come out as RetryError. A retry ends with the headers: what
breaks in the body or in a stream is never retried. Of requests (2.34.2): no status is an error
until `raise_for_status` is called.

What a user has to choose: the methods, since POST is not among those that are retried by default;
the statuses, of which there are none by default; and the deadline, without which requests waits
for ever. It counts for each connect and each read by itself.
"""

from __future__ import annotations

import requests
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

from faultclock.subjects.binding import provider_adapter
from faultclock.subjects.clients.plain_chat import (
    StreamedText,
    body_of,
    headers_of,
    reply_of,
    url_of,
)
from faultclock.subjects.ports import OPENAI_ALIKE, ProviderRequest, Reply


def _session() -> requests.Session:
    session = requests.Session()
    retries = Retry(
        total=3,
        backoff_factor=0.1,
        status_forcelist=[502, 503, 504],
        allowed_methods={"POST"},
    )
    session.mount("https://", HTTPAdapter(max_retries=retries))
    # A provider that is served on this machine has no TLS.
    session.mount("http://", HTTPAdapter(max_retries=retries))
    return session


@provider_adapter(
    id="requests-retry",
    title="requests with urllib3's Retry, blocking",
    open=_session,
    warm_in_place=True,
    distributions=("requests", "urllib3"),
    dialect=OPENAI_ALIKE,
)
def requests_retry(request: ProviderRequest, session: requests.Session) -> Reply:
    """Ask the provider; the session's adapter asks again."""
    with session.post(
        url_of(request),
        headers=headers_of(request),
        json=body_of(request),
        stream=request.stream,
        timeout=request.timeout_s,
    ) as response:
        response.raise_for_status()
        if not request.stream:
            return reply_of(response.json())
        streamed = StreamedText()
        for line in response.iter_lines(decode_unicode=True):
            streamed.add(line)
            if streamed.done:
                break
        return streamed.reply()
