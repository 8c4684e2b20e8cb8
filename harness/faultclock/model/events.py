"""The catalogue of event kinds: what a fact of a trace is called, who records it, what it holds.

It is data, and the one place: the names that a trigger may wait for, the check of each trace that
is read (`model.event_check`) and the published schema come from it. No trace holds another kind,
and no event holds another field.

What the harness measures has a type of its own. What a subject hands over can be anything, so it is
`Said`: any JSON value, and its readers expect any.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field

from faultclock.model._base import Sha256
from faultclock.model.event_shapes import (
    INT_END,
    Call,
    Chain,
    Count,
    Differing,
    ErrorFacts,
    ExtensionContract,
    Flag,
    Int,
    MaybeSha,
    MaybeText,
    Message,
    Number,
    Object,
    Pair,
    Record,
    RunResult,
    Said,
    Text,
    ToolCall,
    ToolContract,
    ToolProblem,
    UseError,
    list_of,
    maybe,
    shape,
)
from faultclock.model.fault import AnswerEnd

__all__ = [
    "DERIVED_KINDS",
    "EVENTS",
    "EVENT_KINDS",
    "INT_END",
    "EventKind",
    "event_types",
    "payload_type",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class EventKind:
    """One kind of event.

    Attributes:
        actors: who may record it.
        fields: of its payload, with their types; `NotRequired` where some events lack one.
        counts: it may also hold counts under names that are not known beforehand.
        only: the traces that may hold it: all; only those in real time; only foreign logs.
    """

    actors: tuple[str, ...]
    fields: Mapping[str, Any]
    counts: bool = False
    only: Literal["all", "real_time", "foreign"] = "all"


def payload_type(name: str) -> Any:
    """Return the type of the payload of a kind, for pydantic."""
    kind = EVENTS[name]
    return shape(name, kind.fields, "allow" if kind.counts else "forbid")


def event_types() -> Iterator[tuple[str, Any]]:
    """Yield each kind by its name, with the type of its events as a trace has them."""
    for name, kind in EVENTS.items():
        fields = {
            "seq": Number,
            "at_ns": Count,
            "actor": Literal[kind.actors],
            "kind": Literal[name],
            "payload": payload_type(name),
        }
        yield name, shape(f"event {name}", fields)


#: What the reader of a foreign log adds to each fact: the line, and the run that it names.
_FOREIGN = maybe({"line": Number, "log_run": MaybeText, "life": Number})
_LIVED = {"call": Call, "life": Number}
_REPLY = maybe(
    {
        "text_sha256": MaybeSha,
        "type": Text,
        "problem": Text,
        "finish_reason": Text,
        "result": RunResult,
        "answer": shape("Answer", {"status": Said, "reason": Said}),
    }
)
_STORED = maybe({"value_sha256": MaybeSha, "value": Said})
_ASKED = maybe(
    {
        # a runtime's question
        "interaction_kind": Text,
        "deadline_ns": Count | None,
        # a tool
        "arguments": Object,
        "input_problem": MaybeText,
        "timeout_ns": Count,
        # an extension
        "config": Object | None,
        "config_problem": MaybeText,
        # a session store
        "store": Text,
        "session": Text,
        "owner": Text,
    }
)
_TASK = {"task": Text, **maybe({"do": Text})}
_PROVIDED = maybe({"provider": Text})
_EXCHANGE = {"exchange": Text, "connection": Text, "call": Call, **_PROVIDED}
_CONNECTION = {"connection": Text, "call": Call}
_EXTENSION = {"extension": Text, **_LIVED}
_INTERACTION = {"interactor": Text, "request": Said, "tool_call": Said, **_LIVED}
_EXECUTION = {"execution": Text, "tool": Text, "tool_call": Text, **_LIVED}
_SEEN = maybe({"seen": Flag})
_OPERATION = {"op": Text, "operation": Text, "session": Text, "owner": MaybeText, **_LIVED}
_PROGRAM = {"run": Text, **_LIVED}
_USED = {"ok": Flag, "error": UseError | None}
_CANCEL = {"cancel": Text, **_LIVED}
_OCCASION = maybe(
    {
        "of": Text,
        "life": Number,
        "attempt": Number,
        "exchange": MaybeText,
        "account": Count,
        "retry_after_ns": Int | None,
        "early_ns": Int,
        "pushed_back_ns": Int,
        "request": Said,
        "execution": Text,
        "op": Text,
        "operation": Text,
        "run": Text,
        "n": Number,
    }
)
_SCRIPTED = (
    "disk",
    "extension",
    "harness",
    "hook",
    "interactor",
    "program",
    "provider",
    "queue",
    "stage",
    "store",
    "telemetry",
    "tool",
    "workflow",
)


def _of(actor: str | tuple[str, ...], *fields: Mapping[str, Any], **more: Any) -> EventKind:
    actors = (actor,) if isinstance(actor, str) else actor
    joined = {name: type_ for group in fields for name, type_ in group.items()}
    return EventKind(actors=actors, fields=joined, **more)


def _used(actor: str, **what: Any) -> tuple[EventKind, EventKind]:
    """Return the kinds of the beginning and of the end of a numbered use."""
    facts = {**what, "n": Number, **_LIVED}
    return _of(actor, facts), _of(actor, facts, _USED)


_HOOK = _used("hook", hook=Text, slot=Text)
_NODE = _used("workflow", node=Text)
_QUEUE = _used("queue", item=Said)
_TELEMETRY = _used("telemetry", name=Said)

#: Every kind that a trace may hold, by its name.
EVENTS: dict[str, EventKind] = {
    # --- the run, its processes and its calls
    "run.started": _of("harness"),
    "process.started": _of("harness", _LIVED, {"resume": Flag}),
    "process.crashed": _of("harness", _LIVED, {"crash": Text}),
    "call.started": _of(
        "harness",
        {"call": Text, "copy": Number},
        _TASK,
        maybe({"stream": Flag, "prompt": Text}),
        _ASKED,
        _STORED,
        _FOREIGN,
    ),
    "call.returned": _of(
        "harness",
        {"call": Text, "text": MaybeText, "tool_calls": list_of(ToolCall)},
        maybe({"task": Text, "do": Text, "found": Flag}),
        maybe({"entries": list[Sha256], "sessions": list[Said]}),
        _REPLY,
        _STORED,
        _FOREIGN,
    ),
    "call.raised": _of(
        "harness", {"call": Text, "chain": Chain}, maybe({"task": Text, "do": Text}), _FOREIGN
    ),
    "call.crashed": _of("harness", {"call": Text, "life": Number}),
    "call.skipped": _of("harness", _TASK, {"call": Text, "life": Number, "why": Text}),
    "call.left": _of(
        "harness",
        {"call": Text, "exit_code": Int | None, "signal": MaybeText},
        only="real_time",
    ),
    "clock.late": _of("harness", {"late_ns": Count}, only="real_time"),
    "cancel.requested": _of(
        "harness",
        _CANCEL,
        {"scope": Text, "target": MaybeText, "n": Number, "calls": NotRequired[list[Text]]},
    ),
    "cancel.unsupported": _of("harness", _CANCEL),
    "cancel.raised": _of("harness", _CANCEL, {"chain": Chain}),
    "contract.declared": _of(
        "harness", {"call": Call, "contract": ToolContract | ExtensionContract}
    ),
    "fault.fired": _of(
        _SCRIPTED, {"fault": Text, "fault_kind": Text, "call": Call}, _OCCASION, _PROVIDED
    ),
    "fault.unmet": _of(
        _SCRIPTED,
        {"fault": Text, "optional": Flag},
        maybe({"of": Text, "call": Call, "life": Number}),
        _PROVIDED,
    ),
    "leak": _of("harness", {"what": Text, "site": Text}),
    "world.touched": _of("harness", {"random_state": Sha256}, counts=True),
    "entropy": _of("subject", {"source": Text, "bytes_count": Count, "call": Call}),
    "sleep": _of("subject", {"delay_ns": Int, "call": Call}),
    # --- the network and the provider
    "net.resolving": _of("network", {"host": Text, "call": Call}),
    "net.resolve": _of(
        "network", {"host": Text, "call": Call, "address": MaybeText, "error": MaybeText}
    ),
    "net.connect": _of("network", _CONNECTION, {"host": Text, "port": Int}),
    "net.connected": _of("network", _CONNECTION),
    "net.connect_failed": _of("network", _CONNECTION, {"error": Text}),
    "net.sent": _of("network", _CONNECTION, {"bytes_count": Count}),
    "net.delivered": _of(
        "network", _CONNECTION, {"bytes_count": Count, "sent_ns": NotRequired[Count]}
    ),
    "net.eof": _of("network", _CONNECTION),
    "net.reset": _of("network", _CONNECTION),
    "net.closed": _of("network", _CONNECTION, {"how": Text}),
    "http.malformed": _of("provider", _CONNECTION, {"reason": Text}, _PROVIDED),
    "http.request": _of(
        "provider",
        _EXCHANGE,
        {
            "attempt": Number,
            "method": Text,
            "target": Text,
            "headers": dict[Text, Text],
            "body_sha256": Sha256,
            "body_bytes": Count,
            "model": MaybeText,
            "stream": Flag,
        },
        maybe({"messages": list_of(Message), "tools": Count}),
    ),
    "http.response": _of(
        "provider",
        _EXCHANGE,
        {
            "status": Annotated[int, Field(ge=100, le=999)],
            "headers": dict[Text, Text],
            "retry_after": MaybeText,
            "error": ErrorFacts | None,
        },
    ),
    "http.stream_error": _of("provider", _EXCHANGE, {"error": ErrorFacts}),
    "http.exchange_ended": _of(
        "provider",
        _EXCHANGE,
        {"how": Text, "finish_reason": MaybeText, "text_sha256": MaybeSha},
        maybe({"ends": AnswerEnd, "tool_calls": list_of(ToolCall), "usage": dict[Text, Count]}),
    ),
    # --- tools, the policy and the person
    "tool.called": _of("tool", _EXECUTION, {"arguments": Said, "agent": Flag}),
    "tool.effect": _of("tool", _EXECUTION, {"key": Text, "count": Number}),
    "tool.replied": _of(
        "tool",
        _EXECUTION,
        {
            "ok": Flag,
            "partial": Flag,
            "class": Said,
            "code": Said,
            "errors": list_of(ToolProblem),
            "value_sha256": MaybeSha,
        },
        maybe({"message": Said, "output_problem": MaybeText, "untyped": MaybeText}),
        _SEEN,
    ),
    "tool.raised": _of("tool", _EXECUTION, {"type": Text}, _SEEN),
    "tool.stopped": _of("tool", _EXECUTION),
    "tool.unfinished": _of("tool", _EXECUTION),
    "policy.decided": _of(
        "policy", {"tool": Said, "tool_call": Said, "decision": Literal["allow", "deny"]}, _LIVED
    ),
    "interaction.shown": _of(
        "interactor",
        _INTERACTION,
        {"interaction_kind": Said, "tool": Said, "deadline_ns": Count | None},
        maybe({"arguments": Object}),
    ),
    "interaction.answered": _of(
        "interactor", _INTERACTION, {"answer": Text, "accepted": Flag}, Pair
    ),
    "interaction.dismissed": _of("interactor", _INTERACTION),
    "interaction.broken": _of("interactor", _INTERACTION),
    # --- what is kept: the session store, the disk, the archive
    "store.asked": _of("store", _OPERATION, {"revision_sha256": MaybeSha}),
    "store.durable": _of("store", _OPERATION, {"torn": Flag, "revision_sha256": MaybeSha}),
    "store.answered": _of(
        "store",
        _OPERATION,
        {"ok": Flag, **Pair, "stale": Flag, "found": Flag},
        maybe({"revision_sha256": MaybeSha}),
    ),
    "store.edited": _of("store", {"session": Text, "applied": Flag}, _LIVED),
    "disk.acted": _of(
        "disk",
        {"op": Text, "act": Text, "file": Text, "to": NotRequired[Text]},
        {"bytes_count": Count | None, "ok": Flag, "error": MaybeText},
        _LIVED,
    ),
    "disk.read": _of("disk", {"file": Text, "ok": Flag, "error": MaybeText}, _LIVED),
    "disk.survived": _of("disk", {"leaves": Text, "differing": list_of(Differing), "life": Number}),
    "disk.edited": _of("disk", {"file": Text, "how": Text}, _LIVED),
    "archive.saved": _of(
        "archive",
        {"name": Text, "bytes_count": Count, "sha256": Sha256, "text": Text},
        {"json": Object | None},
        _LIVED,
    ),
    # --- what a runtime uses on its way
    "stage.asked": _of(
        "stage",
        {"stage": Text, "attempt": Said, "phase": Text, "answer": Text, "tool": Said},
        _LIVED,
    ),
    "hook.called": _HOOK[0],
    "hook.replied": _HOOK[1],
    "node.called": _of("workflow", _NODE[0].fields, {"do": Text}),
    "node.replied": _NODE[1],
    "queue.asked": _QUEUE[0],
    "queue.answered": _QUEUE[1],
    "telemetry.asked": _TELEMETRY[0],
    "telemetry.answered": _TELEMETRY[1],
    "program.started": _of(
        "program",
        _PROGRAM,
        {"program": Text, "argv": list[Said], "n": Number, "means": MaybeText},
    ),
    "program.wrote": _of("program", _PROGRAM, {"stream": Text, "text": Text}),
    "program.signalled": _of("program", _PROGRAM, {"signal": Text, "by": Text}),
    "program.ended": _of(
        "program",
        _PROGRAM,
        {"program": Text, "status": Int | None, "signal": MaybeText, "means": MaybeText},
    ),
    "program.left_running": _of("program", _PROGRAM, {"program": Text}),
    "program.missing": _of("program", {"program": Said, "argv": list[Said], "n": Count}, _LIVED),
    # --- extensions
    "extension.phase": _of(
        "extension", _EXTENSION, {"phase": Text, "ok": Flag, "how": NotRequired[Text]}
    ),
    "extension.capabilities": _of("extension", _EXTENSION, {"phase": Text, "names": list[Text]}),
    "extension.residue": _of("extension", _EXTENSION, {"tasks": Count, "threads": Count}),
    "extension.slot_decided": _of(
        "extension",
        _EXTENSION,
        {"stored": Said, "current": Said, "decision": Said},
        maybe({"migrated_to": Said, "ok": Flag}),
    ),
    "extension.slot_delivered": _of("extension", _EXTENSION, {"version": Said}),
    # --- what a subject says of itself
    "declared.audit": _of("subject", {"call": Call, "record": Record}, _FOREIGN),
    "declared.audit_event": _of(
        "subject", {"call": Call, "name": Said, "fields": Object}, _FOREIGN
    ),
    "declared.event": _of("subject", {"call": Call, "name": Said, "fields": Object}, _FOREIGN),
    "declared.content": _of("subject", {"call": Call, "chars": Count, "text_sha256": Sha256}),
    "declared.model_message": _of("subject", {"call": Call, "shape": Said}, _FOREIGN),
    "declared.operator_message": _of(
        "subject",
        {"call": Call, "message": Said},
        maybe({"actions": list[Said], "pill": Said}),
        _FOREIGN,
    ),
    "declared.user_message": _of("subject", {"call": Call, "message": Said}, _FOREIGN),
    # --- what only the log of another system declares
    "declared.error": _of(
        "subject", {"call": Call, **Pair, "message": Said}, _FOREIGN, only="foreign"
    ),
    "declared.retry": _of(
        "subject",
        {"call": Call, **Pair, "retry_number": Int | None, "delay_ns": Int | None},
        _FOREIGN,
        only="foreign",
    ),
    "declared.sign": _of(
        "subject",
        {"call": Call, "of": Text, "name": Text, "fields": Object},
        _FOREIGN,
        only="foreign",
    ),
}

#: The kinds that a simulated run can record: what a trigger of a scenario may wait for.
EVENT_KINDS = frozenset(name for name, kind in EVENTS.items() if kind.only == "all")

#: What the oracle makes of these for ordering rules; a trigger cannot wait for them.
DERIVED_KINDS = frozenset(
    {"attempt.failed", "attempt.started", "dependent.phase", "failure.seen", "gated.called"}
)
