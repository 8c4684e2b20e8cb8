"""Traces in one line: `SessionTurnStart turn=t1 · +2s tool.called tool=ls tool_call=c1`.

An event is its name in the error model's `events`, or a canonical kind, and its fields; `+2s`
before it lets time pass. Each payload has `call` and `life`, of the first ones where not said.
"""

from __future__ import annotations

import json
from typing import Any

from faultclock.load.error_model import load_error_model
from faultclock.model.duration import parse_duration
from faultclock.model.scenario.scenario import scenario_digest, scenario_of
from faultclock.model.trace.trace import (
    SubjectInfo,
    Trace,
    TraceEvent,
    TraceFooter,
    TraceHeader,
    trace_digest,
)

NAMES = load_error_model("stud-cli").events
_SCENARIO = {
    "id": "tests/by-hand",
    "title": "A turn made by hand",
    "why": "It says what an ordering rule must find.",
    "role": "runtime",
    "tools": [{"name": "ls"}, {"name": "rm", "gated": True}],
    "session": {"extensions": [{"id": "base"}, {"id": "top", "depends_on": ["base"]}]},
}


def events_of(text: str) -> tuple[TraceEvent, ...]:
    """Return the events of a mini trace."""
    events: list[TraceEvent] = []
    at_ns = 0
    for item in filter(None, (part.strip() for part in text.split("·"))):
        words = item.split()
        if words[0].startswith("+"):
            at_ns += parse_duration(words.pop(0)[1:])
        kind, payload = _fact(words[0], dict(word.split("=", 1) for word in words[1:]))
        events.append(TraceEvent(len(events) + 1, at_ns, "x", kind, payload))
    return tuple(events)


def runtime_trace(text: str) -> Trace:
    """Return a mini trace as one of a runtime that declares everything."""
    events = events_of(text)
    scenario = scenario_of(_SCENARIO)
    header = TraceHeader(
        scenario=scenario,
        scenario_digest=scenario_digest(scenario),
        subject=SubjectInfo(
            id="by-hand", role="runtime", style="async", declares=("events", "audit")
        ),
        seed=0,
    )
    footer = TraceFooter(
        events=len(events),
        ended_at_ns=events[-1].at_ns,
        ending="completed",
        digest=trace_digest(header, events),
    )
    return Trace(header=header, events=events, footer=footer)


def _fact(word: str, texts: dict[str, str]) -> tuple[str, dict[str, Any]]:
    fields = {name: _value(text) for name, text in texts.items()}
    payload: dict[str, Any] = {"call": fields.pop("call", "ask/1"), "life": fields.pop("life", 1)}
    pattern = NAMES.get(word)
    if pattern is None:
        return word, payload | fields
    if pattern.kinds[0].startswith("declared."):
        return pattern.kinds[0], payload | {"name": word, "fields": fields}
    facts = {
        name: value[0] if isinstance(value, tuple) else value
        for name, value in pattern.where.items()
    }
    return pattern.kinds[0], payload | facts | fields


def _value(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text
