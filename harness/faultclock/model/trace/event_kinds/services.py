"""What a runtime uses on its way: stages, hooks, nodes, services, programs, extensions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NotRequired

from faultclock.model.trace.event_fields import EventFields
from faultclock.model.trace.event_kinds.kind import LIVED, USED, EventKind, kind
from faultclock.model.trace.event_shapes import (
    Count,
    Flag,
    Int,
    MaybeText,
    Number,
    Said,
    Text,
    maybe,
)

_PROGRAM = {"run": Text, **LIVED}
_EXTENSION = {"extension": Text, **LIVED}
#: Characters of what a program writes, in a line about it.
_SHOWN_MAX = 80


def _uses(
    begins: str,
    ends: str,
    fields: Mapping[str, Any],
    *also: Mapping[str, Any],
    actor: str,
    used: str,
    **began: Any,
) -> dict[str, EventKind]:
    """Return the kinds of the beginning and of the end of a numbered use.

    Args:
        fields: of both, apart from the number.
        also: what only the beginning says.
        used: what is used, in the words of the end.
        began: more of the beginning.
    """
    facts = {**fields, "n": Number, **LIVED}

    def ended(event: EventFields) -> str:
        who = used.format_map(event.payload)
        if event.ok:
            return f"{who} has done it"
        error = event.error or {}
        return f"{who} fails: {error.get('cause') or error.get('type') or error.get('kind')}"

    return {
        begins: kind(actor, facts, *also, **began),
        ends: kind(actor, facts, USED, text=ended, closes=begins),
    }


def _program_started(event: EventFields) -> str:
    return f"{event.run} {' '.join([event.program, *(event.argv or ())[1:]])} starts"


def _program_ended(event: EventFields) -> str:
    how = event.signal or f"status {event.status}"
    means = f" ({event.means.replace('_', ' ')})" if event.means else ""
    return f"{event.run} {event.program} ends: {how}{means}"


def _program_wrote(event: EventFields) -> str:
    text = (event.text or "").strip()
    shown = text if len(text) <= _SHOWN_MAX else f"{text[: _SHOWN_MAX - 1]}…"
    return f"{event.run} writes to {event.stream}: {shown}"


KINDS: dict[str, EventKind] = {
    "stage.asked": kind(
        "stage",
        {"stage": Text, "attempt": Said, "phase": Text, "answer": Text, "tool": Said},
        LIVED,
        text="{stage}, attempt {attempt}: {phase} {answer}",
        mark="answer",
    ),
    **_uses(
        "hook.called",
        "hook.replied",
        {"hook": Text, "slot": Text},
        actor="hook",
        opens=("hook", "n"),
        named="hook",
        text="hook {hook} is called ({slot})",
        used="hook {hook}",
    ),
    **_uses(
        "node.called",
        "node.replied",
        {"node": Text},
        {"do": Text},
        actor="workflow",
        opens=("node", "n"),
        named="node",
        text="{do} {node} is done, time {n}",
        used="node {node}",
    ),
    **_uses(
        "queue.asked",
        "queue.answered",
        {"item": Said},
        actor="queue",
        opens=("n",),
        named="item",
        text="{item} is pushed to the queue",
        used="the queue",
    ),
    **_uses(
        "telemetry.asked",
        "telemetry.answered",
        {"name": Said},
        actor="telemetry",
        opens=("n",),
        named="name",
        text="{name} is exported",
        used="the telemetry sink",
    ),
    "program.started": kind(
        "program",
        _PROGRAM,
        {"program": Text, "argv": list[Said], "n": Number, "means": MaybeText},
        text=_program_started,
        opens=("run",),
        named="program",
    ),
    "program.wrote": kind(
        "program",
        _PROGRAM,
        {"stream": Text, "text": Text},
        text=_program_wrote,
        part_of="program.started",
    ),
    "program.signalled": kind(
        "program",
        _PROGRAM,
        {"signal": Text, "by": Text},
        text="{run} gets {signal} from the {by}",
        part_of="program.started",
        mark="cancel",
    ),
    "program.ended": kind(
        "program",
        _PROGRAM,
        {"program": Text, "status": Int | None, "signal": MaybeText, "means": MaybeText},
        text=_program_ended,
        closes="program.started",
    ),
    # It goes on without the process that started it.
    "program.left_running": kind(
        "program",
        _PROGRAM,
        {"program": Text},
        text="program left_running",
        part_of="program.started",
    ),
    "program.missing": kind(
        "program",
        {"program": Said, "argv": list[Said], "n": Count},
        LIVED,
        text="there is no program {program}",
        mark="refusal",
    ),
    "extension.phase": kind(
        "extension",
        _EXTENSION,
        {"phase": Text, "ok": Flag, "how": NotRequired[Text]},
        text=lambda e: f"{e.extension}: {e.phase}{'' if e.ok else ' fails'}",
    ),
    "extension.capabilities": kind(
        "extension", _EXTENSION, {"phase": Text, "names": list[Text]}, text="extension capabilities"
    ),
    "extension.residue": kind(
        "extension", _EXTENSION, {"tasks": Count, "threads": Count}, text="extension residue"
    ),
    "extension.slot_decided": kind(
        "extension",
        _EXTENSION,
        {"stored": Said, "current": Said, "decision": Said},
        maybe({"migrated_to": Said, "ok": Flag}),
        text="{extension} decides: {decision}",
    ),
    "extension.slot_delivered": kind(
        "extension", _EXTENSION, {"version": Said}, text="{extension} receives its slot"
    ),
}
