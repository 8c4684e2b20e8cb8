"""Retries of a tool: as often and after the waits that its own contract declares, and no others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from faultclock.model.duration import format_duration
from faultclock.model.error_model import ErrorModel
from faultclock.model.retry_policy import RetryPolicy
from faultclock.oracle.attempts import Attempt
from faultclock.oracle.check import (
    Check,
    Verdicts,
    also,
    broken,
    held,
    otherwise,
)
from faultclock.oracle.executions import Execution, classify_for_tool, executions, retry_rule
from faultclock.oracle.history import History

__all__ = ["CHECKS"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Failure:
    """A failed attempt of an ask, and what the contract says of it."""

    execution: Execution
    attempt: Attempt
    number: int
    code: str
    retryable: bool
    next: Attempt | None
    made: tuple[Attempt, ...]


def _failures(history: History, model: ErrorModel) -> Iterator[_Failure]:
    declared = retry_rule(history)
    retryable = () if declared is None else declared[1]
    for execution in executions(history):
        if execution.cancel is not None or execution.asks is None:
            continue
        for ask in execution.asks:
            followers = (*ask.attempts, None)[1:]
            pairs = zip(ask.attempts, followers, strict=True)
            for number, (attempt, following) in enumerate(pairs, start=1):
                seen = None
                if attempt.signal is not None:
                    seen = classify_for_tool(model, attempt.signal)
                if seen is None or seen.pair is None:
                    continue
                yield _Failure(
                    execution=execution,
                    attempt=attempt,
                    number=number,
                    code=seen.pair[1],
                    retryable=seen.pair[1] in retryable,
                    next=following,
                    made=ask.attempts,
                )


def _number(history: History, model: ErrorModel) -> Verdicts:
    yield otherwise("no attempt failed in a way that the model has a class for")
    requirement = next(iter(also(model, "tool.retries")), None)
    declared = retry_rule(history)
    policy = None if declared is None else declared[0]
    attempts_max = 1 if policy is None else policy.attempts_max
    over: set[int] = set()
    for failure in _failures(history, model):
        due = failure.retryable and failure.number < attempts_max
        if failure.made[0].start.seq in over or (due and failure.next is not None):
            continue
        yield held(requirement)
        if due and (not failure.execution.ended or not _has_room(failure, policy)):
            continue
        if due == (failure.next is not None):
            continue
        over.add(failure.made[0].start.seq)
        allowed = attempts_max if failure.retryable else 1
        yield broken(
            (requirement,),
            call=failure.execution.call.id,
            expected=_expected(failure, allowed, declared=policy is not None),
            observed=f"{len(failure.made)} attempts were made"
            if failure.next is not None
            else f"gave up after {failure.number}",
            events=(
                *(attempt.start.seq for attempt in failure.made),
                *failure.execution.seen,
            ),
            hint="A runtime relies on the contract: does a library retry as well?"
            if failure.next is not None
            else "The first try is attempt 1.",
        )


def _expected(failure: _Failure, allowed: int, *, declared: bool) -> str:
    attempts = f"{allowed} attempts in all" if allowed > 1 else "one attempt"
    if not declared:
        return f"{attempts}: the contract declares no retry policy"
    word = "retryable" if failure.retryable else "terminal"
    return f"{attempts} for {failure.code}, which the contract makes {word}"


def _has_room(failure: _Failure, policy: RetryPolicy | None) -> bool:
    known_ns = failure.attempt.known_ns
    if policy is None or known_ns is None:
        return False
    earliest_ns = known_ns + policy.interval(failure.number).high_ns
    return earliest_ns < failure.execution.deadline_ns


def _waits(history: History, model: ErrorModel) -> Verdicts:
    yield otherwise("nothing was tried again")
    requirement = next(iter(also(model, "tool.waits")), None)
    declared = retry_rule(history)
    if declared is None:
        yield otherwise("the subject declares no retry policy in a contract")
        return
    policy = declared[0]
    slack_ns = history.timing.slack_ns
    for failure in _failures(history, model):
        attempt, following = failure.attempt, failure.next
        if not failure.retryable or following is None or attempt.known_ns is None:
            continue
        if failure.number >= policy.attempts_max:
            # There was to be no such attempt at all: the number of attempts is what is wrong.
            continue
        if attempt.signal is not None and "retry-after" in attempt.signal.headers:
            # Neither the document nor the contract says which of the two holds.
            continue
        yield held(requirement)
        legal = policy.interval(failure.number)
        knowable_ns = attempt.known_ns if attempt.knowable_ns is None else attempt.knowable_ns
        low_ns = knowable_ns + legal.low_ns - slack_ns
        high_ns = attempt.known_ns + legal.high_ns + slack_ns
        if low_ns <= following.start.at_ns <= high_ns:
            continue
        waited = format_duration(max(0, following.start.at_ns - attempt.known_ns))
        yield broken(
            (requirement,),
            call=failure.execution.call.id,
            expected=f"a wait of {legal}, as the contract declares",
            observed=f"waited {waited} before retry {failure.number}",
            events=(*attempt.events, following.start.seq),
        )


CHECKS: tuple[Check, ...] = (
    Check(
        id="tool.retries",
        title="Retries of the contract",
        says="A failed execution is retried as often as the tool's contract declares, and no more.",
        run=_number,
    ),
    Check(
        id="tool.waits",
        title="Waits of the contract",
        says="Each wait before a retry of a tool lies in the interval that its contract declares.",
        run=_waits,
    ),
)
