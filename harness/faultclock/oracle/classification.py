"""Classification: what the subject says a failure is, and what it did about it."""

from __future__ import annotations

from faultclock.model.error_model import ErrorModel
from faultclock.oracle.attempts import Request
from faultclock.oracle.breaker import breaker_refusals
from faultclock.oracle.chain import chain_of, origin, typed
from faultclock.oracle.check import (
    Check,
    Verdicts,
    Violation,
    also,
    broken,
    class_requirement,
    exercising,
    held,
    otherwise,
)
from faultclock.oracle.history import History
from faultclock.oracle.plans import plans_of
from faultclock.oracle.predict import Step

__all__ = ["DECLARED", "DISPOSITION"]


def _declared(history: History, model: ErrorModel) -> Verdicts:
    yield otherwise("no call ended with an error")
    general = also(model, "classification.declared")
    for request, steps in plans_of(history, model):
        if not request.raised or request.end is None or not steps or not steps[-1].attempt.failed:
            continue
        last = steps[-1]
        seen = last.classification
        if seen is None or seen.pair is None:
            unmapped = "" if seen is None else f": {seen.unmapped}"
            yield otherwise(f"the document has no class for {last.attempt.signal}{unmapped}")
            continue
        yield held(seen.requirement, *general)
        named = origin(chain_of(request.end))
        if typed(named) == seen.pair or _is_refusal(history, model, typed(named), request):
            continue
        said = f"{named.get('class')}/{named.get('code')}" if named else "neither class nor code"
        yield broken(
            (
                seen.requirement if named else next(iter(general), seen.requirement),
                seen.requirement,
                *general,
            ),
            call=request.id,
            expected=f"{seen} for {last.attempt.signal}",
            observed=f"the error declares {said}",
            events=(*last.attempt.events, request.end.seq),
            hint=""
            if named
            else "Give the error `error_class` and `code`, or the binding `classify`.",
        )


def _is_refusal(
    history: History, model: ErrorModel, pair: tuple[str, str] | None, request: Request
) -> bool:
    """Return whether the end shows a retry that an open breaker kept back."""
    rules = model.breaker
    if pair is None or rules is None or "/".join(pair) != rules.refusal:
        return False
    return any(
        item.call == request.id and not item.moved for item in breaker_refusals(history, model)
    )


def _disposition(history: History, model: ErrorModel) -> Verdicts:
    yield otherwise("no attempt failed in a way that the document speaks of")
    for request, steps in plans_of(history, model):
        retried: set[tuple[str, str]] = set()
        for step in steps:
            yield from _judge_step(history, model, request, step, retried)


def _judge_step(
    history: History, model: ErrorModel, request: Request, step: Step, retried: set[tuple[str, str]]
) -> Verdicts:
    seen, model = step.classification, model
    if step.act == "none":
        following = step.next or step.failover
        if step.attempt.outcome == "ok" and (following is not None or request.raised):
            yield _after_success(model, request, step)
        return
    if seen is None or step.act in ("exhausted", "unjudged"):
        return
    suppressed = request.returned and request.id in history.suppressed
    stays = step.next is None and step.failover is None
    if stays and not request.gave_up and not suppressed:
        # It still waits, or it returned: a hang and a swallowed failure are other checks' findings.
        # What is ignored on purpose is none of theirs, and had to be retried first all the same.
        return
    own = class_requirement(model, seen.pair[0]) if seen.pair else seen.requirement
    kind = "retry" if step.act == "retry" else "terminal"
    extra = also(model, f"disposition.{kind}") if kind == "retry" or not seen.pair else ()
    if _is_adapters(history, model):
        extra = also(model, "disposition.adapter")
        own = next(iter(extra), own)
    requirements = (own, *extra, *also(model, "classification.message"))
    if step.act == "end":
        yield held(*requirements)
        if step.next is not None:
            yield exercising(_must_end(step, own), *requirements)
        return
    if step.next is not None:
        yield held(*requirements)
        retried.add(_policy(step))
    elif _policy(step) not in retried:
        # After a first retry, giving up too soon is a matter of how many attempts there were.
        yield held(*requirements)
        yield exercising(_must_retry(request, step, own), *requirements)


def _policy(step: Step) -> tuple[str, str]:
    return step.attempt.provider, "" if step.ruling is None else step.ruling.policy.id


def _is_adapters(history: History, model: ErrorModel) -> bool:
    adapter = history.trace.header.subject.role == "provider_adapter"
    return adapter and model.adapter_retries == "forbidden"


def _after_success(model: ErrorModel, request: Request, step: Step) -> Violation:
    ending = (request.end.seq,) if request.end is not None else ()
    following = step.next or step.failover
    return Violation(
        requirement=next(iter(also(model, "classification.message")), None),
        call=request.id,
        expected=f"the reply of attempt {step.attempt.number}, which was good",
        observed=(
            "the call ended with an error"
            if following is None
            else f"attempt {step.attempt.number + 1} was made"
        ),
        events=(*step.attempt.events, *(ending if following is None else following.events)),
        hint="A good answer was taken for an error, two requests were made at once, or several"
        " calls went to the base URL of one.",
    )


def _must_end(step: Step, requirement: str | None) -> Violation:
    seen = step.classification
    following = step.next.events if step.next is not None else ()
    named = seen if seen is not None and seen.pair else "a failure without a class"
    return Violation(
        requirement=requirement,
        call=step.attempt.call,
        expected=f"no retry: {step.attempt.signal} is {named}, which ends the call",
        observed=f"attempt {step.attempt.number + 1} was made",
        events=(*step.attempt.events, *following),
        hint="Often a retry on every error, or a match on words of the message.",
    )


def _must_retry(request: Request, step: Step, requirement: str | None) -> Violation:
    ending = (request.end.seq,) if request.end is not None else ()
    policy = step.ruling.policy if step.ruling is not None else None
    within = f", up to {policy.attempts_max} attempts" if policy is not None else ""
    return Violation(
        requirement=requirement,
        call=request.id,
        expected=f"a retry: {step.attempt.signal} is {step.classification}{within}",
        observed=f"the call gave up after attempt {step.attempt.number}, without a retry",
        events=(*step.attempt.events, *ending),
        hint="Often a failure that is taken for a permanent one, or a client without retries.",
    )


DISPOSITION = Check(
    id="classification.disposition",
    title="Retried or ended, as the class says",
    says="A retryable failure is retried, and a terminal one is not.",
    run=_disposition,
)
DECLARED = Check(
    id="classification.declared",
    title="Declared class and code",
    says="An error that ends a call carries the class and code of its last failure.",
    run=_declared,
)
