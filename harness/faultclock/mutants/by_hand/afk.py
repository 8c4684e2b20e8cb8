"""Wrong AFK runtimes that are code: what they get wrong takes more than an operator."""

from __future__ import annotations

from faultclock.agents.afk import AfkAgent
from faultclock.agents.turn import Ended
from faultclock.mutants.by_hand.table import ByHand
from faultclock.subjects.ports import InteractionRequest

wrong = ByHand("afk")


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
