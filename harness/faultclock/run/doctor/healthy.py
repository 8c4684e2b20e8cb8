"""Scenarios in which a subject shows itself: one where nothing goes wrong, and one to rehearse."""

from __future__ import annotations

from typing import Any

from faultclock.model.scenario.scenario import Role, Scenario, scenario_of

#: What a subject of each role is asked for, when nothing goes wrong.
_HEALTHY: dict[Role, list[dict[str, Any]]] = {
    "provider_adapter": [{"id": "plain"}, {"id": "streamed", "stream": True}],
    "runtime": [
        {"id": "plain", "do": "turn"},
        {"id": "streamed", "do": "turn", "stream": True},
    ],
    "tool": [{"id": "plain"}],
    "session_store": [
        {"id": "write", "do": "write", "arguments": {"revision": 1}},
        {"id": "read", "do": "read"},
    ],
    "extension": [
        {"id": phase, "do": phase} for phase in ("init", "activate", "deactivate", "dispose")
    ],
}
_FAILS_AT_FIRST = {
    "id": "limited",
    "when": {"task": "limited", "attempts": 1},
    "then": {"kind": "http_error", "status": 429, "error": "rate_limit_exceeded"},
}


def healthy_scenario(role: Role = "provider_adapter") -> Scenario:
    """Return a scenario in which nothing goes wrong.

    A provider adapter makes a plain call and a streamed one, a runtime takes such turns, a tool is
    called once, a store writes and reads, an extension goes through its phases.
    """
    return _scenario(
        role,
        id="healthy/call",
        title="Nothing goes wrong",
        why="A subject that cannot cope with a healthy world is bound wrong.",
        tasks=_HEALTHY[role],
    )


def rehearsal(role: Role) -> Scenario:
    """Return a scenario that does most of what any run of that role will need."""
    tasks, provider = _HEALTHY[role], {}
    if role in ("provider_adapter", "runtime"):
        tasks, provider = [*tasks, {"id": "limited"}], {"faults": [_FAILS_AT_FIRST]}
    return _scenario(
        role,
        id="healthy/rehearsal",
        title="The usual ways of a call",
        why="What a library does only once is done before the first run.",
        tasks=tasks,
        provider=provider,
    )


def _scenario(role: Role, **values: Any) -> Scenario:
    if role in ("tool", "extension"):
        # Behind them is a service of their own, and no model provider.
        values["provider"] = {"dialect": "http-json"}
    return scenario_of({**values, "role": role, "limits": {"virtual_time": "1h"}})
