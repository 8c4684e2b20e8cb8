"""Retries of a tool: as often and after the waits that its own contract declares, and no others."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.retry_policy import RetryPolicy
from faultclock.oracle.check import Verdicts, Violation, also, otherwise
from faultclock.oracle.checks.roles.executions import (
    ToolRun,
    classify_for_tool,
    retry_rule,
    tool_check,
    tool_runs,
)
from faultclock.oracle.facts.history import History
from faultclock.oracle.retries.redo import (
    ATTEMPTS,
    Judged,
    Series,
    Try,
    citing,
    judge_series,
    judge_waits,
)
from faultclock.oracle.wire.attempts import Attempt

_JUDGED: tuple[Judged, ...] = ("ended", "again", "never", *ATTEMPTS)


def _asks(history: History, model: ErrorModel) -> Iterator[Series]:
    """Yield what a tool asked its service, each with all attempts at it."""
    policy, retryable = retry_rule(history) or (None, ())
    for run in tool_runs(history):
        for ask in run.asks or () if run.cancel is None else ():
            followers = zip_longest(ask.attempts, ask.attempts[1:])
            yield Series(
                what="a request of the tool to its service",
                call=run.call.id,
                tries=tuple(
                    _try(history, model, run, number, attempt, following, policy, retryable)
                    for number, (attempt, following) in enumerate(followers, 1)
                ),
                policy=policy,
                source="the contract" if policy else "the contract, which has no retry policy",
                given_up=run.call.end,
                slack_ns=history.timing.slack_ns,
            )


def _try(
    history: History,
    model: ErrorModel,
    run: ToolRun,
    number: int,
    attempt: Attempt,
    following: Attempt | None,
    policy: RetryPolicy | None,
    retryable: tuple[str, ...],
) -> Try:
    seen, known_ns = classify_for_tool(model, attempt), attempt.known_ns
    if seen is None or seen.pair is None:
        return Try(begun=attempt.start, ended=None, outcome="open")
    due = seen.pair[1] in retryable
    if due and following is None and policy is not None and number < policy.attempts_max:
        # Nothing had to follow, too, where no time was left for another attempt.
        latest_ns = None if known_ns is None else known_ns + policy.interval(number).high_ns
        due = run.ended and latest_ns is not None and latest_ns < run.deadline_ns
    return Try(
        begun=attempt.start,
        ended=history.trace.events[attempt.events[-1] - 1],
        outcome="failed",
        failure=str(seen),
        retryable=due,
        known_ns=known_ns,
        knowable_ns=attempt.knowable_ns,
        hinted=attempt.signal is not None and "retry-after" in attempt.signal.headers,
    )


@tool_check(
    "tool.retries",
    title="Retries of the contract",
    says="A failed execution is retried as often as the tool's contract declares, and no more.",
    unjudged="no attempt failed in a way that the model has a class for",
)
def retries(history: History, model: ErrorModel) -> Verdicts:
    """Judge which attempts were followed by another one; one fault of an ask is enough."""
    for series in citing(_asks(history, model), also(model, "tool.retries")[:1]):
        for verdict in judge_series(series, _JUDGED):
            yield verdict
            if isinstance(verdict, Violation):
                break


@tool_check(
    "tool.waits",
    title="Waits of the contract",
    says="Each wait before a retry of a tool lies in the interval that its contract declares.",
    unjudged="nothing was tried again",
)
def waits(history: History, model: ErrorModel) -> Verdicts:
    """Judge the wait before each further attempt that the contract allows."""
    if retry_rule(history) is None:
        yield otherwise("the subject declares no retry policy in a contract")
    for series in citing(_asks(history, model), also(model, "tool.waits")[:1]):
        yield from judge_waits(series)
