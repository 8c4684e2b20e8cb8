"""Wrong AFK runtimes that are code: what they get wrong takes more than an operator."""

from __future__ import annotations

import asyncio

from faultclock.mutants.by_hand.table import ByHand
from faultclock.subjects.ports import InteractionRequest, Reply
from faultclock.subjects.reference_agents.afk import AfkAgent, Breaker
from faultclock.subjects.reference_agents.afk_telling import (
    DENIAL,
    JOIN_VIOLATION,
    MEMORY,
    words_for,
)
from faultclock.subjects.reference_agents.turn import Ended, Pair, Turn

wrong = ByHand("afk")


# The circuit breaker of each model of the chain.


class _Shut(Breaker):
    def good(self) -> None:
        if self.opened_s is None:
            super().good()
        else:
            self.opened_s = asyncio.get_running_loop().time()
            self.probes = 0


@wrong(
    "breaker-never-closes",
    "Keeps the breaker open after a good probe",
    fails="breaker.closes",
    shown_by="breaker-opens-and-closes",
)
class _BreakerNeverCloses(AfkAgent):
    """Each good probe begins another thirty seconds."""

    breaker_type = _Shut


# The run and its end.


@wrong(
    "asks-after-the-end",
    "Shows the person a question when the run is over",
    fails="ordering.nothing-after-the-run",
    shown_by="approval-is-given",
)
class _AsksAfterTheEnd(AfkAgent):
    """Was this helpful?"""

    def run_over(self, end: Ended) -> None:
        super().run_over(end)
        for interactor in self.world.interactors:
            request = InteractionRequest(
                id="helpful", kind="Approve", prompt="Was this helpful?", deadline_s=60.0
            )
            interactor.show(request, lambda _: None)


# Steps and the LLM.


# Subagents.


@wrong(
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


@wrong(
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


@wrong(
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


# Each had once been green.


@wrong(
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
