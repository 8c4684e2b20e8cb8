"""Binds a subject the way every run needs it: under the patches, and warmed.

The patches must be in place before the subject's modules are imported, because module-level
locks and `from time import monotonic` are bound then. Warming does once what each child would
do again: it imports what a first call imports lazily, and for a subject that allows it makes a
few calls, which fill the caches of its libraries.
"""

from __future__ import annotations

import gc
import importlib
import sys
from collections.abc import Mapping

from harness.model.payload import ErrorPayload
from harness.model.scenario import Limits, Scenario, Task
from harness.run.execute import simulate
from harness.run.isolate import run_contained
from harness.sim.patches import install
from harness.subjects.binding import Binding
from harness.subjects.registry import load_subject

__all__ = ["healthy_scenario", "prepare", "warm"]

#: Real seconds that a warm-up call may take; a subject that hangs on it is not warmed, and the
#: first real run will say so.
_WARM_LIMIT_S = 20.0


def prepare(spec: str, payloads: Mapping[str, ErrorPayload]) -> Binding:
    """Install the patches, load the subject that `spec` names, and warm it.

    Raises:
        SubjectError: the subject cannot be loaded or bound.
    """
    install()
    binding = load_subject(spec)
    warm(binding, payloads)
    # What is loaded by now stays: no collection has to look at it again.
    gc.freeze()
    return binding


def healthy_scenario() -> Scenario:
    """Return a scenario in which nothing goes wrong: a plain call, then a streamed one."""
    return Scenario(
        id="healthy/call",
        title="Nothing goes wrong",
        why="A subject that cannot answer a healthy provider is bound wrong.",
        tasks=(Task(id="plain"), Task(id="streamed", stream=True)),
        limits=Limits(virtual_time="1h"),  # type: ignore[arg-type]
    )


def warm(binding: Binding, payloads: Mapping[str, ErrorPayload]) -> tuple[str, ...]:
    """Import here what a call imports lazily, and return the names of those modules.

    The calls themselves are made in a child, so that no client, loop or cache of theirs stays
    behind; only a subject that is bound with `inline` or `warm_in_place` makes them here too.
    """

    def imported_by_a_call() -> list[str]:
        before = set(sys.modules)
        simulate(_REHEARSAL, binding, 0, payloads)
        return sorted(set(sys.modules) - before)

    outcome = run_contained(imported_by_a_call, wall_limit_s=_WARM_LIMIT_S)
    names = tuple(outcome) if isinstance(outcome, list) else ()
    for name in names:
        try:
            importlib.import_module(name)
        except Exception:  # noqa: BLE001, S112 - a module that only a run can import stays lazy
            continue
    if isinstance(outcome, list) and (binding.inline or binding.warm_in_place):
        simulate(_REHEARSAL, binding, 0, payloads)
    return names


#: A plain call, a streamed one and one that fails at first: most of what any run will need.
_REHEARSAL = Scenario.model_validate(
    {
        "id": "healthy/rehearsal",
        "title": "The usual ways of a call",
        "why": "What a library does only once is done before the first run.",
        "tasks": [{"id": "plain"}, {"id": "streamed", "stream": True}, {"id": "limited"}],
        "provider": {
            "faults": [
                {
                    "id": "limited",
                    "when": {"task": "limited", "attempts": 1},
                    "then": {"kind": "http_error", "status": 429, "error": "rate_limit_exceeded"},
                }
            ]
        },
        "limits": {"virtual_time": "1h"},
    }
)
