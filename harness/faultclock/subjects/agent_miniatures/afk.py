"""Miniatures of AFK runtimes: the LLM, and the chain of models.

The circuit breaker of each model is in `afk_breaker`. Runs, tools and subagents are in `afk_runs`,
what a run says of itself in `afk_events` and `afk_tool_events`.
"""

from __future__ import annotations

from collections.abc import Sequence

from faultclock.subjects.agent_miniatures.afk_table import Decides, afk
from faultclock.subjects.ports import ProviderTarget, Reply
from faultclock.subjects.reference_agents.afk import AfkAgent
from faultclock.subjects.reference_agents.afk_kinds import (
    AUTH,
    INVALID_REQUEST,
    RATE_LIMIT,
)
from faultclock.subjects.reference_agents.core import (
    Ended,
    FailedAttempt,
    Message,
    Next,
    Pair,
    RunState,
    Turn,
)
from faultclock.subjects.reference_agents.wire import AttemptFailed

__all__: list[str] = []

# What a failure is, and whether it is retried.






















# The chain.








