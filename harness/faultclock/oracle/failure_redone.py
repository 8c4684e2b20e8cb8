"""failures.redone: what is worth a retry is done again, as often as its policy allows.

Anything else is not done again at all. The attempts of a request are judged by `backoff`.
"""

from __future__ import annotations

from faultclock.model.duration import format_duration
from faultclock.oracle.check import Case, Check, Outcome, Violation
from faultclock.oracle.failure_course import end_call, may_have_ended_it, requirements_of
from faultclock.oracle.failures import Failure

__all__ = ["CHECK"]

_NEVER = ("terminal", "surface_to_model", "degrade", "not_an_error")


def _redone(case: Case) -> Outcome:
    outcome = Outcome(reason="nothing failed that could have been done again")
    for failure in case.failures:
        if failure.wire is not None or failure.target.layer == "run":
            # Whether the model is asked again is judged where its requests are.
            continue
        if failure.disposition is None or not (failure.acts or failure.node):
            continue
        if failure.disposition == "retry":
            _judge_retried(case, failure, outcome)
        elif failure.disposition == "regenerate_once":
            _judge_regenerated(case, failure, outcome)
        elif failure.disposition in _NEVER:
            _judge_never(case, failure, outcome)
    return outcome


def _judge_retried(case: Case, failure: Failure, outcome: Outcome) -> None:
    ruling = failure.ruling
    if ruling is None:
        # It may be done again, and the document does not say how often.
        return
    cited = None if ruling.requirements is None else ruling.requirements.attempts
    limit = ruling.policy.attempts_max
    more = _named_rules(case, failure)
    if failure.redone_by is not None:
        outcome.looked_at(cited, *more)
        if failure.tries >= limit:
            expected = f"{limit} attempts in all after {failure}"
            observed = f"it was done again after attempt {failure.tries}"
            outcome.violate(_violation(failure, cited, expected, observed), *more)
        return
    if failure.tries >= limit:
        # It was given up when nothing was left, or is about to be.
        if end_call(case, failure) is not None:
            outcome.looked_at(cited, *more)
        return
    call = end_call(case, failure)
    least = ruling.policy.attempts_min
    is_enough = failure.retries > 0 and (least is None or failure.tries >= min(least, limit))
    if is_enough or call is None or call.end is None or may_have_ended_it(case, failure):
        return
    outcome.looked_at(cited, *more)
    expected = f"it is done again: {failure} is {_named(failure)}, {limit} attempts in all"
    observed = f"it was given up after attempt {failure.tries}"
    outcome.violate(_violation(failure, cited, expected, observed, call.end.seq), *more)


def _judge_regenerated(case: Case, failure: Failure, outcome: Outcome) -> None:
    requirements = (*_named_rules(case, failure), *requirements_of(case, failure))
    if failure.redone_by is None and end_call(case, failure) is None:
        return
    outcome.looked_at(*requirements)
    if failure.redone_by is not None and failure.tries > 1:
        cited = next(iter(requirements), None)
        expected = f"at most one more generation after {failure}, which is {_named(failure)}"
        observed = f"there were {failure.tries}"
        outcome.violate(_violation(failure, cited, expected, observed), *requirements)


def _judge_never(case: Case, failure: Failure, outcome: Outcome) -> None:
    requirements = (*_named_rules(case, failure), *requirements_of(case, failure))
    if failure.redone_by is None:
        if end_call(case, failure) is not None:
            outcome.looked_at(*requirements)
        return
    outcome.looked_at(*requirements)
    waited = format_duration(failure.redone_by.at_ns - failure.at_ns)
    expected = f"it is not done again: {failure} is {_named(failure)}"
    # What was refused had not been done at all: then it is done in spite of the refusal.
    was_done = any(act.seq < failure.seq for act in failure.acts)
    did = "it was done again" if was_done else "it was executed all the same,"
    observed = f"{did} {waited} later"
    cited = next(iter(requirements), None)
    outcome.violate(_violation(failure, cited, expected, observed), *requirements)


def _named_rules(case: Case, failure: Failure) -> tuple[str, ...]:
    """Return what the model's `rules` cite for this code, and for this disposition."""
    code = failure.pair[1] if failure.pair else None
    names = (f"failures.redone.{code}", f"failures.redone.{failure.disposition}")
    found = (case.model.rules.get(name) for name in names)
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
