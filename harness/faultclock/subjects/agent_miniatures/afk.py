"""Miniatures of AFK runtimes: the LLM, and the chain of models.

The circuit breaker of each model is in `afk_breaker`. Runs, tools and subagents are in `afk_runs`,
what a run says of itself in `afk_events` and `afk_tool_events`.
"""

from __future__ import annotations

__all__: list[str] = []

# What a failure is, and whether it is retried.


# The chain.
