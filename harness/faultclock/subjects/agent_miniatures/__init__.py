"""Miniatures of agent runtimes of the other models: a reference with one defect, and its check.

The modules of a model begin with the name of its reference in `reference_agents`. How one is made
is in `table`, and what several miniatures of a model need, in its own `_table`. The stud-cli model
has its miniatures in `runtime_miniatures`.
"""

from faultclock.subjects.agent_miniatures import (
    afk,
    afk_breaker,
    afk_events,
    afk_gaps,
    afk_runs,
    afk_tool_events,
    kode,
    kode_errors,
    kode_gaps,
    kode_life,
    kode_permissions,
    kode_records,
    kode_telling,
    kode_tools,
    matrix,
    matrix_events,
    matrix_gaps,
    matrix_tasks,
    relavium,
    relavium_events,
    relavium_gaps,
    relavium_gates,
    relavium_nodes,
    relavium_stream,
    relavium_telling,
)
from faultclock.subjects.agent_miniatures.table import AGENT_MINIATURES

__all__ = [
    "AGENT_MINIATURES",
    "afk",
    "afk_breaker",
    "afk_events",
    "afk_gaps",
    "afk_runs",
    "afk_tool_events",
    "kode",
    "kode_errors",
    "kode_gaps",
    "kode_life",
    "kode_permissions",
    "kode_records",
    "kode_telling",
    "kode_tools",
    "matrix",
    "matrix_events",
    "matrix_gaps",
    "matrix_tasks",
    "relavium",
    "relavium_events",
    "relavium_gaps",
    "relavium_gates",
    "relavium_nodes",
    "relavium_stream",
    "relavium_telling",
]
