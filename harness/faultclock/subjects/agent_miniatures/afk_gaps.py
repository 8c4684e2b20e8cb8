"""Miniatures of AFK runtimes whose defects stood between two rules: each had once been green."""

from __future__ import annotations

from faultclock.subjects.agent_miniatures.afk_table import afk
from faultclock.subjects.ports import Reply
from faultclock.subjects.reference_agents.afk import AfkAgent
from faultclock.subjects.reference_agents.afk_breaker import Breaker
from faultclock.subjects.reference_agents.afk_kinds import (
    DENIAL,
    JOIN_VIOLATION,
)
from faultclock.subjects.reference_agents.core import (
    Ended,
    Turn,
)

__all__: list[str] = []


class _AddsUp(Breaker):
    """Forgets no failure."""

    def good(self) -> None:
        failures = self.failures
        super().good()
        self.failures = failures


@afk(
    "breaker-adds-up",
    "Counts the failures of a provider in all, and not those in a row",
    fails="breaker.opens",
    shown_by="breaker-counts-in-a-row",
)
class _BreakerAddsUp(AfkAgent):
    """Each provider fails five times some day."""

    breaker_type = _AddsUp


@afk(
    "steps-of-all-runs",
    "Counts the steps of all runs against the limit of each",
    fails="limits.ends",
    shown_by="each-run-has-its-own-limits",
)
class _StepsOfAllRuns(AfkAgent):
    """The counter is the agent's, and the agent lives on."""

    so_far = 0

    def turn_started(self, turn: Turn) -> None:
        turn.steps = self.so_far
        super().turn_started(turn)

    def answered(self, turn: Turn, reply: Reply) -> None:
        self.so_far = turn.steps
        super().answered(turn, reply)


@afk(
    "join-fails-by-the-denial",
    "Fails with the denial of a subagent instead of the join that it broke",
    fails="failures.outcome",
    shown_by="policy-denies-a-required-subagent",
)
class _JoinFailsByTheDenial(AfkAgent):
    """The last thing that it remembers."""

    async def use_tools(self, turn: Turn, reply: Reply) -> None:
        try:
            await super().use_tools(turn, reply)
        except Ended as end:
            if end.pair == JOIN_VIOLATION:
                end.pair = DENIAL
            raise
