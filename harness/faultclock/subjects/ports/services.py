"""The ports to what else surrounds a runtime: policy engine, hooks, telemetry, queue, archive.

Every method but `Policy.decide` is a coroutine function for an async subject and a plain one for
a blocking subject, and may raise anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from faultclock.model.scenario.services_script import HookSlot


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderTarget:
    """One provider of a chain.

    Attributes:
        base_url: where its API begins, without a slash at its end.
        attempts_max: attempts that the chain grants it, the first included; None: as the runtime
            has it.
    """

    id: str
    base_url: str
    model: str
    attempts_max: int | None = None


class Policy(Protocol):
    """The policy engine: it is asked before a tool is executed, and answers at once."""

    def decide(
        self, tool: str, arguments: Mapping[str, Any], *, call_id: str
    ) -> Literal["allow", "deny"]:
        """Return whether this call is allowed."""
        ...


class Hook(Protocol):
    """Code of somebody else that the runtime calls on the way."""

    @property
    def id(self) -> str:
        """Its name."""
        ...

    @property
    def slot(self) -> HookSlot:
        """Where it is called: around each tool execution, or around each request to the model."""
        ...

    def run(self, payload: Mapping[str, Any]) -> Any:
        """Look at what is about to happen, or has happened."""
        ...


class TelemetrySink(Protocol):
    """Where spans and metrics go."""

    def export(self, name: str, fields: Mapping[str, Any]) -> Any:
        """Export one; to return is to acknowledge."""
        ...


class Queue(Protocol):
    """A queue that the runtime pushes the result of each turn to."""

    def push(self, item: str, body: Mapping[str, Any]) -> Any:
        """Push one item; to return is to acknowledge. A repetition has the same `item`."""
        ...


class Archive(Protocol):
    """Files that are kept of each stage, by name; a file is replaced as a whole."""

    def save(self, name: str, text: str) -> Any:
        """Keep `text` under `name`, such as `review_raw.md`."""
        ...
