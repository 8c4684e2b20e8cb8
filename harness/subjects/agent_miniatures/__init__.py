"""Miniatures of agent runtimes of the other models: a reference with one defect, and its check.

One module for each model, named like its reference in `reference_agents`. The stud-cli model has
its own in `runtime_miniatures`.
"""

from harness.subjects.agent_miniatures.table import AGENT_MINIATURES

__all__ = ["AGENT_MINIATURES"]
