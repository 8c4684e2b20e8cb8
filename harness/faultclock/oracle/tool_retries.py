"""Retries of a tool: as often and after the waits that its own contract declares, and no others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from faultclock.model.duration import format_duration
from faultclock.model.error_model import ErrorModel
from faultclock.model.retry_policy import RetryPolicy
from faultclock.oracle.attempts import Attempt
from faultclock.oracle.check import Verdicts, Violation, also, broken, held, otherwise
from faultclock.oracle.executions import (
    Ask,
    ToolRun,
    classify_for_tool,
    retry_rule,
    tool_check,
    tool_runs,
)
from faultclock.oracle.history import History
from faultclock.oracle.redo import FAULTS, Act, Tried, in_time, judgements, wait_before


@dataclass(frozen=True, slots=True, kw_only=True)
class _Failure:
    """A failed attempt of an ask, and what the contract says of it."""

    execution: ToolRun
    made: tuple[Attempt, ...]
    number: int
    code: str
    retryable: bool
    policy: RetryPolicy | None

    @property
    def attempt(self) -> Attempt:
        return self.made[self.number - 1]

    @property
    def next(self) -> Attempt | None:
        return self.made[self.number] if self.number < len(self.made) else None

    @property
    def limit(self) -> int:
        return self.policy.attempts_max if self.retryable and self.policy is not None else 1

    @property
    def act(self) -> Act:
        """What had to follow: nothing, too, where no time was left for another attempt."""
        if not self.retryable or (self.next is None and not self._has_room):
            return "end"
        return "retry" if self.number < self.limit else "exhausted"

    @property
    def _has_room(self) -> bool:
        """Whether another attempt was allowed, and could have begun before the deadline."""
        known_ns = self.attempt.known_ns
        if self.policy is None or known_ns is None or self.number >= self.limit:
            return False
        latest_ns = known_ns + self.policy.interval(self.number).high_ns
        return self.execution.ended and latest_ns < self.execution.deadline_ns


def _asks(history: History, model: ErrorModel) -> Iterator[list[_Failure]]:
    """Yield the failures of each thing that a tool asked its service."""
    for execution in tool_runs(history):
        if execution.cancel is None:
            for ask in execution.asks or ():
                yield list(_failures(history, model, execution, ask))


def _failures(
    history: History, model: ErrorModel, execution: ToolRun, ask: Ask
) -> Iterator[_Failure]:
    policy, retryable = retry_rule(history) or (None, ())
    for number, attempt in enumerate(ask.attempts, start=1):
        seen = classify_for_tool(model, attempt)
        if seen is not None and seen.pair is not None:
            yield _Failure(
                execution=execution,
                made=ask.attempts,
                number=number,
                code=seen.pair[1],
                retryable=seen.pair[1] in retryable,
                policy=policy,
            )


@tool_check(
    "tool.retries",
    title="Retries of the contract",
    says="A failed execution is retried as often as the tool's contract declares, and no more.",
    unjudged="no attempt failed in a way that the model has a class for",
    role="tool",
    section="tools",
)
def retries(history: History, model: ErrorModel) -> Verdicts:
    """Judge which attempts were followed by another one; one fault of an ask is enough."""
    requirement = next(iter(also(model, "tool.retries")), None)
    for failures in _asks(history, model):
        tries = (
            Tried(of=item, act=item.act, again=item.next is not None, given_up=True)
            for item in failures
        )
        for judged, failure in judgements(tries):
            if judged == "retried":
                continue
            yield held(requirement)
            if judged in FAULTS:
                yield _not_as_declared(failure, requirement)
                break


def _not_as_declared(failure: _Failure, requirement: str | None) -> Violation:
    limit, made = failure.limit, failure.made
    expected = f"{limit} attempts in all" if limit > 1 else "one attempt"
    if failure.policy is None:
        expected += ": the contract declares no retry policy"
    else:
        word = "retryable" if failure.retryable else "terminal"
        expected += f" for {failure.code}, which the contract makes {word}"
    if failure.next is not None:
        observed = f"{len(made)} attempts were made"
        hint = "A runtime relies on the contract: does a library retry as well?"
    else:
        observed, hint = f"gave up after {failure.number}", "The first try is attempt 1."
    return broken(
        (requirement,),
        call=failure.execution.call.id,
        expected=expected,
        observed=observed,
        events=(*(attempt.start.seq for attempt in made), *failure.execution.seen),
        hint=hint,
    )


@tool_check(
    "tool.waits",
    title="Waits of the contract",
    says="Each wait before a retry of a tool lies in the interval that its contract declares.",
    unjudged="nothing was tried again",
    role="tool",
    section="tools",
)
def waits(history: History, model: ErrorModel) -> Verdicts:
    """Judge the wait before each further attempt that the contract allows."""
    requirement = next(iter(also(model, "tool.waits")), None)
    if retry_rule(history) is None:
        yield otherwise("the subject declares no retry policy in a contract")
    for failure in (item for failures in _asks(history, model) for item in failures):
        attempt, following, policy = failure.attempt, failure.next, failure.policy
        longest_ns = None if following is None else wait_before(attempt, following)
        if failure.act != "retry" or following is None or longest_ns is None:
            continue
        if policy is None or attempt.known_ns is None:
            continue
        if attempt.signal is not None and "retry-after" in attempt.signal.headers:
            # Neither the document nor the contract says which of the two holds.
            continue
        yield held(requirement)
        legal, wait_ns = policy.interval(failure.number), following.start.at_ns - attempt.known_ns
        if in_time(legal, longest_ns, wait_ns, history.timing.slack_ns):
            continue
        yield broken(
            (requirement,),
            call=failure.execution.call.id,
            expected=f"a wait of {legal}, as the contract declares",
            observed=f"waited {format_duration(max(0, wait_ns))} before retry {failure.number}",
            events=(*attempt.events, following.start.seq),
        )
