"""Which call of the model a request to the person, a decision or an execution is about.

The id of the model's tool call says it. Some frameworks hand none to the application; then the
tool and its arguments say it, in the order in which the model asked. What follows is named here,
in one place, so that every check reads ids as if they had been handed on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from faultclock.model.trace.trace import Trace, TraceEvent

#: What stands where no id was handed on.
_ABSENT = (None, "", "None")
_ABOUT_A_CALL = ("interaction.", "policy.decided", "tool.")


class _Asked(Struct, kw_only=True):
    """One tool call of the model, and what was found to be about it: the kinds of those events."""

    id: str
    tool: str | None
    arguments: object
    call: str | None
    used_for: set[str] = field(default_factory=set)


def with_tool_calls(trace: Trace) -> Trace:
    """Return `trace` with the id of the model's tool call wherever none was handed on.

    What is about no call that the model made stays as it is; so does a trace in which none lacks.
    """
    if not any(_lacks_an_id(event) for event in trace.events):
        return trace
    pairing = _Pairing()
    return Trace(
        header=trace.header,
        events=tuple(pairing.take(event) for event in trace.events),
        footer=trace.footer,
        notes=trace.notes,
    )


def _lacks_an_id(event: TraceEvent) -> bool:
    if not event.kind.startswith(_ABOUT_A_CALL) or event.tool_call not in _ABSENT:
        return False
    return event.tool is not None or event.kind.startswith("interaction.")


class _Pairing:
    """The tool calls that the model has made so far, and what belongs to each."""

    def __init__(self) -> None:
        self._asked: list[_Asked] = []
        #: Execution, or life and request, to the id that was found for its first event.
        self._known: dict[object, str] = {}

    def take(self, event: TraceEvent) -> TraceEvent:
        """Return `event` with the id of its tool call."""
        if event.kind == "http.exchange_ended":
            self._asked += [
                _Asked(
                    id=str(item["id"]),
                    tool=item.get("name"),
                    arguments=_loaded(item.get("arguments")),
                    call=event.call,
                )
                for item in event.tool_calls
                if item and item.get("id")
            ]
        if not _lacks_an_id(event):
            return event
        subject: object = event.execution or (event.life, event.request)
        if event.kind == "policy.decided":
            subject = event.seq
        found = self._known.get(subject) or self._find(event)
        if found is None:
            return event
        self._known[subject] = found
        return replace(event, payload={**event.payload, "tool_call": found})

    def _find(self, event: TraceEvent) -> str | None:
        """Return the first call that fits and has no such event yet; else the last that fits."""
        fitting = [item for item in self._asked if item.tool == event.tool]
        if event.arguments is not None:
            same = [item for item in fitting if item.arguments == event.arguments]
            # A runtime may have added some, such as the defaults of a schema.
            same = same or [item for item in fitting if _adds_to(item.arguments, event.arguments)]
            # A person may have changed the arguments: then a tool that was asked for once will do.
            fitting = same or (fitting if len(fitting) == 1 else [])
        # A call of an earlier process may be what a later one goes on with.
        own = [item for item in fitting if item.call == event.call] or fitting
        free = [item for item in own if event.kind not in item.used_for]
        if not own:
            return None
        found = free[0] if free else own[-1]
        found.used_for.add(event.kind)
        return found.id


def _adds_to(asked: object, executed: object) -> bool:
    """Return whether a call was executed with all that it was asked for with, and more."""
    if not isinstance(asked, Mapping) or not isinstance(executed, Mapping):
        return False
    return asked.items() <= executed.items()


def _loaded(arguments: object) -> object:
    try:
        return json.loads(str(arguments))
    except ValueError:
        return None
