"""failures.redone, failures.wait: what is worth a retry is done again, as often and as late as set.

Anything else is not done again at all. The attempts of a request are judged by `backoff`.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from faultclock.model.duration import format_duration
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.trace.trace import TraceEvent, seqs
from faultclock.oracle.check import Verdicts, Violation, broken, check, held
from faultclock.oracle.facts.history import History
from faultclock.oracle.failures.engine import call_of, failures_of, may_have_ended_it, was_cut
from faultclock.oracle.failures.failure import Failure, requirements_of
from faultclock.oracle.retries.predict import Ruling
from faultclock.oracle.retries.redo import (
    FAULTS,
    Act,
    Tried,
    act_of,
    busy_times,
    idle_ns,
    in_time,
    judgements,
    waited,
)


@check(
    "failures.redone",
    title="Retried or not, as the class says",
    says="A retryable failure is retried as often as allowed. Another failure is not retried.",
    unjudged="nothing failed that could have been done again",
    role="runtime",
)
def redone(history: History, model: ErrorModel) -> Verdicts:
    """Judge what followed each failure."""
    for failure in failures_of(history, model):
        if failure.wire is not None or failure.layer == "run":
            # Whether the model is asked again is judged where its requests are.
            continue
        if not (failure.acts or failure.node):
            continue
        act = _act(failure)
        tried = Tried(
            of=failure,
            act=act,
            again=failure.redone_by is not None,
            given_up=_is_given_up(history, model, failure, act),
        )
        for judged, _ in judgements([tried]):
            requirements = _requirements(model, failure)
            yield held(*requirements)
            if judged in FAULTS:
                yield _not_as_its_class(history, failure, requirements)


def _act(failure: Failure) -> Act:
    """Return what had to follow; of a failure that may be done again once more, that or nothing."""
    limit, again = _limit(failure), failure.redone_by is not None
    is_once = failure.disposition == "regenerate_once"
    act = act_of("retry" if is_once else failure.disposition, limit, failure.tries)
    # To give up is right where one more regeneration was allowed, and where nothing was left.
    return "end" if not again and (is_once or act == "exhausted") else act


def _limit(failure: Failure) -> int | None:
    """Return the attempts in all; None where the document gives none."""
    if failure.disposition == "regenerate_once":
        return 2
    if failure.disposition != "retry" or failure.ruling is None:
        return None
    return failure.ruling.policy.attempts_max


def _is_given_up(history: History, model: ErrorModel, failure: Failure, act: Act) -> bool:
    call = call_of(history, failure)
    if was_cut(history, model, call):
        return False
    if act != "retry" or failure.ruling is None:
        # It was given up when nothing was left, or is about to be.
        return True
    least, limit = failure.ruling.policy.attempts_min, failure.ruling.policy.attempts_max
    is_enough = failure.retries > 0 and (least is None or failure.tries >= min(least, limit))
    return not (is_enough or call.end is None or may_have_ended_it(history, model, failure))


def _requirements(model: ErrorModel, failure: Failure) -> tuple[str | None, ...]:
    """Return what is judged: what the `rules` cite for its code and its disposition, and more."""
    code = failure.pair[1] if failure.pair else None
    names = (f"failures.redone.{code}", f"failures.redone.{failure.disposition}")
    named = tuple(model.rules[name] for name in names if name in model.rules)
    if failure.ruling is None:
        return (*named, *requirements_of(model, failure))
    own = failure.ruling.requirements
    return (None if own is None else own.attempts, *named)


def _not_as_its_class(
    history: History, failure: Failure, requirements: tuple[str | None, ...]
) -> Violation:
    disposition = (failure.disposition or "").replace("_", " ")
    named = f"{failure.classification} ({disposition})"
    again, limit, tries = failure.redone_by, _limit(failure), failure.tries
    events = failure.events
    if again is None:
        expected = f"it is done again: {failure} is {named}, {limit} attempts in all"
        observed = f"it was given up after attempt {tries}"
        events += seqs(call_of(history, failure).end)
    elif failure.ruling is not None:
        expected = f"{limit} attempts in all after {failure}"
        observed = f"it was done again after attempt {tries}"
    elif limit is not None:
        expected = f"at most one more generation after {failure}, which is {named}"
        observed = f"there were {tries}"
    else:
        expected = f"it is not done again: {failure} is {named}"
        # What was refused had not been done at all: then it is done in spite of the refusal.
        was_done = any(act.seq < failure.seq for act in failure.acts)
        did = "it was done again" if was_done else "it was executed all the same,"
        observed = f"{did} {format_duration(again.at_ns - failure.at_ns)} later"
    return broken(
        requirements,
        call=failure.call,
        expected=expected,
        observed=observed,
        events=(*events, *seqs(again)),
        hint="Decide by class and code whether it is worth a retry, and count the first attempt.",
    )


class Waited(Struct, frozen=True, kw_only=True):
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
        busy = busy_times(history, failure.call)
        yield Waited(
            failure=failure,
            ruling=ruling,
            again=again,
            waited_ns=again.at_ns - failure.at_ns,
            idle_ns=idle_ns(busy, failure.at_ns, again.at_ns),
        )


@check(
    "failures.wait",
    title="Waits before a retry",
    says="Each retry comes after the wait that the policy sets.",
    unjudged="nothing was retried under a policy with a wait",
    role="runtime",
)
def waits(history: History, model: ErrorModel) -> Verdicts:
    """Judge each wait that a policy asks for."""
    for wait in waits_of(history, model):
        failure, stated = wait.failure, wait.ruling.requirements
        cited = None if stated is None else stated.wait
        legal = wait.ruling.policy.interval(failure.tries)
        yield held(cited)
        if in_time(legal, wait.waited_ns, wait.idle_ns, history.timing.slack_ns):
            continue
        yield broken(
            (cited,),
            call=failure.call,
            expected=f"a wait of {legal} before retry {failure.tries} after {failure}",
            observed=waited(wait.waited_ns),
            events=(*failure.events, wait.again.seq),
            hint="Compare base, factor and the first retry's number with the policy.",
        )
