"""failures.redone, failures.wait: what is worth a retry is done again, as often and as late as set.

Anything else is not done again at all. The attempts of a request are judged by `backoff`. What a
runtime does between two attempts, such as to save, to export or to call a hook, may or may not
count as waiting: it is left to the subject.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from faultclock.model.duration import format_duration
from faultclock.model.error_model import ErrorModel
from faultclock.model.trace import TraceEvent
from faultclock.oracle.check import Verdicts, Violation, broken, check, held
from faultclock.oracle.failure import Failure, requirements_of
from faultclock.oracle.failure_sources import service_uses
from faultclock.oracle.failures import call_of, failures_of, may_have_ended_it, was_cut
from faultclock.oracle.history import History
from faultclock.oracle.predict import Ruling

_NEVER = ("terminal", "surface_to_model", "degrade", "not_an_error")


@check(
    "failures.redone",
    title="Retried or not, as the class says",
    says="A retryable failure is retried as often as allowed. Another failure is not retried.",
    unjudged="nothing failed that could have been done again",
    role="runtime",
)
def redone(history: History, model: ErrorModel) -> Verdicts:
    """Judge for each failure whether it was done again, and how often."""
    for failure in failures_of(history, model):
        if failure.wire is not None or failure.target.layer == "run":
            # Whether the model is asked again is judged where its requests are.
            continue
        if not (failure.acts or failure.node):
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
    requirements = (
        None if ruling.requirements is None else ruling.requirements.attempts,
        *_named_rules(model, failure),
    )
    limit, least = ruling.policy.attempts_max, ruling.policy.attempts_min
    if failure.redone_by is not None:
        yield held(*requirements)
        if failure.tries >= limit:
            expected = f"{limit} attempts in all after {failure}"
            observed = f"it was done again after attempt {failure.tries}"
            yield _violation(failure, requirements, expected, observed)
        return
    call = call_of(history, failure)
    if was_cut(history, model, call):
        return
    if failure.tries >= limit:
        # It was given up when nothing was left, or is about to be.
        yield held(*requirements)
        return
    is_enough = failure.retries > 0 and (least is None or failure.tries >= min(least, limit))
    if is_enough or call.end is None or may_have_ended_it(history, model, failure):
        return
    yield held(*requirements)
    expected = f"it is done again: {failure} is {_named(failure)}, {limit} attempts in all"
    observed = f"it was given up after attempt {failure.tries}"
    yield _violation(failure, requirements, expected, observed, call.end.seq)


def _judge_regenerated(history: History, model: ErrorModel, failure: Failure) -> Verdicts:
    if failure.redone_by is None and was_cut(history, model, call_of(history, failure)):
        return
    requirements = (*_named_rules(model, failure), *requirements_of(model, failure))
    yield held(*requirements)
    if failure.redone_by is not None and failure.tries > 1:
        expected = f"at most one more generation after {failure}, which is {_named(failure)}"
        yield _violation(failure, requirements, expected, f"there were {failure.tries}")


def _judge_never(history: History, model: ErrorModel, failure: Failure) -> Verdicts:
    if failure.redone_by is None and was_cut(history, model, call_of(history, failure)):
        return
    requirements = (*_named_rules(model, failure), *requirements_of(model, failure))
    yield held(*requirements)
    if failure.redone_by is not None:
        waited = format_duration(failure.redone_by.at_ns - failure.at_ns)
        expected = f"it is not done again: {failure} is {_named(failure)}"
        # What was refused had not been done at all: then it is done in spite of the refusal.
        was_done = any(act.seq < failure.seq for act in failure.acts)
        did = "it was done again" if was_done else "it was executed all the same,"
        yield _violation(failure, requirements, expected, f"{did} {waited} later")


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
    failure: Failure,
    requirements: tuple[str | None, ...],
    expected: str,
    observed: str,
    *more: int,
) -> Violation:
    again = () if failure.redone_by is None else (failure.redone_by.seq,)
    return broken(
        requirements,
        call=failure.call,
        expected=expected,
        observed=observed,
        events=(*failure.events, *again, *more),
        hint="Decide by class and code whether it is worth a retry, and count the first attempt.",
    )


# ---------------------------------------------------------------------- after which wait


@dataclass(frozen=True, slots=True, kw_only=True)
class Waited:
    """The wait between a failure and the act that did it again.

    Attributes:
        ruling: of the policy that asks for the wait.
        waited_ns: all of the time between them.
        idle_ns: without what the runtime spent on something else.
    """

    failure: Failure
    ruling: Ruling
    again: TraceEvent
    waited_ns: int
    idle_ns: int


def waits_of(history: History, model: ErrorModel) -> Iterator[Waited]:
    """Yield the waits that a policy asks for, but for those between requests to a provider."""
    for failure in failures_of(history, model):
        ruling, again = failure.ruling, failure.redone_by
        if failure.wire is not None or ruling is None or again is None:
            continue
        if failure.tries >= ruling.policy.attempts_max:
            # No further attempt was legal, so no wait is.
            continue
        waited_ns = again.at_ns - failure.at_ns
        yield Waited(
            failure=failure,
            ruling=ruling,
            again=again,
            waited_ns=waited_ns,
            idle_ns=waited_ns - _busy_ns(history, failure, again.at_ns),
        )


@check(
    "failures.wait",
    title="Waits before a retry",
    says="Each retry comes after the wait that the policy sets.",
    unjudged="nothing was retried under a policy with a wait",
    role="runtime",
)
def waited(history: History, model: ErrorModel) -> Verdicts:
    """Judge each wait that a policy asks for."""
    slack_ns = history.timing.slack_ns
    for wait in waits_of(history, model):
        failure, ruling, waited_ns = wait.failure, wait.ruling, wait.waited_ns
        cited = None if ruling.requirements is None else ruling.requirements.wait
        legal = ruling.policy.interval(failure.tries)
        yield held(cited)
        if waited_ns >= legal.low_ns - slack_ns and wait.idle_ns <= legal.high_ns + slack_ns:
            continue
        observed = f"waited {format_duration(waited_ns)}" if waited_ns > 0 else "it did not wait"
        yield broken(
            (cited,),
            call=failure.call,
            expected=f"a wait of {legal} before retry {failure.tries} after {failure}",
            observed=observed,
            events=(*failure.events, wait.again.seq),
            hint="Compare base, factor and the first retry's number with the policy.",
        )


def _busy_ns(history: History, failure: Failure, until_ns: int) -> int:
    """Return how much of the wait the runtime spent on something else."""
    total_ns, covered_ns = 0, failure.at_ns
    for begun_ns, ended_ns in sorted(_busy(history, failure)):
        begun_ns, ended_ns = max(begun_ns, covered_ns), min(ended_ns, until_ns)
        if ended_ns > begun_ns:
            total_ns += ended_ns - begun_ns
            covered_ns = ended_ns
    return total_ns


def _busy(history: History, failure: Failure) -> Iterator[tuple[int, int]]:
    yield from history.store_times(failure.call)
    for use in service_uses(history):
        if use.answered is not None and use.asked.call == failure.call:
            yield use.asked.at_ns, use.answered.at_ns
