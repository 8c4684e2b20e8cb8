"""Binds a subject the way every run needs it: under the patches, and warmed.

The patches must be in place before the subject's modules are imported, because module-level
locks and `from time import monotonic` are bound then. Warming does once what each child would
do again: it imports what a first call imports lazily, and for a subject that allows it makes a
few calls, which fill the caches of its libraries.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
from typing import Any

from harness.model.scenario import Role, Scenario
from harness.run.execute import simulate
from harness.run.isolate import run_contained
from harness.run.variables import settle
from harness.sim.patches import install, install_late
from harness.subjects.binding import Binding
from harness.subjects.registry import load_subject

__all__ = ["healthy_scenario", "prepare", "warm"]

#: Real seconds that a warm-up call may take; a subject that hangs on it is not warmed, and the
#: first real run will say so.
_WARM_LIMIT_S = 20.0

#: What a subject of each role is asked for, when nothing goes wrong.
_HEALTHY: dict[Role, list[dict[str, Any]]] = {
    "provider_adapter": [{"id": "plain"}, {"id": "streamed", "stream": True}],
    "runtime": [{"id": "plain", "do": "turn"}],
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


def prepare(spec: str) -> Binding:
    """Install the patches, load the subject that `spec` names, and warm it.

    The environment of this process is settled before: a subject may read it when it is imported.

    Raises:
        SubjectError: the subject cannot be loaded or bound.
    """
    settle(os.environ)
    install()
    binding = load_subject(spec)
    warm(binding)
    # Every child would do it again otherwise: it looks at all names of all modules.
    install_late()
    # What is loaded by now stays: no collection has to look at it again.
    gc.freeze()
    return binding


def healthy_scenario(role: Role = "provider_adapter") -> Scenario:
    """Return a scenario in which nothing goes wrong.

    A provider adapter makes a plain call and a streamed one, a runtime takes one turn, a tool is
    called once, a store writes and reads, an extension goes through its phases.
    """
    return _scenario(
        role,
        id="healthy/call",
        title="Nothing goes wrong",
        why="A subject that cannot cope with a healthy world is bound wrong.",
        tasks=_HEALTHY[role],
    )


def _rehearsal(role: Role) -> Scenario:
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
    return Scenario.model_validate({**values, "role": role, "limits": {"virtual_time": "1h"}})


def warm(binding: Binding) -> tuple[str, ...]:
    """Import here what a call imports lazily, and return the names of those modules.

    The calls themselves are made in a child, so that no client, loop or cache of theirs stays
    behind; only a subject that is bound with `inline` or `warm_in_place` makes them here too.
    """

    rehearsal = _rehearsal(binding.role)

    def imported_by_a_call() -> list[str]:
        before = set(sys.modules)
        simulate(rehearsal, binding, 0)
        return sorted(set(sys.modules) - before)

    outcome = run_contained(imported_by_a_call, wall_limit_s=_WARM_LIMIT_S)
    names = tuple(outcome) if isinstance(outcome, list) else ()
    for name in names:
        try:
            importlib.import_module(name)
        except Exception:  # noqa: BLE001, S112 - a module that only a run can import stays lazy
            continue
    if isinstance(outcome, list) and (binding.inline or binding.warm_in_place):
        simulate(rehearsal, binding, 0)
    return names
