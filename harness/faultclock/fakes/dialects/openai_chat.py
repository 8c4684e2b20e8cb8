"""What is asked beside chat completions at their host: how many tokens a request will have."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from faultclock.fakes.kept.responses import counted
from faultclock.fakes.wire.dialect import Asked, Exchange, Shelf
from faultclock.fakes.wire.http_server import HttpRequest


def recalled(
    asked: Asked,
    request: HttpRequest,
    shelf: Shelf,
    exchange: Exchange,
    count: Callable[[Asked], int],
) -> Asked:
    """Return a request, and what it asks to be counted."""
    del request, shelf, exchange
    if not asked.beside:
        return asked
    said = asked.body.get("input")
    messages = said if isinstance(said, list) else [{"role": "user", "content": said}]
    return counted(replace(asked, body={"messages": messages}), count)
