"""What goes wrong, and when: typed faults, their triggers, and the ordered plan of both.

Faults are data. What a fault does on the wire is the business of `faultclock.fakes`.
"""

from __future__ import annotations

import re
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from faultclock.model._base import SparseValue, Value
from faultclock.model.duration import DurationNs, SignedDurationNs
from faultclock.model.scenario.rule import EVERY, RangeField, TriggeredRule, When

#: RFC 9110, sections 15.3.5, 15.3.6 and 15.4.5.
WITHOUT_A_BODY = frozenset({204, 205, 304})


class HttpDate(Value):
    """A header value that is an HTTP-date at an offset from the response's virtual instant."""

    http_date: SignedDurationNs
    """Offset from now; negative is in the past. An HTTP-date has whole seconds."""


HeaderValue = str | HttpDate


class HttpError(Value):
    """The provider answers with an error status and its own error body."""

    kind: Literal["http_error"]
    status: int = Field(ge=400, le=599)
    error: str
    """Name of an error payload in the dialect's fixture, such as `rate_limit_exceeded`."""
    headers: dict[str, HeaderValue] = {}
    close: bool = False
    """Whether the provider closes the connection after the answer."""


class OkWithErrorBody(SparseValue):
    """A status below 400, and a body that is not an answer: an error object, a foreign page, none.

    A page is what a network sends that wants its user to sign in first.
    """

    SPARSE: ClassVar[frozenset[str]] = frozenset({"error", "status"})

    kind: Literal["ok_with_error_body"]
    error: str | None = None
    """Name of the payload that has the body and its content type; None: the body is empty."""
    status: int = Field(default=200, ge=200, le=399)
    """Of the answer."""

    @model_validator(mode="after")
    def _body_where_one_can_be(self) -> OkWithErrorBody:
        if self.status in WITHOUT_A_BODY and self.error is not None:
            raise ValueError(f"an answer of status {self.status} has no body: leave out error")
        return self


#: How a well-formed answer of status 200 can end and not be a whole one, in the words that all
#: dialects share: the model's limit cut it, a filter took it away, the model refused to answer,
#: nothing was said at all, the provider paused in the middle of it, or failed in the middle of it.
AnswerEnd = Literal["length", "filtered", "refused", "empty", "paused", "failed"]
#: Of these some of the text is said before the end.
_SOME_IS_SAID = ("length", "filtered", "paused", "failed")


class AnswerEnds(SparseValue):
    """The provider answers 200, in good order, and the answer is not a whole one.

    It is for answers that are a text: one that asks for tools is left as it is.
    """

    SPARSE: ClassVar[frozenset[str]] = frozenset({"after_tokens", "null"})

    kind: Literal["answer_ends"]
    how: AnswerEnd
    after_tokens: int | None = Field(default=None, ge=0)
    """Not with `refused` and `empty`: how many tokens of the text are said; None: half of them.
    Where a filter leaves none, Gemini says that the prompt is blocked."""
    null: bool = False
    """With `empty`: the place of the text is null or missing, where a dialect has such a form."""

    @model_validator(mode="after")
    def _what_goes_together(self) -> AnswerEnds:
        if self.after_tokens is not None and self.how not in _SOME_IS_SAID:
            raise ValueError(f"after_tokens goes with how: {', '.join(_SOME_IS_SAID)}")
        if self.null and self.how != "empty":
            raise ValueError("null goes with how: empty")
        return self


class ConnectRefused(Value):
    """Nothing listens: the connection is refused."""

    kind: Literal["connect_refused"]


class ConnectTimeout(Value):
    """The connection attempt is never answered."""

    kind: Literal["connect_timeout"]


class DnsFailure(Value):
    """The host name does not resolve."""

    kind: Literal["dns_failure"]


class ResetBeforeResponse(Value):
    """The request is read, then the connection ends before any answer byte."""

    kind: Literal["reset_before_response"]
    how: Literal["reset", "eof"] = "reset"


class Truncate(Value):
    """The answer stops in the middle, and the connection ends."""

    kind: Literal["truncate"]
    how: Literal["eof", "clean_end", "reset"]
    """`eof`: FIN in mid-message; `clean_end`: the message ends properly, but its last part (the
    finish reason and `[DONE]` of a stream) was never sent; `reset`: RST."""
    after_body_bytes: int | None = Field(default=None, ge=0)
    after_chunks: int | None = Field(default=None, ge=0)
    """For a stream: how many data chunks are sent first."""

    @model_validator(mode="after")
    def _one_place(self) -> Truncate:
        if (self.after_body_bytes is None) == (self.after_chunks is None):
            raise ValueError("give exactly one of after_body_bytes and after_chunks")
        if self.how == "clean_end" and self.after_chunks is None:
            raise ValueError("how: clean_end is for streams: give after_chunks")
        return self


class Stall(Value):
    """The provider stops sending and keeps the connection open."""

    kind: Literal["stall"]
    after_body_bytes: int | None = Field(default=None, ge=0)
    after_chunks: int | None = Field(default=None, ge=0)
    """Where the answer stops; neither means before the status line."""
    resume_after: DurationNs | None = None
    """How long until it goes on; absent means never."""


class CorruptBody(Value):
    """A 200 whose body is not what its content type says: bytes are overwritten."""

    kind: Literal["corrupt_body"]
    at_byte: int = Field(default=0, ge=0)
    """0-based offset of the first overwritten byte: into the body, or into the data of the first
    server-sent event that has text."""
    bytes_count: int = Field(default=8, ge=1)


class SlowDrip(Value):
    """A good answer, a few bytes at a time."""

    kind: Literal["slow_drip"]
    bytes_per_step: int = Field(ge=1)
    every: DurationNs


class StreamError(Value):
    """An error object inside a 200 event stream."""

    kind: Literal["stream_error"]
    after_chunks: int = Field(ge=0)
    error: str


Fault = Annotated[
    HttpError
    | OkWithErrorBody
    | AnswerEnds
    | ConnectRefused
    | ConnectTimeout
    | DnsFailure
    | ResetBeforeResponse
    | Truncate
    | Stall
    | CorruptBody
    | SlowDrip
    | StreamError,
    Field(discriminator="kind"),
]


def named_by(pattern: str, named: tuple[str, ...]) -> bool:
    """Return whether a request with these names is meant by `pattern`.

    Example:
        >>> named_by("GET /v1/*", ("GET /v1/now?at=Rome", "GET /v1/now", "/v1/now"))
        True
    """
    shape = re.compile(".*".join(map(re.escape, pattern.split("*"))), re.DOTALL)
    return any(shape.fullmatch(name) for name in named)


class Trigger(SparseValue, When):
    """When a fault fires. Every condition that is given must hold."""

    SPARSE: ClassVar[frozenset[str]] = frozenset({"request"})

    attempts: RangeField = EVERY
    """Attempt numbers (1-based) within `scope`: `2`, `1-6`, `3+` or `every`."""
    scope: Literal["call", "provider"] = "call"
    """Whether attempts are counted per call (each client has its own) or over all calls."""
    task: str | None = None
    """Only calls of this task."""
    stream: bool | None = None
    """Only streaming (true) or only non-streaming (false) requests."""
    request: str | None = Field(default=None, min_length=1)
    """Only requests that are named so, such as `GET /v1/now` or `/v1/*`; they are counted apart."""
    from_time: DurationNs | None = None
    """Only from this virtual time on (included)."""
    until_time: DurationNs | None = None
    """Only before this virtual time (excluded)."""

    @model_validator(mode="after")
    def _window(self) -> Trigger:
        if self.until_time is not None and self.until_time <= (self.from_time or 0):
            raise ValueError("until_time is not after from_time: the fault could never fire")
        return self

    def holds(
        self,
        *,
        task: str | None,
        now_ns: int,
        stream: bool | None,
        named: tuple[str, ...] = (),
    ) -> bool:
        """Return whether the conditions hold.

        Args:
            task: id of the task that the attempt belongs to.
            stream: whether the request asks for a stream; None: it was not read yet.
            named: what the request is called; empty: it was not read yet.
        """
        if self.request is not None and not named_by(self.request, named):
            return False
        if now_ns < (self.from_time or 0):
            return False
        if self.until_time is not None and now_ns >= self.until_time:
            return False
        return super().holds(task=task, stream=stream)


class FaultRule(TriggeredRule):
    """One fault and when it fires. The first rule of a plan that matches decides the Fate."""

    when: Trigger = Trigger.model_construct()
    then: Fault


FaultPlan = tuple[FaultRule, ...]
