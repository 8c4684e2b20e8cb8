"""A recording as services: what the hosts in it answered that are no model's provider.

Each request is answered as it was, in the order of the recording; the last answer repeats. Secrets
are taken out, and so are headers that mean nothing to a client.
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from faultclock.errors import Problem, SourceError
from faultclock.model.scenario.fault import WITHOUT_A_BODY
from faultclock.model.scenario.provider_script import HttpAnswer
from faultclock.model.scenario.service_host import ServiceHost
from faultclock.recordings.bodies import as_json
from faultclock.recordings.exchange import Exchange, header
from faultclock.recordings.formats import read_recording
from faultclock.recordings.payloads import kept_headers
from faultclock.recordings.providers import destination_of
from faultclock.recordings.scrub import Scrubber

_USUAL_PORTS = (None, 80, 443)
#: Statuses of an answer; a recorder may have noted another where none came.
_STATUSES = range(200, 600)


def recorded_services(content: bytes, path: str) -> tuple[ServiceHost, ...]:
    """Return the hosts of a recording that are no model's provider, with what they answered.

    Args:
        path: for messages.

    Raises:
        SourceError: it is no recording, or no such host answers in it.
    """
    recording = read_recording(content, path)
    scrubber = Scrubber(recording.exchanges)
    asked: dict[str, dict[str, list[Exchange]]] = {}
    for exchange in recording.exchanges:
        place = _place(exchange)
        if place is not None and exchange.status in _STATUSES:
            host, request = place
            asked.setdefault(host, {}).setdefault(request, []).append(exchange)
    services = tuple(
        ServiceHost(host=host, answers=tuple(_answers(requests, scrubber)))
        for host, requests in asked.items()
    )
    if not services:
        message = "no host in this recording answers, but for a model's provider"
        hint = "a services file begins with `services:`"
        raise SourceError((Problem(path=path, line=1, column=1, message=message, hint=hint),))
    return services


def _place(exchange: Exchange) -> tuple[str, str] | None:
    """Return the host and the request of an exchange; None where a model's provider was asked."""
    try:
        parts = urlsplit(exchange.url)
        host, port = (parts.hostname or "").lower(), parts.port
    except ValueError:
        return None
    if not host or destination_of(exchange, lambda _: True).provider:
        return None
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return host if port in _USUAL_PORTS else f"{host}:{port}", f"{exchange.method} {target}"


def _answers(requests: dict[str, list[Exchange]], scrubber: Scrubber) -> Iterator[HttpAnswer]:
    for request, exchanges in requests.items():
        for number, exchange in enumerate(exchanges, 1):
            headers = {name: scrubber.text(value) for name, value in kept_headers(exchange)}
            told = header(exchange.response_headers, "content-type")
            yield HttpAnswer.model_validate(
                {
                    "request": _without_secrets(request, scrubber),
                    "nth": f"{number}+" if number == len(exchanges) else number,
                    "status": exchange.status,
                    "headers": headers | ({"content-type": told} if told else {}),
                    "body": _body(exchange, scrubber),
                }
            )


def _without_secrets(request: str, scrubber: Scrubber) -> str:
    """Return a request, without its query where that has a secret, which differs in a run."""
    return request if scrubber.text(request) == request else request.partition("?")[0]


def _body(exchange: Exchange, scrubber: Scrubber) -> object:
    body = exchange.response_body
    if not body or exchange.status in WITHOUT_A_BODY:
        return None
    text = scrubber.text(body.decode("utf-8", "replace"))
    value = as_json(text.encode())
    return text if value is None or isinstance(value, str) else value
