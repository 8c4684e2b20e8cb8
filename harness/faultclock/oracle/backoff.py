"""Backoff: each wait inside its interval, Retry-After to the letter, and the number of attempts.

A wait runs from the instant at which the subject could know of the failure to its next act toward
the provider, so latency never blurs it. The only slack is one microsecond, for float seconds; in
real time it is that of `wall`, and no wait is too long.
"""

from __future__ import annotations

from faultclock.model.duration import format_duration
from faultclock.model.error_model import ErrorModel
from faultclock.oracle.attempts import Attempt, Request
from faultclock.oracle.check import (
    Check,
    Verdicts,
    Violation,
    also,
    broken,
    held,
    otherwise,
)
from faultclock.oracle.history import History
from faultclock.oracle.plans import plans_of
from faultclock.oracle.predict import Step, Wait, step_legal
from faultclock.oracle.wall import VIRTUAL

__all__ = ["CHECKS"]


def _wait(history: History, model: ErrorModel) -> Verdicts:
    yield otherwise("no retry was due after a scheduled wait")
    for request, steps in plans_of(history, model):
        for step in steps:
            if step.wait is not None and not step.wait.exact and step.waited_ns is not None:
                yield from _judge_wait(model, request, step)
            elif step.act == "retry" and step.next is not None and step.waited_ns is None:
                yield _unmeasured(request, step, step.next)


def _unmeasured(request: Request, step: Step, following: Attempt) -> Violation:
    own = None if step.ruling is None else step.ruling.requirements
    number = step.attempt.number
    return Violation(
        requirement=None if own is None else own.wait,
        call=request.id,
        expected=f"attempt {number} is answered or its connection closed before the next begins",
        observed=(
            f"attempt {number} was left open, so the wait between its end and attempt"
            f" {following.number} cannot be measured"
        ),
        events=(*step.attempt.events, *following.events),
        hint="Close the connection when a deadline passes; two requests at once are not a retry.",
        inconclusive=True,
    )


def _retry_after(history: History, model: ErrorModel) -> Verdicts:
    yield otherwise("no retry was due after a Retry-After that could be honored")
    for request, steps in plans_of(history, model):
        for step in steps:
            if step.wait is not None and step.wait.exact and step.waited_ns is not None:
                yield from _judge_wait(model, request, step)


def _judge_wait(model: ErrorModel, request: Request, step: Step) -> Verdicts:
    wait, ruling, following = step.wait, step.ruling, step.next
    if wait is None or ruling is None or following is None or step.waited_ns is None:
        return
    own = ruling.requirements
    requirement = None if own is None else (own.retry_after if wait.exact else own.wait)
    exercised = _exercised(model, step, requirement, "" if wait.exact else "backoff.wait")
    yield held(*exercised)
    if step_legal(step):
        return
    yield broken(
        (requirement or next(iter(also(model, "backoff.declared")), None), *exercised),
        call=request.id,
        expected=_expected(step),
        observed=_observed(step, step.waited_ns, wait.retry_number),
        events=(*step.attempt.events, *following.events),
        hint=_hint(step.waited_ns, step),
    )


def _expected(step: Step) -> str:
    wait = step.wait
    if wait is None:
        return ""
    if not wait.timing.exact:
        least = format_duration(wait.interval.low_ns)
        return f"a wait of at least {least} ({wait.basis}), in real time"
    if wait.interval.low_ns == wait.interval.high_ns:
        exactly = f"exactly {format_duration(wait.nominal_ns)}" if wait.nominal_ns else "at once"
        return f"{exactly} ({wait.basis}){_in_steps(wait)}"
    return f"a wait of {wait.interval} ({wait.basis}){_in_steps(wait)}"


def _in_steps(wait: Wait) -> str:
    """Say what the binding grants the timers of its host; nothing where it grants nothing."""
    slack_ns = wait.timing.slack_ns
    return "" if slack_ns == VIRTUAL.slack_ns else f", within {format_duration(slack_ns)}"


def _observed(step: Step, waited_ns: int, retry_number: int) -> str:
    # A call's failures of another policy may be counted apart: then the retry is not the call's.
    mixed = f" (attempt {step.attempt.number + 1} of the call)" if _is_mixed(step) else ""
    if waited_ns < 0:
        early = format_duration(-waited_ns)
        return f"retry {retry_number}{mixed} began {early} before the failure could be known"
    return f"waited {format_duration(waited_ns)} before retry {retry_number}{mixed}"


def _is_mixed(step: Step) -> bool:
    return step.failures != step.attempt.number


def _hint(waited_ns: int, step: Step) -> str:
    if step.wait is None:
        return ""
    if step.wait.exact:
        if waited_ns < step.wait.nominal_ns:
            return "A cap, a schedule of its own, or a form of the header that it cannot read."
        return "Was the header read, in this form? Nothing may be added to it, not even jitter."
    if waited_ns == 0:
        return "Nothing was waited: often an exponent or a retry number that begins wrong."
    if _is_mixed(step):
        return "The call's failures under other policies are not counted here."
    return "Compare base, factor and first retry number with the schedule, then the jitter."


def _attempts(history: History, model: ErrorModel) -> Verdicts:
    yield otherwise("no call that retried came to the end of its attempts")
    for request, steps in plans_of(history, model):
        over: set[str] = set()
        retried: set[tuple[str, str]] = set()
        for step in steps:
            if step.ruling is None:
                continue
            provider, left = step.attempt.provider, step.failover is not None
            policy = (provider, step.ruling.policy.id)
            if step.act == "retry":
                if step.next is not None:
                    retried.add(policy)
                elif (request.end is not None or left) and policy in retried:
                    yield from _count(model, request, step)
            elif step.act == "exhausted" and provider not in over:
                if request.end is None and step.next is None and not left:
                    continue
                # Each further attempt is the same fault; it is reported once, with the total.
                if step.next is not None:
                    over.add(provider)
                if policy in retried or step.next is not None:
                    yield from _count(model, request, step)


def _count(model: ErrorModel, request: Request, step: Step) -> Verdicts:
    ruling = step.ruling
    if ruling is None:
        return
    own = None if ruling.requirements is None else ruling.requirements.attempts
    exercised = _exercised(model, step, own, "backoff.attempts")
    yield held(*exercised)
    if step.act == "exhausted" and step.next is None:
        return
    own_attempts = [
        attempt for attempt in request.attempts if attempt.provider == step.attempt.provider
    ]
    limit, total = ruling.policy.attempts_max, len(own_attempts)
    source = ", declared by the subject" if ruling.declared else ""
    mixed = "" if total == step.failures or step.next is not None else f" ({total} in all)"
    ending = (request.end.seq,) if request.end is not None else ()
    yield broken(
        (own or next(iter(also(model, "backoff.declared")), None), *exercised),
        call=request.id,
        expected=f"{limit} attempts in all for {step.classification}{source}",
        observed=(
            f"gave up after {step.failures}{mixed}"
            if step.next is None
            else f"{total} attempts were made"
        ),
        events=(*(attempt.start.seq for attempt in own_attempts), *ending),
        hint=_count_hint(step, limit, total),
    )


def _count_hint(step: Step, limit: int, total: int) -> str:
    if step.next is None:
        return "Often the default of a library. The first try is attempt 1."
    if total == limit + 1:
        return "Is the limit counted in retries rather than attempts? The first try is attempt 1."
    return "Do two layers retry, so that their attempts multiply?"


def _exercised(model: ErrorModel, step: Step, own: str | None, name: str) -> tuple[str | None, ...]:
    """Return the requirements that are shown to hold when `step` is right.

    A policy that the subject declares takes the default's place: then nothing is shown of the
    default, for every subject.
    """
    general = also(model, name) if name else ()
    if step.ruling is not None and step.ruling.declared:
        return (*general, *also(model, "backoff.declared"))
    return (own, *general)


CHECKS = (
    Check(
        id="backoff.wait",
        title="Scheduled waits",
        says="Each wait without a Retry-After lies within the legal interval of its retry.",
        run=_wait,
    ),
    Check(
        id="backoff.retry-after",
        title="Retry-After, exactly",
        says="When the policy honors Retry-After, the wait is exactly as long as it says.",
        run=_retry_after,
    ),
    Check(
        id="backoff.attempts",
        title="Number of attempts",
        says="A call that retries makes exactly as many attempts as its policy allows.",
        run=_attempts,
    ),
)
