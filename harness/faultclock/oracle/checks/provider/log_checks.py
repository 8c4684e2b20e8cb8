"""Checks of what the log of another system writes down itself: waits, classes and codes.

In a run of ours the world sees the waits and the failures; in a log they are what a program said,
and what was said can be held against the document.
"""

from __future__ import annotations

from faultclock.model.duration import format_duration
from faultclock.model.error_model.error_model import ErrorClass, ErrorModel
from faultclock.model.trace.trace import TraceEvent
from faultclock.oracle.check import Verdicts, Violation, check, held, otherwise
from faultclock.oracle.facts.history import History
from faultclock.oracle.retries.redo import in_time
from faultclock.oracle.wire.timing import SLACK_NS

#: What may be tried again, by the policy of the document or by the decision of another program.
_RETRIED = ("retry", "owner_decides", "regenerate_once")


@check(
    "backoff.declared",
    title="Announced waits",
    says="The policy allows each retry that a log announces, and its wait.",
    unjudged="the log announces no wait before a retry",
)
def declared(history: History, model: ErrorModel) -> Verdicts:
    """Judge each retry that a log announces."""
    classes = {item.id: item for item in model.classes}
    for event in history.of("declared.retry"):
        known = classes.get(event.error_class or "")
        if known is None or event.code is None:
            yield otherwise("the log does not say what it tries again in the error model's words")
        else:
            yield from _judge_retry(model, event, known, event.code)


def _judge_retry(model: ErrorModel, event: TraceEvent, known: ErrorClass, code: str) -> Verdicts:
    policy, number, what = (
        model.policy_for(known.id, code),
        event.retry_number,
        f"{known.id}/{code}",
    )
    disposition = known.dispositions.get(code, known.disposition)
    if policy is None and disposition not in _RETRIED:
        expected = f"no retry: {what} is {disposition.replace('_', ' ')}"
        yield _violation(event, known.requirement, expected, "a retry was announced")
    elif policy is None or policy.requirements is None:
        yield otherwise(f"the document has no retry policy for {what}")
    elif policy.attempts_from != "policy":
        yield otherwise(f"how often and after what wait is the {policy.attempts_from}'s own affair")
    elif number is None or number < 1:
        yield otherwise("the log does not say which retry it is")
    elif number >= policy.attempts_max:
        expected = f"at most {policy.attempts_max} attempts at {what}"
        observed = f"retry {number} was announced, which is attempt {number + 1}"
        yield _violation(event, policy.requirements.attempts, expected, observed)
    elif event.delay_ns is None:
        yield otherwise("the log does not say how long it will wait")
    else:
        yield held(policy.requirements.wait)
        legal = policy.interval(number)
        if not in_time(legal, event.delay_ns, event.delay_ns, SLACK_NS):
            expected = f"{legal} before retry {number} of {what}"
            observed = f"a wait of {format_duration(event.delay_ns)} was announced"
            yield _violation(event, policy.requirements.wait, expected, observed)


@check(
    "classification.named",
    title="Named errors",
    says="An error that a log names has a class and a code of the error model.",
    unjudged="no event names an error by class and code",
)
def named(history: History, model: ErrorModel) -> Verdicts:
    """Judge each class and code that a log names."""
    classes = {item.id: item for item in model.classes}
    for event in history.of("declared.error"):
        class_name, code = event.error_class, event.code
        if class_name is None or code is None:
            continue
        known = classes.get(class_name)
        requirement = None if known is None else known.requirement
        yield held(requirement)
        if known is None:
            expected = f"a class of the error model: {', '.join(classes)}"
            yield _violation(event, None, expected, f"the class is {class_name}")
        elif known.codes and code not in known.codes:
            expected = f"a code of the class {known.id}: {', '.join(known.codes)}"
            yield _violation(event, requirement, expected, f"the code is {code}")


def _violation(
    event: TraceEvent, requirement: str | None, expected: str, observed: str
) -> Violation:
    return Violation(
        requirement=requirement,
        call=event.call,
        expected=expected,
        observed=observed,
        events=(event.seq,),
    )
