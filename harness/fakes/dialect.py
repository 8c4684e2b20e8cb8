"""The seam between the provider and one API's way of speaking.

A dialect turns requests into facts and intents into bytes. It holds no connection, no clock and
no fault: those are the provider's. To add an API, write a file with a class that fills
`Dialect`, add its error payloads to `fixtures/payloads/`, and name it in `provider.DIALECTS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from harness.fakes.answer import Answer, ErrorFacts
from harness.fakes.http_server import HttpRequest
from harness.model.payload import ErrorPayload
from harness.model.scenario import ProviderScript

__all__ = ["Asked", "Dialect", "Exchange", "Refusal"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why the provider answers a request with an error of its own accord.

    Attributes:
        payload: name of the error payload.
        values: what fills the `{name}` places of its message.
    """

    payload: str
    values: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a dialect understood of a request.

    Attributes:
        model: the model that it names, if it does.
        stream: whether it asks for an event stream.
        refusal: set where the request is not one that the provider would answer.
        body: the parsed body; empty when it is not an object.
    """

    model: str | None
    stream: bool
    refusal: Refusal | None
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """What identifies one exchange; everything generated for it follows from this.

    Attributes:
        number: 1-based, over the whole run.
        seed: of the run.
        unix_s: wall-clock second of the virtual instant at which the request arrived.
        think_ms: how long the provider claims to have worked, in whole milliseconds.
    """

    number: int
    seed: int
    unix_s: int
    think_ms: int


class Dialect(Protocol):
    """One API's way of speaking."""

    @property
    def name(self) -> str:
        """The name that scenarios use, such as `openai-chat`."""
        ...

    @property
    def own_payloads(self) -> tuple[str, ...]:
        """Names of the error payloads that it answers with of its own accord."""
        ...

    def read(self, request: HttpRequest) -> Asked:
        """Return what `request` asks for."""
        ...

    def messages(self, asked: Asked) -> list[dict[str, Any]]:
        """Return facts about each message that a request tells the model, for the trace."""
        ...

    def good_answer(self, script: ProviderScript, asked: Asked, exchange: Exchange) -> Answer:
        """Return the answer of a provider to which nothing goes wrong."""
        ...

    def error_answer(
        self, payload: ErrorPayload, status: int, exchange: Exchange, values: Mapping[str, str]
    ) -> Answer:
        """Return an answer of `status` whose body is `payload`."""
        ...

    def error_event(self, payload: ErrorPayload) -> tuple[bytes, ErrorFacts]:
        """Return the bytes of an error inside a stream, and its facts."""
        ...
