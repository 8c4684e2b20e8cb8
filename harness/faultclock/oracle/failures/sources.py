"""All sources of failures: each one reads one group of facts, and none knows another.

Here are those of requests to the model, of what surrounds a runtime, and of a run as a whole. Tools
and programs have their own modules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

from faultclock.model.error_model.error_model import ErrorModel, FailureKind
from faultclock.model.trace.trace import TraceEvent
from faultclock.oracle.facts.history import History, once
from faultclock.oracle.facts.nodes import node_at
from faultclock.oracle.facts.uses import limits_reached
from faultclock.oracle.failures.failure import Failure, Layer, failure_of
from faultclock.oracle.failures.groups import join_violations
from faultclock.oracle.failures.sources_programs import output_failures, program_failures
from faultclock.oracle.failures.sources_tools import execution_failures, refused_failures
from faultclock.oracle.retries.breaker_refusals import breaker_refusals
from faultclock.oracle.retries.plans import plans_of
from faultclock.oracle.wire.stops import is_stop

_WRITES = ("write", "append", "write_slot")
#: First parts of the kinds of facts that show the work of a turn itself.
_WORK = ("call.started", "http.", "net.", "tool.", "node.", "program.")


def seen_failures(history: History, model: ErrorModel) -> Iterator[Failure]:
    """Yield every failure that the facts show, in no order, without what the model says of it."""
    for source in _SOURCES:
        yield from source(history, model)


# ---------------------------------------------------------------------- requests to the model


def _requests(history: History, model: ErrorModel) -> Iterator[Failure]:
    """Yield one failure for each attempt that failed, with the class that its signal has."""
    for request, steps in plans_of(history, model):
        acts = tuple(step.attempt.start for step in steps)
        for step in steps:
            attempt = step.attempt
            if attempt.signal is None or not attempt.failed:
                continue
            yield Failure(
                kind=attempt.signal.kind,
                cause=attempt.signal.error_code or attempt.signal.error_type,
                call=request.id,
                at_ns=attempt.start.at_ns if attempt.known_ns is None else attempt.known_ns,
                seq=attempt.knowable_seq or attempt.events[-1],
                events=attempt.events,
                layer="request",
                target=f"{request.id}#{request.number}",
                acts=acts,
                node=node_at(history, attempt.start),
                wire=attempt.signal,
                classification=step.classification,
                ruling=step.ruling,
            )


def _answers(history: History, _model: ErrorModel) -> Iterator[Failure]:
    """Yield the answers whose content was filtered; the wire was good."""
    for call in history.calls:
        for index, attempt in enumerate(call.attempts):
            answered = attempt.answered
            if answered is None or answered.finish_reason != "content_filter":
                continue
            node = node_at(history, attempt.start)
            # Its answer asks for no tool: the next request for the same is a repetition.
            acts = (
                other.start
                for other in call.attempts[index:]
                if node_at(history, other.start) == node
            )
            yield Failure(
                kind="content_filtered",
                call=call.id,
                at_ns=answered.at_ns if attempt.known_ns is None else attempt.known_ns,
                seq=attempt.events[-1],
                events=attempt.events,
                layer="request",
                target=call.id,
                acts=tuple(acts),
                node=node,
            )


# ---------------------------------------------------------------------- what surrounds a runtime


class Service(Struct, frozen=True):
    """A service whose uses can fail.

    Attributes:
        begins, ends: kinds of the events of a use; the number `n` pairs them as well.
        field: holds the name of what is used.
        cause: field with the cause of a failure; None for none.
        id: of the target; None: the name of what is used.
        names: what else the target is called; None: the name of what is used.
        repeats: whether a later use of the same is a repetition.
    """

    kind: FailureKind
    layer: Layer
    begins: str
    ends: str
    field: str
    cause: str | None = None
    id: str | None = None
    names: tuple[str, ...] | None = ()
    repeats: bool = False


_HOOK = Service("hook_failed", "hook", "hook.called", "hook.replied", "hook", cause="slot")
_TELEMETRY = Service(
    *("telemetry_failed", "telemetry", "telemetry.asked", "telemetry.answered", "name"),
    id="telemetry",
    names=None,
)
_QUEUE = Service(
    *("queue_refused", "queue", "queue.asked", "queue.answered", "item"),
    names=("queue",),
    repeats=True,
)
_NODE = Service("handler_failed", "node", "node.called", "node.replied", "node", repeats=True)


class ServiceUse(Struct, frozen=True, kw_only=True):
    """One use of a service, with its reply if it has one."""

    service: Service
    name: str
    asked: TraceEvent
    answered: TraceEvent | None


@once
def service_uses(history: History) -> tuple[ServiceUse, ...]:
    """Return all uses of hooks, exporters, the queue and the nodes of the host."""
    found = []
    for service in (_HOOK, _TELEMETRY, _QUEUE, _NODE):
        replies = {
            (getattr(event, service.field), event.n): event for event in history.of(service.ends)
        }
        for asked in history.of(service.begins):
            name = getattr(asked, service.field)
            answered = replies.get((name, asked.n))
            found.append(
                ServiceUse(service=service, name=str(name), asked=asked, answered=answered)
            )
    return tuple(found)


def _services(history: History, _model: ErrorModel) -> Iterator[Failure]:
    """Yield the uses of services that failed, or that hang."""
    for use in service_uses(history):
        service, asked = use.service, use.asked
        shown = use.answered
        if shown is None and service is not _NODE:
            shown = next((event for event in history.of("fault.fired") if _hangs(event, use)), None)
        if shown is None or shown.ok:
            continue
        error = shown.error or {}
        kind = service.kind
        cause = None if service.cause is None else getattr(asked, service.cause)
        if service is _NODE and error.get("kind") == "sandbox":
            kind, cause = "sandbox_failed", error.get("cause")
        same = (
            other.asked
            for other in service_uses(history)
            if service.repeats
            and (other.service, other.name, other.asked.call) == (service, use.name, asked.call)
        )
        yield failure_of(
            kind,
            service.layer,
            service.id or use.name,
            asked,
            shown,
            cause=None if cause is None else str(cause),
            names=(use.name,) if service.names is None else service.names,
            acts=tuple(same),
            node=node_at(history, asked),
            message=str(error.get("message") or ""),
        )


def _hangs(fault: TraceEvent, use: ServiceUse) -> bool:
    """Return whether a fault made a use hang."""
    what, _, named = str(fault.of).partition(" ")
    return (
        fault.fault_kind == "hangs"
        and what == use.asked.kind.partition(".")[0]
        and named in ("", use.name)
        and fault.n == use.asked.n
    )


def _store(history: History, _model: ErrorModel) -> Iterator[Failure]:
    """Yield the writes that the session store refused; the cause is its code."""
    for operation in history.store_operations:
        answered = operation.answered
        if answered is None or operation.ok or operation.name not in _WRITES:
            continue
        acts = (
            other.asked
            for other in history.store_operations
            if (other.call, other.name, other.owner, other.revision)
            == (operation.call, operation.name, operation.owner, operation.revision)
        )
        yield failure_of(
            "memory_unavailable",
            "store",
            "store",
            operation.asked,
            answered,
            cause=None if answered.code is None else str(answered.code),
            names=(operation.name, *(() if operation.owner is None else (operation.owner,))),
            acts=tuple(acts),
        )


# ---------------------------------------------------------------------- a run as a whole


def _cancels(history: History, _model: ErrorModel) -> Iterator[Failure]:
    """Yield one failure for each turn that a cancel hit; the cause is its scope.

    A dialog that the person closes cancels its turn. The cancel of one tool is the tool's.
    """
    for event in history.of("cancel.requested", "interaction.answered"):
        if not is_stop(event):
            continue
        scope, hit = "turn", [event.call]
        if event.kind == "cancel.requested":
            scope = str(event.scope)
            hit = list(event.calls) if scope == "call" else _hit(history, event, scope)
        for call in hit:
            if call is not None:
                yield _of_run("cancelled", scope, str(call), event.at_ns, event.seq, (event.seq,))


def _hit(history: History, event: TraceEvent, scope: str) -> list[str | None]:
    running: list[str | None] = [
        call.id
        for call in history.calls
        if call.is_turn
        and call.start.seq < event.seq
        and (call.end is None or event.seq < call.end.seq)
        and (call.crashed is None or event.seq < call.crashed.seq)
    ]
    # What waits for its turn is not hit by a cancel of the one that runs.
    return running if scope == "session" else running[:1]


def _limits(history: History, model: ErrorModel) -> Iterator[Failure]:
    """Yield the limits that turns came to; the cause is the limit's name."""
    for use in limits_reached(history, model):
        last = use.last
        # What the subject says of it, or saves, comes after its work.
        work = (
            event.seq
            for event in reversed(history.trace.events[: last.seq])
            if event.call == use.call and event.kind.startswith(_WORK)
        )
        events = (last.seq,) if use.over is None else (last.seq, use.over.seq)
        seq = next(work, last.seq)
        yield _of_run("limit_reached", use.name, use.call, last.at_ns, seq, events)


def _joins(history: History, model: ErrorModel) -> Iterator[Failure]:
    """Yield the groups of subagents whose join does not hold; the cause is the policy."""
    for group, settled in join_violations(history, model):
        call, policy = group.answer.in_call.id, group.rule.policy
        events = (group.asked_seq, *group.events)
        yield _of_run("join_violated", policy, call, settled.at_ns, settled.seq, events)


def _breakers(history: History, model: ErrorModel) -> Iterator[Failure]:
    """Yield what an open breaker kept back. Where another provider was asked, it was made good."""
    for refusal in breaker_refusals(history, model):
        moved = [
            attempt.start
            for call in history.calls
            for attempt in call.attempts
            if refusal.moved and call.id == refusal.call and attempt.start.seq > refusal.seq
        ]
        yield Failure(
            kind="breaker_open",
            call=refusal.call,
            at_ns=refusal.at_ns,
            seq=refusal.seq,
            events=refusal.events,
            layer="run",
            target=refusal.call,
            names=(refusal.provider,),
            acts=tuple(moved[:1]),
        )


def _of_run(
    kind: FailureKind, cause: str, call: str, at_ns: int, seq: int, events: tuple[int, ...]
) -> Failure:
    return Failure(
        kind=kind,
        cause=cause,
        call=call,
        at_ns=at_ns,
        seq=seq,
        events=events,
        layer="run",
        target=call,
    )


_SOURCES: tuple[Callable[[History, ErrorModel], Iterable[Failure]], ...] = (
    _requests,
    _answers,
    refused_failures,
    execution_failures,
    _services,
    _store,
    program_failures,
    output_failures,
    _cancels,
    _limits,
    _joins,
    _breakers,
)
