"""The failure engine: what the facts show, what the model says of it, and what was done again.

The sources each read one group of facts; here the model's `signals` give each failure its class,
code and disposition, and its policies whether it is done again. Only what was left in the end has
consequences: a failure that was redone has come to nothing, with any result of the retry.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from faultclock.model.error_model.error_model import ErrorModel, SignalRule
from faultclock.model.retry_policy import Backoff, RetryPolicy
from faultclock.model.scenario.workflow_script import NodeScript
from faultclock.model.trace.trace import SubjectInfo, TraceEvent
from faultclock.oracle.facts.history import History, once
from faultclock.oracle.facts.nodes import NodeAct, node_acts_of
from faultclock.oracle.failures.failure import (
    Failure,
    consequence_of,
    disposition_of,
    setting_holds,
)
from faultclock.oracle.failures.sources import seen_failures
from faultclock.oracle.retries.predict import Ruling, ruling_of
from faultclock.oracle.wire.attempts import Call
from faultclock.oracle.wire.signals import Classification
from faultclock.oracle.wire.stops import HANGS


@once
def failures_of(history: History, model: ErrorModel) -> tuple[Failure, ...]:
    """Return all failures of a run in the order in which they could be known.

    A failure after the end of its call has no effect on it, and is left out.
    """
    seen = sorted(
        (failure for failure in seen_failures(history, model) if _in_its_call(history, failure)),
        key=lambda failure: (failure.seq, failure.layer, failure.target, failure.kind),
    )
    known = [_known(history, model, failure) for failure in seen]
    redone = [replace(failure, redone_by=_redone_by(history, failure, known)) for failure in known]
    return tuple(_counted(history, model, redone))


def _in_its_call(history: History, failure: Failure) -> bool:
    call = history.call(failure.call)
    return call is not None and (call.end is None or failure.seq < call.end.seq)


# ---------------------------------------------------------------------- what became of it


def final_failures(history: History, model: ErrorModel) -> Iterator[Failure]:
    """Yield the failures that have a class and were not redone."""
    return (
        failure
        for failure in failures_of(history, model)
        if failure.pair is not None and failure.redone_by is None
    )


def call_of(history: History, failure: Failure) -> Call:
    """Return the call in which something failed."""
    call = history.call(failure.call)
    assert call is not None, "failures outside of all calls are left out"
    return call


def said_after(history: History, failure: Failure, kind: str) -> list[TraceEvent]:
    """Return the events of a kind between a failure and the end of its call, that may be of it."""
    end = call_of(history, failure).end
    return [
        event
        for event in history.of(kind)
        if event.seq > failure.seq
        and (end is None or event.seq < end.seq)
        and event.call in (failure.call, None)
    ]


def was_cut(history: History, model: ErrorModel, call: Call) -> bool:
    """Return whether a crash, a cancel or a limit came between, or the run itself was cut off."""
    if call.crashed is not None or call.stop is not None:
        return True
    if call.end is None:
        return history.trace.footer.ending not in HANGS
    # The limit of rounds counts as one only where the model names it.
    return any(
        failure.kind == "limit_reached"
        and failure.call == call.id
        and (failure.cause != "turns" or any(rule.limit == "turns" for rule in model.limits))
        for failure in failures_of(history, model)
    )


def may_have_ended_it(history: History, model: ErrorModel, failure: Failure) -> bool:
    """Return whether another failure of the same call may be why it ended as it did."""
    return any(
        other is not failure and other.call == failure.call and not _goes_on(history, model, other)
        for other in failures_of(history, model)
    )


def _goes_on(history: History, model: ErrorModel, failure: Failure) -> bool:
    if failure.redone_by is not None:
        return True
    rule = consequence_of(history, model, failure)
    return rule is not None and rule.run == "goes_on" and rule.then != "iterate_to_coder"


# ---------------------------------------------------------------------- what it is


def _known(history: History, model: ErrorModel, failure: Failure) -> Failure:
    number = max(1, sum(act.seq <= failure.seq for act in failure.acts))
    if failure.wire is not None:
        seen = failure.classification
        if seen is not None and seen.pair is not None and seen.disposition is None:
            seen = replace(seen, disposition=disposition_of(model, seen.pair))
        return replace(failure, number=number, classification=seen)
    rule = next((rule for rule in model.signals if _meets(history, rule, failure)), None)
    if rule is None:
        return replace(failure, number=number)
    pair = (rule.error_class, rule.code) if rule.error_class and rule.code else None
    disposition = rule.disposition
    if disposition is None and pair is not None:
        disposition = disposition_of(model, pair)
    seen = Classification(
        pair=pair,
        disposition=disposition,
        requirement=rule.requirement,
        unmapped=rule.unmapped,
    )
    ruling = _ruling(model, history.trace.header.subject, failure, seen)
    return replace(failure, number=number, classification=seen, ruling=ruling)


def _meets(history: History, rule: SignalRule, failure: Failure) -> bool:
    when = rule.when
    if failure.kind not in when.kinds:
        # What does not name a kind is for requests.
        return False
    if when.statuses or when.error_codes or when.error_types:
        return False
    if when.causes and failure.cause not in when.causes:
        return False
    if when.roles and failure.role not in when.roles:
        return False
    return setting_holds(history, failure.node, failure.tool, when.where)


def _ruling(
    model: ErrorModel, subject: SubjectInfo, failure: Failure, seen: Classification
) -> Ruling | None:
    pair = seen.pair
    if pair is None or seen.disposition != "retry":
        return None
    beside = (item for item in model.policies if item.layer != "transport" and item.covers(*pair))
    # One pair may be retried by several; the one in whose layer it failed comes first.
    own = model.policy_for(*pair, layer=failure.layer) or next(beside, None)
    if own is not None and own.attempts_from == "node":
        own = _of_node(own, failure.node, pair[1])
    return ruling_of(model, subject, pair, own)


def _of_node(policy: RetryPolicy, node: NodeScript | None, code: str) -> RetryPolicy:
    """Return `policy` with the numbers that the node declares; without any it is one attempt."""
    retry = None if node is None else node.retry
    at_once = Backoff.model_validate({"kind": "fixed", "base": "0s"})
    if retry is None or (retry.retry_on and code not in retry.retry_on):
        return policy.model_copy(update={"attempts_max": 1, "backoff": at_once})
    return policy.model_copy(
        update={"attempts_max": retry.attempts_max, "backoff": retry.backoff or at_once}
    )


# ---------------------------------------------------------------------- was it done again


def _redone_by(history: History, failure: Failure, known: Sequence[Failure]) -> TraceEvent | None:
    begun = next((item for item in _begins(history, failure) if item.seq > failure.seq), None)
    if begun is not None and failure.ruling is None and _fails_later(failure, begun, known):
        # The later failure is why the node begins anew.
        begun = None
    again = next((act for act in failure.acts if act.seq > failure.seq), None)
    found = min((act for act in (again, begun) if act), key=lambda act: act.seq, default=None)
    if found is None or failure.node is None:
        return found
    # What another node has done in between makes it a new round of the work.
    between = any(
        act.node.id != failure.node.id and failure.seq < act.event.seq < found.seq
        for act in _acts_in(history, failure)
    )
    return None if between else found


def _fails_later(failure: Failure, begun: TraceEvent, known: Sequence[Failure]) -> bool:
    """Return whether something else fails in the same node before it begins anew."""
    return any(
        other.node is not None
        and failure.node is not None
        and other.node.id == failure.node.id
        and other.call == failure.call
        and failure.seq < other.seq < begun.seq
        for other in known
    )


def _begins(history: History, failure: Failure) -> Iterator[TraceEvent]:
    """Yield the beginnings of the failure's node in its call, in order; none without a node."""
    return (
        act.event
        for act in (() if failure.node is None else _acts_in(history, failure))
        if act.begins and failure.node is not None and act.node.id == failure.node.id
    )


def _acts_in(history: History, failure: Failure) -> Iterator[NodeAct]:
    return (act for act in node_acts_of(history) if act.call == failure.call)


def _counted(history: History, model: ErrorModel, failures: Sequence[Failure]) -> Iterator[Failure]:
    """Yield the failures with how often each had been done again before."""
    before: dict[tuple[str, int], list[Failure]] = {}
    for failure in failures:
        begun = (failure.acts, _begins(history, failure))
        newest = [
            max((act.seq for act in acts if act.seq <= failure.seq), default=0) for acts in begun
        ]
        series = max((before.get((failure.call, seq), []) for seq in newest), key=len, default=[])
        tries = 1 + sum(_counts_with(model, failure, other) for other in series)
        counted = replace(failure, retries=len(series), tries=tries)
        if counted.redone_by is not None:
            key = (failure.call, counted.redone_by.seq)
            # Several failures that one act makes good are one retry.
            before[key] = max(before.get(key, []), [*series, counted], key=len)
        yield counted


def _counts_with(model: ErrorModel, failure: Failure, other: Failure) -> bool:
    if failure.ruling is None or other.ruling is None:
        return failure.disposition == other.disposition
    if model.mixed_failures == "per_call":
        return True
    return failure.ruling.policy.id == other.ruling.policy.id
