"""Deliveries that do not all take equally long are told apart by when they were sent."""

from __future__ import annotations

import pytest

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.finding import Verdict
from faultclock.oracle.judge import judge
from faultclock.oracle.wire.attempts import observe
from tests.oracle.trace_builder import TraceBuilder

ERROR = {"code": "server_error", "type": "server_error", "message": "m"}
JITTER = {"latency": "10ms", "jitter": "500ms"}


class Uneven(TraceBuilder):
    """A streamed answer whose pieces are on the way for different times."""

    def __init__(self) -> None:
        super().__init__(stream=True, provider=JITTER)
        self.start()
        self.connection = self.connect()
        self.exchange = self.ask(self.connection)
        self.answer(self.connection, self.exchange)
        self.sent: list[int] = [self.now_ns]

    def piece(self, after: str = "20ms") -> Uneven:
        """Send a piece."""
        self.wait(after)
        self.sent.append(self.now_ns)
        return self

    def error(self, after: str = "20ms") -> Uneven:
        """Send an error, which ends the answer."""
        self.piece(after)
        named = {"exchange": self.exchange, "connection": self.connection, "call": "ask/1"}
        self.event("provider", "http.stream_error", **named, error=ERROR)
        self.end_exchange(self.connection, self.exchange, "complete")
        return self

    def arrives(self, pieces: int, after: str) -> Uneven:
        """Let the next pieces arrive at once, so long after the last event."""
        self.wait(after)
        for _ in range(pieces):
            sent_ns = self.sent.pop(0)
            self.event("network", "net.delivered", connection=self.connection, sent_ns=sent_ns)
        return self


def signal(built: TraceBuilder) -> str:
    """Return what the first attempt was seen to fail with."""
    attempt = observe(built.build()).calls[0].attempts[0]
    return attempt.outcome if attempt.signal is None else attempt.signal.kind


def test_an_error_that_is_still_on_its_way_was_not_seen() -> None:
    """What came late had been sent before it, although it came after one even latency."""
    built = Uneven().piece().error().arrives(2, "300ms")
    built.close(built.connection)
    assert signal(built.raises("A/B")) == "deadline"


def test_an_error_is_in_the_delivery_that_was_sent_with_it() -> None:
    """The one before it came at the same instant, and has content."""
    built = Uneven().piece().error().arrives(3, "300ms")
    built.close(built.connection)
    attempt = observe(built.raises("A/B").build()).calls[0].attempts[0]
    assert attempt.signal is not None
    assert attempt.signal.kind == "stream_error"
    assert attempt.content


def test_the_head_of_a_stream_alone_is_no_content() -> None:
    """However late it came."""
    built = Uneven().error().arrives(2, "300ms")
    built.close(built.connection)
    attempt = observe(built.raises("A/B").build()).calls[0].attempts[0]
    assert attempt.signal is not None
    assert attempt.signal.kind == "stream_error"
    assert not attempt.content


@pytest.mark.parametrize(("pieces", "outcome"), [(2, "deadline"), (3, "ok")])
def test_an_answer_is_whole_when_its_last_part_is_there(pieces: int, outcome: str) -> None:
    """Who closes before that has not got it, however long ago it was sent."""
    built = Uneven().piece().piece()
    built.end_exchange(
        built.connection, built.exchange, "complete", finish_reason="stop", text="Hello"
    )
    built.arrives(pieces, "400ms").wait("1ms").close(built.connection)
    assert signal(built.raises("A/B")) == outcome


def test_without_jitter_all_is_as_it_was(model: ErrorModel) -> None:
    """Deliveries say nothing of when they were sent, and every one takes the same."""
    trace = TraceBuilder().start().good().returns().build()
    assert all("sent_ns" not in event.payload for event in trace.events)
    assert Verdict.FAIL not in {item.verdict for item in judge(model, trace).findings}
