"""Plays the reference runtime through small scenarios, in the simulated world, and reads traces."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from faultclock.agents.stud_cli.runtime import reference_runtime
from faultclock.model.scenario.scenario import Scenario, scenario_of
from faultclock.model.trace.trace import Trace, TraceEvent
from faultclock.run.execute import execute
from faultclock.subjects.binding import Binding

TURN = {"id": "a", "do": "turn", "prompt": "Please do it."}
PAY = {"name": "pay", "gated": True, "value": {"paid": True}}
LOOK = {"name": "look", "value": {"seen": True}}


def calling(*names: str, arguments: str = "{}") -> dict[str, Any]:
    """Return an answer of the provider that asks for these tools."""
    return {"tool_calls": [{"name": name, "arguments": arguments} for name in names]}


def saying(text: str = "Done.") -> dict[str, Any]:
    """Return an answer of the provider that is a text."""
    return {"text": text}


def manifest(*messages: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Return a stored manifest."""
    return {
        "sessionId": "s1",
        "storeId": "local",
        "mode": "ask",
        "messages": list(messages),
        "createdAt": 1,
        "updatedAt": 2,
    } | changes


def scenario(*replies: dict[str, Any], faults: Any = (), **fields: Any) -> Scenario:
    """Return a scenario for a runtime; `replies` is what the model says."""
    values = {
        "id": "runtime/inline",
        "title": "Inline",
        "why": "A test of the reference runtime.",
        "role": "runtime",
        "provider": {"replies": list(replies) or [saying()], "faults": list(faults)},
        "tools": [PAY, LOOK],
        "interactors": [{}],
        "tasks": [TURN],
    }
    return scenario_of(values | fields)


def play(
    *replies: dict[str, Any], binding: Binding = reference_runtime, seed: int = 0, **fields: Any
) -> Played:
    """Run a scenario and return what happened."""
    return Played(execute(scenario(*replies, **fields), binding, seed))


def play_scenario(given: Scenario, binding: Binding = reference_runtime) -> Played:
    """Run a scenario that is there already."""
    return Played(execute(given, binding, 0))


@dataclass(frozen=True)
class Played:
    """A trace, as tests ask it."""

    trace: Trace

    def __post_init__(self) -> None:
        assert self.trace.footer.ending == "completed", self.trace.footer

    def events(self, kind: str, **where: Any) -> list[TraceEvent]:
        """Return the events of a kind whose payload has these values."""
        return [
            event
            for event in self.trace.events
            if event.kind == kind and where.items() <= event.payload.items()
        ]

    def said(self, name: str, **where: Any) -> list[dict[str, Any]]:
        """Return the fields of declared events and audit events of a name."""
        return [dict(event.payload["fields"]) for event in self.declared(name, **where)]

    def declared(self, name: str, **where: Any) -> list[TraceEvent]:
        """Return declared events and audit events of a name, with these fields."""
        return [
            event
            for kind in ("declared.event", "declared.audit_event")
            for event in self.events(kind, name=name)
            if where.items() <= event.payload["fields"].items()
        ]

    def names(self, *, of: str = "declared.event") -> list[str]:
        """Return the names of what was declared, in order."""
        return [str(event.payload["name"]) for event in self.events(of)]

    def errors(self) -> list[tuple[Any, Any, Any]]:
        """Return class, code and attempt of the audited errors."""
        records = [event.payload["record"] for event in self.events("declared.audit")]
        return [(item["class"], item["code"], item["attempt"]) for item in records]

    def ending(self, call: str = "a/1") -> str:
        """Return what a call ended with: its text, or class and code of what it raised."""
        for event in self.events("call.returned", call=call):
            return str(event.payload["text"])
        for event in self.events("call.raised", call=call):
            outer = event.payload["chain"][0]
            return f"{outer['class']}/{outer['code']}"
        return "cut off"

    def told(self, request: int = -1) -> list[Any]:
        """Return the contents of the tool messages of one request to the provider."""
        messages = self.events("http.request")[request].payload["messages"]
        return [json.loads(item["content"]) for item in messages if item["role"] == "tool"]

    def roles(self, request: int = -1) -> list[str]:
        """Return the roles of the messages of one request."""
        return [item["role"] for item in self.events("http.request")[request].payload["messages"]]

    def at_s(self, kind: str, **where: Any) -> list[float]:
        """Return when events happened, in seconds."""
        return [event.at_ns / 1e9 for event in self.events(kind, **where)]

    def effects(self) -> Iterator[tuple[str, int]]:
        """Yield each effect on the world with how often it has happened by then."""
        for event in self.events("tool.effect"):
            yield str(event.payload["tool"]), int(event.payload["count"])

    def order(self, *wanted: str) -> list[str]:
        """Return kinds and declared names in the order in which they happened, those wanted."""
        found = (str(event.payload.get("name") or event.kind) for event in self.trace.events)
        return [name for name in found if name in wanted]
