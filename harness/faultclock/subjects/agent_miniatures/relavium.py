"""Miniatures of Relavium runtimes whose chain of providers is wrong: who is asked, how often."""

from __future__ import annotations

from faultclock.subjects.agent_miniatures.relavium_table import relavium
from faultclock.subjects.ports import ProviderTarget
from faultclock.subjects.reference_agents.core import Turn
from faultclock.subjects.reference_agents.relavium import RelaviumAgent

__all__: list[str] = []

# The chain.


@relavium(
    "starts-the-chain-over",
    "Begins to count anew once the chain is used up (google-gemini/gemini-cli#28339)",
    fails="chain.advances",
    shown_by="entry-used-up-then-next",
    origin="google-gemini/gemini-cli#28339",
)
class _StartsTheChainOver(RelaviumAgent):
    def available(self, turn: Turn) -> tuple[ProviderTarget, ...]:
        found = super().available(turn)
        return (*found, *found, *found)
