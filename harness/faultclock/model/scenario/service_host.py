"""ServiceHost: another host of the world, which is no model's provider, and what it answers.

The tools of an agent ask such hosts. What goes wrong there is said as it is of a provider.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable
from typing import ClassVar, Self

from pydantic import Field, field_validator, model_validator

from faultclock.model._base import SparseValue, Value
from faultclock.model.duration import MILLISECOND_NS, DurationNs
from faultclock.model.scenario.fault import FaultPlan
from faultclock.model.scenario.mcp_server import McpServer
from faultclock.model.scenario.payload import ErrorPayload
from faultclock.model.scenario.provider_script import (
    HttpAnswer,
    PayloadName,
    ProviderScript,
    unique_faults,
)

#: A name, an address, or the subject's own machine; with or without a port.
_HOST = r"^[a-z0-9_-]+(\.[a-z0-9_-]+)*(:[0-9]{1,5})?$"


#: Begins the place of a server that is started.
STDIO = "stdio:"


class ServiceHost(SparseValue):
    """One host, or one port of it, and what is answered there."""

    SPARSE: ClassVar[frozenset[str]] = frozenset(
        {"host", "command", "answers", "mcp", "payloads", "think_time", "chunk_interval", "faults"}
    )

    host: str | None = Field(default=None, pattern=_HOST)
    """Its name or address in lower case, such as `api.example.com` or `localhost:8080`. Without a
    port it is every port of the host."""
    command: str | None = Field(default=None, min_length=1)
    """In place of a host: what starts an MCP server that speaks over its input and output, as a
    shell has it. Nothing is started."""
    answers: tuple[HttpAnswer, ...] = ()
    """The first that fits a request is its answer."""
    mcp: McpServer | None = None
    """A server of the Model Context Protocol that stands there."""
    payloads: dict[PayloadName, ErrorPayload] = {}
    """Error answers by the name that the faults use. They stand before those of `http-json`, or of
    `mcp`."""
    think_time: DurationNs = 100 * MILLISECOND_NS
    """Delay between the last request byte and the first answer byte."""
    chunk_interval: DurationNs = 20 * MILLISECOND_NS
    """Delay between the parts of a stream."""
    faults: FaultPlan = ()
    """What goes wrong there, as it is said of a provider."""

    _unique = field_validator("faults")(unique_faults)

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if bool(self.answers) == (self.mcp is not None):
            raise ValueError("give exactly one of answers and mcp")
        if (self.host is None) == (self.command is None):
            raise ValueError("give exactly one of host and command")
        if self.command is not None and self.mcp is None:
            raise ValueError("command goes with mcp")
        return self

    @property
    def place(self) -> str:
        """What names it: its host, or what starts it."""
        return self.host or f"{STDIO}{shlex.join(self.words)}"

    @property
    def words(self) -> tuple[str, ...]:
        """The words of its command, the program without its folder; none where it has a host."""
        first, *rest = shlex.split(self.command or "") or [""]
        return (first.rpartition("/")[2], *rest) if first else ()

    @property
    def name(self) -> str:
        """The host without its port."""
        return (self.host or "").partition(":")[0]

    @property
    def port(self) -> int | None:
        """The port; None where it is every one."""
        port = (self.host or "").partition(":")[2]
        return int(port) if port else None

    @property
    def script(self) -> ProviderScript:
        """What it does, in the terms of a provider."""
        names = ("answers", "mcp", "payloads", "think_time", "chunk_interval", "faults")
        same = {name: getattr(self, name) for name in names}
        dialect = "http-json" if self.mcp is None else "mcp"
        return ProviderScript(dialect=dialect).model_copy(update=same)


class ServicesFile(Value):
    """The hosts that a file names; `--services` puts them into each scenario."""

    services: tuple[ServiceHost, ...] = Field(min_length=1)

    @field_validator("services")
    @classmethod
    def _unique(cls, services: tuple[ServiceHost, ...]) -> tuple[ServiceHost, ...]:
        check_hosts(services)
        return services


def check_hosts(services: tuple[ServiceHost, ...]) -> None:
    """Check that no host stands there twice.

    Raises:
        ValueError: one does.
    """
    places = [service.place for service in services]
    twice = next((place for place in places if places.count(place) > 1), None)
    if twice is not None:
        raise ValueError(f"two services have the place {twice!r}: write them in one")


def would_answer(asked: Iterable[tuple[str, str]]) -> str:
    """Return the lines of a services file that answer these requests, each a host and a request.

    Example:
        >>> print(would_answer([("api.example.com", "GET /v1/now")]))
        services:
          - host: api.example.com
            answers:
              - {request: "GET /v1/now", body: {}}
    """
    hosts: dict[str, dict[str, None]] = {}
    for host, request in asked:
        hosts.setdefault(host, {})[request] = None
    lines = ["services:"]
    for host, requests in hosts.items():
        lines += [f"  - host: {host}", "    answers:"]
        lines += [f"      - {{request: {json.dumps(text)}, body: {{}}}}" for text in requests]
    return "\n".join(lines)


def would_answer_in_one_line(host: str, request: str) -> str:
    """Return the same for one request, in a single line.

    Example:
        >>> would_answer_in_one_line("api.example.com", "GET /v1/now")
        'services: [{host: api.example.com, answers: [{request: "GET /v1/now", body: {}}]}]'
    """
    answer = f"{{request: {json.dumps(request)}, body: {{}}}}"
    return f"services: [{{host: {json.dumps(host)[1:-1]}, answers: [{answer}]}}]"
