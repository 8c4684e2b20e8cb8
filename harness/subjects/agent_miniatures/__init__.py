"""Miniatures of agent runtimes of the other models: a reference with one defect, and its check.

One module for each model, named like its reference in `reference_agents`. The stud-cli model has
its own in `runtime_miniatures`.
"""

from harness.subjects.agent_miniatures import (
    afk,
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
    relavium_gates,
    relavium_nodes,
    relavium_stream,
    relavium_telling,
)
from harness.subjects.agent_miniatures.table import AGENT_MINIATURES

__all__ = [
    "AGENT_MINIATURES",
    "afk",
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
    "relavium_gates",
    "relavium_nodes",
    "relavium_stream",
    "relavium_telling",
]
