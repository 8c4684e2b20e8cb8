"""What a provider means to send, before a fault cuts it: pure values shared by all dialects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from faultclock.fakes.wire.injector import AnswerShape
from faultclock.model.scenario.fault import AnswerEnd, HeaderValue

#: Response headers in the order in which they are sent; an HttpDate is rendered when it is.
Headers = tuple[tuple[str, HeaderValue], ...]

#: `code`, `type` and `message` of a provider's error object, as the trace has them; `means` is
#: the name that the error has in every dialect, where it is not the code itself.
ErrorFacts = Mapping[str, Any]


class Answer(Struct, frozen=True, kw_only=True):
    """One whole answer.

    Attributes:
        status: HTTP status.
        headers: without those that frame the body.
        chunks: the body in the pieces that the provider sends apart from each other; one piece
            unless it is a stream.
        end_marker: what closes a stream after its last chunk, such as `data: [DONE]`.
        stream: whether it is an event stream.
        chunks_before_finish: for a stream, how many chunks precede the finish reason.
        finish_reason: of a good answer.
        text: of a good answer that has one, also where a tool call is how it is said.
        by_tool: name of the tool whose call is how it is said; empty: none.
        tool_calls: what a good answer asks for: `id`, `name` and `arguments` of each.
        reached: how many replies of the script there were with it.
        usage: tokens of a good answer, where it has them: `prompt_tokens`, `completion_tokens`
            and `total_tokens`.
        error: the error object that the body is, if it is one.
        ends: how it is not a whole answer, where it is in good order and not whole.
        keeps: what the provider keeps once it has answered so, by id; None: no longer.
        can_end: whether its text can be made to end early; None: where it has one.
        runs_on: whether the provider goes on with it when no client reads it.
    """

    status: int
    headers: Headers
    chunks: tuple[bytes, ...]
    end_marker: bytes = b""
    stream: bool = False
    chunks_before_finish: int = 0
    finish_reason: str | None = None
    text: str | None = None
    by_tool: str = ""
    tool_calls: tuple[Mapping[str, str], ...] = ()
    reached: int = 0
    usage: Mapping[str, int] | None = None
    error: ErrorFacts | None = None
    ends: AnswerEnd | None = None
    keeps: Mapping[str, Any] = field(default_factory=dict)
    can_end: bool | None = None
    runs_on: bool = False

    @property
    def shape(self) -> AnswerShape:
        """How large it is, as the injector wants to know."""
        return AnswerShape(
            stream=self.stream,
            body_bytes=sum(map(len, self.chunks)) + len(self.end_marker),
            chunks=len(self.chunks),
            chunks_before_finish=self.chunks_before_finish,
            text=bool(self.text) if self.can_end is None else self.can_end,
        )

    def finish_within(self, body_bytes: int) -> str | None:
        """Return the finish reason if the first `body_bytes` of the body carry all of it."""
        needed = sum(map(len, self.chunks[: self.chunks_before_finish + 1]))
        return self.finish_reason if body_bytes >= needed else None
