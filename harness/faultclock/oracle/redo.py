"""Redo: whether something that failed was tried again as its policy asks, for every kind of work.

Executions of a tool, operations of a store and attempts of a stage follow the same arithmetic:
what is retryable is tried again after a wait within an interval, as often as the policy says, and
anything else is not. Who speaks of them builds a Series for each; the three judgements are here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from faultclock.model.duration import format_duration
from faultclock.model.retry_policy import Backoff, Interval, Jitter, RetryPolicy
from faultclock.model.trace import TraceEvent
from faultclock.oracle.check import Verdicts, Violation, broken, held

__all__ = ["Series", "Try", "judge_attempts", "judge_disposition", "judge_waits", "policy_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Try:
    """One try.

    Attributes:
        begun: the subject's act.
        ended: when the subject knew how it came out; None when it never did.
        outcome: `open` when it has not ended, or was stopped for a reason of its own.
        failure: what went wrong, in words.
        retryable: whether the policy is for this failure.
        repeats_effect: whether it did again what a try before it had done; then it is that which
            is told, and not that it was tried again.
    """

    begun: TraceEvent
    ended: TraceEvent | None
    outcome: Literal["good", "failed", "open"]
    failure: str = ""
    retryable: bool = False
    repeats_effect: bool = False

    @property
    def events(self) -> tuple[int, ...]:
        """`seq` of the events that show it."""
        ended = () if self.ended is None else (self.ended.seq,)
        return (self.begun.seq, *ended)


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """All tries of one thing, in order.

    Attributes:
        what: it, in words.
        policy: None: it is never tried again.
        source: where the policy stands, in words.
        given_up: what shows that no further try was to come; None where something from outside
            may have kept it from coming.
        busy: from when to when the subject waited for its store, in order, in nanoseconds: to
            write down that a try ended or that one begins is no part of the wait between them.
        slack_ns: how far a wait may miss its ends.
        requirements: of what is judged; the first one is cited.
    """

    what: str
    call: str | None
    tries: tuple[Try, ...]
    policy: RetryPolicy | None
    source: str
    given_up: TraceEvent | None
    slack_ns: int
    requirements: tuple[str, ...]
    busy: tuple[tuple[int, int], ...] = ()

    @property
    def attempts_max(self) -> int:
        """Tries in all."""
        return 1 if self.policy is None else self.policy.attempts_max

    def steps(self) -> Iterator[tuple[int, Try, Try | None]]:
        """Yield each try with its 1-based number and the try that followed it."""
        followers = (*self.tries, None)[1:]
        for number, (own, following) in enumerate(zip(self.tries, followers, strict=True), 1):
            yield number, own, following


def policy_of(
    id_: str, *, attempts_max: int, backoff: Backoff | None, jitter: Jitter
) -> RetryPolicy:
    """Return a policy of a contract; without a backoff it tries again at once."""
    return RetryPolicy(
        id=id_,
        applies_to=("*/*",),
        attempts_max=attempts_max,
        backoff=backoff or Backoff.model_validate({"kind": "fixed", "base": "0s"}),
        jitter=jitter,
    )


def judge_disposition(series: Series) -> Verdicts:
    """Judge that what must be tried again was, and that nothing else was."""
    retried = False
    for number, own, following in series.steps():
        if own.outcome == "open":
            continue
        due = own.outcome == "failed" and own.retryable
        if not due:
            yield held(*series.requirements)
            if following is not None and not following.repeats_effect:
                yield _not_again(series, own, following)
        elif following is not None:
            retried = True
            yield held(*series.requirements)
        elif series.given_up is not None and number < series.attempts_max and not retried:
            # After a first retry, giving up too soon is a matter of how many tries there were.
            yield held(*series.requirements)
            yield _never_again(series, own, series.given_up)


def judge_attempts(series: Series) -> Verdicts:
    """Judge that there were as many tries as the policy gives."""
    for number, own, following in series.steps():
        if own.outcome != "failed" or not own.retryable:
            continue
        limit = series.attempts_max
        total = len(series.tries)
        if number == limit and (following is not None or series.given_up is not None):
            yield held(*series.requirements)
            if following is not None:
                yield _count(series, f"{total} were made")
        elif 1 < number < limit and following is None and series.given_up is not None:
            yield held(*series.requirements)
            yield _count(series, f"it was given up after {number}")


def judge_waits(series: Series) -> Verdicts:
    """Judge that each wait before a further try lies within its interval."""
    if series.policy is None:
        return
    for number, own, following in series.steps():
        if following is None or own.ended is None or own.outcome != "failed" or not own.retryable:
            continue
        if number >= series.attempts_max:
            continue
        legal, slack_ns = series.policy.interval(number), series.slack_ns
        yield held(*series.requirements)
        waited_ns = following.begun.at_ns - own.ended.at_ns
        shortest_ns = _without_busy(series.busy, own.ended.at_ns, following.begun.at_ns)
        # Whether the time to write things down counts as waiting is left to the subject.
        if waited_ns < legal.low_ns - slack_ns or shortest_ns > legal.high_ns + slack_ns:
            yield _waited(series, number, legal, waited_ns)


def _without_busy(busy: Sequence[tuple[int, int]], from_ns: int, to_ns: int) -> int:
    """Return the wait without the writing that followed the end, or came before the next try."""
    for begun_ns, ended_ns in busy:
        if begun_ns == from_ns and ended_ns <= to_ns:
            from_ns = ended_ns
    for begun_ns, ended_ns in reversed(busy):
        if ended_ns == to_ns and begun_ns >= from_ns:
            to_ns = begun_ns
    return to_ns - from_ns


def _not_again(series: Series, own: Try, following: Try) -> Violation:
    why = "it had succeeded" if own.outcome == "good" else f"{own.failure} is not worth a retry"
    return broken(
        series.requirements,
        call=series.call,
        expected=f"{series.what} is not tried again: {why}, by {series.source}",
        observed="it was tried again",
        events=(*own.events, *following.events),
        hint="Is every failure retried, without a look at its code?",
    )


def _never_again(series: Series, own: Try, given_up: TraceEvent) -> Violation:
    return broken(
        series.requirements,
        call=series.call,
        expected=(
            f"{series.what} is tried again after {own.failure},"
            f" up to {series.attempts_max} times in all, by {series.source}"
        ),
        observed="it was given up after the first failure",
        events=(*own.events, given_up.seq),
        hint="Is the policy read, and is the code looked up in it?",
    )


def _count(series: Series, observed: str) -> Violation:
    given_up = () if series.given_up is None else (series.given_up.seq,)
    return broken(
        series.requirements,
        call=series.call,
        expected=f"{series.attempts_max} tries in all of {series.what}, by {series.source}",
        observed=observed,
        events=(*(item.begun.seq for item in series.tries), *given_up),
        hint="Is the limit counted in retries rather than tries? The first one counts.",
    )


def _waited(series: Series, number: int, legal: Interval, waited_ns: int) -> Violation:
    own, following = series.tries[number - 1], series.tries[number]
    observed = f"waited {format_duration(waited_ns)}" if waited_ns >= 0 else "it did not wait"
    return broken(
        series.requirements,
        call=series.call,
        expected=f"a wait of {legal} before retry {number} of {series.what}, by {series.source}",
        observed=observed,
        events=(*own.events, *following.events),
        hint="Compare base, factor and first retry number with the policy, then the jitter.",
    )
