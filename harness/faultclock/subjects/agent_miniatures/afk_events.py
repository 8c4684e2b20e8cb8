"""Miniatures of AFK runtimes: the events of a run, of its steps and of its LLM."""

from __future__ import annotations

from typing import Any

from faultclock.subjects.agent_miniatures.afk_table import afk
from faultclock.subjects.ports import InteractionRequest
from faultclock.subjects.reference_agents.afk import AfkAgent
from faultclock.subjects.reference_agents.core import Ended, Pair

__all__: list[str] = []

# The run and its end.


@afk(
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


@afk(
    "a-retry-is-a-failure",
    "pi-subagents#19: an error that was recovered from marked a good run as failed",
    fails="ordering.answer-completes-the-run",
    shown_by="rate-limited-then-answers",
    origin="edxeth/pi-subagents#19",
)
class _ARetryIsAFailure(AfkAgent):
    """The answer is there, and so is the error of before."""

    failed_once = False

    def audit(
        self, pair: Pair | None, target: str, attempt: int | None = None, **more: Any
    ) -> None:
        super().audit(pair, target, attempt, **more)
        self.failed_once = True

    def run_over(self, end: Ended) -> None:
        if self.failed_once:
            end.state = "failed"
        super().run_over(end)
