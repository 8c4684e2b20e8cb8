"""Failures: all that failed in a run, as the world saw it, and what the error model says of it.

One way for all of them: facts of the world make a Failure (kind, cause, target), the model's
`signals` say its class, code and disposition, and its policies whether it is done again. What a
subject declares is never read here. Which checks follow from that, the modules `failure_*` say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from faultclock.model.error_model import (
    Disposition,
    ErrorModel,
    FailureKind,
    SignalKind,
    SignalRule,
)
from faultclock.model.retry_policy import Backoff, RetryPolicy
from faultclock.model.trace import SubjectInfo, TraceEvent
from faultclock.model.workflow_script import NodeScript
from faultclock.oracle.failure_nodes import NodeAct
from faultclock.oracle.failure_where import setting_holds
from faultclock.oracle.predict import Ruling
from faultclock.oracle.signals import Classification, Signal

if TYPE_CHECKING:
    from faultclock.oracle.check import Case

__all__ = ["Failure", "Layer", "Target", "disposition_of", "failures_of", "speaks_of_failures"]

Layer = Literal[
    "tool",
    "node",
    "queue",
    "program",
    "command",
    "hook",
    "store",
    "telemetry",
    "request",
    "run",
]
#: Layers of a policy whose retries begin the whole node anew.
_NODE_LAYERS = ("node", "stage")
_WIRE_KINDS = frozenset(SignalKind.__args__)  # type: ignore[attr-defined]  # a Literal has them


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What failed.

    Attributes:
        id: of the tool call, the node, the pushed item, the hook, the request and so on.
    """

    layer: Layer
    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One failure.

    Attributes:
        cause: which sort of its kind, such as the code that a tool gave; None for none.
        at_ns, seq: when it could be known, and the fact after which everything came later.
        events: `seq` of the facts that show it.
        names: what else the target may be called.
        acts: the subject's acts at the target within the call, in order.
        node: in whose execution it happened; None outside of a workflow.
        tool, tool_call: of a failed tool call.
        message: the text that the failing part gave; empty for none.
        wire: of a failed attempt at the model.
        number: 1-based attempt at the target within the call.
        classification: None where no rule of the model is about it.
        ruling: the policy by which it is done again; None where none is.
        redone_by: the act that did it again; None: nothing did, so it is what is left in the end.
        retries: how often it had been done again before.
        tries: failures of its series that count against the same policy, this one included.
    """

    kind: SignalKind | FailureKind
    cause: str | None = None
    call: str
    at_ns: int
    seq: int
    events: tuple[int, ...]
    target: Target
    names: tuple[str, ...] = ()
    acts: tuple[TraceEvent, ...] = ()
    node: NodeScript | None = None
    tool: str | None = None
    tool_call: str | None = None
    message: str = ""
    wire: Signal | None = None
    number: int = 1
    classification: Classification | None = None
    ruling: Ruling | None = None
    redone_by: TraceEvent | None = None
    retries: int = 0
    tries: int = 1

    @property
    def role(self) -> str:
        """The role of its node; empty for none."""
        return "" if self.node is None else self.node.role

    @property
    def pair(self) -> tuple[str, str] | None:
        """Class and code; None where the model has none."""
        return None if self.classification is None else self.classification.pair

    @property
    def disposition(self) -> Disposition | None:
        """What the model says is to be done about it; None where it says nothing."""
        return None if self.classification is None else self.classification.disposition

    def __str__(self) -> str:
        what = self.kind.replace("_", " ")
        cause = f" ({self.cause})" if self.cause else ""
        return f"{what}{cause} of {self.target.layer} {self.target.id!r}"


def speaks_of_failures(model: ErrorModel) -> bool:
    """Return whether `model` says anything of failures beside those of single requests."""
    if model.consequences or model.telling or model.kept:
        return True
    return any(kind not in _WIRE_KINDS for rule in model.signals for kind in rule.when.kinds)


def disposition_of(model: ErrorModel, pair: tuple[str, str]) -> Disposition | None:
    """Return what `model` says is to be done about a class and code; None for an unknown one."""
    found = next((item for item in model.classes if item.id == pair[0]), None)
    return None if found is None else found.dispositions.get(pair[1], found.disposition)


def failures_of(case: Case) -> tuple[Failure, ...]:
    """Return all failures of a run in the order in which they could be known.

    A failure after the end of its call has no effect on it, and is left out.
    """
    # The sources read the case, and the case reads this: they are only there to be asked.
    from faultclock.oracle.failure_sources import seen_failures

    seen = sorted(
        (failure for failure in seen_failures(case) if _in_its_call(case, failure)),
        key=lambda failure: (failure.seq, failure.target.layer, failure.target.id, failure.kind),
    )
    known = [_known(case, failure) for failure in seen]
    redone = [replace(failure, redone_by=_redone_by(case, failure, known)) for failure in known]
    return tuple(_counted(case, redone))


def _in_its_call(case: Case, failure: Failure) -> bool:
    call = case.call(failure.call)
    return call is not None and (call.end is None or failure.seq < call.end.seq)


# ---------------------------------------------------------------------- what it is


def _known(case: Case, failure: Failure) -> Failure:
    number = max(1, sum(act.seq <= failure.seq for act in failure.acts))
    if failure.wire is not None:
        seen = failure.classification
        if seen is not None and seen.pair is not None and seen.disposition is None:
            seen = replace(seen, disposition=disposition_of(case.model, seen.pair))
        return replace(failure, number=number, classification=seen)
    rule = next((rule for rule in case.model.signals if _meets(case, rule, failure)), None)
    if rule is None:
        return replace(failure, number=number)
    pair = (rule.error_class, rule.code) if rule.error_class and rule.code else None
    disposition = rule.disposition
    if disposition is None and pair is not None:
        disposition = disposition_of(case.model, pair)
    seen = Classification(
        pair=pair,
        disposition=disposition,
        requirement=rule.requirement,
        unmapped=rule.unmapped,
    )
    ruling = _ruling(case.model, case.trace.header.subject, failure, seen)
    return replace(failure, number=number, classification=seen, ruling=ruling)


def _meets(case: Case, rule: SignalRule, failure: Failure) -> bool:
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
    return setting_holds(case, failure.node, failure.tool, when.where)


def _ruling(
    model: ErrorModel, subject: SubjectInfo, failure: Failure, seen: Classification
) -> Ruling | None:
    if seen.pair is None or seen.disposition != "retry":
        return None
    covering = [
        policy
        for policy in model.policies
        if policy.covers(*seen.pair) and policy.layer != "transport"
    ]
    layer = failure.target.layer
    # One pair may be retried by several; the one in whose layer it failed comes first.
    own = next((policy for policy in covering if policy.layer == layer), next(iter(covering), None))
    requirements = None if own is None else own.requirements
    if model.declared_policies == "allowed":
        for policy in subject.retry_policies:
            if policy.covers(*seen.pair):
                return Ruling(policy=policy, declared=True, requirements=requirements)
    if own is None:
        return None
    if own.attempts_from == "node":
        own = _of_node(own, failure.node, seen.pair[1])
    return Ruling(policy=own, declared=False, requirements=requirements)


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


def _redone_by(case: Case, failure: Failure, known: Sequence[Failure]) -> TraceEvent | None:
    again = next((act for act in failure.acts if act.seq > failure.seq), None)
    begun = _begun_anew(case, failure, known)
    found = min(
        (act for act in (again, begun) if act is not None), key=lambda act: act.seq, default=None
    )
    if found is None or failure.node is None:
        return found
    # What another node has done in between makes it a new round of the work.
    between = any(
        act.node.id != failure.node.id and failure.seq < act.event.seq < found.seq
        for act in _acts_in(case, failure)
    )
    return None if between else found


def _begun_anew(case: Case, failure: Failure, known: Iterable[Failure]) -> TraceEvent | None:
    """Return the next beginning of the failure's node, if this failure is why."""
    if failure.node is None:
        return None
    begun = next(
        (
            act.event
            for act in _acts_in(case, failure)
            if act.begins and act.node.id == failure.node.id and act.event.seq > failure.seq
        ),
        None,
    )
    if begun is None or failure.ruling is not None:
        return begun
    later = any(
        other.node is not None
        and other.node.id == failure.node.id
        and other.call == failure.call
        and failure.seq < other.seq < begun.seq
        for other in known
    )
    return None if later else begun


def _acts_in(case: Case, failure: Failure) -> Iterator[NodeAct]:
    return (act for act in case.node_acts if act.call == failure.call)


def _counted(case: Case, failures: Sequence[Failure]) -> Iterator[Failure]:
    """Yield the failures with how often each had been done again before."""
    before: dict[tuple[str, int], list[Failure]] = {}
    for failure in failures:
        began = {act.seq for act in failure.acts if act.seq <= failure.seq}
        newest = {max(began)} if began else set()
        if failure.node is not None:
            newest |= _last_begin(case, failure)
        series = max((before.get((failure.call, seq), []) for seq in newest), key=len, default=[])
        tries = 1 + sum(_counts_with(case.model, failure, other) for other in series)
        counted = replace(failure, retries=len(series), tries=tries)
        if counted.redone_by is not None:
            key = (failure.call, counted.redone_by.seq)
            # Several failures that one act makes good are one retry.
            before[key] = max(before.get(key, []), [*series, counted], key=len)
        yield counted


def _last_begin(case: Case, failure: Failure) -> set[int]:
    begun = [
        act.event.seq
        for act in _acts_in(case, failure)
        if failure.node is not None
        and act.begins
        and act.node.id == failure.node.id
        and act.event.seq <= failure.seq
    ]
    return {max(begun)} if begun else set()


def _counts_with(model: ErrorModel, failure: Failure, other: Failure) -> bool:
    if failure.ruling is None or other.ruling is None:
        return failure.disposition == other.disposition
    if model.mixed_failures == "per_call":
        return True
    return failure.ruling.policy.id == other.ruling.policy.id
