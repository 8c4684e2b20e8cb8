"""Traces made by hand: each method writes the facts of one small happening, at the current time.

The facts are those that the world records, in their order; the times are written out, so that a
test can say by hand what a wait must be. A request takes 120 ms here: 10 ms on the wire each way,
100 ms at the provider.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Literal, Self

from faultclock.model.duration import MILLISECOND_NS, parse_duration
from faultclock.model.error_model.error_model import RetryPolicy
from faultclock.model.scenario.scenario import scenario_digest, scenario_of
from faultclock.model.trace.trace import (
    WALL_EPOCH_NS,
    EndingReason,
    SubjectInfo,
    TimeBase,
    Trace,
    TraceEvent,
    TraceFooter,
    TraceHeader,
    trace_digest,
)

REPLY = "Hello from the simulated provider."
#: What `ProviderTransient/RateLimited` and its like become in the chain of a raised error.
TYPED = "adapter.TypedError"


def sha256(text: str) -> str:
    """Return the digest that a trace holds of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def link(pair: str | None, *, how: str = "outer", kind: str = TYPED) -> dict[str, Any]:
    """Return one error of a chain; `pair` is `Class/Code`, or None for an untyped one."""
    class_name, _, code = (pair or "").partition("/")
    return {
        "type": kind,
        "message": "it failed",
        "class": class_name or None,
        "code": code or None,
        "link": how,
    }


class TraceBuilder:
    """Writes a trace of the one task `ask`, event by event."""

    def __init__(
        self,
        *,
        copies: int = 1,
        stream: bool = False,
        seed: int = 0,
        declares: tuple[str, ...] = (),
        retry_policies: tuple[RetryPolicy, ...] = (),
        provider: Mapping[str, Any] | None = None,
        time_base: TimeBase = "virtual",
        epoch_ns: int = WALL_EPOCH_NS,
        role: Literal["provider_adapter", "tool"] = "provider_adapter",
        timer_granularity_ns: int = 0,
    ) -> None:
        scenario = scenario_of(
            {
                "id": "tests/by-hand",
                "title": "A trace made by hand",
                "why": "It says what a check must find.",
                "tasks": [{"id": "ask", "copies": copies, "stream": stream}],
                "provider": dict(provider or {}),
                "seed": seed,
            }
        )
        subject = SubjectInfo(
            id="by-hand",
            role=role,
            style="async",
            declares=declares,
            retry_policies=retry_policies,
            timer_granularity_ns=timer_granularity_ns,
        )
        self.header = TraceHeader(
            scenario=scenario,
            scenario_digest=scenario_digest(scenario),
            subject=subject,
            seed=seed,
            time_base=time_base,
            epoch_ns=epoch_ns,
        )
        self.stream = stream
        self.now_ns = 0
        self.body: str | None = None
        self.labelled = False
        self.events: list[TraceEvent] = []
        self._connections = 0
        self.event("harness", "run.started")

    def event(self, actor: str, kind: str, **payload: Any) -> int:
        """Write one fact at the current time and return its `seq`."""
        self.events.append(TraceEvent(len(self.events) + 1, self.now_ns, actor, kind, payload))
        return len(self.events)

    def wait(self, duration: str) -> Self:
        """Let time pass."""
        self.now_ns += parse_duration(duration)
        return self

    def build(self, ending: EndingReason = "completed", *detail: str) -> Trace:
        """Seal the trace."""
        events = tuple(self.events)
        footer = TraceFooter(
            events=len(events),
            ended_at_ns=self.now_ns,
            ending=ending,
            detail=detail,
            digest=trace_digest(self.header, events),
        )
        return Trace(header=self.header, events=events, footer=footer)

    # What the harness writes.

    def start(self, call: str = "ask/1") -> Self:
        """Begin a call."""
        copy = int(call.split("/")[1])
        self.event(
            "harness",
            "call.started",
            call=call,
            task="ask",
            copy=copy,
            stream=self.stream,
            prompt="",
        )
        return self

    def returns(
        self,
        text: str | None = REPLY,
        call: str = "ask/1",
        tool_calls: tuple[dict[str, str], ...] = (),
    ) -> Self:
        """End a call with a reply."""
        digest = None if text is None else sha256(text)
        self.event(
            "harness",
            "call.returned",
            call=call,
            text=text,
            text_sha256=digest,
            tool_calls=list(tool_calls),
        )
        return self

    def raises(self, *chain: dict[str, Any] | str, call: str = "ask/1") -> Self:
        """End a call with an error: links, or `Class/Code` for a typed error without a cause."""
        links = [link(item) if isinstance(item, str) else item for item in chain]
        self.event("harness", "call.raised", call=call, chain=links)
        return self

    def leaves(self, exit_code: int | None, call: str = "ask/1") -> Self:
        """End a call of which nobody tells how it came out."""
        self.event("harness", "call.left", call=call, exit_code=exit_code, signal=None)
        return self

    # What the network and the provider write.

    def connect(self, call: str | None = "ask/1") -> str:
        """Open a connection and return its id."""
        connection = self.dial(call)
        self.event("network", "net.connected", connection=connection)
        return connection

    def dial(self, call: str | None = "ask/1") -> str:
        """Begin to connect, and no more."""
        self._connections += 1
        connection = f"c{self._connections}"
        self.event(
            "network",
            "net.connect",
            connection=connection,
            host="api.openai.com",
            port=443,
            call=call,
        )
        return connection

    def asks_for(self, body: str, *, labelled: bool = False) -> Self:
        """Let the requests from here on have that body, and each a label of its own."""
        self.body, self.labelled = body, labelled
        return self

    def ask(self, connection: str, call: str = "ask/1") -> str:
        """Send a request, let it arrive, and return the exchange's id."""
        self.event("network", "net.sent", connection=connection, call=call, bytes_count=300)
        self.wait("10ms")
        exchange = f"x{sum(event.kind == 'http.request' for event in self.events) + 1}"
        self.event(
            "provider",
            "http.request",
            **self._digests(exchange),
            exchange=exchange,
            connection=connection,
            call=call,
            stream=self.stream,
        )
        return exchange

    def _digests(self, label: str) -> dict[str, str]:
        if self.body is None:
            return {}
        asked = sha256(self.body)
        if not self.labelled:
            return {"body_sha256": asked}
        return {"body_sha256": sha256(self.body + label), "asked_sha256": asked}

    def answer(
        self,
        connection: str,
        exchange: str,
        *,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        error: Mapping[str, Any] | None = None,
        call: str = "ask/1",
    ) -> None:
        """Send status and headers after the provider's 100 ms; they arrive with `deliver`."""
        self.wait("100ms")
        headers = dict(headers or {})
        self.event(
            "provider",
            "http.response",
            exchange=exchange,
            connection=connection,
            call=call,
            status=status,
            headers=headers,
            retry_after=headers.get("retry-after"),
            error=None if error is None else dict(error),
        )

    def end_exchange(
        self,
        connection: str,
        exchange: str,
        how: str,
        *,
        finish_reason: str | None = None,
        text: str | None = None,
        call: str = "ask/1",
        **further: Any,
    ) -> None:
        """Write how the provider ended the exchange."""
        self.event(
            "provider",
            "http.exchange_ended",
            exchange=exchange,
            connection=connection,
            call=call,
            how=how,
            finish_reason=finish_reason,
            text_sha256=None if text is None else sha256(text),
            **further,
        )

    def deliver(self, connection: str, kind: str = "net.delivered") -> None:
        """Let what was sent arrive, 10 ms later: bytes, `net.eof` or `net.reset`."""
        self.now_ns += 10 * MILLISECOND_NS
        self.event("network", kind, connection=connection)

    def close(self, connection: str) -> Self:
        """The subject closes its side."""
        self.event("network", "net.closed", connection=connection, how="close")
        return self

    # Whole attempts.

    def fails(
        self,
        status: int = 429,
        code: str | None = None,
        *,
        type_: str | None = None,
        means: str | None = None,
        message: str = "no",
        call: str = "ask/1",
        retry_after: str | None = None,
        **headers: str,
    ) -> Self:
        """One attempt that is answered with an error status; it is known at its end."""
        connection = self.connect(call)
        exchange = self.ask(connection, call)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if retry_after is not None:
            sent["retry-after"] = retry_after
        error = {"code": code, "type": type_, "message": message}
        error |= {} if means is None else {"means": means}
        self.answer(connection, exchange, status=status, headers=sent, error=error, call=call)
        self.end_exchange(connection, exchange, "complete", call=call)
        self.deliver(connection)
        return self.close(connection)

    def good(
        self, text: str = REPLY, call: str = "ask/1", finish_reason: str = "stop", **further: Any
    ) -> Self:
        """One attempt with a good answer."""
        connection = self.connect(call)
        exchange = self.ask(connection, call)
        self.answer(connection, exchange, call=call)
        self.end_exchange(
            connection,
            exchange,
            "complete",
            finish_reason=finish_reason,
            text=text,
            call=call,
            **further,
        )
        self.deliver(connection)
        return self.close(connection)

    def refused(self, call: str = "ask/1") -> Self:
        """One attempt whose connection is refused."""
        connection = self.dial(call)
        self.wait("20ms")
        self.event("network", "net.connect_failed", connection=connection, error="refused")
        return self

    def stalls(self, call: str = "ask/1", deadline: str = "30s") -> Self:
        """One attempt that is never answered, until the subject's deadline."""
        connection = self.connect(call)
        self.ask(connection, call)
        self.wait(deadline)
        return self.close(connection)

    def cut_stream(self, how: str = "net.eof", call: str = "ask/1", pieces: int = 1) -> Self:
        """One attempt whose answer stops in the middle, after some pieces."""
        connection = self.connect(call)
        exchange = self.ask(connection, call)
        self.answer(connection, exchange, call=call)
        for _ in range(pieces):
            self.deliver(connection)
        ended = {"net.eof": "eof", "net.reset": "reset", "net.delivered": "clean_end"}[how]
        self.end_exchange(connection, exchange, ended, call=call)
        self.deliver(connection, how)
        return self.close(connection)
