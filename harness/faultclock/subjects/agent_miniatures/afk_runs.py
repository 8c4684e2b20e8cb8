"""Miniatures of AFK runtimes: tools, subagents, memory, telemetry, queue, limits, cancels."""

from __future__ import annotations

from faultclock.subjects.agent_miniatures.afk_table import afk
from faultclock.subjects.reference_agents.afk import AfkAgent
from faultclock.subjects.reference_agents.afk_kinds import (
    MEMORY,
    words_for,
)
from faultclock.subjects.reference_agents.core import Ended, Pair, Turn

__all__: list[str] = []

# Tools.


# Subagents.


@afk(
    "every-subagent-is-required",
    "Fails where an optional subagent failed",
    fails="joins.held",
    shown_by="optional-subagent-fails",
)
class _EverySubagentIsRequired(AfkAgent):
    """One policy for every group."""

    def joined(self) -> bool:
        return set(self.batch.agents) <= self.batch.good


# Memory, telemetry, queue.


@afk(
    "needs-its-memory",
    "Fails when a checkpoint cannot be written",
    fails="failures.outcome",
    shown_by="memory-is-down",
)
class _NeedsItsMemory(AfkAgent):
    """The answer was there already."""

    def warn(self, pair: Pair | None) -> None:
        super().warn(pair)
        if pair == MEMORY:
            raise Ended("failed", MEMORY, words_for(MEMORY))

    async def turn_over(self, turn: Turn, end: Ended) -> None:
        if end.state == "failed":
            self.run_over(end)
        else:
            await super().turn_over(turn, end)


# Limits.


@afk(
    "one-step-more",
    "Looks at the number of steps after the step",
    fails="limits.ends",
    shown_by="steps-used-up",
)
class _OneStepMore(AfkAgent):
    """Compared by "greater than", as in the system's own code."""

    def check_steps(self, turn: Turn) -> None:
        limit = self.world.limits.steps_max
        if limit is not None and turn.steps > limit:
            raise self.at_limit(turn, "steps")


# Cancels.
