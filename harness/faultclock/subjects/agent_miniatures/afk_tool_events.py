"""Miniatures of AFK runtimes: the events of tools, subagents, approvals and the memory backend."""

from __future__ import annotations

__all__: list[str] = []

# Tools and subagents.


# Approvals and memory.
