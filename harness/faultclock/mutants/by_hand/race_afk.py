"""Wrong AFK runtimes that only exploration finds."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from faultclock.agents.afk import AfkAgent
from faultclock.agents.turn import Message
from faultclock.mutants.by_hand.table import ByHand
from faultclock.subjects.ports import ProviderTarget, Reply

wrong = ByHand("afk")


#: How long a probe is held back, so that not all processes ask at the same moment.
_PAUSE_S = 0.25


@wrong.race(
    "probe-is-cancelled-early",
    "Keeps the place of a probe that is cancelled before it is sent",
    fails="liveness.settles",
    origin="BerriAI/litellm#39701",
)
class _ProbeIsCancelledEarly(AfkAgent):
    """A probe has its place from its admission on, and gives it back only once it is guarded.

    A cancel in the quarter of a second between the two leaves the breaker half open for ever.
    """

    async def ask_target(self, target: ProviderTarget, messages: Sequence[Message]) -> Reply:
        if not self.breaker(target).is_closed:
            await asyncio.sleep(_PAUSE_S)
        return await super().ask_target(target, messages)
