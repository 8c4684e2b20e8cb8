"""Calls, and their attempts by the answer of the provider that they are for: the requests.

Which attempts are one request is said in `grouping`, and how long one waited for another here.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from faultclock.model.trace.trace import TraceEvent, seqs
from faultclock.oracle.wire.chain import ended_well
from faultclock.oracle.wire.retry_hints import Hint, hints_of
from faultclock.oracle.wire.signals import Signal

Outcome = Literal["returned", "raised", "given_up", "good", "cut", "open"]


class Attempt(Struct, frozen=True, kw_only=True):
    """One attempt of a call, as the world saw it.

    Attributes:
        number: 1-based within its request.
        start: the act that began it.
        outcome: `open` when the trace ends before it does.
        signal: what the subject could see of its failure; None unless it failed.
        knowable_ns: the earliest time at which its end could be known: an error status is known
            before the body that follows it.
        knowable_seq: the event at that time, for the order of things.
        known_ns: the latest such time; None when the subject could not know, and closed nothing.
        text_sha256: digest of the provider's whole text, when it was sent whole.
        tool_calls: whether the provider's answer asked for tools.
        provider: who was asked: empty for the first of the chain, or the id of a fallback.
        node: the node of the workflow that it was for; empty where it is unknown.
        content: whether some of the content of a streamed answer had arrived when it failed.
        ends: how a good answer ended that is not a whole one: `length`, `filtered`, `refused` or
            `empty`; None where it is whole.
        asked: the request as it reached the provider; None when it never did.
        answered: the provider's record of a good answer; None for any other.
        events: `seq` of the events that show it.
    """

    call: str
    number: int
    start: TraceEvent
    outcome: Literal["ok", "failed", "open"]
    signal: Signal | None
    knowable_ns: int | None
    knowable_seq: int | None
    known_ns: int | None
    text_sha256: str | None = None
    tool_calls: bool = False
    provider: str = ""
    node: str = ""
    content: bool = False
    ends: str | None = None
    asked: TraceEvent | None = None
    answered: TraceEvent | None = None
    events: tuple[int, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether it ended with a failure."""
        return self.outcome == "failed"

    @property
    def over_ns(self) -> int | None:
        """The first instant at which its end could be known; None where none was."""
        return self.known_ns if self.knowable_ns is None else self.knowable_ns

    @property
    def hints(self) -> tuple[Hint, ...]:
        """What the answer to it says about asking again."""
        return hints_of(self.signal, self.over_ns)


def ask_the_same(one: TraceEvent | None, other: TraceEvent | None) -> bool | None:
    """Return whether two requests ask the same, whatever labels they have; None: it is not known.

    Labels are the members of a body that say whose or which request it is. A request of which no
    digest without them is recorded has none, or its trace is older than that: its body counts.
    """
    if one is None or other is None:
        return None
    return (one.asked_sha256 or one.body_sha256) == (other.asked_sha256 or other.body_sha256)


def ask_alike(one: TraceEvent | None, other: TraceEvent | None) -> bool:
    """Return whether two requests ask the same, at least in other words around it, as far as known.

    Such words are instructions with a time or an id, and settings such as a temperature.
    """
    if one is None or other is None:
        return True
    alike = (one.varies or one.exchange) == (other.varies or other.exchange)
    return alike or bool(ask_the_same(one, other))


def wait_before(attempt: Attempt, following: Attempt) -> int | None:
    """Return how long the subject waited between two attempts, in nanoseconds; None: not known.

    Counted from the first instant at which it could know of the failure, so it is never too short.
    Only what begins after that instant is a retry (see `grouping`): in real time the failure may be
    seen a little after the retry that it led to.
    """
    since_ns = attempt.over_ns
    return None if since_ns is None else max(0, following.start.at_ns - since_ns)


def waited(attempt: Attempt, following: Attempt) -> int | None:
    """Return the wait between two attempts from the last instant at which the failure was known.

    A subject that did not wait for a body that followed the status had known it from the status.
    """
    if attempt.known_ns is None or attempt.known_ns > following.start.at_ns:
        return wait_before(attempt, following)
    return following.start.at_ns - attempt.known_ns


class Request(Struct, frozen=True, kw_only=True):
    """The attempts to get one answer.

    Attributes:
        id: of its call.
        number: 1-based within its call.
        begins_stage: whether an attempt of a stage, or of a node, began between it and the
            request before it.
        end: how its end is known: the end of the call, or what the state machine was asked once
            the attempts had failed. None where nothing shows that they were given up.
        outcome: `returned` and `raised` when the call ended so with it; `given_up` when the
            state machine took over, or the turn went on with another node; `good` when it was
            answered and the turn went on; `cut` when a crash, a cancel, or the end of another
            request that ran at the same time came between; `open` when the trace ends before it
            does.
        is_one_of_several: whether others ran at the same time.
    """

    id: str
    number: int
    attempts: tuple[Attempt, ...]
    end: TraceEvent | None
    outcome: Outcome
    begins_stage: bool = False
    is_one_of_several: bool = False

    @property
    def returned(self) -> bool:
        """Whether its call ended with a reply, after it."""
        return self.outcome == "returned"

    @property
    def raised(self) -> bool:
        """Whether its call ended with an error, after it."""
        return self.outcome == "raised"

    @property
    def gave_up(self) -> bool:
        """Whether the subject is known to have stopped trying."""
        return self.outcome in ("raised", "given_up")

    @property
    def last_failure(self) -> Attempt | None:
        """The attempt that it failed with: its last one, unless that one was good."""
        last = self.attempts[-1] if self.attempts else None
        return last if last is not None and last.failed else None


class Call(Struct, frozen=True, kw_only=True):
    """One call of the subject: its start, its attempts in order, and its end if it has one.

    Attributes:
        do: what was asked for; `turn` for a runtime, `start`, `close`, `ask`... likewise.
        life: 1-based process of the subject in which it ran.
        crashed: the crash that cut it off; then it has no end.
        left: where its outcome is unknown: its process ended, or it was not watched on.
        stop: the first event that stopped its work from outside; None for none.
        requests: its attempts, by the answer that they are for.
    """

    id: str
    task: str
    start: TraceEvent
    end: TraceEvent | None
    attempts: tuple[Attempt, ...]
    do: str = "call"
    life: int = 1
    crashed: TraceEvent | None = None
    left: TraceEvent | None = None
    stop: TraceEvent | None = None
    requests: tuple[Request, ...] = ()

    @property
    def exited(self) -> TraceEvent | None:
        """The end of its process, where that ended by itself: then it had stopped trying."""
        return self.left if self.left is not None and self.left.exit_code is not None else None

    @property
    def over(self) -> TraceEvent | None:
        """What shows that it was over, however it came out; None where nothing does."""
        return self.end if self.end is not None else self.exited

    @property
    def bounds(self) -> tuple[int, ...]:
        """`seq` of its start, and of its end where it has one."""
        return seqs(self.start, self.end)

    @property
    def is_turn(self) -> bool:
        """Whether the provider is to be asked in it."""
        return self.do in ("call", "turn")

    @property
    def returned(self) -> bool:
        """Whether it ended with a reply."""
        return self.end is not None and ended_well(self.end)

    def returns(self, attempt: Attempt) -> bool:
        """Return whether the text that it returned is that of an attempt."""
        text = attempt.text_sha256
        return text is not None and self.end is not None and self.end.text_sha256 == text

    @property
    def raised(self) -> bool:
        """Whether it ended with an error."""
        return self.end is not None and not ended_well(self.end)

    @property
    def final(self) -> Request | None:
        """The request that its end follows from: of several at once not always the last one."""
        ended = (item for item in self.requests if item.outcome in ("returned", "raised"))
        return next(ended, self.requests[-1] if self.requests else None)

    @property
    def last(self) -> Attempt | None:
        """The attempt that its end follows from."""
        return self.final.attempts[-1] if self.final is not None and self.final.attempts else None

    @property
    def last_failure(self) -> Attempt | None:
        """The attempt that the call failed with: its last one, unless that one was good."""
        return self.last if self.last is not None and self.last.failed else None
