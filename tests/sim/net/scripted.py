"""A scripted HTTP/1.1 server: what it answers is data, so two transports can play it.

`SimService` plays a script on endpoints of the simulated network; `tests/parity` plays the same
scripts on real loopback sockets.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import h11

if TYPE_CHECKING:
    from faultclock.sim.kernel.kernel import Kernel
    from faultclock.sim.net.endpoint import Endpoint


@dataclass(frozen=True, slots=True)
class Wait:
    """Do nothing for so many nanoseconds."""

    delay_ns: int


@dataclass(frozen=True, slots=True)
class Send:
    """Send these bytes."""

    data: bytes


@dataclass(frozen=True, slots=True)
class _Mark:
    name: str


#: Close cleanly, close with a reset, and never do anything again.
FIN = _Mark("fin")
RESET = _Mark("reset")
STALL = _Mark("stall")

Step = Wait | Send | _Mark
Reply = tuple[Step, ...]

#: Long enough to be a delay of the server, short enough for the real-time half.
THINK = Wait(20_000_000)


def raw_reply(data: bytes, *ending: Step) -> Reply:
    """Answer with these bytes, then the ending."""
    return (THINK, Send(data), *ending)


def head(status: int, headers: Sequence[tuple[str, str]]) -> bytes:
    """Return a status line and header block."""
    lines = [f"HTTP/1.1 {status} Status", *(f"{name}: {value}" for name, value in headers)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def json_reply(
    status: int, body: object, headers: Sequence[tuple[str, str]] = (), *, think: Wait = THINK
) -> Reply:
    """Answer with a JSON body (bytes are sent as they are)."""
    payload = body if isinstance(body, bytes) else json.dumps(body).encode()
    block = head(
        status,
        [
            ("content-type", "application/json"),
            ("content-length", str(len(payload))),
            *headers,
        ],
    )
    return (think, Send(block + payload))


def chunked_head(content_type: str = "text/event-stream") -> bytes:
    """Return the header block of a chunked answer."""
    return head(200, [("content-type", content_type), ("transfer-encoding", "chunked")])


def chunks(*parts: bytes, last: bool) -> bytes:
    """Return chunks, with the end of the body when `last`."""
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + (
        b"0\r\n\r\n" if last else b""
    )


def chat_completion(text: str = "hello") -> dict[str, object]:
    """Return a chat completion as the provider sends it."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": text},
            }
        ],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }


def sse_events(count: int, *, done: bool = True) -> list[bytes]:
    """Return the events of a streamed chat completion."""

    def event(delta: dict[str, str], finish: str | None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        chunk = {
            "id": "c",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "m",
            "choices": [choice],
        }
        return b"data: " + json.dumps(chunk).encode() + b"\n\n"

    events = [event({"content": f"w{number} "}, None) for number in range(count)]
    return [*events, event({}, "stop"), b"data: [DONE]\n\n"] if done else events


class Requests:
    """Counts requests and hands out the reply of each; the last reply repeats."""

    def __init__(self, replies: Sequence[Reply]) -> None:
        self._replies = replies
        self.targets: list[str] = []

    @property
    def count(self) -> int:
        """How many requests came."""
        return len(self.targets)

    def reply_to(self, target: str) -> Reply:
        """Note a request and return what to answer."""
        self.targets.append(target)
        return self._replies[min(self.count, len(self._replies)) - 1]


class RequestReader:
    """Turns bytes of one connection into request targets; knows no transport."""

    def __init__(self) -> None:
        self._parser = h11.Connection(h11.SERVER)
        self._target = ""

    def feed(self, data: bytes) -> Iterator[str]:
        """Yield the target of each request that is complete now."""
        self._parser.receive_data(data)
        while True:
            event = self._parser.next_event()
            if isinstance(event, h11.Request):
                self._target = event.target.decode()
            elif isinstance(event, h11.EndOfMessage):
                # The scripts send raw bytes; only the parser's own state must go on.
                self._parser.send(h11.Response(status_code=200, headers=[("content-length", "0")]))
                self._parser.send(h11.EndOfMessage())
                if self._parser.our_state is h11.DONE:
                    self._parser.start_next_cycle()
                yield self._target
            elif not isinstance(event, h11.Data):
                return


class SimService:
    """Plays a script to every connection of the simulated network."""

    def __init__(self, kernel: Kernel, *replies: Reply) -> None:
        self.kernel = kernel
        self.requests = Requests(replies or (json_reply(200, chat_completion()),))
        self.endpoints: list[Endpoint] = []
        self.write_errors: list[OSError] = []

    def __call__(self, endpoint: Endpoint) -> None:
        """Accept a connection."""
        self.endpoints.append(endpoint)
        endpoint.sink = _Player(self, endpoint)


class _Player:
    def __init__(self, service: SimService, endpoint: Endpoint) -> None:
        self._service = service
        self._endpoint = endpoint
        self._reader = RequestReader()
        self._playing = 0

    def on_readable(self) -> None:
        endpoint = self._endpoint
        data = bytes(endpoint.rx)
        endpoint.rx.clear()
        if data:
            for target in self._reader.feed(data):
                self._playing += 1
                self._play(iter(self._service.requests.reply_to(target)))
        self._close_after_client()

    def _close_after_client(self) -> None:
        if self._endpoint.eof and not self._playing:
            self._endpoint.close()

    def _play(self, steps: Iterator[Step]) -> None:
        endpoint = self._endpoint
        for step in steps:
            if isinstance(step, Wait):
                self._service.kernel.call_after(step.delay_ns, self._play, steps)
                return
            if step is STALL:
                return
            try:
                if isinstance(step, Send):
                    endpoint.send(step.data)
                elif step is FIN:
                    endpoint.close()
                else:
                    endpoint.reset()
            except OSError as error:
                self._service.write_errors.append(error)
                return
        self._playing -= 1
        self._close_after_client()
