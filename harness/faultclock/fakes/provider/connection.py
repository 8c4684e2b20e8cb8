"""One connection of the fake provider: bytes to requests, and planned steps to bytes in time.

Between two waits everything goes out in one write, as a server's buffer would send it. A client
that goes away ends the exchange as `abandoned`; nothing is written after that.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from faultclock.fakes.wire.answer import Answer, ErrorFacts
from faultclock.fakes.wire.delivery import Body, End, ErrorEvent, Fire, Start, Step, Wait
from faultclock.fakes.wire.headers import rendered, scrubbed
from faultclock.fakes.wire.http_server import (
    BadRequest,
    ContinueWanted,
    HttpRequest,
    ServerConnection,
)
from faultclock.model.scenario.fault import WITHOUT_A_BODY
from faultclock.model.secrets import without_secrets

if TYPE_CHECKING:
    from faultclock.fakes.provider.place import ServerSide, Waiting
    from faultclock.fakes.provider.planned import PlannedExchange
    from faultclock.fakes.provider.provider import FakeProvider


class ProviderConnection:
    """Serves one endpoint until either side ends it."""

    __slots__ = (
        "_answer",
        "_body_bytes",
        "_endpoint",
        "_exchange",
        "_http",
        "_kernel",
        "_out",
        "_pending",
        "_provider",
        "_steps",
    )

    def __init__(self, provider: FakeProvider, endpoint: ServerSide) -> None:
        self._provider = provider
        self._kernel = provider.kernel
        self._endpoint = endpoint
        self._http = ServerConnection()
        self._exchange: PlannedExchange | None = None
        self._steps: Iterator[Step] = iter(())
        self._pending: Waiting | None = None
        self._answer: Answer | None = None
        self._body_bytes = 0
        self._out = bytearray()
        endpoint.sink = self

    def on_readable(self) -> None:
        """Take what arrived; called by the endpoint."""
        endpoint = self._endpoint
        if endpoint.closed:
            return
        if endpoint.rx:
            data = bytes(endpoint.rx)
            del endpoint.rx[:]
            self._http.receive(data)
            self._read_requests()
        if endpoint.eof or endpoint.error is not None:
            self._client_left()

    def _client_left(self) -> None:
        if self._pending is not None:
            self._pending.cancel()
            self._pending = None
        if self._exchange is not None:
            # A reader may leave as soon as it has the reason, without waiting for the very end.
            answer = self._answer
            reason = None if answer is None else answer.finish_within(self._body_bytes)
            self._ended("abandoned", reason)
        self._endpoint.close()

    def _read_requests(self) -> None:
        """Begin the next exchange if a whole request is there and none is under way."""
        if self._exchange is not None or self._endpoint.closed:
            return
        for event in self._http.events():
            match event:
                case HttpRequest():
                    self._begin(event)
                    return
                case ContinueWanted():
                    self._send(event.answer)
                case BadRequest():
                    self._refuse(event)
                    return

    def _begin(self, request: HttpRequest) -> None:
        endpoint = self._endpoint
        self._exchange = self._provider.plan(request, endpoint.connection_id, endpoint.last_call_id)
        self._answer = None
        self._body_bytes = 0
        self._steps = iter(self._exchange.steps)
        self._play()

    def _refuse(self, bad: BadRequest) -> None:
        self._kernel.record(
            self._provider.actor,
            f"{self._provider.about}.malformed",
            connection=self._endpoint.connection_id,
            call=self._endpoint.last_call_id,
            reason=bad.reason,
            **self._provider.mark,
        )
        if self._send(bad.answer):
            self._endpoint.close()

    # ------------------------------------------------------------------ playing the steps

    def _play(self) -> None:
        """Go on until the next wait, or to the end."""
        self._pending = None
        exchange = self._exchange
        assert exchange is not None, "only a planned exchange is played"
        for step in self._steps:
            match step:
                case Wait():
                    if self._flush():
                        self._pending = self._kernel.call_after(step.delay_ns, self._play)
                    return
                case Fire():
                    self._provider.fired(exchange)
                case Start():
                    self._start(exchange, step)
                case Body():
                    self._body_bytes += len(step.data)
                    self._out += self._http.data(step.data)
                case ErrorEvent():
                    self._error_event(exchange, step)
                case End():
                    self._finish(step)

    def _start(self, exchange: PlannedExchange, step: Start) -> None:
        answer = self._answer = step.answer
        headers = rendered(answer.headers, self._provider.wall_ns())
        if step.content_length is None:
            headers.append(("transfer-encoding", "chunked"))
        elif answer.status not in WITHOUT_A_BODY:
            # RFC 9110, section 8.6: a 204 must not say the length of the body that it has not.
            headers.append(("content-length", str(step.content_length)))
        if exchange.close:
            headers.append(("connection", "close"))
        shown = dict(headers)
        self._kernel.record(
            self._provider.actor,
            f"{self._provider.about}.response",
            exchange=exchange.id,
            connection=self._endpoint.connection_id,
            call=exchange.call,
            status=answer.status,
            headers=scrubbed(shown),
            retry_after=shown.get("retry-after"),
            error=None if answer.error is None else _told(answer.error),
            **self._provider.mark,
        )
        self._out += self._http.start(answer.status, headers)

    def _error_event(self, exchange: PlannedExchange, step: ErrorEvent) -> None:
        self._kernel.record(
            self._provider.actor,
            f"{self._provider.about}.stream_error",
            exchange=exchange.id,
            connection=self._endpoint.connection_id,
            call=exchange.call,
            error=_told(step.error),
            **self._provider.mark,
        )
        self._out += self._http.data(step.data)

    def _finish(self, end: End) -> None:
        if end.how in {"complete", "clean_end"}:
            self._out += self._http.end()
        if not self._flush():
            return
        self._ended(end.how, end.finish_reason, end.text)
        if end.how == "reset":
            self._endpoint.reset()
        elif end.how == "eof" or (end.how != "stalled" and self._http.must_close):
            self._endpoint.close()
        elif end.how != "stalled":
            self._read_requests()

    def _flush(self) -> bool:
        data = bytes(self._out)
        self._out.clear()
        return self._send(data)

    def _send(self, data: bytes) -> bool:
        """Send `data`; False means that the client is gone, and so is what was under way."""
        if not data:
            return True
        try:
            self._endpoint.send(data)
        except OSError:
            self._client_left()
            return False
        return True

    def _ended(self, how: str, finish_reason: str | None, text: str | None = None) -> None:
        exchange = self._exchange
        assert exchange is not None, "only an exchange that began can end"
        if text is None and finish_reason is not None and self._answer is not None:
            # With the reason went the whole text, so what the reader makes of it can be judged.
            text = self._answer.text
        self._exchange = None
        self._steps = iter(())
        self._provider.ended(exchange)
        self._kernel.record(
            self._provider.actor,
            f"{self._provider.about}.exchange_ended",
            exchange=exchange.id,
            connection=self._endpoint.connection_id,
            call=exchange.call,
            how=how,
            finish_reason=finish_reason,
            text_sha256=None if text is None else hashlib.sha256(text.encode()).hexdigest(),
            **self._ends(finish_reason),
            **self._observed(finish_reason),
            **self._provider.mark,
        )

    def _ends(self, finish_reason: str | None) -> dict[str, Any]:
        """Return how the answer was not a whole one, if it says so and all of that went out."""
        ends = None if self._answer is None else self._answer.ends
        return {} if ends is None or finish_reason is None else {"ends": ends}

    def _observed(self, finish_reason: str | None) -> dict[str, Any]:
        """Return what the answer asked for, if all of it went out and its reader wants to know."""
        answer = self._answer
        if not self._provider.observant or answer is None or finish_reason is None:
            return {}
        return {
            **(
                {"tool_calls": [dict(call) for call in answer.tool_calls]}
                if answer.tool_calls
                else {}
            ),
            **({"by_tool": answer.by_tool} if answer.by_tool else {}),
            **({"usage": dict(answer.usage)} if answer.usage is not None else {}),
        }


def _told(error: ErrorFacts) -> dict[str, Any]:
    """Return the facts of an error object; its message may repeat what the subject sent."""
    return {
        name: without_secrets(value) if isinstance(value, str) else value
        for name, value in error.items()
    }
