"""A rig that runs the fake provider without the simulation: a heap of events and two endpoints.

It fills just what the provider uses of a world, so these tests say what the provider does and
nothing about sockets or loops.
"""

from __future__ import annotations

import heapq
import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from faultclock.fakes.provider.provider import FakeProvider
from faultclock.fakes.provider.providers import FakeProviders, ProvidersState
from faultclock.load.payloads import load_payloads
from faultclock.model.scenario.fault import FaultRule
from faultclock.model.scenario.provider_script import ProviderScript
from faultclock.model.scenario.scenario import scenario_of


class _RigCall:
    """A scheduled callback that can be taken back."""

    def __init__(self, fn: Callable[..., None], args: tuple[Any, ...]) -> None:
        self.fn, self.args, self.cancelled = fn, args, False

    def cancel(self) -> None:
        self.cancelled = True


class _RigKernel:
    """Virtual time and a record of facts."""

    def __init__(self) -> None:
        self.now_ns = 0
        self.facts: list[tuple[int, str, str, dict[str, Any]]] = []
        self._heap: list[tuple[int, int, _RigCall]] = []
        self._numbers = itertools.count()

    def record(self, actor: str, kind: str, /, **payload: Any) -> int:
        json.dumps(payload, allow_nan=False)
        self.facts.append((self.now_ns, actor, kind, payload))
        return len(self.facts)

    def call_after(self, delay_ns: int, fn: Callable[..., None], *args: Any) -> _RigCall:
        call = _RigCall(fn, args)
        heapq.heappush(self._heap, (self.now_ns + delay_ns, next(self._numbers), call))
        return call

    def run(self, until_ns: int | None = None) -> None:
        while self._heap and (until_ns is None or self._heap[0][0] <= until_ns):
            at_ns, _, call = heapq.heappop(self._heap)
            if not call.cancelled:
                self.now_ns = at_ns
                call.fn(*call.args)
        if until_ns is not None:
            self.now_ns = until_ns


class _RigEndpoint:
    """The server's endpoint; what it sends is kept with its instant."""

    def __init__(self, kernel: _RigKernel, call: str | None) -> None:
        self.connection_id = "c1"
        self.last_call_id = call
        self.rx = bytearray()
        self.eof = self.closed = False
        self.error: OSError | None = None
        self.sink: Any = None
        self.sent: list[tuple[int, bytes]] = []
        self.end: str | None = None
        self._kernel = kernel

    def send(self, data: bytes) -> int:
        if self.error is not None:
            raise self.error
        assert not self.closed, "nothing is sent on a closed endpoint"
        self.sent.append((self._kernel.now_ns, data))
        return len(data)

    def close(self) -> None:
        self.end = self.end or "close"
        self.closed = True

    def reset(self) -> None:
        self.end = self.end or "reset"
        self.closed = True

    # what the client's side does
    def arrive(self, data: bytes, call: str | None = None) -> None:
        self.last_call_id = call or self.last_call_id
        self.rx += data
        self.sink.on_readable()

    def client_closes(self) -> None:
        self.eof = True
        self.sink.on_readable()

    def client_resets(self) -> None:
        self.error = ConnectionResetError(104, "reset")
        self.sink.on_readable()


class _RigNetwork:
    """Takes the policy, the default service, and those of single hosts."""

    policy: Any = None

    def __init__(self) -> None:
        self.services: dict[str | None, Callable[[Any], None]] = {}

    def listen(self, host: str | None, port: int | None, service: Callable[[Any], None]) -> None:
        assert port is None
        assert host not in self.services
        self.services[host] = service


@dataclass
class _Rig:
    """A provider with its kernel and network."""

    provider: Any
    kernel: _RigKernel = field(default_factory=_RigKernel)
    network: _RigNetwork = field(default_factory=_RigNetwork)

    def __post_init__(self) -> None:
        self.provider.mount(self)

    def connect(self, call: str | None = "ask/1", host: str | None = None) -> _RigEndpoint:
        """Open a connection of `call`."""
        endpoint = _RigEndpoint(self.kernel, call)
        self.network.services.get(host, self.network.services[None])(endpoint)
        return endpoint

    def exchange(
        self,
        data: bytes | None = None,
        call: str = "ask/1",
        host: str | None = None,
        **body: Any,
    ) -> _RigEndpoint:
        """Send one request on a new connection and let everything happen."""
        endpoint = self.connect(call, host)
        endpoint.arrive(request_bytes(**body) if data is None else data)
        self.kernel.run()
        return endpoint

    def of_kind(self, kind: str) -> list[dict[str, Any]]:
        """Return the payloads of the facts of one kind."""
        return [payload for _, _, name, payload in self.kernel.facts if name == kind]


@dataclass(frozen=True)
class Parsed:
    """A response as it came over the wire."""

    status: int
    headers: dict[str, str]
    body: bytes
    whole: bool


def request_bytes(
    *,
    method: str = "POST",
    target: str = "/v1/chat/completions",
    authorization: str | None = "Bearer sk-not-a-key",
    content: bytes | None = None,
    version: str = "1.1",
    extra: str = "",
    **body: Any,
) -> bytes:
    """Return a chat-completions request; keyword arguments are members of its body."""
    asked = {"model": "gpt-x", "messages": [{"role": "user", "content": "Say hello."}], **body}
    asked = {name: value for name, value in asked.items() if value is not None}
    payload = json.dumps(asked).encode() if content is None else content
    auth = "" if authorization is None else f"authorization: {authorization}\r\n"
    head = (
        f"{method} {target} HTTP/{version}\r\nhost: api.openai.com\r\n{auth}{extra}"
        f"content-length: {len(payload)}\r\n\r\n"
    )
    return head.encode() + payload


def parse(wire: bytes) -> Parsed:
    """Read one response by hand, so that h11 does not check itself."""
    head, _, rest = wire.partition(b"\r\n\r\n")
    status_line, *lines = head.decode().split("\r\n")
    pairs = (line.split(": ", 1) for line in lines)
    headers = {name.lower(): value for name, value in pairs}
    if headers.get("transfer-encoding") == "chunked":
        body, whole = b"", False
        while rest and not whole:
            size, _, rest = rest.partition(b"\r\n")
            piece, rest = rest[: int(size, 16)], rest[int(size, 16) + 2 :]
            body, whole = body + piece, int(size, 16) == 0
        return Parsed(int(status_line.split()[1]), headers, body, whole)
    whole = len(rest) == int(headers.get("content-length", -1))
    return Parsed(int(status_line.split()[1]), headers, rest, whole)


def data_of(body: bytes) -> list[Any]:
    """Return the parsed data of an event stream; `[DONE]` stays text."""
    texts = [line[6:] for line in body.decode().split("\n\n") if line.startswith("data: ")]
    return [text if text == "[DONE]" else json.loads(text) for text in texts]


def rule(then: dict[str, Any], **extra: Any) -> FaultRule:
    """Return the fault rule that a file would say like this."""
    return FaultRule.model_validate({"id": "fault", "then": then, **extra})


@pytest.fixture(scope="session")
def payloads() -> Any:
    """The shipped payloads."""
    return load_payloads("openai-chat")


@pytest.fixture
def make_rig(payloads: Any) -> Callable[..., _Rig]:
    """Return a maker of rigs: faults as a file says them, and members of the script."""

    def make(*faults: dict[str, Any] | FaultRule, seed: int = 0, **script: Any) -> _Rig:
        rules = [
            item if isinstance(item, FaultRule) else rule(item, id=f"fault-{number}")
            for number, item in enumerate(faults, 1)
        ]
        return _Rig(FakeProvider(ProviderScript(faults=tuple(rules), **script), payloads, seed))

    return make


@pytest.fixture
def make_chain(payloads: Any) -> Callable[..., _Rig]:
    """Return a maker of rigs with several providers: sections of a scenario, as a file has them."""

    def make(*, state: ProvidersState | None = None, seed: int = 0, **sections: Any) -> _Rig:
        scenario = scenario_of(
            {"id": "tests/chain", "title": "A chain", "why": "For a test.", "role": "runtime"}
            | sections
        )
        kept = state or ProvidersState.initial(scenario.world.fallbacks)
        return _Rig(FakeProviders(scenario, payloads, seed, kept))

    return make


class _Wire:
    """Helpers that tests share."""

    parse = staticmethod(parse)
    request = staticmethod(request_bytes)
    data_of = staticmethod(data_of)
    rule = staticmethod(rule)

    @staticmethod
    def received(endpoint: _RigEndpoint) -> bytes:
        return b"".join(data for _, data in endpoint.sent)


@pytest.fixture(scope="session")
def wire() -> type[_Wire]:
    """Helpers on wire bytes."""
    return _Wire
