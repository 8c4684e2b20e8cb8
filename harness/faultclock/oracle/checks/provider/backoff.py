"""Backoff: what is asked again of a provider, each wait, Retry-After to the letter, and how often.

A wait runs from the instant at which the subject could know of the failure to its next act toward
the provider, so latency never blurs it. The only slack is one microsecond, for float seconds; in
real time it is that of `wall`, and no wait is too long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from faultclock.model.duration import format_duration
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.trace.trace import seqs
from faultclock.oracle.check import (
    OF_OWN_POLICIES,
    Verdicts,
    Violation,
    also,
    broken,
    check,
    class_requirement,
    exercising,
    held,
    requirement_of,
)
from faultclock.oracle.facts.history import History
from faultclock.oracle.retries.plans import plans_of
from faultclock.oracle.retries.predict import Step, Wait, step_legal
from faultclock.oracle.retries.redo import ATTEMPTS, DISPOSITION, Judged, Tried, judgements
from faultclock.oracle.wire.attempts import Request
from faultclock.oracle.wire.signals import Classification
from faultclock.oracle.wire.timing import VIRTUAL


def judged_steps(
    history: History, model: ErrorModel, given_up: Callable[[Request], bool]
) -> Iterator[tuple[Request, Judged, Step]]:
    """Yield what is to be said of each attempt of each request.

    Args:
        given_up: whether a request is known to have been given up where it was not passed on.
    """
    for request, steps in plans_of(history, model):
        over = given_up(request)
        tries = (
            Tried(
                of=step,
                act=step.act,
                again=step.next is not None,
                given_up=over or step.failover is not None,
                thing=step.attempt.provider,
                policy="" if step.ruling is None else step.ruling.policy.id,
            )
            for step in steps
        )
        for judged, step in judgements(tries):
            yield request, judged, step


@check(
    "classification.disposition",
    title="Retried or ended, as the class says",
    says="A retryable failure is retried, and a terminal one is not.",
    unjudged="no attempt failed in a way that the document speaks of",
)
def disposition(history: History, model: ErrorModel) -> Verdicts:
    """Judge what followed each attempt."""

    def given_up(request: Request) -> bool:
        # A call that waits, or that returned, is judged by other checks. What is ignored on
        # purpose is judged by none of them, and had to be retried first all the same.
        return request.gave_up or (request.returned and request.id in history.suppressed)

    for request, steps in plans_of(history, model):
        for step in steps:
            followed = step.next is not None or step.failover is not None or request.raised
            if step.attempt.outcome == "ok" and followed:
                yield _after_success(model, request, step)
    for request, judged, step in judged_steps(history, model, given_up):
        seen = step.classification
        if judged not in DISPOSITION or seen is None:
            continue
        requirements = _of_class(history, model, step, seen)
        if judged in ("retried", "ended"):
            yield held(*requirements)
        else:
            yield _not_as_its_class(request, step, seen, requirements)


def _of_class(
    history: History, model: ErrorModel, step: Step, seen: Classification
) -> tuple[str | None, ...]:
    """Return the requirements of what had to follow a failure; the first one is cited."""
    own = seen.requirement
    extra = also(model, "disposition.terminal")
    if step.act == "retry":
        extra = also(model, "disposition.retry")
    if seen.pair:
        own = class_requirement(model, seen.pair[0])
        extra = extra if step.act == "retry" else ()
    adapter = history.trace.header.subject.role == "provider_adapter"
    if adapter and model.adapter_retries == "forbidden":
        extra = also(model, "disposition.adapter")
        own = next(iter(extra), own)
    return (own, *extra, *also(model, "classification.message"))


def _after_success(model: ErrorModel, request: Request, step: Step) -> Violation:
    following = step.next or step.failover
    if following is not None:
        observed, events = f"attempt {step.attempt.number + 1} was made", following.events
    else:
        observed, events = "the call ended with an error", seqs(request.end)
    return Violation(
        requirement=requirement_of(model, "classification.message"),
        call=request.id,
        expected=f"the reply of attempt {step.attempt.number}, which was good",
        observed=observed,
        events=(*step.attempt.events, *events),
        hint="A good answer was taken for an error, or several calls went to the base URL of one.",
    )


def _not_as_its_class(
    request: Request, step: Step, seen: Classification, requirements: tuple[str | None, ...]
) -> Violation:
    attempt = step.attempt
    if step.next is not None:
        named = seen if seen.pair else "a failure without a class"
        expected = f"no retry: {attempt.signal} is {named}, which ends the call"
        observed = f"attempt {attempt.number + 1} was made"
        events = step.next.events
        hint = "Often a retry on every error, or a match on words of the message."
    else:
        ruling = step.ruling
        within = "" if ruling is None else f", up to {ruling.policy.attempts_max} attempts"
        expected = f"a retry: {attempt.signal} is {seen}{within}"
        observed = f"the call gave up after attempt {attempt.number}, without a retry"
        events = seqs(request.end)
        hint = "Often a failure that is taken for a permanent one, or a client without retries."
    return broken(
        requirements,
        call=request.id,
        expected=expected,
        observed=observed,
        events=(*attempt.events, *events),
        hint=hint,
    )


@check(
    "backoff.wait",
    title="Scheduled waits",
    says="Each wait without a Retry-After lies within the legal interval of its retry.",
    unjudged="no retry was due after a scheduled wait",
    about=OF_OWN_POLICIES,
)
def waits(history: History, model: ErrorModel) -> Verdicts:
    """Judge each wait that the schedule of a policy bounds."""
    yield from _waits(history, model, exact=False)


@check(
    "backoff.retry-after",
    title="Retry-After, exactly",
    says="When the policy honors Retry-After, the wait is exactly as long as it says.",
    unjudged="no retry was due after a Retry-After that could be honored",
    about=OF_OWN_POLICIES,
)
def exact_waits(history: History, model: ErrorModel) -> Verdicts:
    """Judge each wait that an answer has set."""
    yield from _waits(history, model, exact=True)


def _waits(history: History, model: ErrorModel, *, exact: bool) -> Verdicts:
    for request, steps in plans_of(history, model):
        for step in steps:
            wait, waited_ns = step.wait, step.waited_ns
            if wait is not None and wait.exact == exact and waited_ns is not None:
                yield from _judge_wait(model, request, step, wait, waited_ns)
            elif not exact and step.act == "retry" and step.next and waited_ns is None:
                yield _unmeasured(request, step)


def _unmeasured(request: Request, step: Step) -> Violation:
    own, number = step.requirements, step.attempt.number
    return Violation(
        requirement=None if own is None else own.wait,
        call=request.id,
        expected=f"attempt {number} is answered or its connection closed before the next begins",
        observed=f"attempt {number} was left open, so the wait between its end and attempt"
        f" {number + 1} cannot be measured",
        events=step.events,
        hint="Close the connection when a deadline passes; two requests at once are not a retry.",
        inconclusive=True,
    )


def _judge_wait(
    model: ErrorModel, request: Request, step: Step, wait: Wait, waited_ns: int
) -> Verdicts:
    own = step.requirements
    requirement = None if own is None else (own.retry_after if wait.exact else own.wait)
    exercised = _exercised(model, step, requirement, "" if wait.exact else "backoff.wait")
    yield held(*exercised)
    if step_legal(step):
        return
    yield broken(
        (requirement or requirement_of(model, "backoff.declared"), *exercised),
        call=request.id,
        expected=_expected(wait),
        observed=_observed(step, waited_ns, wait.retry_number),
        events=step.events,
        hint=_hint(waited_ns, step, wait),
    )


def _expected(wait: Wait) -> str:
    if not wait.timing.exact:
        least = format_duration(wait.interval.low_ns)
        return f"a wait of at least {least} ({wait.basis}), in real time"
    slack_ns = wait.timing.slack_ns
    # What the binding grants the timers of its host.
    steps = "" if slack_ns == VIRTUAL.slack_ns else f", within {format_duration(slack_ns)}"
    if wait.interval.low_ns == wait.interval.high_ns:
        exactly = f"exactly {format_duration(wait.nominal_ns)}" if wait.nominal_ns else "at once"
        return f"{exactly} ({wait.basis}){steps}"
    return f"a wait of {wait.interval} ({wait.basis}){steps}"


def _observed(step: Step, waited_ns: int, retry_number: int) -> str:
    # A call's failures of another policy may be counted apart: then the retry is not the call's.
    mixed = f" (attempt {step.attempt.number + 1} of the call)" if _is_mixed(step) else ""
    return f"waited {format_duration(waited_ns)} before retry {retry_number}{mixed}"


def _is_mixed(step: Step) -> bool:
    return step.failures != step.attempt.number


def _hint(waited_ns: int, step: Step, wait: Wait) -> str:
    if wait.exact:
        if waited_ns < wait.nominal_ns:
            return "A cap, a schedule of its own, or a form of the header that it cannot read."
        return "Was the header read, in this form? Nothing may be added to it, not even jitter."
    if waited_ns == 0:
        return "Nothing was waited: often an exponent or a retry number that begins wrong."
    if _is_mixed(step):
        return "The call's failures under other policies are not counted here."
    return "Compare base, factor and first retry number with the schedule, then the jitter."


@check(
    "backoff.attempts",
    title="Number of attempts",
    says="A call that retries makes exactly as many attempts as its policy allows.",
    unjudged="no call that retried came to the end of its attempts",
    about=OF_OWN_POLICIES,
)
def attempts(history: History, model: ErrorModel) -> Verdicts:
    """Judge how many attempts each request had at a provider."""
    for request, judged, step in judged_steps(history, model, lambda item: item.end is not None):
        if judged not in ATTEMPTS:
            continue
        own = None if step.requirements is None else step.requirements.attempts
        exercised = _exercised(model, step, own, "backoff.attempts")
        yield held(*exercised)
        if judged != "used_up":
            cited = own or requirement_of(model, "backoff.declared")
            yield exercising(_count(request, step, cited), *exercised)


def _count(request: Request, step: Step, requirement: str | None) -> Violation:
    made = [item for item in request.attempts if item.provider == step.attempt.provider]
    limit, total = 0 if step.ruling is None else step.ruling.policy.attempts_max, len(made)
    declared = step.ruling is not None and step.ruling.declared
    if step.next is None:
        mixed = "" if total == step.failures else f" ({total} in all)"
        observed = f"gave up after {step.failures}{mixed}"
        hint = "Often the default of a library. The first try is attempt 1."
    else:
        observed = f"{total} attempts were made"
        hint = "Do two layers retry, so that their attempts multiply?"
        if total == limit + 1:
            hint = "Is the limit counted in retries rather than attempts?"
            hint += " The first try is attempt 1."
    return Violation(
        requirement=requirement,
        call=request.id,
        expected=f"{limit} attempts in all for {step.classification}"
        + (", declared by the subject" if declared else ""),
        observed=observed,
        events=(*(attempt.start.seq for attempt in made), *seqs(request.end)),
        hint=hint,
    )


def _exercised(model: ErrorModel, step: Step, own: str | None, name: str) -> tuple[str | None, ...]:
    """Return the requirements that are shown to hold when `step` is right.

    A policy that the subject declares takes the default's place: then nothing is shown of the
    default, for every subject.
    """
    general = also(model, name) if name else ()
    if step.ruling is not None and step.ruling.declared:
        return (*general, *also(model, "backoff.declared"))
    return (own, *general)
