"""Fakes of what surrounds an adapter, for tests that need no simulated world."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from faultclock.subjects.ports import ProviderRequest


@dataclass
class FakeHost:
    """A Host that keeps what it is told, in order."""

    told: list[tuple[str, Any]] = field(default_factory=list)

    def audit(
        self,
        *,
        error_class: str | None,
        code: str | None,
        context: Mapping[str, Any],
        attempt: int | None = None,
    ) -> None:
        """Keep class, code and attempt."""
        self.told.append(("audit", (error_class, code, attempt)))

    def event(self, name: str, /, **fields: Any) -> None:
        """Keep the name."""
        self.told.append(("event", name))

    def audit_event(self, name: str, /, **fields: Any) -> None:
        """Keep the name and the fields."""
        self.told.append(("audit_event", {"name": name, "fields": fields}))

    def show_user(self, message: str) -> None:
        """Keep the message."""
        self.told.append(("user", message))

    def show_operator(
        self, message: str, *, actions: Sequence[str] = (), pill: str | None = None
    ) -> None:
        """Keep the message."""
        self.told.append(("operator", message))

    def tell_model(self, shape: Mapping[str, Any]) -> None:
        """Keep the shape."""
        self.told.append(("model", dict(shape)))

    def delivered(self, text: str) -> None:
        """Keep the piece."""
        self.told.append(("content", text))

    def of(self, what: str) -> list[Any]:
        """Return what was told to one audience."""
        return [value for kind, value in self.told if kind == what]


@pytest.fixture
def host() -> FakeHost:
    """A host without a memory of its own."""
    return FakeHost()


@pytest.fixture
def request_(host: FakeHost) -> ProviderRequest:
    """A plain request with that host."""
    return ProviderRequest(host=host, messages=[{"role": "user", "content": "Say hello."}])


class FakeWriter:
    """Keeps what is written, and how it was ended."""

    def __init__(self) -> None:
        self.written = b""
        self.ended = ""
        self.transport = self

    def write(self, data: bytes) -> None:
        """Keep the bytes."""
        self.written += data

    def close(self) -> None:
        """End in peace."""
        self.ended += "close"

    def abort(self) -> None:
        """End at once."""
        self.ended += "abort"


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[FakeWriter]]:
    """Return a function that plans what each connection meets; None is silence."""
    writers: list[FakeWriter] = []
    planned: Iterator[Any] = iter(())

    async def open_connection(host: str, port: int, **_: Any) -> Any:
        received = next(planned)
        if isinstance(received, BaseException):
            raise received
        reader = asyncio.StreamReader()
        if received is not None:
            reader.feed_data(received)
            reader.feed_eof()
        writers.append(FakeWriter())
        return reader, writers[-1]

    monkeypatch.setattr(asyncio, "open_connection", open_connection)

    def plan(*received: Any) -> list[FakeWriter]:
        nonlocal planned
        planned = iter(received)
        return writers

    return plan


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Waits that were asked for; none is slept."""
    waits: list[float] = []

    async def sleep(delay_s: float) -> None:
        waits.append(delay_s)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    monkeypatch.setattr(time, "sleep", waits.append)
    return waits
