"""What tests of store runs share: small scenarios, stores of a few lines, facts of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from faultclock.model.scenario.scenario import Scenario, scenario_of
from faultclock.model.trace.trace import Trace
from faultclock.run.execute import execute
from faultclock.subjects.bind_store import session_store
from faultclock.subjects.binding import Binding


def scenario(*tasks: Mapping[str, Any], **changes: Any) -> Scenario:
    """Return a scenario for a store that asks these tasks."""
    values: dict[str, Any] = {"id": "tests/store", "title": "A store", "why": "For a test."}
    values |= {"role": "session_store", "tasks": list(tasks)}
    return scenario_of(values | changes)


def write(id_: str, revision: int, **arguments: Any) -> dict[str, Any]:
    """Return a task that writes a revision."""
    return {"id": id_, "do": "write", "arguments": {"revision": revision, **arguments}}


def drive(store: Any, run: Scenario, **options: Any) -> Trace:
    """Run a store class, or a binding, through a scenario."""
    binding = store if isinstance(store, Binding) else session_store(id="s", **options)(store)
    return execute(run, binding, 0)


def facts(trace: Trace, kind: str) -> list[dict[str, Any]]:
    """Return the payloads of a kind."""
    return [dict(event.payload) for event in trace.of_kind(kind)]


def outcomes(trace: Trace) -> dict[str, str]:
    """Return how each call ended: `found`, `nothing`, `done`, `crashed`, or what it raised."""
    found = {}
    for event in trace.of_kind("call.returned", "call.raised", "call.crashed"):
        payload = event.payload
        if event.kind == "call.crashed":
            how = "crashed"
        elif event.kind == "call.raised":
            link = payload["chain"][0]
            how = link["code"] or link["type"]
        elif "found" in payload:
            how = "found" if payload["found"] else "nothing"
        else:
            how = "done"
        found[str(payload["call"])] = how
    return found


class Memory:
    """A store that keeps everything in memory: nothing survives its process."""

    def __init__(self, surroundings: Any) -> None:
        self.kept: dict[str, Any] = {}

    def read(self, session_id: str) -> Any:
        """Return what was written."""
        return self.kept.get(session_id)

    def write(self, session_id: str, manifest: Any) -> None:
        """Keep it."""
        self.kept[session_id] = manifest
