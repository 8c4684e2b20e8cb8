"""failures.redone: what is worth a retry is done again, as often as its policy allows.

Anything else is not done again at all. The attempts of a request are judged by `backoff`.
"""

from __future__ import annotations

from faultclock.model.duration import format_duration
from faultclock.model.error_model import ErrorModel
from faultclock.oracle.check import Check, Verdicts, Violation, exercising, held, otherwise
from faultclock.oracle.failure import Failure
from faultclock.oracle.failure_course import end_call, may_have_ended_it, requirements_of
from faultclock.oracle.failures import failures_of
from faultclock.oracle.history import History

__all__ = ["CHECK"]

_NEVER = ("terminal", "surface_to_model", "degrade", "not_an_error")


def _redone(history: History, model: ErrorModel) -> Verdicts:
    yield otherwise("nothing failed that could have been done again")
    for failure in failures_of(history, model):
        if failure.wire is not None or failure.target.layer == "run":
            # Whether the model is asked again is judged where its requests are.
            continue
        if failure.disposition is None or not (failure.acts or failure.node):
            continue
        if failure.disposition == "retry":
            yield from _judge_retried(history, model, failure)
        elif failure.disposition == "regenerate_once":
            yield from _judge_regenerated(history, model, failure)
        elif failure.disposition in _NEVER:
            yield from _judge_never(history, model, failure)


def _judge_retried(history: History, model: ErrorModel, failure: Failure) -> Verdicts:
    ruling = failure.ruling
    if ruling is None:
        # It may be done again, and the document does not say how often.
        return
    cited = None if ruling.requirements is None else ruling.requirements.attempts
    limit = ruling.policy.attempts_max
    more = _named_rules(model, failure)
    if failure.redone_by is not None:
        yield held(cited, *more)
        if failure.tries >= limit:
            expected = f"{limit} attempts in all after {failure}"
            observed = f"it was done again after attempt {failure.tries}"
            yield exercising(_violation(failure, cited, expected, observed), *more)
        return
    if failure.tries >= limit:
        # It was given up when nothing was left, or is about to be.
        if end_call(history, model, failure) is not None:
            yield held(cited, *more)
        return
    call = end_call(history, model, failure)
    least = ruling.policy.attempts_min
    is_enough = failure.retries > 0 and (least is None or failure.tries >= min(least, limit))
    if is_enough or call is None or call.end is None or may_have_ended_it(history, model, failure):
        return
    yield held(cited, *more)
    expected = f"it is done again: {failure} is {_named(failure)}, {limit} attempts in all"
    observed = f"it was given up after attempt {failure.tries}"
    yield exercising(_violation(failure, cited, expected, observed, call.end.seq), *more)


def _judge_regenerated(history: History, model: ErrorModel, failure: Failure) -> Verdicts:
    requirements = (
        *_named_rules(model, failure),
        *requirements_of(model, failure),
    )
    if failure.redone_by is None and end_call(history, model, failure) is None:
        return
    yield held(*requirements)
    if failure.redone_by is not None and failure.tries > 1:
        cited = next(iter(requirements), None)
        expected = f"at most one more generation after {failure}, which is {_named(failure)}"
        observed = f"there were {failure.tries}"
        yield exercising(_violation(failure, cited, expected, observed), *requirements)


def _judge_never(history: History, model: ErrorModel, failure: Failure) -> Verdicts:
    requirements = (
        *_named_rules(model, failure),
        *requirements_of(model, failure),
    )
    if failure.redone_by is None:
        if end_call(history, model, failure) is not None:
            yield held(*requirements)
        return
    yield held(*requirements)
    waited = format_duration(failure.redone_by.at_ns - failure.at_ns)
    expected = f"it is not done again: {failure} is {_named(failure)}"
    # What was refused had not been done at all: then it is done in spite of the refusal.
    was_done = any(act.seq < failure.seq for act in failure.acts)
    did = "it was done again" if was_done else "it was executed all the same,"
    observed = f"{did} {waited} later"
    cited = next(iter(requirements), None)
    yield exercising(_violation(failure, cited, expected, observed), *requirements)


def _named_rules(model: ErrorModel, failure: Failure) -> tuple[str, ...]:
    """Return what the model's `rules` cite for this code, and for this disposition."""
    code = failure.pair[1] if failure.pair else None
    names = (f"failures.redone.{code}", f"failures.redone.{failure.disposition}")
    found = (model.rules.get(name) for name in names)
    return tuple(item for item in found if item is not None)


def _named(failure: Failure) -> str:
    disposition = "" if failure.disposition is None else failure.disposition.replace("_", " ")
    return f"{failure.classification} ({disposition})"


def _violation(
    failure: Failure, requirement: str | None, expected: str, observed: str, *more: int
) -> Violation:
    again = () if failure.redone_by is None else (failure.redone_by.seq,)
    return Violation(
        requirement=requirement,
        call=failure.call,
        expected=expected,
        observed=observed,
        events=(*failure.events, *again, *more),
        hint="Decide by class and code whether it is worth a retry, and count the first attempt.",
    )


CHECK = Check(
    id="failures.redone",
    title="Retried or not, as the class says",
    says="A retryable failure is retried as often as allowed. Another failure is not retried.",
    run=_redone,
)
