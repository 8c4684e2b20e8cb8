"""Miniatures of AFK runtimes: the events of tools, subagents, approvals and the memory backend."""

from __future__ import annotations

from typing import Any

from faultclock.subjects.agent_miniatures.afk_table import afk
from faultclock.subjects.reference_agents.afk import AfkAgent

__all__: list[str] = []

# Tools and subagents.


@afk(
    "one-failure-fails-all",
    "openai-agents-python#2584: one failing call threw its siblings away",
    fails="ordering.tool-failure-was-observed",
    shown_by="one-of-two-tools-fails",
    origin="openai/openai-agents-python#2584",
)
class _OneFailureFailsAll(AfkAgent):
    """What was done beside it is told as failed, too."""

    def emit(self, name: str, **fields: Any) -> None:
        if name == "tool_completed" and self.batch.bad:
            fields["success"] = False
        super().emit(name, **fields)


# Approvals and memory.
