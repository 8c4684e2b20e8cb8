"""One request to a JSON service, for the reference tools and the reference extension."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

from faultclock.agents.connection import ask_once, ask_once_blocking
from faultclock.agents.exchange import Exchange
from faultclock.subjects.ports import CancelSignal, TypedError


class ServiceError(Exception):
    """The service gave no good answer. Carries what could be seen, and no judgement.

    Attributes:
        kind: where it was seen.
        status: HTTP status, None when there was none.
    """

    def __init__(
        self,
        kind: Literal["status", "deadline", "network", "malformed", "stopped"],
        status: int | None = None,
    ) -> None:
        super().__init__(f"the service failed: {kind} {status or ''}".rstrip())
        self.kind = kind
        self.status = status


class JsonExchange(Exchange[Any]):
    """The state of one exchange; its answer is the parsed body.

    Args:
        body: what is sent as JSON, by POST; None: nothing is sent, and the method is GET.
    """

    keeps_alive = False

    def __init__(self, url: str, api_key: str | None = None, body: Any = None) -> None:
        super().__init__(url)
        headers = [
            ("Host", self.authority),
            ("Accept", "application/json"),
            ("Connection", "close"),
        ]
        if api_key is not None:
            headers.append(("Authorization", f"Bearer {api_key}"))
        data = b"" if body is None else json.dumps(body).encode()
        if data:
            headers += [("Content-Type", "application/json"), ("Content-Length", str(len(data)))]
        self.request_bytes = self._written("POST" if data else "GET", self.target, headers, data)

    def _finish(self) -> Any:
        if self._status != 200:
            raise ServiceError("status", self._status)
        try:
            return json.loads(self._body)
        except ValueError as error:
            raise ServiceError("malformed") from error

    def _broken(self, *, cut: bool) -> ServiceError:
        # A status that is known says more than the missing rest of its body.
        if self._status >= 400:
            return ServiceError("status", self._status)
        return ServiceError("network" if cut else "malformed")

    def unreachable(self, error: OSError) -> ServiceError:
        return ServiceError("deadline" if isinstance(error, TimeoutError) else "network")


@contextmanager
def stopping(signal: CancelSignal, error: TypedError) -> Iterator[None]:
    """Let work that is cancelled end with a typed error, where its signal has said so before."""
    try:
        yield
    except asyncio.CancelledError:
        if not signal.cancelled:
            raise
        raise error from None


async def ask(url: str, api_key: str | None, deadline_s: float, body: Any = None) -> Any:
    """Ask once and return the parsed body of a good answer.

    Raises:
        ServiceError: there was none; the connection is closed by then.
    """
    return await ask_once(JsonExchange(url, api_key, body), deadline_s)


def ask_blocking(
    url: str, api_key: str | None, deadline_s: float, stopped: Callable[[], bool]
) -> Any:
    """Do what `ask` does with blocking sockets, looking now and then whether it is to stop."""

    def look() -> None:
        if stopped():
            raise ServiceError("stopped") from None

    exchange = JsonExchange(url, api_key)
    return ask_once_blocking(exchange, deadline_s, connect_s=deadline_s, look=look)
