"""Binds a subject the way every run needs it: under the patches, and warmed.

The patches must be in place before the subject's modules are imported, because module-level
locks and `from time import monotonic` are bound then. Warming imports what a first call would
import lazily: in a child process it would be read from disk again in every run.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping

from harness.model.payload import ErrorPayload
from harness.model.scenario import Limits, Scenario, Task
from harness.run.execute import execute
from harness.run.isolate import run_isolated
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
    """Import here what a healthy call imports lazily, and return the names of those modules.

    The call itself runs in a child, so that no client, loop or cache of it stays behind.
    """

    def imported_by_a_call() -> list[str]:
        before = set(sys.modules)
        execute(healthy_scenario(), binding, 0, payloads)
        return sorted(set(sys.modules) - before)

    outcome = run_isolated(imported_by_a_call, wall_limit_s=_WARM_LIMIT_S)
    names = tuple(outcome) if isinstance(outcome, list) else ()
    for name in names:
        try:
            importlib.import_module(name)
        except Exception:  # noqa: BLE001, S112 - a module that only a run can import stays lazy
            continue
    return names
