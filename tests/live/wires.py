"""A clock that is turned by hand, and connections whose other end is a test: nothing waits."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable
from itertools import count
from typing import Any

from faultclock.live.endpoint import LiveEndpoint
from faultclock.live.kernel import LiveKernel
from faultclock.live.server import LiveServer
from faultclock.model.scenario.scenario import Scenario, scenario_of


class _Timer:
    """One call that is to come."""

    def __init__(self) -> None:
        self.cancelled = False

    def cancel(self) -> None:
        """Never call it."""
        self.cancelled = True


class ManualTime:
    """Timers and a monotonic clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now_ns = 5_000_000_000
        self._numbers = count()
        self._queue: list[tuple[int, int, _Timer, Callable[..., object], tuple[Any, ...]]] = []

    def clock(self) -> int:
        """Return the time in nanoseconds."""
        return self.now_ns

    def call_later(self, delay: float, callback: Callable[..., object], /, *args: Any) -> _Timer:
        """Call back when the clock was moved by `delay` seconds."""
        timer = _Timer()
        due_ns = self.now_ns + round(delay * 1e9)
        heapq.heappush(self._queue, (due_ns, next(self._numbers), timer, callback, args))
        return timer

    def pass_ms(self, milliseconds: float) -> None:
        """Move the clock, and call what is due on the way."""
        until_ns = self.now_ns + round(milliseconds * 1e6)
        while self._queue and self._queue[0][0] <= until_ns:
            due_ns, _, timer, callback, args = heapq.heappop(self._queue)
            self.now_ns = max(self.now_ns, due_ns)
            if not timer.cancelled:
                callback(*args)
        self.now_ns = until_ns


class _Socket:
    def __init__(self) -> None:
        self.options: list[tuple[int, int, bytes]] = []

    def setsockopt(self, level: int, name: int, value: bytes) -> None:
        """Note the option."""
        self.options.append((level, name, value))


class Wire(asyncio.Transport):
    """The transport of one accepted connection.

    Attributes:
        received: what the client has been sent.
        ended: `close` or `abort`, once this side ended it.
        unsent: bytes that the system has not taken yet.
    """

    def __init__(self, server: LiveServer) -> None:
        super().__init__()
        self.received = bytearray()
        self.ended = ""
        self.unsent = 0
        self.socket = _Socket()
        self.endpoint = LiveEndpoint(server)
        self.endpoint.connection_made(self)

    def write(self, data: Any) -> None:
        """Give bytes to the client."""
        self.received += data

    def get_write_buffer_size(self) -> int:
        """Return how many bytes the system has not taken yet."""
        return self.unsent

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Return the socket."""
        return self.socket if name == "socket" else default

    def close(self) -> None:
        """End it properly."""
        self._end("close")

    def abort(self) -> None:
        """End it at once."""
        self._end("abort")

    def _end(self, how: str) -> None:
        if not self.ended:
            self.ended = how
            self.endpoint.connection_lost(None)

    # What the client does.

    def says(self, data: bytes) -> None:
        """Let bytes of the client arrive."""
        self.endpoint.data_received(data)

    def hangs_up(self) -> None:
        """Let the client close its side."""
        self.endpoint.eof_received()

    def breaks(self) -> None:
        """Let the client reset the connection."""
        self.ended = "broken"
        self.endpoint.connection_lost(ConnectionResetError())


class Bench:
    """A server of one scenario, its clock, and as many connections as a test wants."""

    def __init__(self, served: Scenario) -> None:
        self.time = ManualTime()
        self.kernel = LiveKernel(self.time, self.time.clock, lambda: 1_800_000_000_000_000_000)
        self.server = LiveServer(served, self.kernel)

    def connect(self) -> Wire:
        """Accept one more connection."""
        return Wire(self.server)

    def kinds(self) -> list[str]:
        """Return the kinds of the facts so far, in the order of their times."""
        return [kind for _, _, _, kind, _ in sorted(self.kernel.facts, key=lambda fact: fact[1])]

    def facts(self, kind: str) -> list[dict[str, Any]]:
        """Return the facts of one kind, with their time in milliseconds as `ms`."""
        return [
            {"ms": at_ns / 1e6, **payload}
            for _, at_ns, _, of, payload in self.kernel.facts
            if of == kind
        ]


def scenario(*faults: dict[str, Any], **more: Any) -> Scenario:
    """Return a scenario of the dialect openai-chat: 20 ms to think, 10 ms to the client."""
    return scenario_of(
        {
            "id": "tests/served",
            "title": "A scenario that is served",
            "why": "It is short.",
            "provider": {
                "dialect": "openai-chat",
                "think_time": "20ms",
                "latency": "10ms",
                "chunk_interval": "5ms",
                "faults": [{"id": f"f{n}", **fault} for n, fault in enumerate(faults, start=1)],
            },
            **more,
        }
    )


def post(target: str = "/v1/chat/completions", body: bytes | None = None) -> bytes:
    """Return a whole request."""
    if body is None:
        body = b'{"model":"gpt-4o-mini","messages":[{"role":"user","content":"Say hello."}]}'
    head = (
        f"POST {target} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer sk-simulated-12345"
        f"\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body
