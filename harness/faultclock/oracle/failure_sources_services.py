"""Failures of what surrounds a runtime: hooks, telemetry, the queue, the store, the host's nodes.

Each is called, and replies that it failed; what hangs is on record as a fault that was met.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from faultclock.model.error_model import ErrorModel, FailureKind
from faultclock.model.trace import TraceEvent
from faultclock.oracle.failure import Failure, Layer, Target
from faultclock.oracle.failure_nodes import node_at
from faultclock.oracle.history import History

__all__ = [
    "hook_failures",
    "node_failures",
    "queue_failures",
    "store_failures",
    "telemetry_failures",
]

_WRITES = ("write", "append", "write_slot")


def hook_failures(history: History, _model: ErrorModel) -> Iterator[Failure]:
    """Yield the uses of hooks that failed; the cause is the slot."""
    for asked, ended in _uses(history, "hook", "hook.called", "hook.replied"):
        id_, slot = _text(asked, "hook"), _text(asked, "slot")
        yield _failure("hook_failed", "hook", id_, asked, ended, cause=slot)


def telemetry_failures(history: History, _model: ErrorModel) -> Iterator[Failure]:
    """Yield the exports that failed."""
    for asked, ended in _uses(history, "name", "telemetry.asked", "telemetry.answered"):
        names = (_text(asked, "name"),)
        yield _failure("telemetry_failed", "telemetry", "telemetry", asked, ended, names=names)


def queue_failures(history: History, _model: ErrorModel) -> Iterator[Failure]:
    """Yield the pushes that failed. A push of the same item is the same one again."""
    asked_all = list(history.of("queue.asked"))
    for asked, ended in _uses(history, "item", "queue.asked", "queue.answered"):
        acts = tuple(
            event for event in asked_all if (event.item, event.call) == (asked.item, asked.call)
        )
        id_ = _text(asked, "item")
        yield _failure("queue_refused", "queue", id_, asked, ended, names=("queue",), acts=acts)


def store_failures(history: History, _model: ErrorModel) -> Iterator[Failure]:
    """Yield the writes that the session store refused; the cause is its code."""
    operations = history.store_operations
    for operation in operations:
        answered = operation.answered
        if answered is None or operation.ok or operation.name not in _WRITES:
            continue
        acts = tuple(
            other.asked
            for other in operations
            if (other.call, other.name, other.owner, other.revision)
            == (operation.call, operation.name, operation.owner, operation.revision)
        )
        code = answered.code
        yield Failure(
            kind="memory_unavailable",
            cause=None if code is None else str(code),
            call=str(operation.call),
            at_ns=answered.at_ns,
            seq=answered.seq,
            events=(operation.asked.seq, answered.seq),
            target=Target(layer="store", id="store"),
            names=(operation.name, *(() if operation.owner is None else (operation.owner,))),
            acts=acts,
        )


def node_failures(history: History, _model: ErrorModel) -> Iterator[Failure]:
    """Yield the expressions that could not be evaluated, and the handlers that threw."""
    calls = {_key(event, "node"): event for event in history.of("node.called")}
    for ended in history.of("node.replied"):
        called = calls.get(_key(ended, "node"))
        if ended.ok or called is None:
            continue
        error = _error(ended)
        sandbox = error.get("kind") == "sandbox"
        cause = error.get("cause") if sandbox else None
        id_ = _text(called, "node")
        yield Failure(
            kind="sandbox_failed" if sandbox else "handler_failed",
            cause=None if cause is None else str(cause),
            call=_text(called, "call"),
            at_ns=ended.at_ns,
            seq=ended.seq,
            events=(called.seq, ended.seq),
            target=Target(layer="node", id=id_),
            acts=tuple(
                event
                for event in calls.values()
                if (_text(event, "node"), _text(event, "call")) == (id_, _text(called, "call"))
            ),
            node=node_at(history, called),
            message=str(error.get("message") or ""),
        )


def _uses(
    history: History, id_: str, begins: str, ends: str
) -> Iterator[tuple[TraceEvent, TraceEvent]]:
    """Yield how each failed use began, and what showed it: its reply, or the fault that hangs."""
    asked = {_key(event, id_): event for event in history.of(begins)}
    for event in history.of(ends):
        begun = asked.get(_key(event, id_))
        if not event.ok and begun is not None:
            yield begun, event
    of = begins.partition(".")[0]
    for event in history.of("fault.fired"):
        if event.fault_kind != "hangs":
            continue
        whose, _, named = str(event.of).partition(" ")
        if whose != of:
            continue
        for key, begun in asked.items():
            if key[1] == event.n and named in ("", key[0]):
                yield begun, event


def _failure(
    kind: FailureKind,
    layer: Layer,
    id_: str,
    asked: TraceEvent,
    ended: TraceEvent,
    *,
    cause: str | None = None,
    names: tuple[str, ...] = (),
    acts: tuple[TraceEvent, ...] = (),
) -> Failure:
    return Failure(
        kind=kind,
        cause=cause,
        call=_text(asked, "call"),
        at_ns=ended.at_ns,
        seq=ended.seq,
        events=(asked.seq, ended.seq),
        target=Target(layer=layer, id=id_),
        names=names,
        acts=acts,
        message=str(_error(ended).get("message") or ""),
    )


def _key(event: TraceEvent, id_: str) -> tuple[str, object]:
    return _text(event, id_), event.n


def _text(event: TraceEvent, name: str) -> str:
    return str(event.payload.get(name))


def _error(event: TraceEvent) -> Mapping[str, Any]:
    error = event.error
    return error if isinstance(error, Mapping) else {}
