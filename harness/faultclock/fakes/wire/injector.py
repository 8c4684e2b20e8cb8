"""Which fault fires: a pure fold over the fault plan, `(state, what happened) -> (state, Fate)`.

It knows neither bytes nor sockets. Attempts are 1-based and counted per call and over all calls.
A request takes the next number. A lookup or a connection attempt belongs to the attempt that
would come next: it takes that number only when a fault ends the attempt right there.

The first rule whose trigger holds for an attempt claims it. A fault of the network fires at its
own stage (lookup, connect), any other at the request. A fault that cannot apply to the exchange
(a stream error where nothing is streamed, a cut behind the end of the answer, the end of a text
where the answer asks for tools) claims nothing
there, so it stays unmet and spoils the run instead of passing silently.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from msgspec import Struct, field
from msgspec.structs import replace

from faultclock.model.scenario.fault import (
    AnswerEnds,
    ConnectRefused,
    ConnectTimeout,
    CorruptBody,
    DnsFailure,
    Fault,
    FaultPlan,
    FaultRule,
    SlowDrip,
    Stall,
    StreamError,
    Truncate,
    named_by,
)


class AnswerShape(Struct, frozen=True, kw_only=True):
    """How large the good answer of a request is; decides whether a cut can apply.

    Attributes:
        stream: whether it is an event stream.
        body_bytes: length of the whole body.
        chunks: number of data chunks of the stream, its end marker not counted.
        chunks_before_finish: how many of them precede the one with the finish reason.
        text: whether it is a text, and not a wish for tools.
    """

    stream: bool
    body_bytes: int
    chunks: int = 0
    chunks_before_finish: int = 0
    text: bool = False


class Resolving(Struct, frozen=True, kw_only=True):
    """The subject looks a host name up."""

    call: str | None
    now_ns: int


class Connecting(Struct, frozen=True, kw_only=True):
    """The subject opens a connection."""

    call: str | None
    now_ns: int


class Requesting(Struct, frozen=True, kw_only=True):
    """The subject's request arrived.

    Attributes:
        answer: shape of the good answer; None where the provider refuses the request itself
            (no such path, no key), so that no fault of the plan applies.
        named: what the request is called, for triggers that name requests.
    """

    call: str | None
    now_ns: int
    answer: AnswerShape | None
    named: tuple[str, ...] = ()


Happening = Resolving | Connecting | Requesting


class Fate(Struct, frozen=True, kw_only=True):
    """The injector's answer.

    Attributes:
        attempt: 1-based number of the attempt within its call.
        rule: the rule that fires now; None lets it pass.
    """

    attempt: int
    rule: FaultRule | None


class InjectorState(Struct, frozen=True, kw_only=True):
    """How many attempts there were, and which rules were met.

    Attributes:
        attempts: attempts so far by call id.
        total: attempts so far over all calls.
        named: requests so far that a trigger names, by that and by call; None: over all calls.
        met: ids of the rules whose effect reached the wire.
    """

    attempts: Mapping[str | None, int] = field(default_factory=lambda: MappingProxyType({}))
    total: int = 0
    named: Mapping[tuple[str, str | None], int] = field(default_factory=dict)
    met: frozenset[str] = frozenset()


def decide(
    plan: FaultPlan, state: InjectorState, happening: Happening
) -> tuple[InjectorState, Fate]:
    """Return the state after `happening`, and its fate.

    A rule of the network that fires is met at once; any other is met when its effect reaches the
    wire, which the caller says with `mark_met`.
    """
    call = happening.call
    attempt, attempt_of_all = state.attempts.get(call, 0) + 1, state.total + 1
    counts = _counted(plan, state, happening)
    rule = _claiming(plan, happening, attempt, attempt_of_all, counts)
    if not isinstance(happening, Requesting):
        if rule is None or not _fires_at(rule.then, happening):
            return state, Fate(attempt=attempt, rule=None)
        state = mark_met(state, rule.id)
    attempts = {**state.attempts, call: attempt}
    counted = replace(state, attempts=attempts, total=attempt_of_all, named=counts)
    return counted, Fate(attempt=attempt, rule=rule)


def coming(state: InjectorState, call: str | None) -> Fate:
    """Return what becomes of a request that is no attempt: it passes, and has the next's number."""
    return Fate(attempt=state.attempts.get(call, 0) + 1, rule=None)


def mark_met(state: InjectorState, rule_id: str) -> InjectorState:
    """Return the state in which the rule's effect reached the wire."""
    return state if rule_id in state.met else replace(state, met=state.met | {rule_id})


def unmet(plan: FaultPlan, state: InjectorState) -> FaultPlan:
    """Return the rules that were never met, in the plan's order."""
    return tuple(rule for rule in plan if rule.id not in state.met)


def task_of(call: str | None) -> str | None:
    """Return the task id of a call id such as `ask/1`."""
    return None if call is None else call.split("/", 1)[0]


def _counted(
    plan: FaultPlan, state: InjectorState, happening: Happening
) -> Mapping[tuple[str, str | None], int]:
    """Return how many requests of each name there were, with this one."""
    named = happening.named if isinstance(happening, Requesting) else ()
    patterns = {rule.when.request for rule in plan} if named else set()
    found = dict(state.named)
    for pattern in patterns - {None}:
        if named_by(str(pattern), named):
            for of_call in {happening.call, None}:
                key = (str(pattern), of_call)
                found[key] = found.get(key, 0) + 1
    return found


def _claiming(
    plan: FaultPlan,
    happening: Happening,
    attempt: int,
    attempt_of_all: int,
    counts: Mapping[tuple[str, str | None], int],
) -> FaultRule | None:
    # Before the request is read it is unknown whether it will ask for a stream.
    answer = happening.answer if isinstance(happening, Requesting) else None
    facts = {
        "task": task_of(happening.call),
        "now_ns": happening.now_ns,
        "stream": None if answer is None else answer.stream,
        "named": happening.named if isinstance(happening, Requesting) else (),
    }
    for rule in plan:
        by_call = rule.when.scope == "call"
        number = attempt if by_call else attempt_of_all
        if rule.when.request is not None:
            number = counts.get((rule.when.request, happening.call if by_call else None), 1)
        if rule.is_for(number, **facts) and _can_apply(rule.then, happening):
            return rule
    return None


def _fires_at(fault: Fault, happening: Happening) -> bool:
    if isinstance(fault, DnsFailure):
        return isinstance(happening, Resolving)
    if isinstance(fault, (ConnectRefused, ConnectTimeout)):
        return isinstance(happening, Connecting)
    return isinstance(happening, Requesting)


def _can_apply(fault: Fault, happening: Happening) -> bool:
    """Whether `fault` can still end or shape the attempt that `happening` is part of."""
    match happening:
        case Resolving():
            return True
        case Connecting():
            return not isinstance(fault, DnsFailure)
        case Requesting(answer=None):
            return False
        case Requesting(answer=AnswerShape() as answer):
            return _fits(fault, answer)
    return False


def _fits(fault: Fault, answer: AnswerShape) -> bool:
    match fault:
        case DnsFailure() | ConnectRefused() | ConnectTimeout():
            return False
        case Truncate(how="clean_end", after_chunks=int(chunks)):
            return answer.stream and chunks <= answer.chunks_before_finish
        case Truncate(after_chunks=int(chunks)) | Stall(after_chunks=int(chunks)):
            return answer.stream and chunks <= answer.chunks
        case Truncate(after_body_bytes=int(count)) | Stall(after_body_bytes=int(count)):
            return count < answer.body_bytes
        case CorruptBody():
            return fault.at_byte < answer.body_bytes
        case SlowDrip():
            return answer.body_bytes > 0
        case AnswerEnds():
            return answer.text
        case StreamError():
            return answer.stream and fault.after_chunks <= answer.chunks
        case _:
            return True
