"""Tools, the policy that allows them, and the person who is asked."""

from __future__ import annotations

from typing import Any, Literal

from faultclock.model.duration import format_duration
from faultclock.model.trace.event_fields import EventFields
from faultclock.model.trace.event_kinds.kind import LIVED, EventKind, kind, typed
from faultclock.model.trace.event_shapes import (
    Count,
    Flag,
    MaybeSha,
    MaybeText,
    Number,
    Object,
    Pair,
    Said,
    Text,
    ToolProblem,
    list_of,
    maybe,
)

_EXECUTION = {"execution": Text, "tool": Text, "tool_call": Text, **LIVED}
_SEEN = maybe({"seen": Flag})
_INTERACTION = {"interactor": Text, "request": Said, "tool_call": Said, **LIVED}


def _tool_end(*fields: Any, **more: Any) -> EventKind:
    return kind("tool", _EXECUTION, *fields, closes="tool.called", **more)


def _effect(event: EventFields) -> str:
    again = f", time {event.count}" if (event.count or 0) > 1 else ""
    return f"effect of {event.execution} {event.tool}{again}"


def _replied(event: EventFields) -> str:
    who = f"{event.execution} {event.tool}"
    if not event.ok:
        return f"{who} fails: {typed(event)}"
    if event.partial:
        return f"{who} replies in part: {len(event.errors or ())} items failed"
    return f"{who} replies"


def _shown(event: EventFields) -> str:
    about = f" about {event.tool}" if event.tool else ""
    deadline = event.deadline_ns
    limit = f", {format_duration(deadline)} to answer" if deadline else ", without a deadline"
    return f"{event.interactor} shows {event.interaction_kind}{about}{limit}"


def _answered(event: EventFields) -> str:
    refused = "" if event.accepted else f", refused ({typed(event)})"
    return f"{event.interactor}: {event.answer}{refused}"


KINDS: dict[str, EventKind] = {
    "tool.called": kind(
        "tool",
        _EXECUTION,
        {"arguments": Said, "agent": Flag},
        text="{execution} {tool} is called",
        happened="a tool was run",
        opens=("execution",),
        named="tool",
    ),
    "tool.effect": kind(
        "tool",
        _EXECUTION,
        {"key": Text, "count": Number},
        text=_effect,
        part_of="tool.called",
        mark="effect",
    ),
    "tool.replied": _tool_end(
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
        text=_replied,
        arrives=True,
    ),
    "tool.raised": _tool_end(
        {"type": Text}, _SEEN, text="{execution} {tool} raises {type}", arrives=True
    ),
    "tool.stopped": _tool_end(text="{execution} {tool} is stopped"),
    "tool.put_off": _tool_end(text="{execution} {tool} asks a person, and does nothing"),
    "tool.unfinished": _tool_end(text="{execution} {tool} never replied"),
    "tool.refused": kind(
        "tool",
        {"tool": Text, "tool_call": Text, "type": Text, **LIVED},
        text="{tool} raises {type} after a no, and does nothing",
    ),
    "policy.decided": kind(
        "policy",
        {"tool": Said, "tool_call": Said, "decision": Literal["allow", "deny"]},
        LIVED,
        text="policy: {decision} {tool}",
        mark="answer",
    ),
    "interaction.shown": kind(
        "interactor",
        _INTERACTION,
        {"interaction_kind": Said, "tool": Said, "deadline_ns": Count | None},
        maybe({"arguments": Object}),
        text=_shown,
        happened="a person was asked",
        # A fresh process may count its requests from the beginning.
        opens=("life", "interactor", "request"),
        named="interaction_kind",
    ),
    "interaction.answered": kind(
        "interactor",
        _INTERACTION,
        {"answer": Text, "accepted": Flag},
        Pair,
        text=_answered,
        closes="interaction.shown",
        arrives=True,
    ),
    "interaction.dismissed": kind(
        "interactor",
        _INTERACTION,
        text="{interactor} takes {request} off the screen",
        closes="interaction.shown",
    ),
    # The request is not shown at all.
    "interaction.broken": kind("interactor", _INTERACTION, text="{interactor} is broken"),
}
